"""Storage of long event strings by hash. Each string is replaced with a `$blob` reference."""

import re
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import msgspec

from remora.errors import StreamDamaged, StreamError
from remora.memory.events import PAYLOADS, Event, Payload, payload
from remora.trace.content.objects import ObjectStore, is_sha256
from remora.trace.read.reader import event_data, invalid_event

BLOB_LIMIT = 64 * 1024
"""Maximum UTF-8 bytes of an inline string. A longer string is replaced by a reference."""
LINE_LIMIT = 64 * 1024
"""Maximum characters returned for one line. A line outside a blob is never longer."""
MAX_RESOLVED = 256 * 1024 * 1024
"""Maximum bytes of blobs that are read for the data of one event."""
REFERENCE_KEY = "$blob"
MAX_LIGHT_DATA = 4 * 1024 * 1024
"""Above this many bytes of event data, `payload_without_values` drops fields."""
_LINES, _LINE_LENGTH = 10, 200
_MARK = re.compile(rb'blob"')
_ESCAPED = re.compile(r"\$+blob")
_Kind = TypeVar("_Kind", bound=Payload)


class BlobSink(Protocol):
    """Store for long strings."""

    def put(self, data: bytes) -> str:
        """Store `data` and return its SHA-256."""


class NullBlobSink:
    """Blob sink that only computes hashes, for events that are not written to a file."""

    def put(self, data: bytes) -> str:
        return sha256(data).hexdigest()


def externalise(data: Any, store: BlobSink) -> Any:
    """Replace strings of more than 64 KiB in JSON data with blob references.

    User data that looks like a reference is escaped with `$`.
    """
    if isinstance(data, str):
        encoded = data.encode() if len(data) > BLOB_LIMIT // 4 else b""
        return _reference(data, encoded, store) if len(encoded) > BLOB_LIMIT else data
    if isinstance(data, list):
        return [externalise(item, store) for item in data]
    if isinstance(data, dict):
        moved = {key: externalise(value, store) for key, value in data.items()}
        return (
            {f"${key}": value for key, value in moved.items()}
            if _is_reference_like(data)
            else moved
        )
    return data


def resolve(data: Any, store: ObjectStore) -> Any:
    """Replace references in JSON data with the strings that they refer to.

    Raises StreamDamaged if a reference is invalid, StreamError if the strings exceed MAX_RESOLVED
    bytes, and whatever `ObjectStore.get` raises.
    """
    return Resolver(store).value(data)


