"""Decision strategies: ways to ask a model for a call and to parse its answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from msgspec.structs import replace

from remora.agents.decision.candidates import declared_tools, limit_tools, matches_candidate
from remora.chat import ToolCall, ToolSchema
from remora.memory.decode_values import decode_value
from remora.memory.events import ModelResponse, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import LABELS
from remora.models.decoding.call_validation import BadCall, find_tool, validate_call
from remora.models.decoding.functiongemma_calls import parse_functiongemma
from remora.models.decoding.grammar import tool_call_grammar
from remora.models.decoding.json_calls import parse_json_call
from remora.models.protocol import Capabilities, Decoding, Strategy

Tools = Sequence[ToolSchema]


@dataclass(frozen=True, kw_only=True)
class DecisionStrategy:
    """A way to decide on a call.

    - `constrain` restricts decoding to valid answers.
    - `read` turns an answer into a call. Its arguments are the answer, the candidates, the tools
      and the margin in nats. It raises BadCall if the answer is not a valid call.
    - `is_supported` checks the model's capabilities.
    - `refusal` describes what a model cannot do if it does not support the strategy.

    Prompts and clients use the strategy's `AnswerForm`.
    """

    constrain: Callable[[Decoding, DecisionPacket, Tools], Decoding]
    read: Callable[[ModelResponse, Sequence[Candidate], Tools, float], ToolCalled]
    is_supported: Callable[[Capabilities], bool] = lambda _: True
    needs_complete_candidates: bool = False
    """True if the model cannot fill in missing arguments."""
    refusal: str = ""
    asks_model: bool = True

    @property
    def fills_arguments(self) -> bool:
        """Return True if the model fills in arguments that a candidate does not have."""
        return self.asks_model and not self.needs_complete_candidates

    def fits(self, able: Capabilities, *, has_candidates: bool) -> bool:
        """Return True if the model supports the strategy and any required candidates exist."""
        return self.is_supported(able) and (has_candidates or not self.needs_complete_candidates)


def _constrain_rank(base: Decoding, shown: DecisionPacket, _: Tools) -> Decoding:
    return replace(base, labels=LABELS[: len(shown.candidate_actions)], max_tokens=1)


def _constrain_grammar(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    return replace(base, grammar=tool_call_grammar(limit_tools(tools, shown.candidate_actions)))


def _constrain_tool_call(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    return replace(base, tools=declared_tools(shown, tools))


def _constrain_completion(base: Decoding, _shown: DecisionPacket, _tools: Tools) -> Decoding:
    return replace(base, stop=("<end_of_turn>", "<start_function_response>"))


def _read_rank(
    response: ModelResponse, candidates: Sequence[Candidate], _: Tools, margin: float
) -> ToolCalled:
    """Choose the candidate with the best score.

    If the two best scores differ by less than `margin`, choose the first candidate.
    """
    found = response.scores or {}
    labels = LABELS[: len(candidates)]
    if any(label not in found for label in labels):
        raise BadCall("the server did not score every candidate")
    scores = [found[label] for label in labels]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    sure = len(order) < 2 or scores[order[0]] - scores[order[1]] >= margin
    choice = order[0] if sure else 0
    return ToolCalled(
        tool=candidates[choice].tool,
        args=candidates[choice].args,
        decided_by="model" if sure else "fallback",
        scores=list(scores),
        choice=choice,
    )


def _read_written(
    parse: Callable[[ModelResponse, Tools], ToolCall],
) -> Callable[[ModelResponse, Sequence[Candidate], Tools, float], ToolCalled]:
    """Return a function that parses calls written by a model.

    If there are candidates, the call must match one of them.
    """

    def read(
        response: ModelResponse, candidates: Sequence[Candidate], tools: Tools, _margin: float
    ) -> ToolCalled:
        call = parse(response, tools)
        choice = next((i for i, c in enumerate(candidates) if matches_candidate(call, c)), None)
        if candidates and choice is None:
            raise BadCall(f"{call.tool} with these arguments is not one of the valid actions")
        return ToolCalled(
            tool=call.tool,
            args=call.args,
            decided_by="model",
            scores=[None] * len(candidates),
            choice=choice,
        )

    return read


def _native_call(response: ModelResponse, tools: Tools) -> ToolCall:
    if response.call is None:
        raise BadCall("the answer has no tool call")
    call = replace(response.call, args=decode_value(response.call.args))
    return validate_call(call, find_tool(call.tool, tools))


WITHOUT_MODEL: Strategy = "rules"
STRATEGIES: Mapping[Strategy, DecisionStrategy] = MappingProxyType(
    {
        "rank": DecisionStrategy(
            constrain=_constrain_rank,
            read=_read_rank,
            is_supported=lambda able: able.rank,
            needs_complete_candidates=True,
            refusal="cannot rank candidates, or the agent has no candidates",
        ),
        "grammar": DecisionStrategy(
            constrain=_constrain_grammar,
            read=_read_written(lambda response, tools: parse_json_call(response.text, tools)),
            is_supported=lambda able: able.grammar,
            refusal="does not support grammars",
        ),
        "tool_call": DecisionStrategy(
            constrain=_constrain_tool_call,
            read=_read_written(_native_call),
        ),
        "completion": DecisionStrategy(
            constrain=_constrain_completion,
            read=_read_written(lambda response, tools: parse_functiongemma(response.text, tools)),
            is_supported=lambda able: able.completions,
            refusal="does not support plain completions, which the functiongemma renderer requires",
        ),
        WITHOUT_MODEL: DecisionStrategy(
            constrain=lambda base, _shown, _tools: base,
            read=_read_written(_native_call),
            asks_model=False,
        ),
    }
)
"""Decision strategies by their recorded names, best first."""
