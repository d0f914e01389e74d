"""Trial calls of a function in different circumstances and with mutants."""

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.code.edit.name_binding import bound_names, free_names, root_name
from remora.errors import HostError
from remora.judges.calls.case import CallInput, Case, canonical_literal, case_of, is_call_of
from remora.judges.calls.target_function import TargetFunction
from remora.judges.faults.mutants import Mutant
from remora.judges.runner.parent import Order, Results, run_in_child, run_repeatedly
from remora.python_text import parse
from remora.tools.tree import ToolTree

_CALL_S = 1.0
_ALL_CALLS_S = 25.0
_MUTANT_CALLS_S = 4.0
_MAX_LATE_CALLS = 3
_REASONS = {
    "late": "it takes longer than a second",
    "unready": "the statements before it raise {type}",
    "effect": "it has effects outside the process ({effect})",
    "indirect": "it does not enter the function, or only through another one",
    "long": "its result is too long for a test",
    "deprecated": "it warns about deprecated code",
    "environment": "its result depends on the machine or on a version",
    "raised": "it raises {type}, which no code of the project raises",
    "value": "its result cannot be written in a test",
}
"""Reasons that the result of a call cannot be asserted, by how the call ends."""
_DOCTEST = (
    "import doctest\n"
    "doctest.run_docstring_examples({}, dict(globals()),"
    " optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)"
)
_DOCTEST_S = 10.0
_FAILED = re.compile(r"Failed example:\n    (.+)\nExpected:\n    (.+)\nGot:\n    (.+)\n(?=\*|$)")
"""An example and a result of one line, as doctest reports them."""
_ENDED = "it ends the process, or was not tried"
_CHANGES = "its result differs between two runs"


class TrialResults(NamedTuple):
    """The cases that can be used in a test.

    `killed` contains the indexes of the mutants that each case kills. It is empty if no mutants
    were tried. `problems` contains the other calls, each with the reason that it has no case.
    """

    cases: Sequence[Case] = ()
    killed: Sequence[frozenset[int]] = ()
    problems: Sequence[tuple[str, str]] = ()


class NotImported(HostError):
    """The tested module cannot be imported from the workspace."""


def try_calls(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[CallInput],
    *,
    faults: Sequence[Mutant],
) -> TrialResults:
    """Try each call twice in different circumstances, and with each mutant.

    Raises NotImported if the module cannot be imported, or is imported from a different location.
    """
    plain = call_order(place, subject, calls, _ALL_CALLS_S, _MAX_LATE_CALLS)
    more = {**plain, "mutants": [fault.function for fault in faults]}
    more["seconds"] = _ALL_CALLS_S + _MUTANT_CALLS_S * len(faults)
    runs = run_repeatedly(place, [subject.import_root], [plain], [more])
    for results in runs:
        problem = (results.of(0) or {}).get("problem")
        if problem:
            raise NotImported(str(problem).replace(f"{place.seen}/", "")[:300])
    seen = [[results.of(0, number) for results in runs] for number in range(len(calls))]
    usable = _cases(place, subject, calls, seen)
    cases = _without_repeats(usable)
    killed = _killed(cases, runs[0], faults)
    used = {number for number, _ in usable}
    problems = [
        (call.call, _problem(results))
        for number, (call, results) in enumerate(zip(calls, seen, strict=True))
        if number not in used
    ]
    return TrialResults([case for _, case in cases], killed, problems)


def wrong_examples(place: ToolTree, subject: TargetFunction, cases: Sequence[Case]) -> list[str]:
    """Return which examples of a docstring show another result than the code gives, in words.

    `cases` are calls with other results than shown. As an earlier example may change what a later
    one shows, doctest runs all of them, and says which ones fail. Rounded numbers count as right.
    """
    calls = [
        case.call for case in cases if case.source == "docstring" and canonical_literal(case.shown)
    ]
    if not calls:
        return []
    code = _DOCTEST.format(subject.qualname)
    order = {"module": subject.module, "path": str(place.seen / subject.path), "code": code}
    results = run_in_child(place, [subject.import_root], [{**order, "seconds": _DOCTEST_S}])
    return [
        f"the example `{source}` shows {want}, and the code gives {got}"
        for source, want, got in _FAILED.findall((results.of(0) or {}).get("printed", ""))
        if any(call in ast.unparse(parse(source)) for call in calls) and "." not in want
    ]


