"""What people say of change sets, and how an accepted one reaches the user's files."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from remora.agents.redacted import written
from remora.agents.verify import parse_errors
from remora.code.suite import is_test_file
from remora.code.testing import joined
from remora.errors import HostError, NotFound, StreamDamaged
from remora.ids import split_node_key, unspell_path
from remora.memory.events import Change, Head, Review
from remora.runs.choice import chosen
from remora.runs.counting import STALE
from remora.runs.job_view import JobView
from remora.runs.project import Project
from remora.runs.results import read_run
from remora.runs.stream import RunStream, opened_run
from remora.runs.trust import check_anchored, check_ours
from remora.runs.verdict import said, verdict_on
from remora.tools import lint_text, new_findings
from remora.tools.lint import imports_sorted
from remora.trace import read_events
from remora.trace.reader import typed
from remora.workspaces import (
    FileConflict,
    FilePatch,
    Prepared,
    Recovered,
    commit,
    diff,
    prepare,
    recover,
)
from remora.workspaces.beneath import FILE_LIMIT, Beneath
from remora.workspaces.journal import Journal


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """What a review came to. `conflicts`: `{node_id, path, detail}`; `notes` in words, and in words
    `damaged`: what could not be used, for its stream or a content is not what was recorded."""

    run_id: str
    accepted: list[str]
    rejected: list[str]
    conflicts: list[dict[str, Any]]
    notes: list[str]
    damaged: list[str]
    head: Head


def accept(
    project: Project,
    run_id: str,
    nodes: Sequence[str],
    *,
    every: bool = False,
    trusted: bool = False,
) -> Verdicts:
    """Write the chosen change sets to the user's files, each whole or not at all.

    Raises UsageError (nothing chosen, or a run that is not ours), NotFound (an unknown node),
    StreamLocked (the run is still going on), StreamDamaged where all that is chosen is damaged.
    """
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    complete_journals(project)
    accepted: list[str] = []
    conflicts: list[dict[str, Any]] = []
    notes: list[str] = []
    with opened_run(project, run_id) as stream:
        view = read_run(project, run_id)
        jobs = chosen(view, nodes, every=every, verb="accept")
        usable, broken = _usable(project, jobs)
        if broken and not usable:
            raise broken[0]
        for job, patches in usable:
            found = _accept_one(project, stream, job, patches, notes)
            if found:
                conflicts += found
            else:
                accepted.append(job.node_id)
        unread = [str(job.error) for job in view.damaged] if every else []
        return Verdicts(
            run_id=run_id,
            accepted=accepted,
            rejected=[],
            conflicts=conflicts,
            notes=notes,
            damaged=unread + [f"{error.message}; {error.hint}" for error in broken],
            head=stream.head,
        )


def reject(
    project: Project,
    run_id: str,
    nodes: Sequence[str],
    *,
    every: bool = False,
    feedback: str | None = None,
    trusted: bool = False,
) -> Verdicts:
    """Say no to the chosen change sets. Raises as `accept` does, and UsageError for a feedback
    that is too long for one line of a stream."""
    told = said(feedback, project.redact)
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    with opened_run(project, run_id) as stream:
        jobs = chosen(read_run(project, run_id), nodes, every=every, verb="reject")
        for job in jobs:
            stream.append(verdict_on(job, "rejected", feedback=told))
        return Verdicts(
            run_id=run_id,
            accepted=[],
            rejected=[job.node_id for job in jobs],
            conflicts=[],
            notes=[],
            damaged=[],
            head=stream.head,
        )


def complete_journals(project: Project) -> Recovered:
    """Finish, or take back, what a killed `accept` had begun."""

    left: list[Journal] = []

    def recorded(journal: Journal) -> bool:
        left.append(journal)
        return _recorded(project, journal)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        journal = left[0]
        review = _review_of(project, journal)
        if review is None:  # only recorded reviews are carried out
            return
        detail = _details(journal.note["node_id"], found)
        with opened_run(project, journal.note["run_id"]) as stream:
            stream.append(msgspec.structs.replace(review, verdict="conflict", detail=detail))

    return recover(
        project.state / "journal", project.root, recorded=recorded, on_conflict=on_conflict
    )


def job_diff(project: Project, job: JobView) -> str:
    """The unified diff of a job's change set, from `objects/`."""
    return "".join(
        diff(
            unspell_path(change.path),
            _content(project, change.before),
            _content(project, change.after),
        )
        for change in job.change_set
    )


def _usable(
    project: Project, jobs: Iterable[JobView]
) -> tuple[list[tuple[JobView, list[FilePatch]]], list[StreamDamaged]]:
    """The jobs whose streams and contents are what was recorded, with what they would write; and
    what is wrong with the others."""
    usable: list[tuple[JobView, list[FilePatch]]] = []
    broken: list[StreamDamaged] = []
    for job in jobs:
        try:
            check_anchored(project.trace, job.agent_id, job.head)
            usable.append((job, [_patch(project, change) for change in job.change_set]))
        except StreamDamaged as damage:
            broken.append(damage)
    return usable, broken


