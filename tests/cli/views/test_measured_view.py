"""What `model status` says of the figures of each operation."""

from typing import Any

import pytest

from remora.cli.agents.model import measured_lines

FIGURES = {
    "slots": 50, "written": 40, "right": 31, "gain": 0.62, "gain_ci95": [0.5, 0.7],
    "helps": True, "date": "2026-01-31",
}  # fmt: skip
COMMAND = "`remora eval -o docstring --arm rules --arm configured`"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, f"not measured; run {COMMAND}"),
        (
            FIGURES,
            "31 of 40 written texts right, of 50 hidden on 2026-01-31; "
            "+62 percentage points against rules (+50 to +70): better than rules",
        ),
        (
            {**FIGURES, "gain": -0.1, "gain_ci95": [-0.2, 0.1], "helps": False},
            "31 of 40 written texts right, of 50 hidden on 2026-01-31; "
            "-10 percentage points against rules (-20 to +10): not shown to be better than rules",
        ),
        (
            {**FIGURES, "gain": None, "gain_ci95": None, "helps": False},
            "31 of 40 written texts right, of 50 hidden on 2026-01-31; "
            f"not compared with rules: run {COMMAND}",
        ),
    ],
)
def test_an_operation_has_one_line(found: dict[str, Any] | None, text: str) -> None:
    (line,) = measured_lines({"measured": {"docstring": found}})
    assert line == f"docstring {text}"


def test_without_a_model_there_is_nothing_to_say() -> None:
    assert list(measured_lines({"measured": {}})) == []
