"""The program that runs in the project's interpreter, and faults that no input tells apart."""

import ast
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from remora.judges.calls.case import CallInput
from remora.judges.calls.equivalent_faults import without_equivalent
from remora.judges.calls.random_calls import random_calls
from remora.judges.calls.target_function import TargetFunction, find_target
from remora.judges.faults.mutants import mutants
from remora.judges.runner.child.described import as_literal, as_text
from remora.judges.runner.child.fork import in_child
from remora.judges.runner.child.function_calls import outcome
from remora.judges.runner.parent import CHILD
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

NEWER = {"removeprefix", "removesuffix", "is_relative_to", "unparse", "pairwise", "with_stem"}
"""Methods and functions that Python 3.8 does not have."""


@pytest.mark.parametrize("path", sorted(CHILD.glob("*.py")), ids=lambda path: path.stem)
def test_the_program_runs_with_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
    assert not NEWER & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


class Route:
    def __init__(self, start: str) -> None:
        self.start = start


class Road(Route):
    def __str__(self) -> str:
        return f"from {self.start}"


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ({"a": [1, (2.5,)]}, "{'a': [1, (2.5,)]}"),
        ({2, 1}, "{1, 2}"),
        (Point(1, 2), "(1, 2)"),
        (Route("Rome"), None),
        (float("nan"), None),
        ([*range(50)], None),
    ],
)
def test_values_are_asserted_as_literals(value: object, literal: str | None) -> None:
    assert as_literal(value) == literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Route("Rome"), "Route[('start', \"'Rome'\")]"),
        (Road("Rome"), "Road: from Rome"),
        ([Road("Rome"), 1], "list['Road: from Rome', '1']"),
        (Decimal("1.50"), "Decimal: Decimal('1.50')"),
        (object(), None),
        (len, None),
    ],
)
def test_other_objects_are_compared_by_text_or_by_attributes(
    value: object, text: str | None
) -> None:
    assert as_text(value, str(Path(__file__).parent)) == text


CATCHES = """
def f():
    for _ in range(3):
        try:
            while True:
                pass
        except TimeoutError:
            pass
"""


def test_code_that_catches_the_timeout_is_stopped_again(tmp_path: Path) -> None:
    module = ModuleType("module")
    exec(CATCHES, vars(module))
    call = {"call": "f()", "imports": [], "setup": []}
    file = tmp_path / "outcome"

    def write_outcome() -> None:
        file.write_text(str(outcome({"root": "/"}, module, call, 0.05)))

    assert in_child(write_outcome, 20)
    assert file.read_text() == "['late']"


FREEZEGUN = """\
import datetime


class FakeDateMeta(type):
    pass


class FakeDate(datetime.date, metaclass=FakeDateMeta):
    pass
"""
SHIFTED = """\
import datetime
import time
from remora.judges.runner.child.determinism import shift_clocks

before = datetime.date.today()
shift_clocks(10 * 86400)
import freezegun

class Formatter:
    converter = time.gmtime

assert Formatter().converter(86400)[:3] == (1970, 1, 2)

assert datetime.date.today() > before
assert issubclass(freezegun.FakeDate, type(before))

class Day(datetime.date):
    pass

assert isinstance(Day(2020, 1, 1), Day) and isinstance(Day(2020, 1, 1), datetime.date)
assert not isinstance(before, Day) and isinstance(before, datetime.date)
"""


def test_a_library_that_derives_from_dates_can_be_imported_after_clocks_are_shifted(
    tmp_path: Path,
) -> None:
    (tmp_path / "freezegun.py").write_text(FREEZEGUN)
    done = subprocess.run(
        [sys.executable, "-c", SHIFTED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


CODE = """\
def largest(numbers):
    found = numbers[0]
    for number in numbers:
        if number > found:
            found = number
    return found


def rare(text):
    if text == 'zzz':
        return text * 2
    return text


def fill(items, number):
    if number > 3:
        items.append(number)
    items.append(1)


def joined(text):
    text = ' '.join(text) if isinstance(text, list) else text
    return text.strip()


COUNT = iter(range(10_000))


def unsteady(text):
    return text + str(next(COUNT)) if text else 'none'
"""


def subject(name: str) -> TargetFunction:
    found = find_target("mod.py", CODE.encode(), name, lambda _: False)
    assert isinstance(found, TargetFunction)
    return found


@pytest.fixture
def place(tmp_path: Path, plain_python: ProjectPython) -> ToolTree:
    need(2)
    (tmp_path / "mod.py").write_text(CODE)
    return ToolTree(tmp_path, plain_python)


def left(place: ToolTree, name: str, call: str) -> list[str]:
    known = [CallInput(call=call, imports=(f"from mod import {name}",), source="test")]
    faults = mutants(CODE.encode(), name)
    return [told.fault.what for told in without_equivalent(place, subject(name), known, faults)]


@pytest.mark.slow
def test_a_fault_that_changes_no_result_is_not_counted(place: ToolTree) -> None:
    what = "`number > found` became `number >= found`"
    assert what in [fault.what for fault in mutants(CODE.encode(), "largest")]
    kept = left(place, "largest", "largest([3, 1, 2])")
    assert what not in kept
    assert "`number > found` became `number <= found`" in kept


@pytest.mark.slow
def test_the_shortest_call_that_tells_a_fault_apart_is_known(place: ToolTree) -> None:
    known = [CallInput(call="rare('abc')", imports=("from mod import rare",))]
    faults = [each for each in mutants(CODE.encode(), "rare") if "became `text != " in each.what]
    (told,) = without_equivalent(place, subject("rare"), known, faults)
    assert told.call == "rare('a')"


@pytest.mark.slow
def test_a_fault_on_a_line_that_few_inputs_run_is_kept(place: ToolTree) -> None:
    kept = left(place, "rare", "rare('abc')")
    assert "it returns None" in kept
    assert any("* 2" in what for what in kept)


@pytest.mark.slow
def test_a_fault_on_a_line_that_asks_for_a_type_is_kept(place: ToolTree) -> None:
    assert any("was removed" in what for what in left(place, "joined", "joined('abc')"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "call"), [("fill", "fill([], 5)"), ("unsteady", "unsteady('abc')")]
)
def test_faults_are_kept_if_results_cannot_be_compared(
    place: ToolTree, name: str, call: str
) -> None:
    kept = left(place, name, call)
    assert len(kept) == len(mutants(CODE.encode(), name))


def test_random_calls_have_the_types_of_known_ones_and_are_the_same_each_time() -> None:
    known = [CallInput(call="rare('abc')", imports=("from mod import rare",))]
    calls = random_calls(subject("rare"), known, 50)
    assert calls == random_calls(subject("rare"), known, 50)
    assert [call.call for call in calls[:2]] == ["rare('abc')", "rare('zzz')"]
    assert len({call.call for call in calls}) == 50
    assert all(call.call.startswith("rare('") for call in calls)
    assert random_calls(subject("rare"), [], 50) == []
