"""A project's own checks, run before and after a change."""

import functools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.judges.gates.code_gates import failing, test_file, with_error
from remora.judges.gates.gate import Gate, Levels, PlacedText, SlowGateError, UnstartedError, worse
from remora.judges.gates.project_gates import STYLE_TOOLS, find_gates, mistakes_gate, results_gate
from remora.judges.gates.values_gate import ValuesGate
from remora.judges.judged_change import LATE, Change, Late, Unjudged, Unreached, Untested
from remora.judges.tests.written_test import tests_in
from remora.runs.report.problems import Problem
from remora.sandbox.interpreters import ProjectPython
from remora.statuses import TEST_GATE, VALUES_GATE
from remora.text import count, some_of
from remora.tools.host.declared_type_checker import SETTINGS_FILES, declared_checker
from remora.usecases.judge.change_impact import reaching_tests

GATE = "gate"
"""The operation in the problems of gates."""
_CONFIGURATION = (
    *SETTINGS_FILES, "tox.ini", "pytest.ini", "ty.toml",
    *(path for tool in STYLE_TOOLS for path in tool.files),
)  # fmt: skip
"""Files at the root that configure gates."""
_ORDER = {tool.name: 0 for tool in STYLE_TOOLS} | {"results": 0, TEST_GATE: 1, VALUES_GATE: 2}
"""What takes a second comes first, and type checkers and imports last."""
_ALL_TESTS = 0.3
"""Share of the time for all tests, before only those run that the change reaches (decision)."""
_LONGEST_TESTS = 4.0
"""Seconds of tests that run again with checks (decision: the answer comes within 20 seconds)."""
_UNTYPED = Unjudged(what="types of functions", why="the project names no type checker")
_PATH = re.compile(r"^([\w./-]+\.pyi?\b|.+?\.py(?=::))")
"""The file that a gate's text begins with, with spaces only before `::` and a test."""
_ERROR = re.compile(r" (?:fails|cannot be collected)(?:, and [\d,]+ more rows?)?: ")


def worse_gates(
    change: Change,
    seconds: float,
    tell: Callable[[str], None],
    kept: Path | None = None,
    cpu: int | None = None,
) -> Iterator[Problem | Unjudged | str]:
    """Yield what is worse after a change, gates that do not judge, and labels of gates that hold.

    If all tests take long, those run to the end that the change reaches. `kept` is a folder for what a
    type checker keeps for the next change, and `cpu` limits its processor time in seconds. A new
    annotation that does not accept a value of the tests is worse.
    """
    begun, place, seen = time.monotonic(), change.after, _Seen()
    try:
        _share_configuration(change)
    except HostError as error:
        yield Unjudged(what="the project's checks", why=error.message)
        return
    gates, missing = find_gates(
        place, place.files.glob("**/*", look=place.left), place.python, kept=kept, cpu=cpu
    )
    if all(gate.name != "ruff" for gate in gates):
        gates = [mistakes_gate(place), *gates]
    if place.python is not None:
        gates = [*_with_values(gates, change, place.python, seen)]
    yield from (Unjudged(what=gap.name, why=gap.missing) for gap in missing)
    if declared_checker(place) is None:
        changed = [path for path, file in change.files.items() if b"->" in (file.after or b"")]
        results = results_gate(place, changed) if changed else None
        gates = [results, *gates] if results else gates
        yield from [_UNTYPED] if changed else []
    for gate in sorted(gates, key=lambda gate: _ORDER.get(gate.name, 3)):
        tell(f"checking the project: {gate.label}")
        ends = time.monotonic() + change.left(begun)
        is_worse = False
        for remark in _judged(gate, change, ends, begun + seconds):
            yield _problem(change, gate, remark) if isinstance(remark, str) else remark
            is_worse |= not isinstance(remark, Unreached)
        yield from [] if is_worse else [gate.label]
        yield from _failed_before(change, seen) if gate.name == TEST_GATE else ()


def _judged(gate: Gate, change: Change, ends: float, last: float) -> Iterator[str | Unjudged]:
    """Yield what is worse according to a gate. Some tests may run until the `last` moment."""
    soon = time.monotonic() + change.seconds * _ALL_TESTS
    try:
        try:
            yield from _find_worse(gate, change, soon if gate.name == TEST_GATE else ends)
        except SlowGateError:
            if gate.name != TEST_GATE or not (reaching := reaching_tests(change)):
                raise
            yield Unreached(reaching=reaching)
            yield from _find_worse(gate, change, last, reaching)
    except HostError as error:
        kind = Late if isinstance(error, SlowGateError) else Unjudged
        kind = Untested if isinstance(error, UnstartedError) else kind
        yield kind(what=gate.label, why=error.with_hint)


def _failed_before(change: Change, seen: "_Seen") -> Iterator[Unjudged]:
    """Yield the tests that fail on both sides, and do not count."""
    if len(seen) > 1:
        before, after = (failing(seen[side.tree][0]) for side in (change.before, change.after))
        if failed := [test for test in after if test in before]:
            why = "failed already before the change, which does not count"
            yield Unjudged(what=some_of(failed, 3), why=why)


def _share_configuration(change: Change) -> None:
    """Give the side before the change the configuration after it, so that only code is compared."""
    before, after = change.before, change.after
    for name in _CONFIGURATION:
        new = after.read(name) if after.files.exists(name) else None
        old = before.read(name) if before.files.exists(name) else None
        if new is not None and new != old:
            (before.create if old is None else before.write)(name, new)
        elif new is None and old is not None:
            before.files.remove(name)


_Seen = dict[Path, tuple[Levels, float, tuple[str, ...]]]
"""What tests said of each side, how long they took, and which they were, if not all."""


