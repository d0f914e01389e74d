"""A new agent that goes on from any turn of another one, and the files as they were then."""

from pathlib import Path
from typing import Any

import msgspec

from remora.agents.fork import forked
from remora.agents.fork_point import Cut, cut_at
from remora.agents.job import Job
from remora.errors import HostError, NotFound, UsageError
from remora.files.reserved_names import reserved
from remora.ids import unspell_path
from remora.runs.continuation.start_attempts import AsNow, Numbers, begin
from remora.runs.execution.base_files import Grounds
from remora.runs.project import Project
from remora.runs.records.agent_stream import job_start
from remora.runs.records.attempts import Attempts, attempts_of
from remora.runs.records.run_stream import opened_run
from remora.trace.read.reader import last_event, read_events
from remora.trace.stream.line_builder import Clock, utc_now
from remora.workspaces.rooted_files import RootedFiles


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that was begun and not run: its job, and its `agent_start`'s `parent`."""

    job: Job
    parent: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """What `trace fork --json` prints."""
        return {
            "agent_id": self.job.agent_id,
            "run_id": self.job.run_id,
            "parent": self.parent,
            "attempt": self.job.attempt,
        }


def run_of(project: Project, agent_id: str) -> tuple[str, str]:
    """The run and the operation of an agent. Raises NotFound, StreamDamaged."""
    last = last_event(project.trace.existing_agent(agent_id))
    if last is None:
        raise NotFound(f"the stream of {agent_id} is empty", hint="it was killed as it began")
    return last.run_id, last.operation


def fork(  # noqa: PLR0913 (what a fork is asked for)
    project: Project,
    agent_id: str,
    turn: int,
    as_now: AsNow,
    *,
    files: Path | None = None,
    trusted: bool = False,
    clock: Clock = utc_now,
) -> Forked:
    """Begin another attempt of an agent's job with what the agent had before turn `turn`'s
    decision. The agent's own stream stays as it is, and nothing is run.

    The run's files as they were then go into the empty folder `files`, if one is given, but of a
    `trusted` run neither Remora's settings nor what a file system may read as version control.
    Raises NotFound (no such turn, or a content is gone), StreamLocked (the run is going on),
    UsageError (`files` is not empty), StreamDamaged.
    """
    run_id, _ = run_of(project, agent_id)
    cut = cut_at(read_events(project.trace.existing_agent(agent_id)), turn)
    with opened_run(project, run_id, clock) as stream:
        attempts = attempts_of(project.trace, run_id)
        job = Numbers(project, attempts).next_of(_job_of(attempts, agent_id))
        _check_contents(project, cut)
        if files is not None:
            grounds = Grounds(project, run_id, attempts.start)
            _write_files(grounds, project, cut, files, trusted=trusted)
        start = as_now(job, forked(cut, job))
        begin(project, job, start, clock)
        stream.append(job_start(job))
    return Forked(job=job, parent=start.parent or {})


def _job_of(attempts: Attempts, agent_id: str) -> Job:
    for attempt in attempts.begun:
        if attempt.job.agent_id == agent_id:
            return attempt.job
    raise NotFound(f"its run does not know the agent {agent_id}", hint="remora trace verify")


def _check_contents(project: Project, cut: Cut) -> None:
    """A fork whose files cannot be had again is not begun."""
    for change in cut.changes:
        problem = change.after and project.trace.objects.problem(change.after)
        if problem:
            raise NotFound(
                f"the content of {change.path} at that turn {problem}", hint="remora trace verify"
            )


def _write_files(
    grounds: Grounds, project: Project, cut: Cut, folder: Path, *, trusted: bool
) -> None:
    _make_empty(folder)
    place = RootedFiles(folder)
    changed = {unspell_path(change.path): change for change in cut.changes}
    try:
        base = grounds.of(cut.start.rebased).base
        for path, file in base.files.items():
            if path not in changed and not (trusted and reserved(path)):
                place.create(path, base.read(path) or b"", file.mode)
        for path, change in changed.items():
            if change.after is not None and not reserved(path):
                place.create(path, project.trace.objects.get(change.after), change.mode)
    except HostError as error:
        raise UsageError(f"{folder}: {error.message}", hint="name an empty folder") from error
    finally:
        grounds.close()


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", hint="name an empty folder") from error
    if not is_empty:
        raise UsageError(f"{folder} is not empty", hint="name an empty folder, or one to be made")
