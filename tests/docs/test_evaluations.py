"""docs/reference/evaluations.md names what `eval` takes and prints."""

import re
from pathlib import Path

import click

from remora.cli.agents.eval import eval_
from remora.evals.document import restore_document
from remora.evals.slot_results import ArmResult, OperationResult, RestoreReport

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/evaluations.md").read_text(
    encoding="utf-8"
)
WORDS = set(re.findall(r"[a-z_0-9]+", PAGE))


def test_every_option() -> None:
    options = (each for each in eval_.params if isinstance(each, click.Option))
    own = {max(option.opts, key=len) for option in options if option.expose_value}
    assert own == set(re.findall(r"\| `(--\w+)` \|", PAGE))


def test_every_key_of_the_document() -> None:
    found = OperationResult(
        operation="types", found=1, slots=(), hidden={}, arms=[ArmResult(name="rules")]
    )
    document = restore_document(
        RestoreReport(seed=0, versions={}, commit=None, operations=[found], notes=())
    )
    operation = document["operations"][0]
    assert {*document, *operation, *operation["arms"][0]} <= WORDS
