"""The payload of each event type of the Long Track."""

from typing import Any, ClassVar

import msgspec

from remora.chat import ParserMiss, ToolCall, ToolSchema, Usage
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

    `source` is `hub`, `candidates`, `context`, `opening`, `trials`, `floor` or `middleware`, and
    `value` is the value from that source. `opening` ends the turns of rules, and has the arguments
    with which rules would have submitted. `trials` has the hash of the outcome that rules lead to,
    and what became of each candidate. `floor` has the ending of a model that failed. If a script
    produced the value, the other fields contain what is needed to run it again, as in
    `tool_result`. `output_sha256` is the hash of the canonical JSON of the script's complete
    output, which includes `value`.
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


class ModelResponse(Payload, frozen=True, kw_only=True):
    """A model's complete answer. If the server left a call in the text, `parser_miss` says so."""

    type: ClassVar[str] = "model_response"
    text: str = ""
    call: ToolCall | None = None
    parser_miss: ParserMiss | None = None
    usage: Usage = Usage()
    finish_reason: str | None = None
    raw: Any = None


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

    `observed` records what the tests executed, as `{files: {path: sha256}, tests: {id: [key]},
    calls: [[caller, callee, line]]}`. It is empty if no tests ran.
    """

    type: ClassVar[str] = "submit_result"
    summary: str = ""
    checks: list[dict[str, Any]] = []
    verified: bool = False
    observed: dict[str, Any] = {}


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
    """Recovery of a stream whose tail was torn. The tail was moved to the file `quarantine`.

    No acknowledged event was lost.
    """

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


class RunStart(Payload, frozen=True, kw_only=True):
    """The plan, base files and configuration of a run.

    If the run's anchors are signed, `signing` identifies the key as `{"algorithm", "key"}`.
    """

    type: ClassVar[str] = "run_start"
    plan: dict[str, Any] = {}
    config: dict[str, Any] = {}
    base: dict[str, Any] = {}
    signing: dict[str, str] | None = None
    install: str = ""


class JobStart(Payload, frozen=True, kw_only=True, gc=False):
    """Start of a job attempt."""

    type: ClassVar[str] = "job_start"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1


class JobEnd(Payload, frozen=True, kw_only=True, gc=False):
    """End of a job attempt.

    `head` anchors the agent's stream in the run's stream, and `signature` is the signature of
    `head`.
    """

    type: ClassVar[str] = "job_end"
    agent_id: str
    operation: str
    node_id: str
    attempt: int = 1
    status: str = ""
    head: Head = Head()
    signature: str | None = None


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What replaced an agent's change set that was accepted in part or with edits.

    `changes` was applied instead of the change set, and `sha256` is the hash of its canonical JSON.
    `hunks` contains the numbers of the accepted hunks, counted from 1, of `of` hunks. It is empty
    if `edited` is true: then the user has edited the contents.
    """

    changes: tuple[Change, ...]
    sha256: str
    hunks: tuple[int, ...] = ()
    of: int = 0
    edited: bool = False


class Review(Payload, frozen=True, kw_only=True):
    """A user's verdict on a change set. A later verdict replaces an earlier one.

    `verdict` is `accepted`, `rejected`, `conflict`, `retried`, `reverted`, `withdrawn` or
    `reopened`. The last one withdraws the verdict before it, so that the change set is pending
    again. `surface` is `cli` or `web`.

    `signature` is the signature of `head`. If `branch` is set, the accepted change set was
    committed to that branch, and the working tree was not changed. `written` is set if the change
    set was accepted in part or with edits, and has all parts that were accepted until then.
    `present` contains the numbers of the accepted hunks, counted from 1, that the user's files
    already contained, and that `revert` therefore keeps. Both are repeated in the verdict that takes
    the acceptance back. `left` contains the numbers of the hunks that are still pending, if only
    some hunks of the change set were accepted, rejected or reverted. `refused` contains the
    identities of the rejected hunks, which are not proposed again.
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
    written: Written | None = None
    present: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A gate of the project, such as its tests. If it did not judge, `missing` says why.

    `note` has what is left out, such as tests that differ between two runs.
    """

    name: str
    label: str = ""
    missing: str = ""
    note: str = ""


class TakenOut(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a change set that gates took out because one was worse with it, and the reasons.

    `kept` contains the numbers of the hunks that are still proposed, counted from 1. `findings`
    contains the findings, each as `{code, message, line}`, that the change set fixed in the others.
    """

    agent_id: str
    kept: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()


class Gates(Payload, frozen=True, kw_only=True):
    """The judgement of a project's gates on the change sets of the agents `judged` together.

    `proof` is `tested` if the project's tests are as before with what is left, `checked` if another
    gate is, and `parsed` otherwise. `seconds` is the time that the gates took.
    """

    type: ClassVar[str] = "gates"
    results: tuple[GateResult, ...] = ()
    judged: tuple[str, ...] = ()
    taken_out: tuple[TakenOut, ...] = ()
    proof: str = ""
    seconds: float = 0.0


class RunEnd(Payload, frozen=True, kw_only=True):
    """End of a run. `totals` counts the run's jobs by status.

    `signature` is the signature of the run's head before this event.
    """

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
        Gates,
        RunEnd,
    )
}
