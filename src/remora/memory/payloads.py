"""The payloads of the events of an agent's stream, and what all payloads share."""

from typing import Any, ClassVar

import msgspec

from remora.chat import Answer, ToolCall, ToolSchema
from remora.memory.packet import DecisionPacket

GENESIS = "0" * 64
"""The hash that precedes the first line."""


class Head(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of lines in a stream and the hash of its last line."""

    count: int = 0
    hash: str = GENESIS


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file.

    `before` and `after` are the SHA-256 hashes of the content before and after the change, or null
    if the file does not exist. `mode` contains the permission bits.
    """

    path: str
    before: str | None
    after: str | None
    mode: int


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of all payloads. `type` is the event type."""

    type: ClassVar[str] = ""


class AgentStart(Payload, frozen=True, kw_only=True):
    """Everything needed to replay an agent, including its first packet, definition and tools.

    The agent's files are the base files of the run, with `rebased` and then `changes` applied.
    `rebased` contains the files that changed after the run started, in the form `{path: {sha256,
    mode}}`, with null for a file that does not exist. `changes` contains the changes inherited from
    the parent of a fork. `first_turn` is the number of the first turn. Turn 0 includes the context
    scripts. `larger` describes the model to escalate to, if there is one. `decides` is true if the
    packet already contains the facts and candidates of the first turn.
    """

    type: ClassVar[str] = "agent_start"
    packet: DecisionPacket
    definition: dict[str, Any] = {}
    tools: tuple[ToolSchema, ...] = ()
    model: dict[str, Any] = {}
    larger: dict[str, Any] = {}
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
    """Start of a turn. Its delta sets the packet's turn."""

    type: ClassVar[str] = "turn_start"


class ContextUpdate(Payload, frozen=True, kw_only=True):
    """A change to the packet that does not come from a tool result.

    `source` is `hub`, `candidates`, `context`, `opening`, `floor` or `middleware`, and `value` is
    the value from that source. `opening` ends the turns of rules, and has the arguments with which
    rules would have submitted. `floor` has the ending of a model that failed. If a script produced
    the value, the other fields contain what is needed to run it again, as in `tool_result`.
    `output_sha256` is the hash of the canonical JSON of the script's complete output, which
    includes `value`.
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
    """A request, exactly as it was sent to a model.

    It has either `messages`, or a `prompt` for a plain completion. `model` is the name of the model
    if it is not the agent's own. A renderer that shows the history leaves out its oldest
    `omitted_events` steps. `least_tokens` is what the server must report of the `prompt_tokens` if
    it read the whole request.
    """

    type: ClassVar[str] = "model_request"
    messages: list[dict[str, Any]] | None = None
    prompt: str | None = None
    renderer: str = ""
    decoding: dict[str, Any] = {}
    packet_sha256: str = ""
    trim: int = 0
    prompt_tokens: int = 0
    least_tokens: int = 0
    model: str = ""
    omitted_events: int = 0


class ModelResponse(Answer, Payload, frozen=True, kw_only=True):
    """A model's complete answer.

    `thinking` is how many characters of `raw` are thinking, which `text` leaves out if an answer
    follows. `changed_keys` are keys of the request that the server refused: their other name, or an
    empty text if they were left out.
    """

    type: ClassVar[str] = "model_response"


class ToolCalled(Payload, frozen=True, kw_only=True):
    """The decision of a turn. `decided_by` is `rule`, `model`, `fallback` or `escalation`.

    `choice` is the index of the candidate that it follows among `candidates`, if any.
    """

    type: ClassVar[str] = "tool_call"
    tool: str
    args: dict[str, Any] = {}
    decided_by: str = "rule"
    candidates: int = 0
    choice: int | None = None
    packet_sha256: str = ""
    trim: int = 0


class ToolResulted(Payload, frozen=True, kw_only=True):
    """The complete result of a tool call.

    Together with its envelope, it corresponds to a trace entry in the mission documents. `inputs`
    contains the script's inputs, except `args` and the packet, which are already in the stream.
    With `inputs`, `host_calls`, `clock` and `seed`, the script can be run again with the same
    result on any machine. If a script summarized the result, `summarized` is `{script_sha256,
    output_sha256}`, with `problem` if the script failed or returned an unknown key. The input of
    that script is `raw_output`.
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

    Each check has the form `{name, ok, detail}`; `detail` is the problem, or what a check that
    passed has to say. If the check was a script, it also has a `script` field with the data needed
    to run the script again: `{script_sha256, inputs}`, with hashes instead of file contents.
    """

    type: ClassVar[str] = "submit_result"
    summary: str = ""
    checks: list[dict[str, Any]] = []
    verified: bool = False


class AgentError(Payload, frozen=True, kw_only=True):
    """An error in a turn, with a `kind` such as `bad_call`, `context_truncated` or `model_error`.

    If a component failed, `hint` suggests how to fix the problem. `call` is a call that no tool
    accepts.
    """

    type: ClassVar[str] = "agent_error"
    kind: str
    message: str = ""
    hint: str = ""
    call: ToolCall | None = None
    packet_sha256: str | None = None
    trim: int | None = None


class Escalation(Payload, frozen=True, kw_only=True):
    """The step to a larger model, and the reason for it. The next request is sent to `model`."""

    type: ClassVar[str] = "escalation"
    reason: str = ""
    model: dict[str, Any] = {}


class Recovered(Payload, frozen=True, kw_only=True):
    """Recovery of a stream whose tail was torn. The tail was moved to the file `quarantine`."""

    type: ClassVar[str] = "recovered"
    quarantine: str = ""
    bytes: int = 0
    sha256: str = ""


class AgentEnd(Payload, frozen=True, kw_only=True):
    """The last event of an agent's stream.

    If the model failed and rules completed the job, `status` is `submitted`, and `stop_reason` and
    `error` describe the failure.
    """

    type: ClassVar[str] = "agent_end"
    status: str
    stop_reason: str
    change_set: tuple[Change, ...] = ()
    change_set_sha256: str = ""
    error: str | None = None
