"""What `eval restore` measured is kept for the project, the newest figures of each use."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.runs.records.measured_models import (
    MeasuredModel,
    ModelUse,
    keep_measured,
    measured_use,
    read_measured,
)

USE = ModelUse(operation="docstring", model="m", decoding="auto", renderer="auto")
FIGURES = MeasuredModel(
    use=USE, slots=40, written=36, right=30, precision=0.83, coverage=0.9, gain=0.5,
    gain_ci95=(0.25, 0.75), seed=0, commit="abc", date="2026-01-31",
)  # fmt: skip
OTHER = replace(FIGURES, use=replace(USE, renderer="json"))


def test_nothing_is_measured_at_first(tmp_path: Path) -> None:
    assert read_measured(tmp_path) == ()
    assert measured_use((), USE) is None


def test_newer_figures_replace_those_of_the_same_use(tmp_path: Path) -> None:
    state = tmp_path / "roots" / "project"
    keep_measured(state, [FIGURES, OTHER])
    newer = replace(FIGURES, right=31)
    keep_measured(state, [newer])
    assert measured_use(read_measured(state), USE) == newer
    assert measured_use(read_measured(state), OTHER.use) == OTHER
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    keep_measured(tmp_path, [FIGURES])
    (file,) = tmp_path.iterdir()
    file.write_text("[{}]")
    assert read_measured(tmp_path) == ()


@pytest.mark.parametrize(
    ("interval", "helps"),
    [((0.01, 0.2), True), ((0.0, 0.2), False), ((-0.2, 0.1), False), (None, False)],
)
def test_a_model_helps_if_it_is_surely_better_than_rules(
    interval: tuple[float, float] | None, *, helps: bool
) -> None:
    assert replace(FIGURES, gain_ci95=interval).helps is helps
