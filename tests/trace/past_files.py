"""Files after a turn, restored from the streams alone: what a fork or a resume has to yield."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from remora.memory.events import AgentStart, Event, RunStart, ToolResulted


class PastFile(NamedTuple):
    """Content hash and permission bits. `sha256` is None if the file does not exist."""

    sha256: str | None
    mode: int


def files_at(
    run_events: Iterable[Event], agent_events: Iterable[Event], turn: int
) -> dict[str, PastFile]:
    """Return the files that differ from the base commit after a turn, keyed by root-relative path."""
    files = next(
        _files(msgspec.json.decode(event.data)["base"]["files"])
        for event in run_events
        if event.type == RunStart.type
    )
    for event in agent_events:
        if event.turn > turn:
            break
        if event.type in (AgentStart.type, ToolResulted.type):
            data = msgspec.json.decode(event.data)
            files |= _files(data.get("rebased") or {})
            files |= {
                change["path"]: PastFile(change["after"], change["mode"])
                for change in data["changes"]
            }
    return files


def _files(recorded: Mapping[str, Any]) -> dict[str, PastFile]:
    return {
        path: PastFile(file["sha256"], file["mode"]) if file else PastFile(None, 0)
        for path, file in recorded.items()
    }
