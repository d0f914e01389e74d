"""Query settings of an agent: decision strategy, renderer, token limit."""

from typing import Any, Literal

import msgspec

from remora.agents.decision.strategies import STRATEGIES, DecisionStrategy
from remora.errors import ConfigError, ModelError
from remora.models.protocol import Model, Strategy

ANSWER_TOKENS = 200
"""Room for a written call; a ranked answer takes one token."""
_HUB_SHARE = 5
_CHARACTERS_PER_TOKEN = 3


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


def strategy_for(
    model: Model,
    renderer: str,
    decoding: Literal["auto", "rank", "grammar", "tool_call"],
    *,
    has_candidates: bool,
) -> Strategy:
    """Return the strategy for this model.

    Raises `ModelError` or `ConfigError` if the model cannot answer as configured.
    """
    able = model.capabilities
    if renderer.startswith("functiongemma"):
        if decoding != "auto":
            raise ConfigError(
                f"model.decoding is {decoding}, but FunctionGemma writes its calls in its own way",
                hint="leave model.decoding at auto",
            )
        if not able.completions:
            raise ModelError(
                f"{model.name} has no plain completions, which the functiongemma renderer needs",
                hint="set model.renderer to lines or json",
            )
        return "completion"
    if decoding == "auto":
        if has_candidates and able.rank:
            return "rank"
        return "grammar" if able.grammar else "tool_call"
    if decoding == "rank" and not (has_candidates and able.rank):
        raise ModelError(
            f"{model.name} cannot rank candidates, or the agent has none",
            hint="set model.decoding to auto",
        )
    if decoding == "grammar" and not able.grammar:
        raise ModelError(
            f"{model.name} does not support grammars", hint="set model.decoding to auto"
        )
    return decoding


def check_model_can(model: Model, strategy: Strategy) -> None:
    """Raise ModelError unless the model supports the strategy."""
    if not STRATEGIES[strategy].is_supported(model.capabilities):
        raise ModelError(
            f"{model.name} does not support the agent's strategy {strategy}",
            hint="use the model that the run began with, or fork the agent with --model",
        )
