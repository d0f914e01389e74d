"""docs/reference/evaluations.md names what `eval memory` and `eval restore` take and give."""

import re
from pathlib import Path
from typing import get_args

import click

from remora.cli.agents.eval import memory
from remora.cli.agents.eval_restore import restore
from remora.config.schema import MemoryConfig
from remora.evals.argument_coverage import SMALL_INTEGER
from remora.evals.eval_report import EvalReport, ToolCounts
from remora.evals.eval_setting import RENDERER_NAMES, EvalSetting
from remora.evals.restore.document import restore_document
from remora.evals.restore.slot_results import ArmResult, OperationResult, RestoreReport
from remora.memory.summarizers import FACT_LIMIT, MAX_FACTS

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/evaluations.md").read_text(
    encoding="utf-8"
)
SUMMARIZERS = get_args(MemoryConfig.model_fields["summarizer_mode"].annotation)
WORDS = set(re.findall(r"[a-z_0-9]+", PAGE))


def own_options(command: click.Command) -> list[click.Option]:
    options = (each for each in command.params if isinstance(each, click.Option))
    return [option for option in options if option.expose_value]


def test_every_option_and_its_values() -> None:
    own = own_options(memory)
    named = set(re.findall(r"\| `(--\w+)` \|", PAGE))
    assert {max(option.opts, key=len) for option in (*own, *own_options(restore))} == named
    assert len(own) == 4
    choices = {option.name: option.type.to_info_dict().get("choices") for option in own}
    assert choices["summarizers"] == SUMMARIZERS
    assert choices["renderers"] == tuple(RENDERER_NAMES)
    assert {*RENDERER_NAMES, *SUMMARIZERS} <= WORDS


def test_every_key_of_the_document() -> None:
    report = EvalReport(arms=(), streams=0, counters=(), skipped=(), notes=())
    found = OperationResult(
        operation="types", found=1, slots=(), hidden={}, arms=[ArmResult(name="rules")]
    )
    restored = restore_document(
        RestoreReport(seed=0, versions={}, commit=None, operations=[found], notes=())
    )
    assert {*restored, *restored["operations"][0], *restored["operations"][0]["arms"][0]} <= WORDS
    keys = {*ToolCounts().as_json(), *EvalSetting().as_json(), *report.__struct_fields__}
    assert keys <= WORDS


def test_the_limits_of_values_and_facts() -> None:
    assert f"integers from -{SMALL_INTEGER - 1} to {SMALL_INTEGER - 1}" in PAGE
    assert f"at most {FACT_LIMIT} characters" in PAGE
    assert f"most {MAX_FACTS}." in " ".join(PAGE.split())
