"""Decides by rule, or from a model's answer. Also the recorded steps towards a decision."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from remora.agents.builtin_tools import NEEDS_MODEL, SUBMIT
from remora.agents.decision.candidates import is_complete
from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolSchema
from remora.memory.canonical import canonical, canonical_sha256
from remora.memory.delta import candidate
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket
from remora.models.decoding.call_validation import BadCall


class Exchange(NamedTuple):
    """A request, its answer, and the candidates that the request showed."""

    request: ModelRequest
    response: ModelResponse
    candidates: tuple[Candidate, ...]


class Tried(NamedTuple):
    """The calls that passed all checks when they were tried."""

    kept: tuple[Candidate, ...]


class Escalated(NamedTuple):
    """The turn was passed on to the larger model."""

    reason: str


Step = Exchange | Tried | Escalated


Decision = ToolCalled | AgentError
"""The turn's call, or the error that prevented one."""


def decide_without_model(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled:
    """Choose the first complete candidate, because scripts list the safest candidate first.

    If no candidate is complete, return a call that submits the changes made so far.
    """
    offered = enumerate(packet.candidate_actions)
    complete = ((place, call) for place, call in offered if is_complete(call, tools))
    index, chosen = next(complete, (None, None))
    return ToolCalled(
        tool=SUBMIT if chosen is None else chosen.tool,
        args={"summary": NEEDS_MODEL} if chosen is None else chosen.args,
        decided_by="rule",
        candidates=len(packet.candidate_actions),
        choice=index,
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def decide_by_answer(exchange: Exchange, tools: Sequence[ToolSchema]) -> Decision:
    """Derive the decision from a recorded request and its answer.

    Returns an error of kind `bad_call` if the answer is not a valid call, or of kind
    `context_truncated` if the server did not read the whole prompt.
    """
    if (truncated := truncation_of([exchange])) is not None:
        return truncated
    request = exchange.request
    try:
        chosen = _call_of(exchange, tools)
    except BadCall as bad:
        return _error("bad_call", bad.message, request)
    return replace(chosen, packet_sha256=request.packet_sha256, trim=request.trim)


def sampled_candidates(
    samples: Sequence[Exchange], tools: Sequence[ToolSchema]
) -> tuple[Candidate, ...]:
    """Return the different valid calls that a model wrote, as candidates."""
    made: dict[bytes, Candidate] = {}
    for one in samples:
        try:
            call = _call_of(one, tools)
        except BadCall:
            continue
        made.setdefault(
            canonical({"tool": call.tool, "args": call.args}),
            candidate(call.tool, call.args, "written by a model"),
        )
    return tuple(made.values())


def _call_of(exchange: Exchange, tools: Sequence[ToolSchema]) -> ToolCalled:
    strategy = STRATEGIES[exchange.request.decoding["strategy"]]
    return strategy.read(exchange.response, exchange.candidates, tools)


def truncation_of(exchanges: Sequence[Exchange]) -> AgentError | None:
    """Return an error if the server did not read the whole prompt of a request.

    A server that reports no tokens does not count them.
    """
    for one in exchanges:
        request, read = one.request, one.response.usage.prompt_tokens
        if read and read < request.least_tokens:
            message = (
                f"the server says that it read {read:,} of at least {request.least_tokens:,} "
                "prompt tokens: its context is smaller than it reports, or its count is wrong"
            )
            return _error("context_truncated", message, request)
    return None


def _error(kind: str, message: str, request: ModelRequest) -> AgentError:
    return AgentError(
        kind=kind, message=message, packet_sha256=request.packet_sha256, trim=request.trim
    )
