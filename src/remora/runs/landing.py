"""One change set into the user's files: what keeps it out, and how it is written."""

from collections.abc import Iterable, Sequence

import msgspec

from remora.agents.redacted import written
from remora.agents.verify import parse_errors
from remora.ids import split_node_key, unspell_path
from remora.memory.events import Review
from remora.runs.counting import STALE
from remora.runs.job_view import JobView
from remora.runs.journals import details, journal_note
from remora.runs.project import Project
from remora.runs.stream import RunStream
from remora.tools import lint_text, new_findings
from remora.workspaces import FileConflict, FilePatch, Prepared, Write, commit


def objections(
    project: Project,
    job: JobView,
    patches: Sequence[FilePatch],
    prepared: Prepared,
    notes: list[str],
) -> Sequence[FileConflict]:
    """Why an accepted change set cannot be written, empty if it can; to `notes` what a merge
    brought that nobody did alone."""
    return (
        _stale(job, prepared)
        or prepared.conflicts
        or secrets_in(patches)
        or _worse(project, prepared, notes)
    )


def broken_by_merge(prepared: Prepared) -> list[FileConflict]:
    """Files that parsed and would not after a merge."""
    return [
        FileConflict(path=write.path, detail=f"the merged file does not parse: {error}")
        for write in _merged_python(prepared)
        if (error := parse_errors({write.path: write.result}))
        and not parse_errors({write.path: write.ours})
    ]


def land(
    project: Project,
    stream: RunStream,
    node_id: str,
    prepared: Prepared,
    review: Review,
    otherwise: Review,
) -> list[FileConflict]:
    """Journal, record the review, exchange. Where a file moves on in that moment nothing is
    written, `otherwise` is recorded too, and the conflicts say why."""
    keep(project, prepared)

    def on_conflict(found: Sequence[FileConflict]) -> None:
        stream.append(msgspec.structs.replace(otherwise, detail=details(node_id, found)))

    return commit(
        prepared,
        project.state / "journal",
        record=lambda: _record(stream, review),
        note=journal_note(
            review, node_id, stream.run_id, stream.head.count, otherwise=otherwise.verdict
        ),
        on_conflict=on_conflict,
    )


def keep(project: Project, prepared: Prepared) -> None:
    """What is replaced, and what takes its place, stay in `objects/`."""
    for write in prepared.writes:
        for content in (write.ours, write.result):
            if content is not None:
                project.trace.objects.put(content)
    project.trace.objects.sync()


def secrets_in(patches: Iterable[FilePatch]) -> list[FileConflict]:
    """Files in which a placeholder would come where the user has a secret, or had nothing."""
    found = [(patch.path, written([(patch.base, patch.theirs)])) for patch in patches]
    return [FileConflict(path=path, detail=detail) for path, detail in found if detail]


def _record(stream: RunStream, review: Review) -> None:
    stream.append(review)


def _stale(job: JobView, prepared: Prepared) -> list[FileConflict]:
    """What the agent did not see of its node; nothing, where the user took the edit back."""
    moved_on = prepared.conflicts or any(write.merged for write in prepared.writes)
    if job.review != STALE or not moved_on:
        return []
    path, _ = split_node_key(job.node_id)
    detail = "you changed this node while the agent worked on it; a retry works on what it is now"
    return [FileConflict(path=unspell_path(path), detail=detail)]


def _merged_python(prepared: Prepared) -> list[Write]:
    return [
        write
        for write in prepared.writes
        if write.merged and write.result is not None and write.path.endswith(".py")
    ]


def _worse(project: Project, prepared: Prepared, notes: list[str]) -> list[FileConflict]:
    """What a merge broke that each side alone did not: it must parse, and lint no worse."""
    found: list[FileConflict] = []
    for write in _merged_python(prepared):
        error = parse_errors({write.path: write.result})
        if error:
            detail = f"the merged file does not parse: {error}"
            found.append(FileConflict(path=write.path, detail=detail))
            continue
        before = lint_text(project.root, write.path, write.ours or b"")
        after = lint_text(project.root, write.path, write.result or b"")
        if len(after) > len(before):
            detail = f"the merged file has {len(after)} findings, yours {len(before)}"
            found.append(FileConflict(path=write.path, detail=detail))
        else:  # such as an import that only two changes together left unused
            notes += [
                f"{write.path}:{extra['line']}: new finding {extra['code']} {extra['message']}"
                for extra in new_findings(before, after)
            ]
    return found
