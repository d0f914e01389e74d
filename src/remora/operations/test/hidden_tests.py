"""Hides tests that people wrote, and compares the faults that they and new tests detect."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.code.edit.edits import Edit, apply_edits
from remora.code.edit.parsed_text import ParsedText
from remora.code.pytest_model.pytest_file import is_of_tests, is_test_file
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.errors import HostError
from remora.operations.restorer import Restored, Restorer, Slot, SlotKey, Texts, key_of
from remora.operations.test.function_context import target_at
from remora.operations.test.missing_tests import (
    CHANGING,
    NOT_CALLABLE,
    OPTIONAL,
    TRIVIAL,
    WITH_EFFECTS,
    WITHOUT_RESULT,
    TestNeed,
)
from remora.operations.test.mutants import mutants
from remora.operations.test.planning.tested_names import COMMON_NAMES
from remora.operations.test.runner.surviving_mutants import surviving_mutants
from remora.operations.test.source_blocks import first_line, tests_of, used_names, without_tests
from remora.operations.test.testable_functions import needs_test
from remora.tools.tree import ToolTree

_PART = "tests"
_TESTS_S = 90.0
"""Seconds for the tests of one function with all of its faults."""
_MOST_TESTS = 5
"""A function with more tests is left out, because too many would be hidden with it."""
_CLOCK = frozenset(
    {
        "now", "utcnow", "today", "monotonic", "perf_counter", "time_ns", "freeze_time", "freezer",
        "time_machine",
    }
)  # fmt: skip
"""Names in tests that read or set the clock. A test of such a function would fail another day."""
_TIME = frozenset({"time.time()", "time()"})
"""Calls that read the clock. The name `time` alone has other meanings."""
_COVERED = "other tests or examples still cover the function"
_NO_TEST = frozenset({CHANGING, NOT_CALLABLE, OPTIONAL, TRIVIAL, WITH_EFFECTS, WITHOUT_RESULT})
"""Reasons that the operation proposes no test of a function, whatever calls are known."""


class _Uses(NamedTuple):
    """The names that each test uses, by pytest id, and the names that other code uses.

    `clock` contains the ids of the tests that read or set the clock.
    """

    by_test: Mapping[str, frozenset[str]]
    clock: frozenset[str]
    outside: frozenset[str]

    def tests_of(self, name: str) -> list[str]:
        return sorted(test for test, names in self.by_test.items() if name in names)

    def use_clock(self, tests: Sequence[str]) -> bool:
        return not self.clock.isdisjoint(tests)


def tested_functions(texts: Texts) -> list[Slot]:
    """Return the functions whose tests can be hidden, each with the ids of its tests.

    Only these tests use the function's name. Functions whose tests read or set the clock are left
    out, because their results depend on the day.
    """
    uses = _uses(texts)
    found = [
        slot
        for path, text in texts.items()
        if path.endswith(".py") and not is_of_tests(path)
        for slot in _slots(path, text, uses)
    ]
    names = Counter(map(_short, found))
    return [slot for slot in found if names[_short(slot)] == 1]


def _slots(path: str, text: str, uses: _Uses) -> Iterator[Slot]:
    module = parse_module(path, text.encode())
    if not isinstance(module, Module):
        return
    for number, node in enumerate(module.nodes):
        name = node.qualname.rpartition(".")[2]
        if name in COMMON_NAMES or name in uses.outside or not needs_test(module, node):
            continue
        tests = uses.tests_of(name)
        if 0 < len(tests) <= _MOST_TESTS and not uses.use_clock(tests):
            yield Slot(
                path=path,
                number=number,
                qualname=node.qualname,
                part=_PART,
                text=" ".join(tests),
            )


def _short(slot: Slot) -> str:
    return slot.qualname.rpartition(".")[2]


def _uses(texts: Texts) -> _Uses:
    by_test: dict[str, frozenset[str]] = {}
    clock: set[str] = set()
    outside: set[str] = set()
    for path, text in texts.items():
        tree = ParsedText(text).tree
        tests = tests_of(tree) if is_test_file(path) else {}
        by_test |= {_id(path, name): frozenset(used_names(node)) for name, node in tests.items()}
        clock |= {_id(path, name) for name, node in tests.items() if _uses_clock(node)}
        outside = outside.union(*map(used_names, without_tests(tree, tests)))
    return _Uses(by_test, frozenset(clock), frozenset(outside))


def _uses_clock(test: ast.AST) -> bool:
    """Return True if a test uses a name of `_CLOCK`, also as a fixture, or calls `time.time()`."""
    nodes = list(ast.walk(test))
    fixtures = {one.arg for one in nodes if isinstance(one, ast.arg)}
    calls = {ast.unparse(one) for one in nodes if isinstance(one, ast.Call) and not one.args}
    return not _CLOCK.isdisjoint(used_names(test) | fixtures) or not calls.isdisjoint(_TIME)


def _id(path: str, name: str) -> str:
    return f"{path}::{name.replace('.', '::')}"


def hide_tests(texts: Texts, slots: Sequence[Slot]) -> dict[str, str]:
    """Return the texts without the tests of some functions."""
    hidden: dict[str, set[str]] = defaultdict(set)
    for test in (test for slot in slots for test in slot.text.split(" ")):
        path, _, name = test.partition("::")
        hidden[path].add(name.replace("::", "."))
    return {
        path: _without(text, hidden[path]) if path in hidden else text
        for path, text in texts.items()
    }


def _without(text: str, names: set[str]) -> str:
    source = ParsedText(text)
    tests = tests_of(source.tree)
    gone: list[ast.stmt] = [tests[name] for name in names if "." not in name]
    for one in source.tree.body:
        if isinstance(one, ast.ClassDef):
            own = [each for each in one.body if tests.get(f"{one.name}.{_name(each)}") is each]
            cut = [each for each in own if f"{one.name}.{_name(each)}" in names]
            gone += [one] if len(cut) == len(one.body) else cut
    return apply_edits(text, [_removal(source, one) for one in gone])


def _name(node: ast.stmt) -> str:
    return getattr(node, "name", "")


def _removal(source: ParsedText, node: ast.stmt) -> Edit:
    """Return the edit that removes a definition and the blank lines before it."""
    first = first_line(node)
    while first > 1 and not source.lines[first - 2].strip():
        first -= 1
    last = node.end_lineno or node.lineno
    return Edit(source.start_of_line(first), source.start_of_line(last + 1), "")


def not_missed(tree: Path, slots: Sequence[Slot]) -> dict[SlotKey, str]:
    """Return the slots whose tests the operation does not miss, each with the reason.

    `tree` is the project without these tests. No project code runs.
    """
    need = TestNeed(tree, {"open": True})
    modules = {path: _module(tree, path) for path in {slot.path for slot in slots}}
    found: dict[SlotKey, str] = {}
    for slot in slots:
        module = modules[slot.path]
        amount = need.amount(module, module.nodes[slot.number])
        if amount == 0:
            found[key_of(slot)] = _COVERED
        elif amount in _NO_TEST:
            found[key_of(slot)] = f"functions {amount}"
    return found


def _module(tree: Path, path: str) -> Module:
    module = parse_module(path, (tree / path).read_bytes())
    assert isinstance(module, Module)  # it had slots
    return module


def new_tests(slots: Sequence[Slot], hidden: Texts, after: Texts) -> list[Restored]:
    """Return the ids of the new tests of each function. Running them shows what they are worth."""
    before, uses = _uses(hidden).by_test, _uses(after)
    found = []
    for slot in slots:
        ids = [test for test in uses.tests_of(_short(slot)) if test not in before]
        outcome = Restored(outcome="different", text=" ".join(ids))
        found.append(outcome if ids else Restored(outcome="left"))
    return found


def judge_tests(
    before: ToolTree, after: ToolTree, slots: Sequence[Slot], restored: Sequence[Restored]
) -> list[Restored]:
    """Run both versions of the tests of each function with planted faults.

    New tests are equivalent if they detect each fault that the hidden ones detect. If the hidden
    ones do not run, nothing is known about the new ones.
    """
    return [
        msgspec.structs.replace(each, outcome="equivalent")
        if each.outcome != "left" and _detects_all(before, after, slot, each.text)
        else each
        for slot, each in zip(slots, restored, strict=True)
    ]


def _detects_all(before: ToolTree, after: ToolTree, slot: Slot, new: str) -> bool:
    old = _detected(before, slot, slot.text)
    detected = _detected(after, slot, new) if old is not None else None
    return old is not None and detected is not None and old <= detected


def _detected(place: ToolTree, slot: Slot, ids: str) -> set[str] | None:
    """Return the planted faults that tests detect, or None if the tests cannot be run."""
    try:
        subject = target_at(place, slot.path, slot.qualname)
        if isinstance(subject, str):
            return None
        faults = mutants(place.read(slot.path), slot.qualname)
        with place.within(_TESTS_S):
            found = surviving_mutants(place, subject, ids.split(" "), faults)
    except HostError:
        return None
    tried = faults[: found.tried] if found.tests else []
    return {each.text for each in tried} - {each.text for each in found.mutants}


RESTORER = Restorer(
    find=tested_functions,
    hide=hide_tests,
    left_out=not_missed,
    compare=new_tests,
    judge=judge_tests,
)