def _problem(seen: Sequence[Mapping[str, Any] | None]) -> str:
    """Return why a call has no test case. `seen` contains the results of repeated runs."""
    first, *others = seen
    if first is None or first.get("how") not in _REASONS:
        return _ENDED
    if any(_outcome(other) != _outcome(first) for other in others):
        return _CHANGES
    return _REASONS[str(first["how"])].format(type=first.get("type"), effect=first.get("effect"))


def _outcome(result: Mapping[str, Any] | None) -> tuple[object, ...]:
    return tuple((result or {}).get(key) for key in ("how", "type", "claims"))


def _killed(
    cases: Sequence[tuple[int, Case]],
    results: Results,
    faults: Sequence[Mutant],
) -> list[frozenset[int]]:
    """Return the mutants that change each case. `cases` contains the number of each call."""
    changed = [results.of_mutant(fault) for fault in range(len(faults))]
    return [
        frozenset(fault for fault, numbers in enumerate(changed) if number in (numbers or ()))
        for number, _ in cases
    ]


def _cases(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[CallInput],
    seen: Sequence[Sequence[dict[str, Any] | None]],
) -> list[tuple[int, Case]]:
    """Return the cases that enter the function, with the number of the call."""
    raise_lines = cache(partial(_raise_lines, place))
    root = str(place.seen)
    own = range(subject.function.lineno, (subject.function.end_lineno or 0) + 1)
    found: list[tuple[int, Case]] = []
    for number, (call, results) in enumerate(zip(calls, seen, strict=True)):
        case = case_of(call, results, lambda path, line: line in raise_lines(path), root)
        if case is not None:
            lines = tuple(line for line in case.lines if line in own)
            case = msgspec.structs.replace(_with_plain_name(subject, case), lines=lines)
            found += [(number, case)] if lines else []
    return found


def _with_plain_name(subject: TargetFunction, case: Case) -> Case:
    """Return the case with the function's name alone if it is called as `module.function`."""
    call = parse(case.call, "eval").body
    if "." in subject.qualname or not is_call_of(subject.function.name, call):
        return case
    assert isinstance(call, ast.Call)
    imported = {name: text for text in case.imports for name in bound_names(parse(text).body[0])}
    root = root_name(call.func)
    if isinstance(call.func, ast.Name) or root not in imported:
        return case
    plain = ast.unparse(ast.Call(ast.Name(subject.function.name), call.args, call.keywords))
    needed = free_names(parse(code) for code in (plain, *case.setup))
    kept = tuple(text for text in case.imports if text != imported[root] or root in needed)
    return msgspec.structs.replace(case, call=plain, imports=kept)


def _without_repeats(cases: Sequence[tuple[int, Case]]) -> list[tuple[int, Case]]:
    """Return the case with the fewest statements of those with the same call and result."""
    found: dict[Any, tuple[int, Case]] = {}
    for number, case in cases:
        key = (case.call, case.value, case.raises)
        if key not in found or len(case.setup) < len(found[key][1].setup):
            found[key] = number, case
    return list(found.values())


def call_order(
    place: ToolTree,
    subject: TargetFunction,
    calls: Sequence[CallInput],
    seconds: float,
    patience: int,
) -> Order:
    """Return the order to make calls of a function, until `patience` of them took too long."""
    return {
        "module": subject.module,
        "path": str(place.seen / subject.path),
        "qualname": subject.qualname,
        "header": subject.header,
        "calls": [
            {"call": call.call, "setup": [*call.setup], "imports": [*call.imports]}
            for call in calls
        ],
        "each": _CALL_S,
        "seconds": seconds,
        "patience": patience,
    }


def _raise_lines(place: ToolTree, path: str) -> frozenset[int]:
    """Return the lines of `raise` statements in a file of the tree, given by its absolute path."""
    if not Path(path).is_relative_to(place.seen):
        return frozenset()
    tree = place.syntax_tree(Path(path).relative_to(place.seen).as_posix())
    return frozenset(
        number
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Raise)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )
