"""Prints the changes of a run as annotations of GitHub Actions."""

import click

from remora.ids import unescape_path
from remora.runs.planning.changed_nodes import changed_lines
from remora.runs.project import ProjectRecords
from remora.runs.report.check_document import failures_of
from remora.runs.report.github import annotations
from remora.runs.report.problems import find_problems
from remora.runs.report.report_model import Report


def annotate(project: ProjectRecords, report: Report, revision: str | None) -> None:
    """Print annotations for the undecided changes of a run.

    With a revision, an empty one being HEAD, only lines that differ from it are annotated.
    """
    problems = find_problems(report, project.root)
    lines = None
    if revision is not None:
        paths = sorted({unescape_path(each.path) for each in problems})
        lines = changed_lines(project.root, project.root, revision or "HEAD", paths)
    for line in annotations(problems, project.root, lines, failures_of(report)):
        click.echo(line)
