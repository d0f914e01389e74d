"""Prints the results of `accept`, `reject` and `revert`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click
import msgspec

from remora.cli.app.options import Options
from remora.cli.app.output import emit, indented, note, print_failure, wrapped
from remora.cli.app.project_context import next_command
from remora.cli.views.run_view import redo_words, retry_words
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named
from remora.runs.review.accepted_changes import Verdicts
from remora.runs.review.conflicts import conflicting_jobs
from remora.statuses import ACCEPTED, CONFLICT, NO_MODEL, REJECTED, REVERTED, STALE
from remora.text import count, escape_line

_FEW = 3
"""Change sets that were left out whose reasons are all shown; rejected ones that get a command."""


def print_accepted(
    options: Options, project: ProjectRecords, done: Verdicts, git_branch: str | None = None
) -> int:
    """Print what was accepted, and return the exit code."""
    note(options, *skipped_lines(options, done.skipped), *done.notes, *done.damaged)
    if done.new_findings:
        redo = next_command(options, project.root, "analyze")
        where = f" on the branch {git_branch}" if git_branch else f"; to fix them, run `{redo}`"
        note(options, f"applying the changes together caused these findings{where}")
    document = _document(done, "accepted", "conflicts")
    emit(options, document, _accepted_lines(options, project, done, git_branch))
    return _exit_code(done)


def print_rejected(options: Options, project: ProjectRecords, done: Verdicts, *, why: bool) -> int:
    """Print what was rejected, `why` if there was feedback, and return the exit code."""
    note(options, *skipped_lines(options, done.skipped), *done.damaged)
    emit(options, _document(done, "rejected"), _rejected_lines(options, project, done))
    has_model = done.view.start.config.get("model_name") != NO_MODEL
    if why and done.rejected and has_model:  # rules would propose the same again
        for node in [*dict.fromkeys(done.rejected)][:_FEW]:
            again = next_command(options, project.root, *retry_words(done.view, display_name(node)))
            note(options, f"`{again}` tries again with this feedback")
    return _exit_code(done)


def print_reverted(
    options: Options, project: ProjectRecords, done: Verdicts, *, is_named: bool
) -> int:
    """Print what was undone, of named nodes or of the run, and return the exit code."""
    note(options, *done.damaged, *done.notes)
    emit(
        options,
        _document(done, "reverted", "reopened", "conflicts"),
        _reverted_lines(options, project, done, is_named=is_named),
    )
    return _exit_code(done)


def _document(done: Verdicts, *lists: str) -> dict[str, Any]:
    """Return the JSON document about verdicts. It always has `lists`, and other parts if needed.

    `error` is an error that came after some verdicts.
    """
    found = done.error
    parts = {
        "created": done.created,
        "branch": done.accepted and done.branch,
        "already": done.already,
        "refused": done.refused,
        "pull_request": done.pull_request,
        "damaged": done.damaged,
        "notes": done.notes,
        "error": found and {"code": found.code, "message": found.message, "hint": found.hint},
    }
    return {
        "run_id": done.run_id,
        **{name: getattr(done, name) for name in lists},
        "head": msgspec.to_builtins(done.head),
        **{name: value for name, value in parts.items() if value},
    }


def _exit_code(done: Verdicts) -> int:
    """Print the error that came after some verdicts, if any, and return the exit code."""
    if done.error is not None:
        print_failure(done.error)
        return done.error.exit_code
    return 1 if done.unwritten or done.damaged else 0


def skipped_lines(options: Options, skipped: Sequence[str]) -> Sequence[str]:
    """Return messages about the change sets that the options left out: a few, or all with -v."""
    if len(skipped) <= _FEW or options.verbose:
        return skipped
    return (f"skipped {len(skipped)} changes or parts that the options leave out (-v says why)",)


def written_text(job: JobView) -> str:
    """Return how much of a change was written, such as `2 of 3 hunks`, if not all of it."""
    if job.review.written is None:
        return "all of it"
    edited, of = job.review.written.edited, count(job.review.written.of, "hunk")
    return "edited" if edited else f"{len(job.review.written.hunks)} of {of}"


def _no_change_text(done: Verdicts) -> str:
    return f"no {'such ' if done.skipped or done.notes else ''}change is pending"


def _accepted_lines(
    options: Options, project: ProjectRecords, done: Verdicts, branch: str | None
) -> Iterator[str]:
    if not done.accepted and not done.unwritten:
        yield _no_change_text(done)
        if any(job.review.state == REVERTED for job in done.view.jobs):
            again = next_command(options, project.root, "analyze")
            yield f"reverted changes are not pending; `{again}` proposes them again"
    parts = {
        job.node_id: written_text(job)
        for job in done.view.jobs
        if job.review.written
        and (job.review.left or not job.review.is_whole)
        and job.node_id in done.accepted
    }
    yield from _change_lines(ACCEPTED, "green", done.accepted, parts)
    yield from (escape_line(f"created {path}") for path in done.created)
    if branch and done.accepted:
        yield from wrapped(_branch_text(done, branch))
    if done.pull_request:
        yield "the text of the pull request:"
        yield escape_line(f"  {done.pull_request['body_file']}")
        yield "next:"
        yield from (escape_line(f"  {words}") for words in done.pull_request["commands"])
    yield from conflict_lines(options, project, done)
    if done.accepted and not branch:
        back = next_command(options, project.root, "revert", done.run_id)
        yield f"to take them back, run `{back}`"
    if done.accepted or done.unwritten:
        yield from _record_lines(options, done)


def _branch_text(done: Verdicts, branch: str) -> str:
    """Return what was committed to the branch."""
    number = len(done.accepted) - len(done.already)
    if not number:
        where = f"the branch {branch}" if done.branch else "HEAD"
        return f"nothing was committed: {where} has these changes already"
    some = f" {number} of them" if done.already else ""
    return f"committed{some} to the branch {branch}: your files are unchanged"


def conflict_lines(options: Options, project: ProjectRecords, done: Verdicts) -> Iterator[str]:
    """Yield where and why something is not written, and a command to redo the change."""
    where = f"{count(len(done.conflicts), 'conflict')}, whose lines are not written:"
    refused = f"{count(len(done.refused), 'change')} not accepted:"
    for head, unwritten in ((where, done.conflicts), (refused, done.refused)):
        if unwritten:
            yield click.style(head, fg="yellow")
        for node in dict.fromkeys(conflict["node_id"] for conflict in unwritten):
            yield from _conflict_lines(options, project, done, node)


def _conflict_lines(
    options: Options, project: ProjectRecords, done: Verdicts, node: str
) -> Iterator[str]:
    yield escape_line(f"  {display_name(node)}")
    for conflict in done.unwritten:
        if conflict["node_id"] == node:
            yield from indented(f"{conflict['path']}: {conflict['detail']}")
    view = done.view
    for job in jobs_named(view, node):
        if job.review.state == CONFLICT:
            with suppress(RemoraError):  # their contents may be missing from `objects/`
                for other in conflicting_jobs(project, view, job):
                    name = f"{other.operation} {display_name(other.node_id)}"
                    yield from indented(f"it conflicts with the accepted change of {name}")
            yield f"    next: {next_command(options, project.root, 'review', done.run_id)}"
            redo = redo_words(view, job.operation, node)
            yield f"      or: {next_command(options, project.root, *redo)}"
        elif job.review.state == STALE:
            words = retry_words(view, display_name(node))
            yield f"    next: {next_command(options, project.root, *words)}"


def _reverted_lines(
    options: Options, project: ProjectRecords, done: Verdicts, *, is_named: bool
) -> Iterator[str]:
    yield from _change_lines("pending again", "yellow", done.reopened)
    if not done.reverted and not done.conflicts and not done.reopened:
        yield on_branches(done.view) or "no change of this run has been accepted"
    yield from _change_lines(REVERTED, "yellow", done.reverted)
    rejected = 0 if is_named else sum(job.review.state == REJECTED for job in done.view.jobs)
    if done.reverted and rejected:
        back = next_command(options, project.root, "revert", done.run_id, "FILE")
        stays = "stays; to withdraw it" if rejected == 1 else "stay; to withdraw them"
        yield f"{count(rejected, 'rejection')} {stays}: `{back}`"
    if done.conflicts:
        yield click.style(f"{count(len(done.conflicts), 'conflict')}, not reverted:", fg="yellow")
        for conflict in done.conflicts:
            yield escape_line(f"  {display_name(conflict['node_id'])}")
            yield from indented(f"{conflict['path']}: {conflict['detail']}")
        yield f"next: remove the change yourself; `remora diff {done.run_id}` shows it"
    if done.reverted:
        yield from _record_lines(options, done)


def on_branches(view: RunView) -> str:
    """Return how to undo what was committed to branches, or an empty string without any."""
    branches = sorted({job.review.branch for job in view.jobs if job.review.branch})
    if not branches:
        return ""
    return escape_line(f"committed to {', '.join(branches)}: undo it with `git revert` there")


def _rejected_lines(options: Options, project: ProjectRecords, done: Verdicts) -> Iterator[str]:
    if not done.rejected:
        yield _no_change_text(done)
    yield from _change_lines(REJECTED, "yellow", done.rejected)
    if done.rejected:
        back = next_command(options, project.root, "revert", done.run_id, "FILE")
        yield f"to withdraw a rejection, run `{back}`"
        yield from _record_lines(options, done)


def _change_lines(
    verdict: str, color: str, nodes: Sequence[str], parts: Mapping[str, str] = {}
) -> Iterator[str]:
    """Yield the changes with a verdict. `parts` says how much of a change has it, if not all."""
    if nodes:
        some = f", {len(parts)} of them" if len(parts) < len(nodes) else ""
        partly = f"{some} in part" if parts else ""
        yield click.style(f"{verdict} {count(len(nodes), 'change')}{partly}:", fg=color)
    for node, number in Counter(nodes).items():
        much = count(number, "change") if number > 1 else parts.get(node)
        yield escape_line(f"  {display_name(node)}{f' ({much})' if much else ''}")


def _record_lines(options: Options, done: Verdicts) -> Iterator[str]:
    """Yield the place and the hash of the verdict in the run's record, with -v."""
    if options.verbose:
        place = f"recorded in run {done.run_id}: entry {done.head.count}, hash {done.head.hash}"
        yield click.style(place, dim=True)
