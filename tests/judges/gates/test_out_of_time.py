"""If the time ends while something is worse, only what is surely not the cause stays."""

from pathlib import Path
from typing import Any

import pytest

from remora.judges.gates.gate import Gate
from remora.judges.gates.measured_gate import Measured, Measurements
from tests.judges.gates.conftest import Judge

pytestmark = pytest.mark.slow

NUMBERS = range(4)
FILES = {
    "many.py": "".join(f"def f{number}():\n    return {number}\n\n\n" for number in NUMBERS),
    "test_many.py": "import many\n\n\n"
    + "".join(
        f"def test_{number}():\n    assert many.f{number}() == {number}\n\n\n" for number in (1, 3)
    ),
}
PLANTS = {
    "many.py": [(f"    return {number}\n", f"    return {number} + 0.5\n") for number in NUMBERS]
}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often pytest may run. At first, it may run without limit."""
    left = [1000]
    measure = Measurements.measure

    def counted(self: Measurements, gate: Gate, *words: Any) -> Measured:
        try:
            return measure(self, gate, *words)
        finally:
            left[0] -= gate.name == "pytest"

    monkeypatch.setattr(Measurements, "measure", counted)
    monkeypatch.setattr(Measurements, "left", property(lambda _: 60.0 if left[0] > 0 else 0.0))
    return left


@pytest.mark.parametrize(
    ("times", "left", "reason"),
    [
        (1000, (1, 3), "test_3 fails"),
        # once before, once with all, once before again, and twice to find the first cause
        (5, (1,), "no time left to find what else is worse: test_many.py::test_3 fails"),
    ],
)
def test_what_may_be_a_cause_is_taken_out(
    active: Path, judge: Judge, runs: list[int], times: int, left: tuple[int, ...], reason: str
) -> None:
    runs[0] = times
    judged = judge(FILES, PLANTS)
    (job,) = judged.view.jobs
    assert job.review.left == left
    assert reason in judged.reasons[-1]
    out_of_time = "the search for what makes it worse left no time (gates.time_s)"
    assert (out_of_time in judged.missing.values()) is (times == 5)


def test_the_tests_are_measured_first_so_that_no_other_gate_takes_their_time(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    measure = Measurements.measure

    def noted(self: Measurements, gate: Gate, *words: Any) -> Measured:
        seen.append(gate.name)
        return measure(self, gate, *words)

    monkeypatch.setattr(Measurements, "measure", noted)
    judged = judge(FILES, {"many.py": PLANTS["many.py"][:1]})
    assert (seen[0], "imports" in seen[1:]) == ("pytest", True)
    assert judged.view.jobs[0].review.left == ()
