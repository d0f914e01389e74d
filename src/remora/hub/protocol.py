"""Version 1 of the Hub protocol. Each request and each answer is a JSON object on one line."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Raw

PROTOCOL = 1
MAX_BYTES = 1 << 20
"""Maximum bytes of a request: of a line without its newline, or of an HTTP body."""
MAX_FOUND = 10_000
"""Maximum nodes that one search returns, regardless of its `limit`."""

Code = Literal[
    "bad_json", "bad_request", "unknown_type", "unknown_node", "too_large", "busy", "internal"
]
_NULL = Raw(b"null")
Depth = Annotated[int, Meta(ge=1)]
Limit = Annotated[int, Meta(ge=0)]


class _RequestBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Common fields of requests.

    `id` may be any JSON value, and is returned unchanged in the answer.
    """

    id: Raw = _NULL


class GetContext(_RequestBase, frozen=True, tag="get_context"):
    """Get facts of nodes by key. Unknown nodes are left out of the answer.

    Without `links`, no time is spent on callers, callees and tests, which may then be null.
    """

    nodes: tuple[str, ...]
    links: bool = True


class GetNode(_RequestBase, frozen=True, tag="get_node"):
    """Get the state of a node."""

    node: str


class Callers(_RequestBase, frozen=True, tag="callers"):
    """Get the callers of a node. With a `depth` of 1, only direct callers are returned."""

    node: str
    depth: Depth = 1


class Callees(_RequestBase, frozen=True, tag="callees"):
    """Get the callees of a node. With a `depth` of 1, only direct callees are returned."""

    node: str
    depth: Depth = 1


class Tests(_RequestBase, frozen=True, tag="tests"):
    """Get the tests that exercise a node."""

    node: str
    depth: Depth = 1


class Search(_RequestBase, frozen=True, tag="search"):
    """Search for nodes whose keys contain all words of `query`."""

    query: str
    limit: Limit = 50


class ChangedSince(_RequestBase, frozen=True, tag="changed_since"):
    """Get the keys of nodes that changed after a generation."""

    generation: int


class Subscribe(_RequestBase, frozen=True, tag="subscribe"):
    """Send a line on this connection for each new generation."""


class Invalidate(_RequestBase, frozen=True, tag="invalidate"):
    """Read a file again.

    `path` is either absolute, or relative to the root and spelled as in keys.
    """

    path: str


class Status(_RequestBase, frozen=True, tag="status"):
    """Get the status of the daemon, in the format of `remora hub status --json`."""


class Health(_RequestBase, frozen=True, tag="health"):
    """Check that the daemon answers."""


Request = (
    GetContext
    | GetNode
    | Callers
    | Callees
    | Tests
    | Search
    | ChangedSince
    | Subscribe
    | Invalidate
    | Status
    | Health
)
TYPES: dict[str, type[Request]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(Request)
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error in an answer."""

    code: Code
    message: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A received answer. `result` is not decoded yet. `generation` is None if `ok` is False."""

    id: Any = None
    ok: bool
    generation: int | None = None
    result: Raw = _NULL
    error: Problem | None = None


class Changed(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="changed"):
    """Event sent to subscribers. The nodes in `changed` may have changed."""

    generation: int
    changed: tuple[str, ...]


class StatusResult(msgspec.Struct, frozen=True, kw_only=True):
    """State of the daemon. `files` and `nodes` are null if unknown."""

    running: bool
    pid: int | None
    root: str
    db: str
    socket: str
    files: int | None
    nodes: int | None
    generation: int | None
    watcher: Literal["inotify", "sweep", "off"]
    last_sweep: str | None
    """RFC 3339 time of the last sweep."""
    http: str | None
    """`http://127.0.0.1:PORT` if HTTP is enabled."""
    token_file: str | None
    protocol: int = PROTOCOL


class Refused(Exception):
    """A request was refused. `id` is the id to use in the answer."""

    def __init__(self, code: Code, message: str, *, id: Raw = _NULL) -> None:
        super().__init__(message)
        self.problem = Problem(code=code, message=message)
        self.id = id


class _Done(msgspec.Struct, frozen=True):
    id: Raw
    ok: Literal[True]
    generation: int
    result: Any


class _Failed(msgspec.Struct, frozen=True):
    id: Raw
    ok: Literal[False]
    error: Problem


class _Id(msgspec.Struct):
    id: Raw = _NULL


_encoder = msgspec.json.Encoder()
_request: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_id = msgspec.json.Decoder(_Id)
_anything = msgspec.json.Decoder()
_answer = msgspec.json.Decoder(Answer)


def decode_request(line: bytes) -> Request:
    """Decode a request from a line or an HTTP body.

    Raises Refused if the request is invalid. The exception contains the request's id if it could be
    decoded.
    """
    try:
        # undecoded parts must also be UTF-8, because the id is returned unchanged
        return _request.decode(str(line, "utf-8"))
    except msgspec.ValidationError as error:
        raise _refusal(line, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused("bad_json", f"not JSON: {error}") from None
    except RecursionError:
        raise Refused("bad_request", "nested too deeply") from None


def _refusal(line: bytes, message: str) -> Refused:
    """Return the error for an invalid request.

    The request is decoded again, because the decoder may have stopped before it reached the id.
    """
    try:
        fields = _anything.decode(line)
    except RecursionError:
        return Refused("bad_request", "nested too deeply")
    except msgspec.DecodeError as error:
        return Refused("bad_json", f"not JSON: {error}")
    if not isinstance(fields, dict):
        return Refused("bad_request", f"expected an object, got {type(fields).__name__}")
    identity = _id.decode(line).id
    kind = fields.get("type")
    if not isinstance(kind, str):
        return Refused("bad_request", "`type` is missing or is not a string", id=identity)
    if kind not in TYPES:
        known = ", ".join(TYPES)
        return Refused("unknown_type", f"unknown type {kind[:80]!r}; known: {known}", id=identity)
    return Refused("bad_request", f"{kind}: {message}", id=identity)


def answer_line(request: Request, generation: int, result: Any) -> bytes:
    """Return the line for an answer, including the newline.

    Raises UnicodeEncodeError if the result contains a lone surrogate.
    """
    return _encoder.encode(_Done(request.id, True, generation, result)) + b"\n"


def encoded(result: Any) -> Raw:
    """Encode a result once, so that it can be sent several times.

    Raises UnicodeEncodeError if it contains a lone surrogate.
    """
    return Raw(_encoder.encode(result))


def problem_line(refused: Refused) -> bytes:
    """Return the line for an error answer, including the newline."""
    return _encoder.encode(_Failed(refused.id, False, refused.problem)) + b"\n"


def changed_line(generation: int, changed: tuple[str, ...]) -> bytes:
    """Return the event line for a new generation, including the newline."""
    return _encoder.encode(Changed(generation=generation, changed=changed)) + b"\n"


def request_line(request: Request) -> bytes:
    """Return the line for a request, including the newline."""
    return _encoder.encode(request) + b"\n"


def decode_answer(line: bytes) -> Answer:
    """Decode an answer. Raises msgspec.DecodeError if it is invalid."""
    return _answer.decode(line)
