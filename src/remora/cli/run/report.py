"""`report`: what a run came to, to be handed on."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.project_context import project_of
from remora.errors import UsageError
from remora.runs.records.name_lookup import LAST, run_named
from remora.runs.records.results import read_run
from remora.runs.report.report_formats import FORMATS
from remora.runs.report.run_facts import report_on


@command(
    "report",
    examples=("remora report", "remora report last --format sarif > remora.sarif"),
)
@click.argument("run", default=LAST)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Markdown (the default), a page of HTML, SARIF 2.1.0 or JSON.",
)
@click.option("--raw", is_flag=True, help="Leave secrets in it: for your own eyes.")
def report(options: Options, run: str, form: str | None, *, raw: bool) -> int:
    """Tell of a run in one text: Markdown for a pull request, HTML, SARIF or JSON.

    The page needs nothing but itself. SARIF holds each proposed change with its fix, and each
    finding that is left. Secrets in it are replaced, as in a stream: the report is for others. RUN is a run's name, the beginning of one, or `last`, as it is without
    one.
    """
    if options.json and form not in (None, "json"):
        raise UsageError(f"--json is --format json, and not {form}", hint="leave out one of them")
    project = project_of(options)
    view = read_run(project, run_named(project.trace, run))
    name = form or ("json" if options.json else "md")
    click.echo(FORMATS[name](report_on(project, view, raw=raw)), nl=name in ("sarif", "json"))
    return 1 if view.damaged else 0
