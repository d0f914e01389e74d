"""Query settings of an agent: decision strategy, renderer, token limit."""

from typing import Any

import msgspec

from remora.agents.decision.strategies import STRATEGIES, WITHOUT_MODEL, DecisionStrategy
from remora.errors import ConfigError, ModelError
from remora.memory.prompt.render import RENDERER_STRATEGIES, RENDERERS
from remora.models.no_model import NoModel
from remora.models.protocol import Model, Strategy

ANSWER_TOKENS = 200
"""Room for a written call; a ranked answer takes one token."""
_HUB_SHARE = 5
_CHARACTERS_PER_TOKEN = 3
_CHOICES = {n for n, each in STRATEGIES.items() if each.asks_model} - RENDERER_STRATEGIES
"""Strategies that `auto` chooses from."""


class QuerySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Query settings, fixed for the whole life of an agent.

    `limit` is in tokens of the whole request; `margin` in nat between the two best candidates.
    """

    renderer: str
    strategy: Strategy
    limit: int
    margin: float = 1.0
    seed: int | None = None
    exact: bool = False

    @property
    def decision(self) -> DecisionStrategy:
        """Return the strategy."""
        return STRATEGIES[self.strategy]

    def hub_characters(self, *, exact: bool) -> int:
        """Return how many characters of JSON the Hub's facts may take: a fifth of the limit.

        `exact`: tokens are counted, not bounded by bytes.
        """
        return self.limit // _HUB_SHARE * (_CHARACTERS_PER_TOKEN if exact else 1)


def model_record(model: Model, settings: QuerySettings) -> dict[str, Any]:
    """Return what `agent_start` records of a model and its query settings."""
    return {**model.describe(), **msgspec.to_builtins(settings)}


def strategy_for(model: Model, renderer: str, decoding: str, *, has_candidates: bool) -> Strategy:
    """Return the strategy for this model: the renderer's own, `decoding`, or for `auto` the best.

    Raises `ModelError` or `ConfigError` if the model cannot answer as configured.
    """
    if isinstance(model, NoModel):
        return WITHOUT_MODEL
    own = RENDERERS[renderer].strategy
    if own and decoding != "auto":
        raise ConfigError(
            f"model.decoding is {decoding}, but FunctionGemma writes its calls in its own way",
            hint="leave model.decoding at auto",
        )
    wanted = own or decoding
    known = _CHOICES if wanted == "auto" else {wanted}
    choices = [(name, each) for name, each in STRATEGIES.items() if name in known]
    for name, each in choices:
        if each.fits(model.capabilities, has_candidates=has_candidates):
            return name
    hint = "set model.renderer to lines or json" if own else "set model.decoding to auto"
    raise ModelError(f"{model.name} {choices[-1][1].refusal}", hint=hint)


def check_model_can(model: Model, strategy: Strategy) -> None:
    """Raise ModelError unless the model supports the strategy."""
    if not STRATEGIES[strategy].is_supported(model.capabilities):
        raise ModelError(
            f"{model.name} does not support the agent's strategy {strategy}",
            hint="use the model that the run began with, or fork the agent with --model",
        )
