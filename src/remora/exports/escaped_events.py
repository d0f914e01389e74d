r"""Events for other programs, in which lone surrogates are escaped as `\udXXX` and not encoded."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.memory.canonical import to_packet_value
from remora.memory.decode_values import decode_value
from remora.memory.events import Event
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import Resolver

_MARK = re.compile(rb'"\$text"')


def escaped_events(events: Iterable[Event], blobs: ObjectStore) -> Iterator[Event]:
    """Yield the events, with plain texts and keys in place of `$text`, its blobs and its `$dict`."""
    for event in events:
        if _MARK.search(event.data):
            data = msgspec.json.encode(_escaped(msgspec.json.decode(event.data), Resolver(blobs)))
            event = msgspec.structs.replace(event, data=msgspec.Raw(data))  # noqa: PLW2901
        yield event


def _escaped(value: Any, resolver: Resolver) -> Any:
    if isinstance(value, dict):
        value = resolver.value(value) if value.keys() == {"$text"} else value
        plain = {key: _escaped(item, resolver) for key, item in value.items()}
        return to_packet_value(decode_value(plain)) if plain.keys() <= {"$text", "$dict"} else plain
    return [_escaped(item, resolver) for item in value] if isinstance(value, list) else value
