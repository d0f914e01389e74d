"""A run in words: a line for each job, the totals, and what to type next."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from remora.cli.options import Options
from remora.cli.output import coloured, count, plain
from remora.cli.session import again
from remora.runs.project import Project
from remora.runs.results import STATUSES, RunView

_TELLING = ("failed", "error", "interrupted", "running")
_WRONG = ("failed", "error")


def run_lines(
    options: Options, project: Project, view: RunView, document: Mapping[str, Any]
) -> Iterator[str]:
    """Everything about a run, from its document."""
    jobs, totals = document["jobs"], document["totals"]
    began = str(view.started)[:19].replace("T", " ")
    shown = f"run {view.run_id} · {view.status} · {began} UTC · {document['model']}"
    yield click.style(plain(shown), bold=True)
    yield from job_lines(jobs)
    yield ""
    yield totals_line(totals)
    begun = len(jobs)
    if begun < totals["jobs"]:
        yield f"{count(totals['jobs'] - begun, 'job')} had not begun"
    yield from unreadable_lines(totals)
    yield from _decisions(jobs)
    yield from _next(options, project, view.run_id, jobs)


def job_lines(jobs: list[dict[str, Any]]) -> Iterator[str]:
    """One line a job, and one more for why a job did not succeed."""
    states = [_state(job) for job in jobs]
    width = max(map(len, states), default=0)
    nodes = [plain(job["node_id"].removeprefix("node:")) for job in jobs]
    wide = min(max(map(len, nodes), default=0), 60)
    several = len({job["operation"] for job in jobs}) > 1
    for job, state, node in zip(jobs, states, nodes, strict=True):
        operation = f"{job['operation']}  " if several else ""
        word = state.partition(" ")[0]
        padded = coloured(word) + state[len(word) :].ljust(width - len(word))
        yield f"{padded}  {operation}{node.ljust(wide)}  {_course(job)}".rstrip()
        if job["error"] and job["status"] in _TELLING:
            yield f"{'':{width}}  {plain(job['error'])}"


def totals_line(totals: Mapping[str, Any]) -> str:
    """`12 jobs: 9 submitted, 2 no_change, 1 failed; 30 nodes with nothing to do`."""
    parts = [f"{totals[status]:,} {coloured(status)}" for status in STATUSES if totals[status]]
    text = count(totals["jobs"], "job") + (": " + ", ".join(parts) if parts else "")
    return f"{text}; {needless(totals['skipped'])}"


def needless(skipped: int) -> str:
    """How many pairs of node and operation were left out."""
    return f"{count(skipped, 'node')} with nothing to do"


def unreadable_lines(totals: Mapping[str, Any]) -> Iterator[str]:
    """Files that were left out, and why."""
    files = totals["unreadable"]
    if files:
        yield f"{count(len(files), 'file')} could not be read:"
    for file in files:
        yield plain(f"  {file['path']}: {file['detail']}")


def _state(job: Mapping[str, Any]) -> str:
    """The status, and what people said of it."""
    review = job["review"]
    return f"{job['status']} ({review})" if review and review != "pending" else str(job["status"])


def _course(job: Mapping[str, Any]) -> str:
    """`4 turns: rule 3, model 1`."""
    if not job["turns"]:
        return ""
    deciders = ", ".join(f"{who} {number}" for who, number in job["decided_by"].items() if number)
    return count(job["turns"], "turn") + (f": {deciders}" if deciders else "")


def _decisions(jobs: list[dict[str, Any]]) -> Iterator[str]:
    asked = sum(job["asked"] for job in jobs)
    differed = sum(job["differed"] for job in jobs)
    if asked:
        yield (
            f"{count(asked, 'decision')} had a choice; "
            f"{differed:,} took another than the first candidate"
        )


def _next(
    options: Options, project: Project, run_id: str, jobs: list[dict[str, Any]]
) -> Iterator[str]:
    waiting = sum(job["review"] == "pending" for job in jobs)
    failed = next((job for job in jobs if job["status"] in _WRONG), None)
    if waiting:
        yield f"\n{count(waiting, 'change set')} to review:"
        yield f"  {again(options, project.root, 'diff', run_id)}"
        yield f"  {again(options, project.root, 'accept', run_id, '--all')}"
    if failed:
        yield "\nwhat went wrong, turn by turn:"
        yield f"  {again(options, project.root, 'trace', 'transcript', failed['agent_id'])}"
