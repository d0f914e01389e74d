"""docs/reference/evaluations.md names what `eval memory` takes and gives."""

import re
from pathlib import Path
from typing import get_args

import click

from remora.cli.agents.eval import memory
from remora.config.schema import MemoryConfig
from remora.evals.argument_coverage import SMALL_INTEGER
from remora.evals.eval_report import EvalReport, ToolCounts
from remora.evals.eval_setting import RENDERER_NAMES, EvalSetting
from remora.memory.summarizers import FACT_LIMIT, MAX_FACTS

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/evaluations.md").read_text(
    encoding="utf-8"
)
SUMMARIZERS = get_args(MemoryConfig.model_fields["summarizer_mode"].annotation)
WORDS = set(re.findall(r"[a-z_]+", PAGE))


def test_every_option_and_its_values() -> None:
    own = [
        option
        for option in memory.params
        if isinstance(option, click.Option) and option.expose_value
    ]
    assert {f"| `{option.opts[0]}` |" for option in own} <= set(re.findall(r"\| `--\w+` \|", PAGE))
    assert len(own) == 4
    choices = {option.name: option.type.to_info_dict().get("choices") for option in own}
    assert choices["summarizers"] == SUMMARIZERS
    assert choices["renderers"] == tuple(RENDERER_NAMES)
    assert {*RENDERER_NAMES, *SUMMARIZERS} <= WORDS


def test_every_key_of_the_document() -> None:
    report = EvalReport(arms=(), streams=0, counters=(), skipped=())
    keys = {*ToolCounts().as_json(), *EvalSetting().as_json(), *report.__struct_fields__}
    assert keys <= WORDS


def test_the_limits_of_values_and_facts() -> None:
    assert f"integers from -{SMALL_INTEGER - 1} to {SMALL_INTEGER - 1}" in PAGE
    assert f"at most {FACT_LIMIT} characters" in PAGE
    assert f"most {MAX_FACTS}." in " ".join(PAGE.split())
