"""The `report` command, which shows a run as Markdown, SARIF, JSON or annotations."""

from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, changed_option, command
from remora.cli.app.output import print_lines
from remora.cli.app.project_context import project_of
from remora.errors import UsageError
from remora.ids import LAST

if TYPE_CHECKING:
    from remora.runs.project import Project
    from remora.runs.report.report_model import Report


@command(
    "report",
    examples=(
        "remora report",
        "remora report last --format sarif > remora.sarif",
        "remora report last --format github --changed=origin/main",
    ),
)
@click.argument("run", default=LAST)
@click.option(
    "--format",
    "form",
    type=click.Choice(("md", "sarif", "json", "github")),
    help="Output format. [default: md]",
)
@changed_option("With --format github: only lines that differ from REV (HEAD if omitted).")
@click.option("--raw", is_flag=True, help="Do not redact secrets.")
def report(options: Options, run: str, form: str | None, *, changed: str | None, raw: bool) -> int:
    """Write a report of a run: Markdown for a pull request, SARIF or JSON.

    SARIF 2.1.0 contains each proposed change with its fix, and each remaining finding. `github`
    prints the changes as annotations of GitHub Actions, at most ten, whose lines are those of the
    files at the start of the run. Secrets are redacted unless --raw is given. RUN is a run ID, a
    unique prefix of an ID, or `last` (default). The exit code is 1 if a record cannot be read.
    `remora trace export --format html` writes a run as one file for a browser.
    """
    from remora.runs.records.name_lookup import run_named
    from remora.runs.records.results import read_run
    from remora.runs.report.report_builder import make_report
    from remora.runs.report.report_formats import FORMATS

    if options.json and form not in (None, "json"):
        raise UsageError(f"--json conflicts with --format {form}", hint="use only one of them")
    if changed is not None and form != "github":
        raise UsageError("--changed requires --format github")
    project = project_of(options)
    view = read_run(project, run_named(project.trace, run))
    if form == "github":
        _print_annotations(project, make_report(project, view, raw=raw), changed)
        return 1 if view.damaged else 0
    name = form or ("json" if options.json else "md")
    click.echo(FORMATS[name](make_report(project, view, raw=raw)), nl=name in ("sarif", "json"))
    return 1 if view.damaged else 0


def _print_annotations(project: "Project", report: "Report", revision: str | None) -> None:
    """Print annotations for the undecided changes of a run.

    With a revision, an empty one being HEAD, only lines that differ from it are annotated.
    """
    from remora.ids import unescape_path
    from remora.runs.planning.changed_nodes import changed_lines
    from remora.runs.report.check_document import unchecked_of
    from remora.runs.report.github_annotations import annotations
    from remora.runs.report.problems import find_problems

    problems, failed = find_problems(report, project.root), unchecked_of(report)
    lines = None
    if revision is not None:
        found = {problem.path for problem in problems} | {failure.path for failure in failed}
        paths = sorted(map(unescape_path, found))
        lines = changed_lines(project.root, project.root, revision or "HEAD", paths)
    print_lines(annotations(problems, project.root, lines, failed))