def _accept_one(
    project: Project,
    stream: RunStream,
    job: JobView,
    patches: Sequence[FilePatch],
    notes: list[str],
) -> list[dict[str, Any]]:
    """Merge, verify, journal, record, exchange. Returns the conflicts; empty if accepted."""
    prepared = prepare(project.root, patches)
    if prepared.conflicts:
        prepared = prepare(project.root, [_beside(project, patch) for patch in patches])
    before = (
        _stale(job, prepared)
        or prepared.conflicts
        or _secret(patches)
        or _worse(project, prepared, notes)
    )
    if before:
        found = _details(job.node_id, before)
        stream.append(verdict_on(job, "conflict", detail=project.redact.clean(found)))
        return found
    for write in prepared.writes:  # what is replaced stays in `objects/`
        if write.ours is not None:
            project.trace.objects.put(write.ours)
        if write.result is not None:
            project.trace.objects.put(write.result)
    project.trace.objects.sync()

    def on_conflict(found: Sequence[FileConflict]) -> None:
        stream.append(verdict_on(job, "conflict", detail=_details(job.node_id, found)))

    notes += [f"{write.path}: deleted" for write in prepared.writes if write.result is None]
    failed = commit(
        prepared,
        project.state / "journal",
        record=lambda: _record(stream, job),
        note={
            "run_id": stream.run_id,
            "agent_id": job.agent_id,
            "node_id": job.node_id,
            "seq": str(stream.head.count),
        },
        on_conflict=on_conflict,
    )
    return _details(job.node_id, failed)


def _record(stream: RunStream, job: JobView) -> None:
    stream.append(verdict_on(job, "accepted"))


def _details(node_id: str, found: Sequence[FileConflict]) -> list[dict[str, Any]]:
    return [{"node_id": node_id, "path": c.path, "detail": c.detail} for c in found]


def _recorded(project: Project, journal: Journal) -> bool:
    """Whether the review that the journal belongs to is the last word on its change set: a
    conflict may have been recorded before the journal could be removed."""
    review = _review_of(project, journal)
    return review is not None and review.verdict == "accepted"


def _review_of(project: Project, journal: Journal) -> Review | None:
    """The last review of the journal's change set, if none came after the journal's own."""
    note = journal.note
    found: list[tuple[int, Review]] = []
    with suppress(NotFound):  # where the records were deleted nothing was accepted
        for event in read_events(project.trace.run_stream(note["run_id"])):
            data = typed(event) if event.type == Review.type else None
            if isinstance(data, Review) and data.agent_id == note["agent_id"]:
                found.append((event.seq, data))
    return found[-1][1] if found and found[-1][0] == int(note["seq"]) else None


def _patch(project: Project, change: Change) -> FilePatch:
    return FilePatch(
        path=unspell_path(change.path),
        base=_content(project, change.before),
        theirs=_content(project, change.after),
        mode=change.mode,
    )


def _beside(project: Project, patch: FilePatch) -> FilePatch:
    """A patch that only adds tests to a file that others were added to meanwhile, as one of the file
    as it is now; any other one as it was."""
    try:
        ours = Beneath(project.root).read_bytes(patch.path, limit=FILE_LIMIT)
    except HostError:
        return patch
    made = joined(patch.path, patch.base, patch.theirs, ours) if is_test_file(patch.path) else None
    if made is None:
        return patch
    extra = new_findings(
        lint_text(project.root, patch.path, ours), lint_text(project.root, patch.path, made)
    )
    if any(str(each["code"]).startswith("I0") for each in extra):
        made = imports_sorted(project.root, patch.path, made)
    return msgspec.structs.replace(patch, base=ours, theirs=made)


def _content(project: Project, digest: str | None) -> bytes | None:
    return None if digest is None else project.trace.objects.get(digest)


def _stale(job: JobView, prepared: Prepared) -> list[FileConflict]:
    """What the agent did not see of its node; nothing, where the user took the edit back."""
    moved_on = prepared.conflicts or any(write.merged for write in prepared.writes)
    if job.review != STALE or not moved_on:
        return []
    path, _ = split_node_key(job.node_id)
    detail = "you changed this node while the agent worked on it; a retry works on what it is now"
    return [FileConflict(path=unspell_path(path), detail=detail)]


def _secret(patches: Iterable[FilePatch]) -> list[FileConflict]:
    """Files in which a placeholder would come where the user has a secret, or had nothing."""
    found = [(patch.path, written([(patch.base, patch.theirs)])) for patch in patches]
    return [FileConflict(path=path, detail=detail) for path, detail in found if detail]


def _worse(project: Project, prepared: Prepared, notes: list[str]) -> list[FileConflict]:
    """What a merge broke that each side alone did not: it must parse, and lint no worse."""
    found: list[FileConflict] = []
    for write in prepared.writes:
        if not write.merged or write.result is None or not write.path.endswith(".py"):
            continue
        error = parse_errors({write.path: write.result})
        if error:
            detail = f"the merged file does not parse: {error}"
            found.append(FileConflict(path=write.path, detail=detail))
            continue
        before = lint_text(project.root, write.path, write.ours or b"")
        after = lint_text(project.root, write.path, write.result)
        if len(after) > len(before):
            detail = f"the merged file has {len(after)} findings, yours {len(before)}"
            found.append(FileConflict(path=write.path, detail=detail))
        else:  # such as an import that only two changes together left unused
            notes += [
                f"{write.path}:{extra['line']}: new finding {extra['code']} {extra['message']}"
                for extra in new_findings(before, after)
            ]
    return found
