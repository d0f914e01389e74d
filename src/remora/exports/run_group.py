"""Streams that are exported together: a run with its agents and reviews, or one agent.

An export counts what it wrote and what it left out.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from remora.errors import NotFound, RemoraError, StreamDamaged
from remora.exports.stream_summary import AgentSummary, summarize_stream
from remora.memory.events import Event, Head, Review
from remora.runs.records.current_attempt import CurrentAttempts
from remora.statuses import ACCEPTED
from remora.trace.read.reader import read_events, typed_payload
from remora.trace.read.verified_reader import verified_events
from remora.trace.trace_folder import TraceFolder, stream_id


class RunGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the requested agents."""

    run_id: str
    path: Path | None
    """The run's stream, or None if it was deleted."""
    agents: tuple[str, ...]
    """The agents that have a stream, in the order in which they began."""
    begun: int = 0
    """The number of all agents that began."""
    reviews: dict[str, Review] = {}
    """The last verdict on each agent's change set."""
    began: str = ""
    """The time of the run's first event."""
    head: Head | None = None
    """The head of the run's stream."""
    whole: bool = True
    """True if the run itself was requested."""


def group_of_agent(folder: TraceFolder, agent_id: str) -> RunGroup:
    """Return one agent together with its review in the run.

    Raises NotFound if the agent's stream is missing or empty, and StreamDamaged if a stream is
    damaged.
    """
    first = next(read_events(folder.existing_agent(agent_id)), None)
    if first is None:
        raise NotFound(
            f"{agent_id} has an empty stream", hint="the agent was killed before it wrote anything"
        )
    try:
        run = group_of_run(folder, first.run_id)
    except NotFound:  # the run expired, or the agent has no run
        return RunGroup(run_id=first.run_id, path=None, agents=(agent_id,), whole=False)
    return msgspec.structs.replace(run, agents=(agent_id,), whole=False)


def group_of_run(folder: TraceFolder, run_id: str) -> RunGroup:
    """Return a run and all of its agents that have a stream.

    Raises NotFound if the run's stream is missing, and StreamDamaged if it is damaged.
    """
    path = folder.existing_run(run_id)
    counting, began, head = CurrentAttempts(), "", Head()
    for count, event in enumerate(verified_events(path), 1):
        began = began or event.timestamp
        head = Head(count=count, hash=event.hash)
        counting.add(typed_payload(event))
    return RunGroup(
        run_id=run_id,
        path=path,
        agents=tuple(agent for agent in counting.is_over if _is_there(folder, agent)),
        begun=len(counting.is_over),
        reviews=counting.verdicts,
        began=began,
        head=head,
    )


def _is_there(folder: TraceFolder, agent_id: str) -> bool:
    try:
        return folder.find_agent(agent_id) is not None
    except StreamDamaged:  # reported when it is read
        return True


def verdict_of(review: Review | None) -> str | None:
    """Return the verdict on the agent's own change set, or None if there is none.

    It is `accepted_in_part` or `edited` if the user accepted something else than the whole change
    set, because that is not the agent's work.
    """
    if review is None:
        return None
    if review.verdict == ACCEPTED and review.written is not None:
        return "edited" if review.written.edited else "accepted_in_part"
    return review.verdict


def all_groups(folder: TraceFolder) -> Iterator[RunGroup | StreamDamaged]:
    """Yield all runs in name order, then agents that have no run.

    If a stream is damaged, its error is yielded instead of a group. The agents of a damaged run
    are left out, because their reviews are unknown.
    """
    seen: set[str] = set()
    damaged: set[str] = set()
    for path in folder.run_streams():
        try:
            group = group_of_run(folder, stream_id(path))
        except StreamDamaged as damage:
            damaged.add(stream_id(path))
            yield damage
            continue
        seen.update(group.agents)
        yield group
    yield from _without_run(folder, seen, damaged)


def _without_run(
    folder: TraceFolder, seen: set[str], damaged: set[str]
) -> Iterator[RunGroup | StreamDamaged]:
    for path in folder.agent_streams():
        agent_id = stream_id(path)
        if agent_id in seen:
            continue
        try:
            first: Event | None = next(read_events(path), None)
        except StreamDamaged as damage:
            yield damage
            continue
        if first is not None and first.run_id not in damaged:
            yield RunGroup(run_id=first.run_id, path=None, agents=(agent_id,))


class ExportCounts(msgspec.Struct, kw_only=True):
    """Running counts of an export."""

    streams: int = 0
    records: int = 0
    """The number of rows, spans or events."""
    operations: dict[str, int] = {}
    """Training rows, by the operation of their agent."""
    left_out: dict[str, int] = {}
    """Omitted records, by reason."""
    damaged: list[str] = []
    """The errors of skipped streams."""

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def damage(self, error: RemoraError) -> None:
        if error.message not in self.damaged:
            self.damaged.append(error.message)


Groups = Callable[[], Iterable[RunGroup]]
"""Returns an iterator over the runs to export that can be read."""
_Item = TypeVar("_Item")


def map_agents(
    folder: TraceFolder,
    group: RunGroup,
    tally: ExportCounts,
    convert: Callable[[AgentSummary, Review | None], Iterable[_Item]],
) -> Iterator[_Item]:
    """Yield the results of `convert` for each agent of a group, in order."""
    for agent_id in group.agents:
        try:
            path = folder.existing_agent(agent_id)
            if next(read_events(path), None) is None:
                tally.leave_out("with an empty stream")
                continue
            yield from convert(summarize_stream(path, folder.blobs), group.reviews.get(agent_id))
            tally.streams += 1
        except (StreamDamaged, NotFound) as error:
            if not group.whole:
                raise
            tally.damage(error)
