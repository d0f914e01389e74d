"""A run that an older version recorded is continued, or refused with the setting that is gone."""

from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.config.schema import default_config
from remora.errors import UsageError
from remora.memory.events import RunStart
from remora.usecases.analyze.resume_run import recorded_config

CONFIG = default_config(BUILT_IN.settings)


def test_recorded_settings_are_kept() -> None:
    start = RunStart(config={"runner": {"max_turns": 3}, "gone": {"key": 1}})
    assert recorded_config(CONFIG, start).runner.max_turns == 3


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"operations": {"lint": {"gone": 1}}}, "operations.lint.gone is a setting that this"),
        ({"model": {"renderer": "gone/1"}}, "model.renderer is not valid"),
        ({"runner": {"max_turns": "many"}}, "runner.max_turns is not valid"),
    ],
)
def test_a_setting_that_is_gone_is_named(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        recorded_config(CONFIG, RunStart(config=config))
    assert f"in config of its run_start, {problem}" in error.value.message
    assert "the version of Remora that began the run" in error.value.hint
