"""Decision strategies: ways to ask a model for a call and to parse its answer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from remora.agents.decision.candidates import matches_candidate
from remora.chat import ToolCall, ToolSchema
from remora.memory.decode_values import decode_value
from remora.memory.events import ModelResponse, ToolCalled
from remora.memory.packet import Candidate
from remora.models.decoding.argument_types import string_declaration
from remora.models.decoding.call_parsing import known_call, read_written_call
from remora.models.decoding.call_reader import Written
from remora.models.decoding.call_validation import BadCall, granted_call, short_repr
from remora.models.decoding.grammar import (
    letter_grammar,
    letter_schema,
    tool_call_grammar,
    tool_call_schema,
)
from remora.models.decoding.native_calls import read_native_call, thinking_text
from remora.models.protocol import Capabilities, Decoding, Strategy

Tools = Sequence[ToolSchema]
SHAPES = frozenset({"grammar", "json_schema"})
"""Strategies with which no answer but an offered one can be given."""
_LETTER_TOKENS = 32
"""Maximum tokens of a letter in a JSON object, with spaces. Alone, it is one token."""
_LOGPROBS = 20
"""Tokens whose log-probabilities are asked for: the most that OpenAI's API and vLLM allow."""
_ENDS_OF_COMPLETION = ("<end_of_turn>", "<start_function_response>")
_LETTER = re.compile(r'(?:\{\s*"answer"\s*:\s*")?([A-Z])(?:"\s*\})?')


@dataclass(frozen=True, kw_only=True)
class DecisionStrategy:
    """A way to ask a model for a call. Prompts and clients use the strategy's `AnswerForm`."""

    constrain: Callable[[Decoding, Tools], Decoding]
    """Restricts decoding to valid answers."""
    is_supported: Callable[[Capabilities], bool] = lambda _: True
    """Checks the model's capabilities."""
    fills_in: bool = False
    """True if a call may leave out what the first suggestion of its tool gives."""
    refusal: str = ""
    """What a model cannot do if it does not support the strategy."""

    def read(
        self, answer: ModelResponse, candidates: Sequence[Candidate], tools: Tools
    ) -> ToolCalled:
        """Return the call that an answer makes, and the candidate that it follows, if any.

        Of several, it is the one with which it has the most arguments in common. Raises BadCall if
        the answer is not a valid call.
        """
        free: dict[str, Any] = {"required": []} if self.fills_in else {}
        asked = [replace(tool, parameters={**tool.parameters, **free}) for tool in tools]
        call = _with_whole_texts(known_call(_written(answer, tools), asked), candidates)
        if self.fills_in:
            call = granted_call(_filled_in(call, candidates), tools)
        fitting = [n for n, offer in enumerate(candidates) if matches_candidate(call, offer)]
        choice = max(fitting, key=lambda index: len(candidates[index].args), default=None)
        return ToolCalled(
            tool=call.tool,
            args=call.args,
            decided_by="model",
            candidates=len(candidates),
            choice=choice,
        )


def _filled_in(call: ToolCall, candidates: Sequence[Candidate]) -> ToolCall:
    """Return the call with the other arguments of the first suggestion that it can follow."""
    own = (offer.args for offer in candidates if offer.tool == call.tool)
    fitting = (given for given in own if all(call.args.get(k, v) == v for k, v in given.items()))
    return replace(call, args={**next(fitting, {}), **call.args})


def _with_whole_texts(call: ToolCall, candidates: Sequence[Candidate]) -> ToolCall:
    """Return the call with the texts of which the packet shows only how they begin."""
    args = dict(call.args)
    given = [offer.args for offer in candidates if offer.tool == call.tool]
    for name, text in [(k, v) for k, v in args.items() if isinstance(v, str) and v.endswith("…")]:
        texts = (str(whole[name]) for whole in given if name in whole)
        args[name] = next((whole for whole in texts if whole.startswith(text[:-1])), text)
    return replace(call, args=args)


def _written(response: ModelResponse, tools: Tools) -> Written:
    """Return the call that an answer makes, as it is written, whatever the form that was asked for."""
    if response.call is not None:
        return Written(response.call.tool, decode_value(response.call.args))
    raw = decode_value(response.raw)
    text = response.text if response.text.strip() else thinking_text(raw)
    return read_native_call(raw) or read_written_call(text, tools)


def letter_decoding(base: Decoding, letters: Mapping[str, Candidate]) -> Decoding:
    """Return a decoding that allows one letter alone, and asks how probable others are."""
    is_json = base.strategy == "json_schema"
    shape = json.dumps(letter_schema(letters)) if is_json else letter_grammar(letters)
    return replace(base, grammar=shape, max_tokens=_LETTER_TOKENS, logprobs=_LOGPROBS)


def read_letter(text: str, letters: Mapping[str, Candidate]) -> Candidate:
    """Return the suggestion that an answer chooses. Raises BadCall if it chooses none."""
    found = _LETTER.fullmatch(text.strip())
    if found is None or found[1] not in letters:
        raise BadCall(f"the answer {short_repr(text)} is not one of {', '.join(letters)}")
    return letters[found[1]]


STRATEGIES: Mapping[Strategy, DecisionStrategy] = MappingProxyType(
    {
        "grammar": DecisionStrategy(
            constrain=lambda base, tools: replace(base, grammar=tool_call_grammar(tools)),
            is_supported=lambda able: able.grammar,
            refusal="does not support grammars",
        ),
        "tool_call": DecisionStrategy(
            constrain=lambda base, tools: replace(base, tools=tuple(tools)),
            is_supported=lambda able: able.tools,
            refusal="does not take tools, or does not show them to the model",
        ),
        "string_tool_call": DecisionStrategy(
            constrain=lambda base, tools: replace(
                base, tools=tuple(map(string_declaration, tools))
            ),
            fills_in=True,
        ),
        "json_schema": DecisionStrategy(
            constrain=lambda base, tools: replace(
                base, grammar=json.dumps(tool_call_schema(tools))
            ),
            is_supported=lambda able: able.json_schema,
            refusal="does not support JSON schemas",
        ),
        "text": DecisionStrategy(constrain=lambda base, _tools: base),
        "completion": DecisionStrategy(
            constrain=lambda base, _tools: replace(base, stop=_ENDS_OF_COMPLETION),
            is_supported=lambda able: able.completions,
            fills_in=True,
            refusal="does not support plain completions, which the functiongemma renderer requires",
        ),
    }
)
"""Decision strategies by their recorded names, best first."""
