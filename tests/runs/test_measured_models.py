"""What `eval` measured is kept for the project, the newest figures of each use."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.config.loading import load_config
from remora.runs.measured_models import (
    MeasuredModel,
    ModelUse,
    keep_measured,
    proved_models,
    read_measured,
)

USE = ModelUse(operation="docstring", model="m", decoding="auto", renderer="auto")
FIGURES = MeasuredModel(
    use=USE, slots=40, files=8, written=36, right=30, gain=0.5,
    gain_ci95=(0.25, 0.75), seed=0, commit="abc", date="2026-01-31",
)  # fmt: skip
OTHER = replace(FIGURES, use=replace(USE, renderer="json"))


def test_newer_figures_replace_those_of_the_same_use(tmp_path: Path) -> None:
    state = tmp_path / "roots" / "project"
    keep_measured(state, [FIGURES, OTHER])
    newer = replace(FIGURES, right=31)
    keep_measured(state, [newer])
    assert read_measured(state) == (newer, OTHER)
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("earlier", "newer"),
    [
        (FIGURES, replace(FIGURES, gain=None, gain_ci95=None)),
        (replace(FIGURES, slots=9), replace(FIGURES, slots=9, gain=None, gain_ci95=None)),
        (FIGURES, replace(FIGURES, slots=2, files=2)),
    ],
    ids=["not compared", "neither enough", "on two files"],
)
def test_weaker_figures_replace_none(
    tmp_path: Path, earlier: MeasuredModel, newer: MeasuredModel
) -> None:
    keep_measured(tmp_path, [earlier])
    keep_measured(tmp_path, [newer])
    assert read_measured(tmp_path) == (earlier,)
    keep_measured(tmp_path, [replace(earlier, right=29)])
    assert read_measured(tmp_path) == (replace(earlier, right=29),)


def test_a_missing_or_damaged_file_says_nothing(tmp_path: Path) -> None:
    assert read_measured(tmp_path) == ()
    keep_measured(tmp_path, [FIGURES])
    (file,) = tmp_path.iterdir()
    file.write_text("[{}]")
    assert read_measured(tmp_path) == ()


def test_a_model_helps_if_it_is_surely_better_than_rules() -> None:
    for interval, helps in (((0.01, 0.2), True), ((0.0, 0.2), False), (None, False)):
        assert replace(FIGURES, gain_ci95=interval).helps is helps
    for slots, files, helps in ((20, 5, True), (19, 5, False), (20, 4, False)):
        few = replace(FIGURES, slots=slots, files=files, gain_ci95=(1.0, 1.0))
        assert few.helps is helps, "few parts or files prove nothing"


@pytest.mark.parametrize(
    ("figures", "flags", "proved"),
    [
        (FIGURES, {}, True),
        (FIGURES, {"runner.decisions": "rules"}, False),
        (FIGURES, {"runner.decisions": "model"}, False),
        (FIGURES, {"model.renderer": "json"}, False),
        (OTHER, {"model.renderer": "json"}, True),
        (replace(FIGURES, gain_ci95=(0.0, 0.75)), {}, False),
        (replace(FIGURES, files=4), {}, False),
    ],
)
def test_a_model_decides_if_it_helps_as_configured_and_no_setting_says_who_does(
    tmp_path: Path, figures: MeasuredModel, flags: dict[str, str], proved: bool
) -> None:
    keep_measured(tmp_path, [figures])
    config, _ = load_config(
        user_file=None, project_file=None, environ={}, flags=flags, operations={}
    )
    assert proved_models(tmp_path, config) == ({("docstring", "m")} if proved else set())
