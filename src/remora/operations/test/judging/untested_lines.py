"""Changed lines that no test notices.

    def discount(total):
        if total > 100:          # changed from 50
            return total * 0.9
        return total

If the tests that reach `discount` pass with `total >= 100`, too, none of them has the boundary. Only
faults on changed lines are planted, but no other texts: of four such remarks on pull requests, two
readers wanted one. A function that no test reaches is one finding.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.code.syntax.nodes import Node
from remora.code.syntax.source import Source, read_source
from remora.errors import HostError
from remora.operations.judged_change import Change, ChangedFile, Unjudged
from remora.operations.reported_finding import ReportedFinding
from remora.operations.test.function_context import target_at
from remora.operations.test.inputs.project_examples import ProjectExamples
from remora.operations.test.judging.planted_faults import fault_order, run_orders
from remora.operations.test.mutants import TEXT, Mutant, function_named, mutants
from remora.operations.test.planning.tested_names import NodesWithTests
from remora.operations.test.runner.equivalent_faults import DistinguishedFault, without_equivalent
from remora.operations.test.runner.parent import Order
from remora.text import count
from remora.tools.file_tree import FileTree
from remora.tools.tree import ToolTree

UNTESTED, UNNOTICED = "untested code", "unnoticed fault"
_MOST_FAULTS = 60
"""Faults of a function, of which those on changed lines are planted."""
_AT_ONCE = 6
"""Functions that are tried before time is looked at again (decision)."""
_LONGEST_CALL = 60
"""Characters of a call that a remark shows as the missing case."""
_MOST_TESTS = 40
"""Tests of a function, the nearest first, that run with its faults."""


class _Subject(NamedTuple):
    """A changed function, the faults on its changed lines, and the tests that may reach it.

    Without `tests`, all tests of the project are tried.
    """

    file: ChangedFile
    node: Node
    faults: Sequence[Mutant]
    tests: Sequence[str]


def untested_lines(
    change: Change, is_over: Callable[[], bool]
) -> Iterator[ReportedFinding | Unjudged]:
    """Yield the changed functions that no test enters, and faults on lines that no test notices.

    The tests that may reach a function run first. If none of them enters it, all tests of the
    project run, because a registry or a command line may lead to it.
    """
    related = NodesWithTests(change.after.tree)
    subjects = list(_subjects(change, related))
    results = [*_results(change, [subject for subject in subjects if subject.tests], is_over)]
    entered = [(subject, result) for subject, result in results if result.get("reaching")]
    for subject, result in entered:
        yield from _unnoticed(change, subject, result, is_over)
    known = {subject.node.key for subject, _ in entered}
    left = [subject._replace(tests=()) for subject in subjects if subject.node.key not in known]
    judged = dict[str, Mapping[str, Any]]()
    for subject, result in _results(change, left, is_over):
        judged[subject.node.key] = result
        yield from _unnoticed(change, subject, result, is_over)
    for subject in left:
        result = judged.get(subject.node.key, {})
        if result.get("problem") or not result.get("swapped"):
            unplanted = "a decorator hides its code" if result else "no time is left"
            why = result.get("problem") or unplanted
            yield Unjudged(what=f"whether a test enters {subject.node.qualname}", why=str(why))


def _results(
    change: Change, subjects: Sequence[_Subject], is_over: Callable[[], bool]
) -> Iterator[tuple[_Subject, Mapping[str, Any]]]:
    """Yield the results of tests with the faults of each subject, as far as there is time."""
    orders = [(subject, order) for subject in subjects if (order := _order(change, subject))]
    while orders and not is_over():
        at_once = _AT_ONCE if orders[0][0].tests else 2  # as many as there are processes
        chunk, orders = orders[:at_once], orders[at_once:]
        results = run_orders(change.after, [order for _, order in chunk])
        for (subject, _), result in zip(chunk, results, strict=True):
            yield subject, result or {"problem": "its tests take too long"}


def _subjects(change: Change, related: NodesWithTests) -> Iterator[_Subject]:
    for path, file in change.files.items():
        if file.after is None or is_of_tests(path):
            continue
        for node in file.changed_functions:
            if _only_describes(file, node.qualname):
                continue
            faults = [
                fault
                for fault in mutants(file.after, node.qualname, _MOST_FAULTS)
                if fault.line in file.lines and fault.kind != TEXT
            ]
            if faults:
                tests = related.tests_of(node.key)[:_MOST_TESTS]
                yield _Subject(file, node, faults, tests)


def _only_describes(file: ChangedFile, qualname: str) -> bool:
    """Return True if only annotations and the docstring of a function are changed."""
    codes = [_code(content or b"", qualname) for content in (file.before, file.after)]
    return codes[0] == codes[1] != ""


def _code(content: bytes, qualname: str) -> str:
    """Return a function without its annotations and docstring, or an empty text without one."""
    source = read_source("", content)
    function = function_named(source.tree, qualname) if isinstance(source, Source) else None
    if function is None:
        return ""
    bare = copy.deepcopy(function)
    bare.returns = None
    if ast.get_docstring(bare) is not None:
        del bare.body[0]
    for node in ast.walk(bare):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(bare)


def _order(change: Change, subject: _Subject) -> Order | None:
    content = subject.file.after or b""
    words = subject.file.path, content, subject.node.qualname, subject.tests, subject.faults
    return fault_order(change.after, *words)


def _unnoticed(
    change: Change, subject: _Subject, result: Mapping[str, Any], is_over: Callable[[], bool]
) -> Iterator[ReportedFinding]:
    """Yield a finding if all tests pass with faults of a function, with the first one in words.

    If there is time, equivalent faults are left out.
    """
    if result.get("problem") or not result.get("swapped"):
        return
    if not result.get("reaching"):
        name = subject.node.qualname
        yield _finding(subject, subject.faults[0], UNTESTED, f"no test enters `{name}`")
        return
    numbers = [n for n in result.get("lines") or () if 0 <= n < len(subject.faults)]
    survivors = [subject.faults[n] for n in numbers]
    try:
        alive = _distinguished(change, subject, survivors, is_over=is_over())
    except HostError:  # such as a module that cannot be imported alone
        alive = [DistinguishedFault(fault, "") for fault in survivors]
    first = {known.fault.line: known for known in reversed(alive)}
    if first:
        line, *others = sorted(first)
        fault, call = first[line]
        case = f"; a test with `{call}` would" if 0 < len(call) <= _LONGEST_CALL else ""
        more = f", nor faults on {count(len(others), 'more changed line')}" if others else ""
        where = f" ({', '.join(map(str, others))})" if others else ""
        said = f"no test notices if {fault.what}{case}{more}{where}"
        yield _finding(subject, fault, UNNOTICED, said)


def _distinguished(
    change: Change, subject: _Subject, survivors: Sequence[Mutant], *, is_over: bool
) -> Sequence[DistinguishedFault]:
    """Return the faults that are not equivalent, as far as the function can be called."""
    place, target = change.after, target_at(change.after, subject.file.path, subject.node.qualname)
    known = [] if isinstance(target, str) or is_over else place.once(_examples).calls_of(target)
    if not known or isinstance(target, str):
        return [DistinguishedFault(fault, "") for fault in survivors]
    return without_equivalent(place, target, known, survivors)


def _examples(tree: FileTree) -> ProjectExamples:
    return ProjectExamples(ToolTree(tree.tree))


def _finding(subject: _Subject, fault: Mutant, code: str, message: str) -> ReportedFinding:
    return ReportedFinding(
        path=subject.file.path,
        line=fault.line,
        node_id=subject.node.key,
        code=code,
        message=message,
    )
