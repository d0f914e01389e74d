"""An agent's settings for querying a model: decision strategy, renderer and token limit."""

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from remora.agents.decision.strategies import SHAPES, STRATEGIES
from remora.chat import ToolSchema
from remora.errors import ConfigError, ModelError
from remora.memory.prompt.render import GUIDED, RENDERER_STRATEGIES, RENDERERS
from remora.models.protocol import Capabilities, Model, NoModel, Strategy

Deciding = Literal["rules", "model"]
ANSWER_TOKENS = 200
"""Maximum tokens of an answer."""
CODE_TOKENS = 1000
"""Maximum tokens of an answer that may contain code."""
THINKING_TOKENS = 4000
"""Tokens that the thinking of a model may take before its answer."""
_SHORT_TEXT = 200
"""Characters up to which a text is not code."""
_HUB_SHARE = 5
_CHOICES = STRATEGIES.keys() - RENDERER_STRATEGIES
"""Strategies that `auto` chooses from."""


class QuerySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for querying a model. They never change during an agent's life."""

    renderer: str
    strategy: Strategy
    """The way to ask."""
    limit: int
    """Maximum size of a request in tokens."""
    most: int = 0
    """Maximum size of a request of which nothing more can be trimmed."""
    answer_tokens: int = ANSWER_TOKENS
    """Maximum size of an answer."""
    thinking_tokens: int = 0
    """Added to the size of an answer if the model thinks."""
    decisions: Deciding = "rules"
    """Who chooses the tool calls."""
    opening: bool = True
    """True if rules first do what they are sure of."""
    max_requests: int = 100
    """The model is not asked after so many requests."""
    max_tokens: int = 200_000
    """The model is not asked after so many prompt tokens."""
    seed: int | None = None
    exact: bool = False

    @property
    def excerpt_limit(self) -> int:
        """The limit of which an excerpt may take a third. A guided request has little else."""
        return self.limit * 2 if self.renderer == GUIDED else self.limit

    def hub_characters(self, rate: float) -> int:
        """Return the maximum size of Hub facts, a fifth of the limit, in characters of JSON.

        `rate` is the number of tokens per byte.
        """
        return int(self.limit // _HUB_SHARE / rate)


class Rung(NamedTuple):
    """A model that an agent may ask, and how it is asked."""

    model: Model
    settings: QuerySettings


def answer_tokens(tools: Iterable[ToolSchema], context: int | None) -> int:
    """Return the maximum tokens of an answer: at most a third of the served context."""
    tokens = CODE_TOKENS if any(map(_takes_code, tools)) else ANSWER_TOKENS
    return tokens if context is None else min(tokens, context // 3)


def _takes_code(tool: ToolSchema) -> bool:
    return any(
        argument.get("type") == "string" and argument.get("maxLength", math.inf) > _SHORT_TEXT
        for argument in tool.parameters.get("properties", {}).values()
    )


def model_record(model: Model, settings: QuerySettings) -> dict[str, Any]:
    """Return the description of the model and its query settings, as recorded in `agent_start`."""
    return {**model.describe(), **msgspec.to_builtins(settings)}


def strategy_for(model: Model, renderer: str, decoding: str) -> Strategy:
    """Return the strategy that the renderer requires, or else the strategy that `decoding` selects.

    `auto` selects the best strategy that the model supports. Raises `ModelError` if the model does
    not support the strategy, and `ConfigError` if the renderer only works with `auto`.
    """
    if isinstance(model, NoModel):
        return "rules"
    return supported_strategy(model.name, model.capabilities, renderer, decoding)


def supported_strategy(name: str, able: Capabilities, renderer: str, decoding: str) -> Strategy:
    """Return the strategy of the model `name`, which has the capabilities `able`.

    Raises the errors of `strategy_for`.
    """
    own = RENDERERS[renderer].strategy
    if own and decoding != "auto":
        raise ConfigError(
            f"model.decoding is {decoding}, but FunctionGemma uses its own call format",
            hint="set model.decoding to auto, or to tool_call for native tool calls",
        )
    wanted = own or decoding
    known = _CHOICES if wanted == "auto" else {wanted}
    if renderer == GUIDED:
        known = known & SHAPES
    choices = [(key, strategy) for key, strategy in STRATEGIES.items() if key in known]
    for key, strategy in choices:
        if strategy.is_supported(able):
            return key
    if renderer == GUIDED:
        raise ModelError(
            f"{name} follows neither a grammar nor a JSON Schema", hint="set model.asks to free"
        )
    hint = "set model.decoding to auto"
    if own:
        hint = "set model.renderer to lines or json, or model.decoding to tool_call"
    raise ModelError(f"{name} {choices[-1][1].refusal}", hint=hint)


def check_model_can(model: Model, strategy: Strategy) -> None:
    """Raise ModelError if the model does not support the strategy."""
    if strategy in STRATEGIES and not STRATEGIES[strategy].is_supported(model.capabilities):
        raise ModelError(
            f"{model.name} does not support the agent's strategy {strategy}",
            hint="use the run's original model, or fork the agent with --model",
        )
