"""Selection of events by their type, tool and changed file."""

from typing import Any

import msgspec

from remora.memory.events import Event


class _Data(msgspec.Struct):
    tool: Any = None
    changes: Any = None
    change_set: Any = None


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on events. A condition of None matches everything."""

    type: str | None = None
    tool: str | None = None
    file: str | None = None

    def matches(self, event: Event) -> bool:
        """Return True if an event has the type, is of the tool, and changes the file."""
        if self.type not in (None, event.type):
            return False
        if self.tool is None and self.file is None:
            return True
        try:
            data = msgspec.json.decode(event.data, type=_Data)
        except (ValueError, RecursionError):  # `trace verify` reports it
            return False
        return self.tool in (None, data.tool) and self.file in (None, *_paths(data))


def _paths(data: _Data) -> list[Any]:
    """Return the paths of the files that an event changes."""
    changes = data.changes if isinstance(data.changes, list) else data.change_set
    if not isinstance(changes, list):
        return []
    return [change.get("path") for change in changes if isinstance(change, dict)]
