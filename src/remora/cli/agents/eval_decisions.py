"""The `eval decisions` command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from remora.cli.app.name_parameters import RUN
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, table
from remora.cli.app.project_context import records_of
from remora.ids import LAST, display_name
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.evals.question_report import Question, QuestionReport

_HEAD = ("NODE", "TURN", "KIND", "BY", "REQUESTS", "TOKENS", "SECONDS", "OUTCOMES", "DECIDED")


@command(
    "decisions",
    examples=("remora eval decisions", "remora eval decisions last"),
)
@click.argument("run", type=RUN, default=LAST)
def decisions(options: Options, run: str) -> int:
    """Show which questions to models could have changed the outcome of a run.

    RUN is a run ID, a unique prefix, or `last` (default). OUTCOMES is the number of different
    results that the answers lead to, as the recorded trials say: with 1, the question was not worth
    asking.
    """
    from remora.evals.question_report import questions_of_run
    from remora.runs.records.name_lookup import run_named

    folder = records_of(options)
    report = questions_of_run(folder, run_named(folder, run))
    emit(options, report.as_json(), _lines(report))
    return 0


def _lines(report: "QuestionReport") -> Iterator[str]:
    if not report.questions:
        yield f"run {report.run_id}: no model was asked, because rules decided everything"
        return
    yield from table(_HEAD, [_row(one) for one in report.questions])
    totals = report.as_json()["totals"]
    yield ""
    yield (
        f"{count(totals['questions'], 'question')}: {totals['could_matter']:,} of "
        f"{totals['tried']:,} tried could have changed the outcome; {totals['requests']:,} requests, "
        f"{totals['tokens']:,} tokens, {totals['seconds']:.1f} s"
    )


def _row(one: "Question") -> list[str]:
    return [
        escape_line(display_name(one.node_id)),
        str(one.turn),
        one.kind,
        escape_line(f"{one.model} ({one.strategy})"),
        str(one.requests),
        f"{one.tokens:,}",
        f"{one.seconds:.2f}",
        "not tried" if one.outcomes is None else str(one.outcomes),
        one.decided_by or "no answer",
    ]
