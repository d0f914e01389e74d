"""Changed lines that no test notices.

    def discount(total):
        if total > 100:          # changed from 50
            return total * 0.9
        return total

If the tests that reach `discount` pass with `total >= 100`, too, none of them has the boundary. Only
faults on changed lines are planted, but no other texts: of four such remarks on pull requests, two
readers wanted one. A function that no test reaches is one finding.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Node
from remora.errors import HostError
from remora.judges.calls.equivalent_faults import DistinguishedFault, without_equivalent
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import target_at
from remora.judges.faults.fault_kinds import FaultKind
from remora.judges.faults.mutants import Mutant, find_function, foreign_lines, mutants
from remora.judges.judged_change import (
    LATE,
    Change,
    ChangedFile,
    Judged,
    Late,
    ReportedFinding,
    Unjudged,
    Untested,
)
from remora.judges.runner.orders import fault_order, probe_of, run_orders, test_order
from remora.judges.runner.parent import Order
from remora.judges.tests.tested_names import NodesWithTests
from remora.judges.tests.written_test import changed_tests
from remora.text import count, some_of

UNTESTED, UNNOTICED = "untested code", "unnoticed fault"
_MOST_FAULTS = 60
"""Faults of a function, of which those on changed lines are planted."""
_NOT_IMPORTED = "no test imports its file"
FOREIGN = "only another platform runs the changed lines"
_HIDDEN = "a decorator hides it, or it is not defined with this Python or on this platform"
_RUNS_EARLY = "it runs when its file is imported, before a fault can be planted"
_ENOUGH = 4
"""Lines with a fault that no test notices, after which no more are tried (decision)."""
_AT_ONCE = 6
"""Functions that are tried before time is looked at again (decision)."""
_LONGEST_CALL = 60
"""Characters of a call that a remark shows as the missing case."""
_PARTS = 2
"""Processes that share the tests."""


class _Subject(NamedTuple):
    """A changed function, the faults on its changed lines, and the tests that enter it."""

    file: ChangedFile
    node: Node
    faults: Sequence[Mutant]
    tests: Sequence[str] = ()


def untested_lines(change: Change, is_over: Callable[[], bool]) -> Judged:
    """Return the changed functions that no test enters, and faults on lines that no test notices.

    All tests run once, or those that the change reaches, to learn which functions each of them enters.
    """
    changed = list(_subjects(change))
    subjects = [subject for subject in changed if subject.faults]
    foreign = [_unjudged(subject, FOREIGN) for subject in changed if not subject.faults]
    if not subjects:
        return Judged(unjudged=tuple(foreign))
    entering = _entering(change, subjects)
    found = [*foreign, *_judged(change, subjects, entering, is_over)]
    return Judged(
        findings=tuple(part for part in found if isinstance(part, ReportedFinding)),
        unjudged=tuple(
            part
            if entering.tests or isinstance(part, Late)
            else Untested(what=part.what, why=part.why)
            for part in found
            if isinstance(part, Unjudged)
        ),
        ran=bool(entering.tests),
    )


def _judged(
    change: Change, subjects: Sequence[_Subject], entering: "_Entering", is_over: Callable[[], bool]
) -> Iterator[ReportedFinding | Unjudged]:
    entered = [
        subject._replace(tests=tests)
        for subject in subjects
        if (tests := entering.tests.get(subject.node.key))
    ]
    judged = dict[str, Mapping[str, Any]]()
    for subject, result in _results(change, entered, is_over):
        judged[subject.node.key] = result
        known = f"none of {count(len(subject.tests), 'test')} that enter it"
        every = "no test" if entering.complete else known
        found = [*_unnoticed(change, subject, result, every, is_over)]
        why = (_why_broken(change, subject, entering) or entering.late) if found else ""
        yield from [_unjudged(subject, why)] if why else found
    for subject in subjects:
        key = subject.node.key
        if why := entering.unknown.get(key, ""):
            what = f"whether a test enters {subject.node.qualname}"
            yield Late(what=what) if why == LATE else Unjudged(what=what, why=why)
        elif key not in entering.tests and (why := _why_broken(change, subject, entering)):
            yield _unjudged(subject, why)
        elif key not in entering.tests:
            said = f"no test enters `{subject.node.qualname}`"
            yield _finding(subject, subject.faults[0], UNTESTED, said)
        elif why := _problem(judged.get(key)):
            yield _unjudged(subject, why)


class _Entering(NamedTuple):
    """The tests that enter each function, and why that is not known, by the node's key.

    `broken` has those of them that do not pass, and for an empty key all tests that do not, and the
    files that cannot be collected. If not all tests ran, it is not `complete`, and `late` says if there
    was no time for those that the change reaches.
    """

    tests: dict[str, list[str]]
    unknown: dict[str, str]
    broken: dict[str, list[str]]
    complete: bool
    late: str


def _why_broken(change: Change, subject: _Subject, entering: _Entering) -> str:
    """Return that tests which enter a function, or may do so, do not pass, or an empty string."""
    key, stopped = subject.node.key, {*entering.broken.get("", ())}
    broken = entering.broken.get(key, [])
    if stopped and not broken:
        changed = [test.id for test in changed_tests(change)]  # each may be about the function
        related = [*change.after.once(NodesWithTests).tests_of(key), *changed]
        broken = [test for test in related if {test, test.partition("::")[0]} & stopped]
    said = f"a test that may reach it fails or is skipped: {some_of(broken, 1)}"
    return said if broken else ""


def _unjudged(subject: _Subject, why: str) -> Unjudged:
    what = f"whether tests notice faults in {subject.node.qualname}"
    return Late(what=what) if why == LATE else Unjudged(what=what, why=why)


def _entering(change: Change, subjects: Sequence[_Subject]) -> _Entering:
    place, unknown = change.after, dict[str, str]()
    tests, broken = dict[str, list[str]](), dict[str, list[str]]()
    probes = list[Order]()
    for subject in subjects:
        words = subject.file.path, subject.file.after or b"", subject.node.qualname
        probes.append(probe_of(place, *words, number=len(probes)) or {})
    seconds = change.seconds / (2 if change.reaching else 3)
    order = {**test_order(place, "", change.reaching, seconds), "all": True, "probes": probes}
    results = run_orders(place, [{**order, "part": [part, _PARTS]} for part in range(_PARTS)])
    keys, problem = [subject.node.key for subject in subjects], ""
    named = {-1: "", **dict(enumerate(keys))}
    early = set[str]()
    for result in results:
        found: Mapping[str, Any] = result or {"problem": LATE}
        for kind, by_key in (("entering", tests), ("broken", broken)):
            for test, number in found.get(kind) or ():
                by_key.setdefault(named.get(number, ""), []).append(test)
        early |= {key for number, key in enumerate(keys) if number in found.get("early", ())}
        for kind, why in (("fixed", _HIDDEN), ("unknown", _NOT_IMPORTED)):
            unknown |= {
                key: why for number, key in enumerate(keys) if number in found.get(kind, ())
            }
        problem = found.get("problem") or problem or ("" if found.get("complete") else LATE)
    if problem or change.reaching:
        unknown |= dict.fromkeys(keys, problem or LATE)
    unknown |= dict.fromkeys(early, _RUNS_EARLY)
    known = {key: [*dict.fromkeys(names)] for key, names in tests.items() if key not in early}
    left = {key: why for key, why in unknown.items() if key not in known}
    late = "" if all(result and result.get("complete") for result in results) else LATE
    return _Entering(known, left, broken, not (problem or change.reaching), late)


def _problem(result: Mapping[str, Any] | None) -> str:
    """Return why faults of a function could not be tried, or an empty string."""
    if result is None:
        return LATE
    return str(result.get("problem") or "") or ("" if result.get("reaching") else "a test fails")


def _results(
    change: Change, subjects: Sequence[_Subject], is_over: Callable[[], bool]
) -> Iterator[tuple[_Subject, Mapping[str, Any]]]:
    """Yield the results of tests with the faults of each subject, as far as there is time."""
    orders = [(subject, order) for subject in subjects if (order := _order(change, subject))]
    while orders and not is_over():
        chunk, orders = orders[:_AT_ONCE], orders[_AT_ONCE:]
        results = run_orders(change.after, [order for _, order in chunk])
        for (subject, _), result in zip(chunk, results, strict=True):
            yield subject, result or {"problem": LATE}


def _subjects(change: Change) -> Iterator[_Subject]:
    """Yield the changed functions, without lines that the change only moves: it adds no copy of them."""
    added = Counter[bytes]()
    for file in change.files.values():
        added.update(map(bytes.strip, (file.after or b"").splitlines()))
        added.subtract(map(bytes.strip, (file.before or b"").splitlines()))
    for path, file in change.files.items():
        if file.after is None or is_of_tests(path):
            continue
        lines = file.after.splitlines()
        names = {node.qualname for node in file.changed_functions}
        for node in file.changed_functions:
            if node.qualname.rpartition(".")[0] in names:
                continue  # its faults are among those of the function around it
            known = _faults(file.before or b"", node.qualname)
            faults = [
                fault
                for place, fault in _faults(file.after, node.qualname).items()
                if place not in known
                and fault.line in file.lines
                and added[lines[fault.line - 1].strip()] > 0
            ]
            _, function = find_function(file.after, node.qualname)
            if faults or (function and file.lines & foreign_lines(function.body)):
                yield _Subject(file, node, faults)


def _faults(content: bytes, qualname: str) -> dict[tuple[str, bytes], Mutant]:
    """Return the faults of a function by what they do in which line, wherever that is.

    A line that is only moved or indented has the same faults as before. An argument has the same
    one whatever else the line has.
    """
    lines = content.splitlines()
    return {
        (
            fault.what,
            b"" if fault.kind == FaultKind.OPTION else lines[fault.line - 1].strip(),
        ): fault
        for fault in mutants(content, qualname, _MOST_FAULTS)
        if fault.kind != FaultKind.TEXT
    }


def _order(change: Change, subject: _Subject) -> Order | None:
    content = subject.file.after or b""
    words = subject.file.path, content, subject.node.qualname, subject.tests
    faults = [fault.function for fault in subject.faults]
    order = fault_order(change.after, *words, faults)
    places = [fault.line for fault in subject.faults]
    return None if order is None else {**order, "enough": _ENOUGH, "places": places}


def _unnoticed(
    change: Change,
    subject: _Subject,
    result: Mapping[str, Any],
    every: str,
    is_over: Callable[[], bool],
) -> Iterator[ReportedFinding]:
    """Yield a finding if all tests pass with faults of a function, with the first one of each line.

    `every` says which tests ran.

    If there is time, equivalent faults are left out.
    """
    if _problem(result):
        return
    numbers = [n for n in result.get("lines") or () if 0 <= n < len(subject.faults)]
    survivors = [subject.faults[n] for n in numbers]
    try:
        alive = _distinguished(change, subject, survivors, is_over=is_over())
    except HostError:  # such as a module that cannot be imported alone
        alive = [DistinguishedFault(fault, "") for fault in survivors]
    first = {known.fault.line: known for known in reversed(alive)}
    if first:
        (fault, call), *others = (first[line] for line in sorted(first))
        case = f"; a test with `{call}` would" if 0 < len(call) <= _LONGEST_CALL else ""
        more = "".join(f", nor if {other.what} on line {other.line}" for other, _ in others)
        said = f"{every} notices if {fault.what}{case}{more}"
        yield _finding(subject, fault, UNNOTICED, said)


def _distinguished(
    change: Change, subject: _Subject, survivors: Sequence[Mutant], *, is_over: bool
) -> Sequence[DistinguishedFault]:
    """Return the faults that are not equivalent, as far as the function can be called."""
    place, target = change.after, target_at(change.after, subject.file.path, subject.node.qualname)
    known = (
        [] if isinstance(target, str) or is_over else place.once(ProjectExamples).calls_of(target)
    )
    if not known or isinstance(target, str):
        return [DistinguishedFault(fault, "") for fault in survivors]
    return without_equivalent(place, target, known, survivors)


def _finding(subject: _Subject, fault: Mutant, code: str, message: str) -> ReportedFinding:
    return ReportedFinding(
        path=subject.file.path,
        line=fault.line,
        node_id=subject.node.key,
        code=code,
        message=message,
    )
