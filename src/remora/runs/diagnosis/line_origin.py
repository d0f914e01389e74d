"""Origin of a line: the accepted hunk that wrote it, with its run, job, turn and gates."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from remora.errors import NotFound, RemoraError
from remora.memory.events import Gates, ToolCalled, ToolResulted
from remora.runs.project import ProjectRecords
from remora.runs.records.change_set_files import patches_from
from remora.runs.records.current_attempt import CurrentAttempts
from remora.runs.records.hunk_groups import labelled_hunks
from remora.runs.records.job_fold import read_job
from remora.runs.records.results import job_document, with_review
from remora.runs.records.run_listing import read_run_line
from remora.runs.review.ready_changes import ReadyChange, written_change
from remora.text import count
from remora.trace.read.agent_turns import agent_turns
from remora.trace.read.reader import payload_of, read_events
from remora.trace.trace_folder import stream_id
from remora.workspaces.apply.line_diff import Hunk, common_lines, equal_lines, split_lines
from remora.workspaces.hunks import divided
from remora.workspaces.rooted_files import RootedFiles

_LEAST_MOVED = 20
"""Letters and digits of lines that are recognized elsewhere (decision, as of `git blame -M`)."""


def line_origin(project: ProjectRecords, path: str, number: int) -> dict[str, Any]:
    """Return the newest accepted hunk that wrote a line, wherever in the file that is now.

    `docs/reference/diagnosis.md` describes the document. Raises NotFound if there is no such hunk.
    """
    lines = split_lines(RootedFiles(project.root).read_bytes(path))
    if not 0 < number <= len(lines):
        raise NotFound(f"{path} has {count(len(lines), 'line')}")
    for run_id, counting, change in _accepted(project):
        if hunk := _hunk_at(change, path, lines, number):
            job, gates = change.job, counting.gates or Gates()
            is_judged = job.agent_id in gates.judged
            return {
                "line": f"{path}:{number}",
                "run_id": run_id,
                "accepted": counting.times[job.agent_id],
                "surface": counting.verdicts[job.agent_id].surface,
                "model": job.model,
                **_writing_turn(project, job.agent_id, path, lines[number - 1]),
                "gates": [gate.label for gate in gates.results if is_judged and not gate.missing],
                "hunk": msgspec.to_builtins(labelled_hunks(change.whole, job, (hunk,))[0]),
                "job": job_document(job),
            }
    command = shlex.join(["git", "log", "-L", f"{number},{number}:{path}"])
    hint = f"`{command}` lists its commits"
    raise NotFound(f"no accepted change wrote {path}:{number}", hint=hint)


def _accepted(project: ProjectRecords) -> Iterator[tuple[str, CurrentAttempts, ReadyChange]]:
    """Yield what was accepted, of the newest run first."""
    for stream in reversed([*project.trace.run_streams()]):
        _, counting = read_run_line(stream) or (None, CurrentAttempts())
        for start in counting.starts():
            with suppress(RemoraError):  # `trace verify` names damaged records
                if start.agent_id in counting.verdicts:
                    job = read_job(project.trace, start, counting.ends.get(start.agent_id))
                    change = written_change(project, with_review(job, counting))
                    yield stream_id(stream), counting, change


def _hunk_at(change: ReadyChange, path: str, lines: Sequence[bytes], number: int) -> int:
    """Return the number of the hunk that wrote a line of the user's file, or 0."""
    theirs = next((patch.theirs or b"" for patch in change.patches if patch.path == path), b"")
    at, moved = _place(old := split_lines(theirs), lines, number), 0
    for hunk, (patch, part) in enumerate(divided(change.whole), 1):
        if patch.path == path and hunk in change.hunks:
            added = part or Hunk(0, 0, (*old,))  # a new file
            if 0 < at - added.start - moved <= len(added.lines):
                return hunk
            moved += len(added.lines) - (added.end - added.start)
    return 0


def _place(old: Sequence[bytes], new: Sequence[bytes], number: int) -> int:
    """Return the number in `old` of a line of `new`, which may have moved with others, or 0."""
    text, same = new[number - 1], {at + 1: place + 1 for place, at in equal_lines(old, new)}
    if number not in same and old.count(text) == 1 == new.count(text):
        at = old.index(text)
        first = at - common_lines(old[:at][::-1], new[: number - 1][::-1])
        moved = b"".join(old[first : at + common_lines(old[at:], new[number - 1 :])])
        return at + 1 if sum(chr(byte).isalnum() for byte in moved) >= _LEAST_MOVED else 0
    return same.get(number, 0)


def _writing_turn(project: ProjectRecords, agent_id: str, path: str, line: bytes) -> dict[str, Any]:
    """Return the last turn in which an agent added a line, its call, and what decided on it."""
    found: dict[str, Any] = {"turn": None, "call": "", "decided_by": ""}
    for turn in agent_turns(read_events(project.trace.existing_agent(agent_id))):
        for result in turn.results:
            for patch in patches_from(project, payload_of(result, ToolResulted).changes):
                had = [split_lines(side or b"").count(line) for side in (patch.base, patch.theirs)]
                if patch.path == path and had[0] < had[1]:
                    call = payload_of(turn.calls[-1].event, ToolCalled)
                    found = {"turn": turn.number, "call": call.tool, "decided_by": call.decided_by}
    return found
