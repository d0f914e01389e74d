"""Events of the Long Track: the envelope, and one payload per type."""

from typing import Any, ClassVar

import msgspec

from remora.chat import ToolCall, ToolSchema, Usage
from remora.memory.canonical import escape_surrogates
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta
from remora.memory.packet import DecisionPacket
from remora.memory.upcast import upcast_line

VERSION = 1
GENESIS = "0" * 64
"""The previous hash of the first line."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Number of lines of a stream and hash of the last one."""

    count: int = 0
    hash: str = GENESIS


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after, by SHA-256 of its bytes (null: absent), and its permission bits."""

    path: str
    before: str | None
    after: str | None
    mode: int


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all payloads; `type` is the type of the event."""

    type: ClassVar[str] = ""


class AgentStart(Payload, frozen=True, kw_only=True):
    """All that a replay needs: the first packet, the agent, its tools, versions of the rules.

    The files are those of the run's base, with `rebased` (`{path: {sha256, mode}}`, null for
    absent: files changed since the run began) and then `changes` (of a fork's parent) applied.
    `first_turn` is the first turn, 0 with the context scripts; `decides` is true if the packet
    already contains that turn's facts and candidates.
    """

    type: ClassVar[str] = "agent_start"
    packet: DecisionPacket
    definition: dict[str, Any] = {}
    tools: tuple[ToolSchema, ...] = ()
    model: dict[str, Any] = {}
    counter: str = ""
    limit: int = 0
    renderer: str = ""
    trim: str = "trim/1"
    fold: str = "fold/1"
    redaction: str | None = None
    attempt: int = 1
    parent: dict[str, Any] | None = None
    rebased: dict[str, Any] = {}
    changes: tuple[Change, ...] = ()
    first_turn: int = 0
    decides: bool = False


class TurnStart(Payload, frozen=True, kw_only=True):
    """Start of a turn; its delta sets the packet's turn."""

    type: ClassVar[str] = "turn_start"


class ContextUpdate(Payload, frozen=True, kw_only=True):
    """A change of the packet by something other than a tool result.

    `source` is `hub`, `candidates`, `context` or `middleware`; `value` is its value. If it came
    from a script, the other fields repeat its run, as in `tool_result`; `output_sha256` is of the
    canonical JSON of the script's whole output, of which `value` is a part.
    """

    type: ClassVar[str] = "context_update"
    source: str
    value: Any = None
    host_calls: list[Any] = []
    error: str | None = None
    script_sha256: str | None = None
    clock: str | None = None
    seed: int | None = None
    inputs: dict[str, Any] = {}
    output_sha256: str | None = None


class ModelRequest(Payload, frozen=True, kw_only=True):
    """A request exactly as sent to a model: `messages`, or `prompt` for plain completions."""

    type: ClassVar[str] = "model_request"
    messages: list[dict[str, Any]] | None = None
    prompt: str | None = None
    renderer: str = ""
    decoding: dict[str, Any] = {}
    packet_sha256: str = ""
    trim: int = 0
    prompt_tokens: int = 0


class ModelResponse(Payload, frozen=True, kw_only=True):
    """A model's whole answer. `scores` are natural-log probabilities by candidate label."""

    type: ClassVar[str] = "model_response"
    text: str = ""
    call: ToolCall | None = None
    scores: dict[str, float] | None = None
    usage: Usage = Usage()
    finish_reason: str | None = None
    raw: Any = None


class ToolCalled(Payload, frozen=True, kw_only=True):
    """The decision of a turn. `decided_by` is `rule`, `model`, `fallback` or `escalation`.

    `scores` has one entry per candidate, in the candidates' order: a natural-log probability,
    null if no model was asked. `choice` is the index of the chosen candidate.
    """

    type: ClassVar[str] = "tool_call"
    tool: str
    args: dict[str, Any] = {}
    decided_by: str = "rule"
    scores: list[float | None] = []
    choice: int | None = None
    packet_sha256: str = ""
    trim: int = 0


class ToolResulted(Payload, frozen=True, kw_only=True):
    """The whole result of a call; the mission's trace entry is this with its envelope.

    `inputs` are the script's inputs besides `args`, without the packet, which the stream itself
    contains. With these, `host_calls`, `clock` and `seed` the script can be run again to the same
    result on any machine. `summarized` is set if a script summarized the result:
    `{script_sha256, output_sha256}`; its input is `raw_output`.
    """

    type: ClassVar[str] = "tool_result"
    tool: str
    args: dict[str, Any] = {}
    raw_output: Any = None
    parsed_output: Any = None
    outcome: str = "success"
    duration_ms: int = 0
    host_calls: list[Any] = []
    isolation: str = ""
    changes: tuple[Change, ...] = ()
    error: str | None = None
    error_kind: str | None = None
    script_sha256: str | None = None
    clock: str | None = None
    seed: int | None = None
    inputs: dict[str, Any] = {}
    summarized: dict[str, str] | None = None


class SubmitResult(Payload, frozen=True, kw_only=True):
    """The agent's submission: its summary and the results of the `verify` checks.

    A check is `{name, ok, detail}`; for a script, `script` repeats its run:
    `{script_sha256, inputs}`, contents of files by hash.

    `observed`: what the tests executed, `{files: {path: sha256}, tests: {id: [key]},
    calls: [[caller, callee, line]]}`; empty if none ran.
    """

    type: ClassVar[str] = "submit_result"
    summary: str = ""
    checks: list[dict[str, Any]] = []
    verified: bool = False
    observed: dict[str, Any] = {}


