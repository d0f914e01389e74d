"""Results of tools, found by the keys `trace:RUN:OPERATION:NODE:TURN`."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import NotFound, RemoraError, UsageError
from remora.memory.events import AgentStart, ToolResulted
from remora.trace.read.reader import read_events
from remora.trace.read.verified_reader import verified_lines
from remora.trace.trace_folder import TraceFolder, stream_id

_KEY = re.compile(r"trace:([^:]*):([^:]*):(.*):(\d{1,18})", re.DOTALL | re.ASCII)
_Job = tuple[str, str, str]


class _Start(msgspec.Struct):
    attempt: int = 1


def recorded_result(folder: TraceFolder, key: str) -> bytes:
    """Return the line of the first tool result of a turn, by the newest agent that has one.

    Raises UsageError if the key is invalid, NotFound if there is no such result, StreamDamaged if a
    line before it does not match its hash, and DiskError if a stream cannot be read.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise UsageError(f"{key!r} is not a valid key", hint="use trace:RUN:OPERATION:NODE:TURN")
    run_id, operation, node_id, turn = found.groups()
    for path in _newest_first(folder, (run_id, operation, node_id)):
        for event, line in verified_lines(path):
            if event.turn > int(turn):
                break
            if event.turn == int(turn) and event.type == ToolResulted.type:
                return line
    raise NotFound(
        f"nothing is recorded under {key}", hint="list the streams with `remora trace list`"
    )


def _newest_first(folder: TraceFolder, job: _Job) -> list[Path]:
    """Return the streams of a job's agents, the last attempt first."""
    return [path for *_, path in sorted(_agents(folder, job), reverse=True)]


def _agents(folder: TraceFolder, job: _Job) -> Iterator[tuple[int, str, Path]]:
    for path in folder.agent_streams():
        with suppress(RemoraError, ValueError):  # `trace verify` reports it
            first = next(read_events(path), None)
            if (
                first is not None
                and first.agent_id == stream_id(path)
                and job == (first.run_id, first.operation, first.node_id)
            ):
                is_start = first.type == AgentStart.type
                start = msgspec.json.decode(first.data, type=_Start) if is_start else _Start()
                yield start.attempt, first.timestamp, path
