"""Results of tools, found by the keys `trace:RUN:OPERATION:NODE:TURN`."""

import re
from pathlib import Path

from remora.errors import NotFound, UsageError
from remora.ids import agent_id
from remora.memory.events import ToolResulted
from remora.trace.read.verified_reader import verified_lines
from remora.trace.trace_folder import TraceFolder

_KEY = re.compile(r"trace:([^:]*):([^:]*):([^\ud800-\udfff]*):(\d{1,18})", re.ASCII)


def recorded_result(folder: TraceFolder, key: str) -> bytes:
    """Return the line of the first tool result of a turn, by the newest agent that has one.

    Raises UsageError if the key is invalid, NotFound if there is no such result, StreamDamaged if a
    line before it does not match its hash, and DiskError if a stream cannot be read.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise UsageError(f"{key!r} is not a valid key", hint="use trace:RUN:OPERATION:NODE:TURN")
    run_id, operation, node_id, turn = found.groups()
    for path in _newest_first(folder, run_id, operation, node_id):
        for event, line in verified_lines(path):
            if event.turn > int(turn):
                break
            if event.turn == int(turn) and event.type == ToolResulted.type:
                return line
    raise NotFound(
        f"nothing is recorded under {key}", hint="list the streams with `remora trace list`"
    )


def _newest_first(folder: TraceFolder, run_id: str, operation: str, node_id: str) -> list[Path]:
    """Return the streams of a job's attempts, the last attempt first."""
    found: list[Path] = []
    while path := folder.find_agent(agent_id(operation, run_id, node_id, len(found) + 1)):
        found.insert(0, path)
    return found
