"""Construction of stream lines from payloads.

The hash of each line also covers the line before it.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.encode_values import encode_value, is_stored_unchanged
from remora.memory.events import VERSION, Event, Head, Payload
from remora.trace.content.line_format import MAX_LINE, line_hash, line_with_hash
from remora.trace.read.blobs import BLOB_LIMIT, BlobSink, externalise, may_contain_reference

Clock = Callable[[], datetime]
Durability = Literal["event", "turn", "none"]
_JSON = msgspec.json.Encoder()
_DELTA = msgspec.json.Decoder(PacketDelta)
_UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Identity(msgspec.Struct, frozen=True):
    """Run, agent, operation and node that a stream belongs to."""

    run_id: str
    """All that is set for a run's stream."""
    agent_id: str = ""
    operation: str = ""
    node_id: str = ""


class LineTemplate(NamedTuple):
    """The parts that are the same in all lines of a stream. Use `line_template` to create it."""

    identity: Identity
    blobs: BlobSink
    clock: Clock
    format: bytes


def line_template(identity: Identity, blobs: BlobSink, clock: Clock) -> LineTemplate:
    """Return the template for a stream's lines.

    Strings of more than 64 KiB are stored in `blobs`.
    """
    members = _JSON.encode(identity)[1:-1].replace(b"%", b"%%")
    start = b'{"v":%d,"seq":%%d,"timestamp":"%%b",' % VERSION
    end = b',"turn":%d,"type":"%b","data":%b,"packet_delta":%b'
    return LineTemplate(identity, blobs, clock, start + members + end)


def build_line(
    template: LineTemplate,
    head: Head,
    payload: Payload,
    *,
    turn: int,
    delta: PacketDelta | None,
) -> tuple[bytes, Event]:
    """Return the line that follows `head`, and its event.

    Raises StreamError if the payload or delta cannot be encoded, or if the line is too long.
    """
    stamp = format_timestamp(template.clock())
    try:
        data = _encoded(payload, template.blobs)
        changes = b"null" if delta is None else _JSON.encode(delta)
        as_written = None if delta is None else _DELTA.decode(changes)
    except _UNWRITABLE as error:
        raise StreamError(f"a {payload.type} event cannot be written: {error}") from error
    body = template.format % (
        head.count, stamp.encode(), turn, payload.type.encode(), data, changes
    )  # fmt: skip
    if len(body) > MAX_LINE - 128:
        raise StreamError(f"a {payload.type} event of {len(body)} bytes is too large to record")
    digest = line_hash(head.hash, body)
    identity = template.identity
    event = Event(
        v=VERSION,
        seq=head.count,
        timestamp=stamp,
        run_id=identity.run_id,
        agent_id=identity.agent_id,
        operation=identity.operation,
        node_id=identity.node_id,
        turn=turn,
        type=payload.type,
        data=msgspec.Raw(data),
        packet_delta=as_written,
        hash=digest,
    )
    return line_with_hash(body, digest), event


def head_after(event: Event) -> Head:
    """Return the head of a stream that ends with `event`."""
    return Head(count=event.seq + 1, hash=event.hash)


def _encoded(payload: Payload, blobs: BlobSink) -> bytes:
    data = _encoded_directly(payload)
    if data is None or len(data) > BLOB_LIMIT or may_contain_reference(data):
        fields = {name: _to_builtins(getattr(payload, name)) for name in payload.__struct_fields__}
        built = encode_value(fields)
        data = _JSON.encode(built)
        if len(data) > BLOB_LIMIT or may_contain_reference(data):
            data = _JSON.encode(externalise(built, blobs))
    return data


def _encoded_directly(payload: Payload) -> bytes | None:
    """Encode a payload without converting its values first, which is three times as fast.

    Returns None if a value must be converted.
    """
    if is_stored_unchanged(payload):
        with suppress(UnicodeEncodeError):  # lone surrogates
            return _JSON.encode(payload)
    return None


def _to_builtins(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, str_keys=True, enc_hook=repr)
    return [_to_builtins(item) for item in value] if type(value) is tuple else value


def format_timestamp(when: datetime) -> str:
    """Return the time as RFC 3339 in UTC with microseconds, as used in streams.

    Timestamps in this format can be sorted as strings.
    """
    return when.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
