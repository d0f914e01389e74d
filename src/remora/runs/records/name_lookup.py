"""Lookup of runs and agents by ID prefix, `last`, or a node of the newest run."""

from collections.abc import Sequence
from contextlib import suppress

from remora.code.syntax.node_patterns import match_nodes
from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import LAST, NodeKey, display_name, run_order
from remora.memory.events import RunStart
from remora.runs.records.attempts import PlannedJob, start_and_jobs
from remora.runs.records.current_attempt import CurrentAttempts
from remora.text import nearest, some_of
from remora.trace.read.reader import read_events, typed_payload
from remora.trace.trace_folder import TraceFolder, stream_id

_FEW = 5
"""Names that a hint lists (decision: more are not read)."""


def run_named(folder: TraceFolder, name: str) -> str:
    """Return the ID of the run that `name` refers to.

    `name` is a run ID, a unique prefix of a run ID, or `last`. Raises NotFound if the run does not
    exist, and UsageError if the prefix is ambiguous.
    """
    known = [stream_id(path) for path in folder.run_streams()]
    if name == LAST:
        newest = _newest_run(folder)
        if newest is None:
            raise NotFound(
                f"no runs in {folder.place}",
                hint="run `remora analyze`; with nothing to do it records none",
            )
        return newest
    # if it does not exist, this raises NotFound with the nearest names
    return _by_prefix(known, name, "run") or stream_id(folder.existing_run(name))


def stream_named(folder: TraceFolder, name: str) -> str:
    """Return the ID of the agent or run that `name` refers to.

    `name` is an ID, a node (`path:qualname`, a qualname or a glob) of the newest run, a unique
    prefix of an ID, or `last` for the newest run. Raises NotFound, listing the nearest names, if
    nothing matches. Raises UsageError if the name is ambiguous.
    """
    if name == LAST:
        return run_named(folder, name)
    agents = [stream_id(path) for path in folder.agent_streams()]
    runs = [stream_id(path) for path in folder.run_streams()]
    if name in agents or name in runs:
        return name
    nodes = _nodes_of_newest_run(folder)
    return (
        _agent_of_node(nodes, name)
        or _by_prefix(agents, name, "agent")
        or _by_prefix(runs, name, "run")
        or _missing(folder, nodes, name)
    )


def _newest_run(folder: TraceFolder) -> str | None:
    """Return the ID of the newest run. Streams that begin with another event are not runs."""
    known = map(stream_id, folder.run_streams())
    began = {run_id: time for run_id in known if (time := _began(folder, run_id)) is not None}
    return max(began, key=lambda run_id: run_order(run_id, began[run_id]), default=None)


def _nodes_of_newest_run(folder: TraceFolder) -> dict[str, list[str]]:
    """Return the current agents of the newest run, keyed by each node that they work on.

    If the run's stream is damaged, only the events before the damage are used.
    """
    newest = _newest_run(folder)
    counting = CurrentAttempts()
    planned: dict[tuple[str, str], Sequence[str]] = {}
    with suppress(RemoraError):
        for event in read_events(folder.run_stream(newest)) if newest is not None else ():
            if event.type == RunStart.type:
                _, jobs = start_and_jobs(event, PlannedJob)
                planned = {(job.operation, job.node_id): job.nodes or () for job in jobs}
            counting.add(typed_payload(event))
    nodes: dict[str, list[str]] = {}
    for start in counting.starts():
        parts = planned.get((start.operation, start.node_id), ())
        for key in dict.fromkeys((start.node_id, *parts)):
            nodes.setdefault(key, []).append(start.agent_id)
    return nodes


def _agent_of_node(nodes: dict[str, list[str]], name: str) -> str | None:
    """Return the agent that worked on the named node, or None if no node matches.

    Raises UsageError if several agents match.
    """
    matched = match_nodes(map(NodeKey, nodes), name)
    found = {agent_id: key for key in matched for agent_id in nodes[key]}
    if len(found) > 1:
        names = [f"{agent_id} ({display_name(key)})" for agent_id, key in found.items()]
        raise UsageError(f"{name!r} matches more than one agent", hint=some_of(names, _FEW))
    return next(iter(found), None)


def _by_prefix(known: Sequence[str], name: str, kind: str) -> str | None:
    if name in known:
        return name
    begins = [stream for stream in known if name and stream.startswith(name)]
    if len(begins) > 1:
        raise UsageError(
            f"{name!r} is a prefix of more than one {kind}", hint=some_of(begins, _FEW)
        )
    return begins[0] if begins else None


def _missing(folder: TraceFolder, nodes: dict[str, list[str]], name: str) -> str:
    try:
        return stream_id(folder.existing_agent(name))
    except NotFound as error:
        near = [display_name(key) for key in nearest(name, nodes)]
        if not nodes:
            raise
        hint = f"{error.hint}\nnearest nodes of that run: {', '.join(near)}" if near else error.hint
        message = error.message.replace("no agent", "no agent, and no node of the newest run,", 1)
        raise NotFound(message, hint=hint) from error


def _began(folder: TraceFolder, run_id: str) -> str | None:
    """Return the start time of a run, or an empty string if it cannot be read.

    Returns None if the stream does not begin with `run_start`.
    """
    try:
        first = next(read_events(folder.run_stream(run_id)), None)
    except RemoraError:
        return ""
    if first is not None and first.type != RunStart.type:
        return None
    return first.timestamp if first is not None else ""
