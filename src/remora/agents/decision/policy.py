"""Decides by rule if there is only one choice, and otherwise from the model's answer."""

from collections.abc import Sequence

from msgspec.structs import replace

from remora.agents.builtin_tools import NEEDS_MODEL, SUBMIT
from remora.agents.decision.candidates import is_complete
from remora.agents.decision.query_settings import Rung
from remora.agents.decision.steps import Exchange
from remora.agents.decision.strategies import STRATEGIES, DecisionStrategy
from remora.chat import ToolSchema
from remora.memory.canonical import canonical, canonical_sha256
from remora.memory.delta import candidate
from remora.memory.events import AgentError, ModelRequest, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket
from remora.models.decoding.call_validation import BadCall
from remora.models.protocol import is_truncated

Decision = ToolCalled | AgentError
"""The turn's call, or the error that prevented one."""


def decide_by_rule(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled | None:
    """Choose the only candidate if it is complete. Return None if a model has to choose."""
    return _candidate(packet, 0) if _single(packet, tools) else None


def decide_without_model(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled:
    """Choose the first complete candidate, because scripts list the safest candidate first.

    If no candidate is complete, return a call that submits the changes made so far.
    """
    for index, one in enumerate(packet.candidate_actions):
        if is_complete(one, tools):
            return _candidate(packet, index)
    return ToolCalled(
        tool=SUBMIT,
        args={"summary": NEEDS_MODEL},
        decided_by="rule",
        scores=[None] * len(packet.candidate_actions),
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def _single(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> bool:
    candidates = packet.candidate_actions
    return len(candidates) == 1 and is_complete(candidates[0], tools)


def _candidate(packet: DecisionPacket, index: int) -> ToolCalled:
    chosen = packet.candidate_actions[index]
    return ToolCalled(
        tool=chosen.tool,
        args=chosen.args,
        decided_by="rule",
        scores=[None] * len(packet.candidate_actions),
        choice=index,
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def decide_by_answers(
    exchanges: Sequence[Exchange], tools: Sequence[ToolSchema], rung: Rung
) -> Decision:
    """Derive the decision from recorded requests, of the same strategy, and their answers.

    Returns an error of kind `bad_call` if an answer is not a valid call, or of kind
    `context_truncated` if the server did not read the whole prompt.
    """
    if (truncated := truncation_of(exchanges, rung)) is not None:
        return truncated
    request, candidates = exchanges[-1].request, exchanges[-1].candidates
    try:
        chosen = _strategy_of(request).read(
            [one.response for one in exchanges], candidates, tools, rung.settings.margin
        )
    except BadCall as bad:
        return _error("bad_call", bad.message, request)
    return replace(chosen, packet_sha256=request.packet_sha256, trim=request.trim)


def sampled_candidates(
    samples: Sequence[Exchange], tools: Sequence[ToolSchema]
) -> tuple[Candidate, ...]:
    """Return the different valid calls that a model wrote, as candidates.

    The text of a candidate is the argument that the model filled in, if it is a single string.
    """
    made: dict[bytes, Candidate] = {}
    for one in samples:
        try:
            call = _strategy_of(one.request).read([one.response], one.candidates, tools, 0.0)
        except BadCall:
            continue
        asked = one.candidates[call.choice].args if call.choice is not None else {}
        written = [value for name, value in call.args.items() if name not in asked]
        text = written[0] if len(written) == 1 and isinstance(written[0], str) else None
        made.setdefault(
            canonical({"tool": call.tool, "args": call.args}),
            candidate(call.tool, call.args, "written by a model", text),
        )
    return tuple(made.values())


def problem_of(samples: Sequence[Exchange], tools: Sequence[ToolSchema]) -> str:
    """Return why the first invalid answer is not a valid call, or an empty string."""
    for one in samples:
        try:
            _strategy_of(one.request).read([one.response], one.candidates, tools, 0.0)
        except BadCall as bad:
            return bad.message
    return ""


def asks_again(exchanges: Sequence[Exchange]) -> bool:
    """Return True if the decision needs another answer to the same question."""
    answers, candidates = [one.response for one in exchanges], exchanges[-1].candidates
    try:
        return _strategy_of(exchanges[-1].request).asks_again(answers, candidates)
    except BadCall:
        return False


def _strategy_of(request: ModelRequest) -> DecisionStrategy:
    return STRATEGIES[request.decoding["strategy"]]


def truncation_of(exchanges: Sequence[Exchange], rung: Rung) -> AgentError | None:
    """Return an error if the server did not read the whole prompt of a request."""
    for one in exchanges:
        request, usage = one.request, one.response.usage
        if is_truncated(request.prompt_tokens, exact=rung.model.counter.exact, usage=usage):
            about = "" if rung.model.counter.exact else "about "
            message = (
                f"the server says that it read {usage.prompt_tokens:,} of {about}"
                f"{request.prompt_tokens:,} prompt tokens: its context is smaller than it reports, "
                "or its count is wrong"
            )
            return _error("context_truncated", message, request)
    return None


def _error(kind: str, message: str, request: ModelRequest) -> AgentError:
    return AgentError(
        kind=kind, message=message, packet_sha256=request.packet_sha256, trim=request.trim
    )
