r"""Events for other programs, in which lone surrogates are escaped as `\udXXX` and not encoded."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.canonical import to_packet_value
from remora.memory.decode_values import decode_value
from remora.memory.events import Event

_MARK = re.compile(rb'"\$text"')


def escaped_events(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events. Their data has plain texts and keys in place of `$text` and its `$dict`."""
    for event in events:
        if _MARK.search(event.data):
            data = msgspec.json.encode(_escaped(msgspec.json.decode(event.data)))
            event = msgspec.structs.replace(event, data=msgspec.Raw(data))  # noqa: PLW2901
        yield event


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        is_marked = value.keys() <= {"$text", "$dict"}
        plain = {key: _escaped(item) for key, item in value.items()}
        return to_packet_value(decode_value(value)) if is_marked else plain
    return [*map(_escaped, value)] if isinstance(value, list) else value
