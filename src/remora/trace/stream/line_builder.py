"""The next line of a stream, made from a payload and the line before it."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from remora.errors import StreamError
from remora.memory.delta import PacketDelta
from remora.memory.encode_values import is_stored_as_it_is, storable
from remora.memory.events import VERSION, Event, Head, Payload
from remora.trace.blobs import BLOB_LIMIT, BlobSink, externalise, may_refer
from remora.trace.content.line_format import MAX_LINE, framed, line_hash

Clock = Callable[[], datetime]
Durability = Literal["event", "turn", "none"]
_JSON = msgspec.json.Encoder()
_DELTA = msgspec.json.Decoder(PacketDelta)
_UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)


def utc_now() -> datetime:
    """The time now, with its zone."""
    return datetime.now(UTC)


class Identity(msgspec.Struct, frozen=True):
    """Whose stream it is. In a run's own stream all but `run_id` are empty."""

    run_id: str
    agent_id: str = ""
    operation: str = ""
    node_id: str = ""


class Chain:
    """Makes lines that continue from `head`; a line counts once `advance` was told of it."""

    def __init__(
        self, identity: Identity, blobs: BlobSink, clock: Clock = utc_now, head: Head | None = None
    ) -> None:
        self.identity = identity
        self.head = head or Head()
        self._blobs = blobs
        self._clock = clock
        members = _JSON.encode(identity)[1:-1]
        self._start = b'{"v":%d,"seq":%%d,"timestamp":"%%b",' % VERSION
        self._middle = members.replace(b"%", b"%%") + b',"turn":%d,"type":"%b","data":%b'
        self._format = self._start + self._middle + b',"packet_delta":%b'

    def next(
        self, payload: Payload, *, turn: int, delta: PacketDelta | None
    ) -> tuple[bytes, Event]:
        """The line with its newline, and the event that reading it gives.

        Raises StreamError for a delta that JSON cannot hold, or a line over MAX_LINE bytes.
        """
        stamp = timestamp(self._clock())
        try:
            data = _encoded(payload, self._blobs)
            changes = b"null" if delta is None else _JSON.encode(delta)
            as_written = None if delta is None else _DELTA.decode(changes)
        except _UNWRITABLE as error:
            raise StreamError(f"a {payload.type} event cannot be written: {error}") from error
        body = self._format % (
            self.head.count, stamp.encode(), turn, payload.type.encode(), data, changes
        )  # fmt: skip
        if len(body) > MAX_LINE - 128:
            raise StreamError(f"a {payload.type} event of {len(body)} bytes is too large to record")
        digest = line_hash(self.head.hash, body)
        event = Event(
            v=VERSION,
            seq=self.head.count,
            timestamp=stamp,
            run_id=self.identity.run_id,
            agent_id=self.identity.agent_id,
            operation=self.identity.operation,
            node_id=self.identity.node_id,
            turn=turn,
            type=payload.type,
            data=msgspec.Raw(data),
            packet_delta=as_written,
            hash=digest,
        )
        return framed(body, digest), event

    def advance(self, event: Event) -> None:
        """`event` is in the stream now."""
        self.head = Head(count=event.seq + 1, hash=event.hash)


def _encoded(payload: Payload, blobs: BlobSink) -> bytes:
    data = _as_it_is(payload)
    if data is None or len(data) > BLOB_LIMIT or may_refer(data):
        fields = {name: _built(getattr(payload, name)) for name in payload.__struct_fields__}
        built = storable(fields)
        data = _JSON.encode(built)
        if len(data) > BLOB_LIMIT or may_refer(data):
            data = _JSON.encode(externalise(built, blobs))
    return data


def _as_it_is(payload: Payload) -> bytes | None:
    """The payload's JSON, None where it holds what has to be marked: three times as fast."""
    if is_stored_as_it_is(payload):
        with suppress(UnicodeEncodeError):  # lone surrogates
            return _JSON.encode(payload)
    return None


def _built(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, str_keys=True, enc_hook=repr)
    if type(value) is tuple:
        return [_built(item) for item in value]
    return value


def timestamp(when: datetime) -> str:
    """As streams spell a time: RFC 3339 in UTC with microseconds, which sorts as time does."""
    return when.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