class AgentError(Payload, frozen=True, kw_only=True):
    """An error in a turn; `kind` is `bad_call`, `context_truncated`, `model_error`…

    `hint` says what to do about it, if a component failed.
    """

    type: ClassVar[str] = "agent_error"
    kind: str
    message: str = ""
    hint: str = ""
    packet_sha256: str | None = None
    trim: int | None = None


class Escalation(Payload, frozen=True, kw_only=True):
    """A request to a larger model, with the Long Track as a blob."""

    type: ClassVar[str] = "escalation"
    reason: str = ""


class Recovered(Payload, frozen=True, kw_only=True):
    """A torn tail, moved to `quarantine`; no acknowledged event was lost."""

    type: ClassVar[str] = "recovered"
    quarantine: str = ""
    bytes: int = 0
    sha256: str = ""


class AgentEnd(Payload, frozen=True, kw_only=True):
    """The last event of an agent's stream."""

    type: ClassVar[str] = "agent_end"
    status: str
    stop_reason: str
    change_set: tuple[Change, ...] = ()
    change_set_sha256: str = ""
    error: str | None = None


class RunStart(Payload, frozen=True, kw_only=True):
    """Plan, base files and configuration of a run.

    `signing` names the key (`{"algorithm", "key"}`) if the run's anchors are signed.
    """

    type: ClassVar[str] = "run_start"
    plan: dict[str, Any] = {}
    config: dict[str, Any] = {}
    base: dict[str, Any] = {}
    signing: dict[str, str] | None = None
    install: str = ""


class JobStart(Payload, frozen=True, kw_only=True):
    """Start of an attempt of a job."""

    type: ClassVar[str] = "job_start"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1


class JobEnd(Payload, frozen=True, kw_only=True):
    """End of an attempt; `head` anchors the agent's stream in the run's, `signature` signs it."""

    type: ClassVar[str] = "job_end"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1
    status: str = ""
    head: Head = Head()
    signature: str | None = None


class Review(Payload, frozen=True, kw_only=True):
    """A user's verdict on a change set; a later one overrides. `signature` signs `head`.

    `branch`: an accepted change set was committed to it; the working tree is unchanged.
    """

    type: ClassVar[str] = "review"
    verdict: str
    agent_id: str
    change_set_sha256: str = ""
    head: Head = Head()
    feedback: str | None = None
    surface: str = "cli"
    branch: str | None = None
    detail: list[dict[str, Any]] = []
    signature: str | None = None


class RunEnd(Payload, frozen=True, kw_only=True):
    """End of a run; `totals` counts its jobs by status. `signature` signs the run's head before
    this event."""

    type: ClassVar[str] = "run_end"
    totals: dict[str, Any] = {}
    signature: str | None = None


PAYLOADS: dict[str, type[Payload]] = {
    kind.type: kind
    for kind in (
        AgentStart,
        TurnStart,
        ContextUpdate,
        ModelRequest,
        ModelResponse,
        ToolCalled,
        ToolResulted,
        SubmitResult,
        AgentError,
        Escalation,
        Recovered,
        AgentEnd,
        RunStart,
        JobStart,
        JobEnd,
        Review,
        RunEnd,
    )
}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a stream. `data` stays raw until `payload` decodes it, so that a fold does not
    decode outputs that it does not read, and unknown keys survive a copy."""

    v: int
    seq: int
    timestamp: str
    run_id: str
    agent_id: str
    operation: str
    node_id: str
    turn: int
    type: str
    data: msgspec.Raw
    packet_delta: PacketDelta | None
    hash: str = ""


_EVENT = msgspec.json.Decoder(Event)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in PAYLOADS.items()
}
_ANY_FIELDS: dict[str, frozenset[str]] = {
    name: frozenset(f for f, hint in kind.__annotations__.items() if "Any" in str(hint))
    for name, kind in PAYLOADS.items()
}
"""Fields for values of any type, in marked forms if JSON lacks it."""


def decode_event(line: bytes) -> Event:
    """Decode the event of one line. Raises `msgspec.DecodeError` (or its `ValidationError`).

    A line of an older format version is upcast to this one; unknown keys and types of newer
    versions are ignored.
    """
    try:
        event = _EVENT.decode(line)
    except msgspec.ValidationError:
        if (older := upcast_line(line, VERSION)) is None:
            raise
        return _EVENT.decode(older)
    if event.v < VERSION and (older := upcast_line(line, VERSION)) is not None:
        return _EVENT.decode(older)
    return event


def payload(event: Event) -> Payload | None:
    """Return the typed payload, or None for an unknown type.

    Raises `msgspec.ValidationError` if the data does not fit its type. A string in a blob is
    valid as `{"$blob": …}` only in fields of any type; resolve references first
    (`remora.trace.blobs`) if the whole value matters.
    """
    if (decoder := _DECODERS.get(event.type)) is None:
        return None
    try:
        found: Payload = decoder.decode(event.data)
    except msgspec.ValidationError:
        found = _payload_with_marks(event)
    return found


def _payload_with_marks(event: Event) -> Payload:
    """Return the payload with marks in typed fields decoded: surrogates, infinite scores."""
    kind = PAYLOADS[event.type]
    data = msgspec.json.decode(event.data)
    if isinstance(data, dict):
        typed = data.keys() - _ANY_FIELDS[event.type]
        data |= {name: _escaped(decode_value(data[name])) for name in typed}
    return msgspec.convert(data, kind)


def _escaped(value: Any) -> Any:
    return escape_surrogates(value) if isinstance(value, str) else value
