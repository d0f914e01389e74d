"""docs/reference/evaluations.md names what `eval` takes and prints."""

import re
from pathlib import Path

import click

from remora.cli.agents.eval import eval_
from remora.evals.arm_results import OUTCOMES
from remora.evals.arms import OPTIONS
from remora.evals.document import eval_document
from tests.evals.results import arm, operation, report

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/evaluations.md").read_text(
    encoding="utf-8"
)
WORDS = set(re.findall(r"[a-z_0-9]+", PAGE))


def test_every_option_and_its_values() -> None:
    options = (each for each in eval_.params if isinstance(each, click.Option))
    own = {max(option.opts, key=len) for option in options if option.expose_value}
    assert own == set(re.findall(r"\| `(--\w+)` \|", PAGE))
    values = (value for _, values in OPTIONS.values() for value in values)
    assert {*OPTIONS, *values} <= WORDS


def test_every_key_of_the_document() -> None:
    document = eval_document(report(operation("types", arm("rules"))))
    (found,) = document["operations"]
    outcomes = (outcome for names in OUTCOMES.values() for outcome in names)
    assert {*document, *found, *found["arms"][0], *outcomes} <= WORDS
