"""A project's own checks, run before and after a change."""

import functools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from remora.code.syntax.source import Unreadable, read_source
from remora.errors import HostError
from remora.judges.gates.code_gates import test_file
from remora.judges.gates.gate import Gate, Levels, PlacedText, UnstartedError, worse
from remora.judges.gates.project_gates import STYLE_TOOLS, find_gates, mistakes_gate, results_gate
from remora.judges.gates.values_gate import ValuesGate
from remora.judges.judged_change import Change, Unjudged, Untested
from remora.judges.tests.written_test import tests_in
from remora.runs.report.problems import Problem
from remora.sandbox.interpreters import ProjectPython
from remora.statuses import TEST_GATE
from remora.text import count
from remora.tools.host.declared_type_checker import SETTINGS_FILES, declared_checker

GATE = "gate"
"""The operation in the problems of gates."""
_CONFIGURATION = (
    *SETTINGS_FILES, "tox.ini", "pytest.ini", "ty.toml",
    *(path for tool in STYLE_TOOLS for path in tool.files),
)  # fmt: skip
"""Files at the root that configure gates."""
_LONGEST_TESTS = 8.0
"""Seconds of tests that run again with checks (decision: the answer comes within a minute)."""
_UNTYPED = Unjudged(what="types of functions", why="the project names no type checker")
_PATH = re.compile(r"^([\w./-]+\.pyi?)\b")
"""The file that a gate's text begins with."""


def worse_gates(
    change: Change,
    seconds: float,
    tell: Callable[[str], None],
    kept: Path | None = None,
    cpu: int | None = None,
) -> Iterator[Problem | Unjudged]:
    """Yield what is worse after a change according to each gate, and the gates that do not judge.

    `kept` is a folder for what a type checker keeps for the next change, and `cpu` limits its
    processor time in seconds. A new annotation that does not accept a value of the tests is worse.
    """
    ends, place = time.monotonic() + seconds, change.after
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
        gates = [*_with_values(gates, change, place.python)]
    yield from (Unjudged(what=gap.name, why=gap.missing) for gap in missing)
    if declared_checker(place) is None:
        changed = [path for path, file in change.files.items() if b"->" in (file.after or b"")]
        results = results_gate(place, changed) if changed else None
        gates = [results, *gates] if results else gates
        yield from [_UNTYPED] if changed else []
    for gate in gates:
        tell(f"checking the project: {gate.label}")
        try:
            texts = _find_worse(gate, change, ends)
        except HostError as error:
            kind = Untested if isinstance(error, UnstartedError) else Unjudged
            yield kind(what=gate.label, why=error.with_hint)
            continue
        yield from (_problem(change, gate, text) for text in texts)


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


def _with_values(gates: Sequence[Gate], change: Change, python: ProjectPython) -> Iterator[Gate]:
    """Yield the gates, and after that of tests one of the values of new annotations."""
    seen = dict[Path, tuple[Levels, float]]()
    after = change.after.tree
    before = {path: file.before for path, file in change.files.items()}
    values = ValuesGate(python, before, lambda: seen[after][0])

    def check(side: Path, left: float, tests: tuple[str, ...]) -> Levels:
        if side != after:
            return {}
        if after not in seen:
            raise HostError("the tests did not finish")
        if seen[after][1] > _LONGEST_TESTS:
            raise HostError(f"the tests take {seen[after][1]:.0f} s, and longer with checks")
        return values.measure(side, left, tests)

    def measure_timed(gate: Gate, side: Path, left: float, tests: tuple[str, ...]) -> Levels:
        begun = time.monotonic()
        facts = gate.measure(side, left, tests)
        seen[side] = facts, time.monotonic() - begun
        return facts

    written = values.written({path: file.after for path, file in change.files.items()})
    for gate in gates:
        if gate.name == TEST_GATE and written:
            yield gate._replace(measure=functools.partial(measure_timed, gate))
            yield values.gate._replace(measure=check)
        else:
            yield gate


def _find_worse(gate: Gate, change: Change, ends: float) -> Sequence[str]:
    """Return what is worse. A gate that runs code must say so twice."""
    said = _compare(gate, change, ends)
    again = _compare(gate, change, ends) if said and gate.runs_code else said
    sure = [text for text in said if text in again]
    return _by_test(sure) if gate.name == TEST_GATE else sure


def _by_test(texts: Sequence[str]) -> Sequence[str]:
    """Return one text on the rows of a test, and one on a file that cannot be collected."""
    rows = dict[tuple[str, str], list[str]]()
    broken = {test_file(text) for text in texts if "::" not in text}
    for text in texts:
        test, _, row = text.partition("[")
        if "::" not in text or test_file(text) not in broken:
            rows.setdefault((test, row.rpartition("]")[2]), []).append(text)
    return [
        f"{first}, and {count(len(others), 'more row')}" if others else first
        for first, *others in rows.values()
    ]


def _compare(gate: Gate, change: Change, ends: float) -> list[str]:
    def measure(folder: Path) -> Levels:
        left = ends - time.monotonic()
        if left <= 0:
            raise HostError("no time left (gates.time_s)")
        return gate.measure(folder, left, ())

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
    path = _path_in(change, text)
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
    name = re.split(r"[\[ ]", text, maxsplit=1)[0]
    tests = (test.line for test in tests_in(path, content) if test.id == name)
    if not isinstance(text, PlacedText):
        return next(tests, 1)
    changed = change.files[path].lines if path in change.files else frozenset[int]()
    return next((line for line in text.lines if line in changed), text.lines[0])