def _with_values(
    gates: Sequence[Gate], change: Change, python: ProjectPython, seen: _Seen
) -> Iterator[Gate]:
    """Yield the gates, and after that of tests one of the values of new annotations."""
    after = change.after.tree
    before = {path: file.before for path, file in change.files.items()}
    values = ValuesGate(python, before, lambda levels: worse(seen[after][0], levels))

    def check(side: Path, left: float, _: tuple[str, ...]) -> Levels:
        if side != after:
            return {}
        if after not in seen:
            raise HostError("the tests did not finish")
        if seen[after][1] > _LONGEST_TESTS:
            raise HostError(f"the tests take {seen[after][1]:.0f} s, and longer with checks")
        return values.measure(side, left, seen[after][2])

    def measure_timed(gate: Gate, side: Path, left: float, tests: tuple[str, ...]) -> Levels:
        begun = time.monotonic()
        facts = gate.measure(side, left, tests)
        seen.setdefault(side, (facts, time.monotonic() - begun, tests))
        return facts

    written = values.written({path: file.after for path, file in change.files.items()})
    for gate in gates:
        is_tests = gate.name == TEST_GATE
        yield gate._replace(measure=functools.partial(measure_timed, gate)) if is_tests else gate
        yield from [values.gate._replace(measure=check)] if is_tests and written else ()


def _find_worse(
    gate: Gate, change: Change, ends: float, tests: Sequence[str] = ()
) -> Iterator[str | Unjudged]:
    """Yield what is worse. A gate that runs code is asked twice.

    Of tests, those files run again in which one fails. A test that then passes may fail only after
    others, so all run once more.
    """
    begun = time.monotonic()
    said = _compare(gate, change, ends, tests)
    took = time.monotonic() - begun
    if gate.name != TEST_GATE:
        again = _compare(gate, change, ends + took, ()) if said and gate.runs_code else said
        yield from (text for text in said if text in again)
        return
    files = {test_file(text) for text in said}
    some = [test for test in tests if test_file(test) in files] or files
    again = _compare(gate, change, ends + took, some) if said else []
    if doubted := [text for text in said if text not in again]:
        try:
            again += _compare(gate, change, ends + 2 * took, tests)
        except SlowGateError:
            why = "it passes if only its file runs, and no time is left to run all tests again"
            yield from (Unjudged(what=text, why=why) for text in _by_test(doubted))
    yield from _by_test([text for text in said if text in again])


def _by_test(texts: Sequence[str]) -> Sequence[str]:
    """Return one text on the rows of a test, and one on a file that cannot be collected."""
    rows = dict[tuple[str, str], list[str]]()
    broken = {test_file(text) for text in texts if "::" not in text}
    for text in texts:
        test, _, row = text.partition("[")
        if "::" not in text or test_file(text) not in broken:
            rows.setdefault((test, row.rpartition("]")[2]), []).append(text)
    return [
        with_error(first, f", and {count(len(others), 'more row')}" if others else "")
        for first, *others in rows.values()
    ]


def _compare(gate: Gate, change: Change, ends: float, tests: Iterable[str]) -> list[str]:
    def measure(folder: Path) -> Levels:
        left = ends - time.monotonic()
        if left <= 0:
            raise SlowGateError(LATE)
        return gate.measure(folder, left, (*tests,))

    with ThreadPoolExecutor(2) as pool:
        before, after = pool.map(measure, (change.before.tree, change.after.tree))
    rows, left = (
        Counter(fact.partition("[")[0] for fact, level in side.items() if level > 0)
        for side in (before, after)
    )
    lost = rows - left
    kept = {
        fact: level
        for fact, level in before.items()
        if after.get(fact) or (fact.partition("[")[0] in lost and not _is_removed(change, fact))
    }
    return worse(kept, after)


def _is_removed(change: Change, fact: str) -> bool:
    """Return True if a fact is about a test that the change removes, or whose rows it changes."""
    path, _, inner = fact.partition("::")
    if not inner or path not in change.files:
        return bool(inner) and not change.after.files.exists(path)
    file = change.files[path]
    name = inner.partition("[")[0].rpartition("::")[2]
    nodes = file.module.nodes if file.module is not None else ()
    same = [node for node in nodes if node.qualname.rpartition(".")[2] == name]
    return not same or any(node in file.changed_functions for node in same)


def _problem(change: Change, gate: Gate, text: str) -> Problem:
    path = _path_in(change, _ERROR.split(text)[0] if gate.name == TEST_GATE else text)
    line = _line(change, path, text) if path != "." else 1
    label = "" if gate.label == gate.name else f" ({gate.label})"
    return Problem(
        path=path,
        line=line,
        end_line=line,
        operation=GATE,
        code=gate.name,
        name="",
        message=text.removeprefix(f"{path}: ") + label,
        fixable=False,
    )


def _path_in(change: Change, text: str) -> str:
    """Return the changed file that a text names, or else the file with which it begins, or `.`."""
    changed = sorted(change.files, key=len, reverse=True)
    named = (path for path in changed if re.search(rf"(?:^|\s){re.escape(path)}\b", text))
    found = _PATH.match(text)
    return next(named, found[1] if found else ".")


def _line(change: Change, path: str, text: str) -> int:
    """Return the line where a file does not parse, of a finding, or of the test that a text names."""
    content = change.after.read(path) if change.after.files.exists(path) else b""
    source = read_source(path, content)
    if isinstance(source, Unreadable) and source.line:
        return source.line
    named = text.replace("[", " ")
    tests = (test.line for test in tests_in(path, content) if named.startswith(f"{test.id} "))
    if not isinstance(text, PlacedText):
        return next(tests, 1)
    changed = change.files[path].lines if path in change.files else frozenset[int]()
    return next((line for line in text.lines if line in changed), text.lines[0])
