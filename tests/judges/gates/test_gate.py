"""Comparisons of what gates say of two states."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import remora
from remora.bootstrap.operations import BUILT_IN
from remora.errors import HostError
from remora.judges.gates.gate import Gate, Levels, PlacedText, compared, problems, worse
from remora.judges.gates.measured_gate import (
    KeptMeasurements,
    MeasuredGate,
    Measurements,
    Part,
    measure_base,
)
from remora.tools.kept_answers import KeptAnswers
from tests.cli.conftest import write
from tests.judges.gates.plant.operation import OPERATION, PLANTS
from tests.runs.conftest import Watching

TEST = "import shop\n\n\ndef test_half():\n    assert shop.half(2) == 1\n"


def test_more_of_a_problem_is_worse_and_a_moved_one_is_the_same() -> None:
    """Lines and other numbers may change, but not the code or the message."""
    before = problems(["a.py:3:1: E501 Line too long (90 > 88)", "b.py:4: arg-type expects str"])
    moved = problems(["a.py:5:1: E501 Line too long (95 > 88)", "b.py:9: arg-type expects str"])
    assert worse(before, moved) == []
    swapped = problems(["a.py:3:1: E501 Line too long (90 > 88)", "b.py:4: arg-type expects int"])
    assert worse(before, swapped) == ["b.py: arg-type expects int"]
    assert worse(before, {}) == []
    longer = problems(
        ["a.py:3:1: E501 Line too long (90 > 88)", "a.py:7:1: E501 Line too long (99 > 88)"]
    )
    (told,) = worse(before, longer)
    assert (told, getattr(told, "lines", ())) == ("a.py: E501 Line too long (99 > 88)", (7,))
    said = "a.py:3:1: Cannot use t-strings on Python 3.9 (syntax was added in Python 3.14)"
    assert worse({}, problems([said])) == [said.replace(":3:1", "")]
    one, three = problems(["a.py:3:1: F401"]), problems([f"a.py:{line}:1: F401" for line in "345"])
    (twice,) = worse(one, three)
    assert isinstance(twice, PlacedText)
    assert (twice, twice.lines) == ("a.py: F401 (x2)", (3, 4, 5))
    assert worse(three, one) == []


def test_tests_that_are_gone_skipped_or_fail_are_worse_unless_they_differ_anyway() -> None:
    before = {"t.py::gone": 2, "t.py::skipped": 2, "t.py::fails": 2, "t.py::bad": 2}
    before |= {"t.py::bad fails": -1}
    after = {"t.py::skipped": 1, "t.py::fails": 2, "t.py::fails fails": -1, "t.py::bad": 2}
    assert worse(before, after | {"t.py::new": 2, "t.py::bad fails": -1}) == [
        "t.py::gone is no longer collected",
        "t.py::skipped is skipped",
        "t.py::fails fails",
    ]
    base, differing = compared({"t.py::a": 2, "t.py::b": 2}, {"t.py::a": 2, "t.py::b fails": -1})
    assert differing == ["t.py::b", "t.py::b fails"]
    assert worse(base, {"t.py::a": 2}) == []
    assert worse(base, {"t.py::b": 2}) == ["t.py::a is no longer collected"]


GOOD, BAD = {"t.py::a": 2, "t.py::b": 2}, {"t.py::a": 2, "t.py::a fails": -1}


def crash() -> Levels:
    raise HostError("pytest does not run to its end")


@pytest.mark.parametrize(
    ("of_base", "of_change", "because"),
    [
        # code of the change leaves something behind that makes the base worse, too
        ([GOOD, BAD], [BAD], "t.py::b is no longer collected, and 1 more"),
        ([GOOD, crash], [BAD], "t.py::b is no longer collected, and 1 more"),
        ([GOOD, crash], [crash], "pytest does not run to its end"),
        # a service is gone for a moment, and a test is flaky
        ([GOOD, BAD, GOOD], [BAD], "t.py::b is no longer collected, and 1 more"),
        ([GOOD, BAD, GOOD], [BAD, GOOD], ""),
        ([GOOD, GOOD], [BAD, GOOD], ""),
    ],
)
def test_a_base_that_is_worse_after_a_change_excuses_only_what_differs_with_it(
    tmp_path: Path, of_base: list[Any], of_change: list[Any], because: str
) -> None:
    asked: list[bool] = []
    kept = KeptMeasurements(KeptAnswers(tmp_path), {}, "")

    def measured() -> MeasuredGate:
        """Judge in a run. Of each state, a gate says one thing after the other, and then the last."""
        left = {False: [*of_base], True: [*of_change]}
        place: Any = SimpleNamespace(
            tree=tmp_path,
            reset=bool,
            snapshot=dict,
            set_files=lambda files: asked.append(bool(files)),
        )

        def measure(*_: object) -> Levels:
            said = left[asked[-1]]
            levels: Levels | Callable[[], Levels] = said.pop(0) if len(said) > 1 else said[0]
            return levels() if callable(levels) else levels

        def files(parts: Sequence[Part]) -> dict[str, tuple[bytes, int]]:
            return {"a.py": (b"", 0)} if parts else {}

        to = Measurements(place, files, 9.0, lambda _: None, kept)
        gate = measure_base(Gate("pytest", "pytest", measure, runs_code=True), to)
        assert isinstance(gate, MeasuredGate)
        return gate

    parts = [Part("agent", (1,), "f")]
    gate = measured()
    gate.said = gate.complaints(parts)
    assert gate.culprits(parts) == ((parts, because) if because else ((), ""))
    asked.clear()
    of_base[:] = [crash]
    assert measured().base == GOOD  # as the first run said
    assert asked == []


@pytest.mark.slow
def test_an_observer_hears_what_judges_before_it_does(active: Path) -> None:
    plants = {"shop.py": [("return n / 2", "return n * 0.5")]}
    shop = {"shop.py": "def half(n):\n    return n / 2\n", "test_shop.py": TEST}
    write(active, {**shop, PLANTS: json.dumps(plants)})
    watching = Watching()
    remora.analyze(root=active, operations=["plant"], known=BUILT_IN | OPERATION, observer=watching)
    told = [what for what in watching.told if what[0] in ("ended", "judging")]
    assert told[0][0] == "ended"
    gates = dict.fromkeys(gate.partition(",")[0] for _, gate in told[1:])
    assert list(gates) == ["pytest", "imports"], "no type was written, so no value is judged"
