"""Decision strategies: ways to ask a model for a call and to parse its answers."""

import math
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
from remora.models.decoding.call_validation import BadCall
from remora.models.decoding.functiongemma_calls import (
    parse_functiongemma,
    string_declaration,
    typed_arguments,
)
from remora.models.decoding.grammar import tool_call_grammar
from remora.models.decoding.json_calls import parse_json_call
from remora.models.decoding.native_calls import read_native_call
from remora.models.protocol import Capabilities, Decoding, Strategy

Tools = Sequence[ToolSchema]
Answers = Sequence[ModelResponse]
"""A model's answers in a turn, at least one."""


@dataclass(frozen=True, kw_only=True)
class DecisionStrategy:
    """A way to decide on a call.

    - `constrain` restricts decoding to valid answers.
    - `read` turns the answers into a call. Its arguments are the answers, the candidates, the
      tools and the margin in nats. It raises BadCall if an answer is not a valid call.
    - `asks_again` returns True if another answer is needed. Its arguments are the answers so far
      and the candidates.
    - `is_supported` checks the model's capabilities.
    - `refusal` describes what a model cannot do if it does not support the strategy.

    Prompts and clients use the strategy's `AnswerForm`.
    """

    constrain: Callable[[Decoding, DecisionPacket, Tools], Decoding]
    read: Callable[[Answers, Sequence[Candidate], Tools, float], ToolCalled]
    asks_again: Callable[[Answers, Sequence[Candidate]], bool] = lambda _answers, _: False
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


def _constrain_scores(base: Decoding, shown: DecisionPacket, _: Tools) -> Decoding:
    return replace(base, labels=LABELS[: len(shown.candidate_actions)])


def _constrain_rank(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    return replace(_constrain_scores(base, shown, tools), max_tokens=1)


def _constrain_grammar(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    return replace(base, grammar=tool_call_grammar(limit_tools(tools, shown.candidate_actions)))


def _constrain_tool_call(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    return replace(base, tools=declared_tools(shown, tools))


def _constrain_string_tool_call(base: Decoding, shown: DecisionPacket, tools: Tools) -> Decoding:
    declared = declared_tools(shown, tools)
    return replace(base, tools=tuple(string_declaration(tool) for tool in declared))


def _constrain_completion(base: Decoding, _shown: DecisionPacket, _tools: Tools) -> Decoding:
    return replace(base, stop=("<end_of_turn>", "<start_function_response>"))


def _ranks_again(answers: Answers, candidates: Sequence[Candidate]) -> bool:
    """Return True until every rotation of the list was ranked, or the choice has changed."""
    number = len(candidates)
    return len(answers) < number and len({_best(one) for one in _unrotated(answers, number)}) == 1


def _read_rank(
    answers: Answers, candidates: Sequence[Candidate], _: Tools, margin: float
) -> ToolCalled:
    """Choose the candidate with the best mean score over the rotations of the list.

    If the choice depends on the rotation, it is a choice of letters: choose the first candidate.
    """
    tables = _unrotated(answers, len(candidates))
    means = [sum(column) / len(tables) for column in zip(*tables, strict=True)]
    stable = len({_best(table) for table in tables}) == 1
    return _scored_call(candidates, means, margin if stable else math.inf)


def _read_likelihood(
    answers: Answers, candidates: Sequence[Candidate], _: Tools, margin: float
) -> ToolCalled:
    return _scored_call(candidates, _scores(answers[-1], len(candidates)), margin)


def _scored_call(
    candidates: Sequence[Candidate], scores: Sequence[float], margin: float
) -> ToolCalled:
    """Choose the candidate with the best score.

    If the two best scores differ by less than `margin`, choose the first candidate.
    """
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


def _unrotated(answers: Answers, number: int) -> list[list[float]]:
    """Return each answer's scores in the order of the candidates.

    Answer `n` ranked the list that starts with candidate `n`.
    """
    tables = []
    for first, answer in enumerate(answers):
        scores = _scores(answer, number)
        tables.append(scores[number - first :] + scores[: number - first])
    return tables


def _scores(answer: ModelResponse, number: int) -> list[float]:
    found = answer.scores or {}
    labels = LABELS[:number]
    if any(label not in found for label in labels):
        raise BadCall("the server did not score every candidate")
    return [found[label] for label in labels]


def _best(scores: Sequence[float]) -> int:
    return max(range(len(scores)), key=scores.__getitem__)


def _read_written(
    parse: Callable[[ModelResponse, Tools], ToolCall],
) -> Callable[[Answers, Sequence[Candidate], Tools, float], ToolCalled]:
    """Return a function that parses calls written by a model.

    If there are candidates, the call must match one of them. Of several, it is the one with which
    it has the most arguments in common.
    """

    def read(
        answers: Answers, candidates: Sequence[Candidate], tools: Tools, _margin: float
    ) -> ToolCalled:
        call = parse(answers[-1], tools)
        fitting = [i for i, one in enumerate(candidates) if matches_candidate(call, one)]
        choice = max(fitting, key=lambda index: len(candidates[index].args), default=None)
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
    call = response.call
    if call is not None:
        call = replace(call, args=decode_value(call.args))
    return read_native_call(call, response.raw, tools)


def _string_call(response: ModelResponse, tools: Tools) -> ToolCall:
    call = response.call
    tool = next((one for one in tools if call is not None and one.name == call.tool), None)
    if call is not None and tool is not None:
        call = replace(call, args=typed_arguments(decode_value(call.args), tool))
    return read_native_call(call, response.raw, tools)


WITHOUT_MODEL: Strategy = "rules"
STRATEGIES: Mapping[Strategy, DecisionStrategy] = MappingProxyType(
    {
        "likelihood": DecisionStrategy(
            constrain=_constrain_scores,
            read=_read_likelihood,
            is_supported=lambda able: able.likelihood,
            needs_complete_candidates=True,
            refusal="cannot score texts, or the agent's candidates have no texts",
        ),
        "rank": DecisionStrategy(
            constrain=_constrain_rank,
            read=_read_rank,
            asks_again=_ranks_again,
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
        "string_tool_call": DecisionStrategy(
            constrain=_constrain_string_tool_call,
            read=_read_written(_string_call),
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