class Resolver:
    """Resolves the references of one event, up to a total size.

    The limit protects against untrusted streams that refer to the same blob many times.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._remaining = MAX_RESOLVED

    def value(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self.value(item) for item in data]
        if not isinstance(data, dict):
            return data
        if not _is_reference_like(data):
            return {key: self.value(value) for key, value in data.items()}
        ((key, value),) = data.items()
        return self._text(value) if key == REFERENCE_KEY else {key[1:]: self.value(value)}

    def _text(self, reference: Any) -> str:
        if not isinstance(reference, dict) or not is_sha256(reference.get("sha256")):
            raise StreamDamaged(
                "a $blob reference has no SHA-256",
                hint="check the stream with `remora trace verify`",
            )
        content = self._store.get(reference["sha256"])
        self._remaining -= len(content)
        if self._remaining < 0:
            raise StreamError(
                f"the blobs of one event exceed {MAX_RESOLVED} bytes",
                hint="use `remora trace export AGENT --format jsonl` to print the event "
                "with references to the blobs",
            )
        return content.decode("utf-8", "replace")


def read_text_lines(
    store: ObjectStore, digest: str, first: int, last: int
) -> tuple[list[str], int]:
    r"""Return lines `first` to `last` of a stored string, and its total number of lines.

    Line numbers start at 1. Lines end at `\n`, and each returned line is cut to LINE_LIMIT
    characters. Memory use is bounded, and the hash is checked. Raises whatever `ObjectStore.get`
    raises.
    """
    found: dict[int, bytearray] = {number: bytearray() for number in range(first, last + 1)}
    number = 1
    for piece in store.pieces(digest):
        newlines = piece.count(b"\n")
        if number <= last and number + newlines >= first:
            for at, part in enumerate(piece.split(b"\n"), number):
                if at in found:
                    found[at] += part[: 4 * LINE_LIMIT - len(found[at])]
        number += newlines
    lines = [bytes(line) for at, line in found.items() if at <= number]
    return [line.decode("utf-8", "ignore")[:LINE_LIMIT] for line in lines], number


def blob_references(data: Any) -> list[Any]:
    """Return the values of all `$blob` keys in `data`, in order."""
    if isinstance(data, list):
        return [reference for item in data for reference in blob_references(item)]
    if not isinstance(data, dict):
        return []
    if _is_reference_like(data) and REFERENCE_KEY in data:
        return [data[REFERENCE_KEY]]
    return [reference for value in data.values() for reference in blob_references(value)]


def may_contain_reference(data: bytes | msgspec.Raw) -> bool:
    """Return True if the JSON may contain a reference, escaped or not.

    This is a cheap byte search. It may give a false positive, but never a false negative.
    """
    return _MARK.search(data) is not None


def resolved_data(event: Event, store: ObjectStore) -> dict[str, Any]:
    """Return an event's data with all references resolved. Raises StreamDamaged if the data is
    invalid.
    """
    data = event_data(event)
    resolved: dict[str, Any] = resolve(data, store) if may_contain_reference(event.data) else data
    return resolved


def whole_payload(event: Event, kind: type[_Kind], store: ObjectStore) -> _Kind:
    """Return the payload of an event of a known type, with all references resolved.

    Raises StreamDamaged if the data is invalid.
    """
    try:
        whole = payload(resolved_event(event, store))
    except (ValueError, RecursionError) as error:
        raise invalid_event(event) from error
    if not isinstance(whole, kind):
        raise invalid_event(event)
    return whole


def payload_without_values(event: Event, store: ObjectStore) -> Payload | None:
    """Return an event's payload in bounded memory, or None if the event type is unknown.

    References are resolved. If the data is larger than MAX_LIGHT_DATA or contains references,
    fields that may hold arbitrary JSON (tool output, host calls) are validated but dropped.
    Decoding 60 MB of JSON to objects would take many times as much memory.
    """
    if len(memoryview(event.data)) > MAX_LIGHT_DATA or may_contain_reference(event.data):
        event = _without_values(event)
    return payload(resolved_event(event, store))


def resolved_event(event: Event, store: ObjectStore) -> Event:
    """Return an event with all references resolved. Raises a ValueError if its data is invalid."""
    if not may_contain_reference(event.data):
        return event
    data = resolve(msgspec.json.decode(event.data), store)
    return msgspec.structs.replace(event, data=msgspec.Raw(msgspec.json.encode(data)))


def _without_values(event: Event) -> Event:
    fields = msgspec.json.decode(event.data, type=dict[str, msgspec.Raw])
    kind = PAYLOADS.get(event.type, Payload)
    for field in msgspec.structs.fields(kind):
        first = bytes(memoryview(fields.get(field.encode_name, b""))[:1])
        if field.type is Any or (field.type == list[Any] and first == b"["):
            fields.pop(field.encode_name, None)
    return msgspec.structs.replace(event, data=msgspec.Raw(msgspec.json.encode(fields)))


def first_and_last_lines(text: str) -> tuple[list[str], list[str]]:
    """Return the first and the last 10 lines, each cut to 200 characters."""
    text = text.removesuffix("\n")
    first = text.split("\n", _LINES)[:_LINES]
    last = text.rsplit("\n", _LINES)[-_LINES:]
    return [line[:_LINE_LENGTH] for line in first], [line[:_LINE_LENGTH] for line in last]


def _reference(text: str, encoded: bytes, store: BlobSink) -> dict[str, Any]:
    first, last = first_and_last_lines(text)
    digest = store.put(encoded)
    return {REFERENCE_KEY: {"sha256": digest, "bytes": len(encoded), "first": first, "last": last}}


def _is_reference_like(data: dict[str, Any]) -> bool:
    return len(data) == 1 and _ESCAPED.fullmatch(next(iter(data))) is not None
