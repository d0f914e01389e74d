"""Real runs: faults that no input tells apart are not counted."""

from pathlib import Path

import pytest

from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.inputs.random_calls import random_calls
from remora.operations.test.mutants import mutants
from remora.operations.test.runner.equivalent_faults import without_equivalent
from remora.operations.test.target_function import TargetFunction, find_target
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

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


def test_a_fault_that_changes_no_result_is_not_counted(place: ToolTree) -> None:
    what = "`number > found` became `number >= found`"
    assert what in [fault.what for fault in mutants(CODE.encode(), "largest")]
    kept = left(place, "largest", "largest([3, 1, 2])")
    assert what not in kept
    assert "`number > found` became `number <= found`" in kept


def test_the_shortest_call_that_tells_a_fault_apart_is_known(place: ToolTree) -> None:
    known = [CallInput(call="rare('abc')", imports=("from mod import rare",))]
    faults = [each for each in mutants(CODE.encode(), "rare") if "became `text != " in each.what]
    (told,) = without_equivalent(place, subject("rare"), known, faults)
    assert told.call == "rare('a')"


def test_a_fault_on_a_line_that_few_inputs_run_is_kept(place: ToolTree) -> None:
    kept = left(place, "rare", "rare('abc')")
    assert "it returns None" in kept
    assert any("* 2" in what for what in kept)


def test_a_fault_on_a_line_that_asks_for_a_type_is_kept(place: ToolTree) -> None:
    assert any("was removed" in what for what in left(place, "joined", "joined('abc')"))


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
