"""An agent's settings for querying a model: decision strategies, renderer and token limit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from remora.agents.decision.candidates import is_complete
from remora.agents.decision.strategies import STRATEGIES, WITHOUT_MODEL, DecisionStrategy
from remora.chat import ToolSchema
from remora.errors import ConfigError, ModelError
from remora.memory.packet import Candidate
from remora.memory.prompt.render import RENDERER_STRATEGIES, RENDERERS
from remora.memory.prompt.text_place import have_texts
from remora.models.no_model import NoModel
from remora.models.protocol import Model, Strategy

ANSWER_TOKENS = 200
"""Maximum tokens of a written call. A ranked answer takes one token."""
_HUB_SHARE = 5
_CHARACTERS_PER_TOKEN = 3
_CHOICES = {n for n, each in STRATEGIES.items() if each.asks_model} - RENDERER_STRATEGIES
"""Strategies that `auto` chooses from."""
_CHOOSING = frozenset(name for name, each in STRATEGIES.items() if not each.fills_arguments)


class QuerySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for querying a model. They never change during an agent's life.

    `strategy` chooses between candidates, and `writer` fills in the arguments that a candidate does
    not have. Without a writer, all candidates must be complete, unless `strategy` can fill them in.
    It is asked `samples` times if its answers are tried, until `max_requests` requests or
    `max_tokens` prompt tokens were sent. If `scores_texts` is true, candidates with texts are
    chosen by `likelihood`. Of several answers that pass, one is chosen in the same way if
    `ranks_fitted` is true and the place of the texts has fitted weights, or if `ranks_samples` is
    true; otherwise, the first is used. `limit` is the maximum size of a request in tokens. `margin`
    is the minimum difference in nats between the scores of the two best candidates. If the
    difference is smaller, the first candidate is used. If `chooses` is false, no model is asked to
    choose between complete candidates of an agent, and the first is used.
    """

    renderer: str
    strategy: Strategy
    limit: int
    writer: Strategy | None = None
    scores_texts: bool = False
    ranks_samples: bool = False
    ranks_fitted: bool = False
    samples: int = 1
    max_requests: int = 100
    max_tokens: int = 200_000
    margin: float = 1.0
    chooses: bool = True
    seed: int | None = None
    exact: bool = False

    @property
    def decision(self) -> DecisionStrategy:
        """Return the strategy for choices."""
        return STRATEGIES[self.strategy]

    @property
    def asks_no_model(self) -> bool:
        """Return True if rules make all decisions."""
        return not self.decision.asks_model and self.writer is None

    @property
    def writing(self) -> Strategy | None:
        """Return the strategy that fills in missing arguments, or None if the model cannot."""
        return self.writer or (self.strategy if self.decision.fills_arguments else None)

    def strategy_for_turn(
        self, candidates: Sequence[Candidate], tools: Sequence[ToolSchema]
    ) -> Strategy:
        """Return the strategy for these candidates: to write, to score texts, or to choose."""
        is_open = not candidates or not all(is_complete(one, tools) for one in candidates)
        if is_open and self.writing is not None:
            return self.writing
        if self.scores_texts and candidates and have_texts(candidates):
            return "likelihood"
        return self.strategy

    def hub_characters(self, *, exact: bool) -> int:
        """Return the maximum size of Hub facts, a fifth of the limit, in characters of JSON.

        `exact` is true if tokens are counted exactly, and false if each byte counts as a token.
        """
        return self.limit // _HUB_SHARE * (_CHARACTERS_PER_TOKEN if exact else 1)


class Rung(NamedTuple):
    """A model that an agent may ask, and how it is asked."""

    model: Model
    settings: QuerySettings


def model_record(model: Model, settings: QuerySettings) -> dict[str, Any]:
    """Return the description of the model and its query settings, as recorded in `agent_start`."""
    return {**model.describe(), **msgspec.to_builtins(settings)}


def strategy_for(model: Model, renderer: str, decoding: str, *, has_candidates: bool) -> Strategy:
    """Return the strategy that the renderer requires, or else the strategy that `decoding` selects.

    `auto` selects the best strategy that the model supports. Raises `ModelError` if the model does
    not support the strategy, and `ConfigError` if the renderer only works with `auto`.
    """
    if isinstance(model, NoModel):
        return WITHOUT_MODEL
    own = RENDERERS[renderer].strategy
    decoding = "auto" if decoding == "likelihood" else decoding
    if own and decoding != "auto":
        raise ConfigError(
            f"model.decoding is {decoding}, but FunctionGemma uses its own call format",
            hint="set model.decoding to auto, or to tool_call for native tool calls",
        )
    wanted = own or decoding
    known = _CHOICES if wanted == "auto" else {wanted}
    choices = [(name, each) for name, each in STRATEGIES.items() if name in known]
    for name, each in choices:
        if each.fits(model.capabilities, has_candidates=has_candidates):
            return name
    hint = "set model.decoding to auto"
    if own:
        hint = "set model.renderer to lines or json, or model.decoding to tool_call"
    raise ModelError(f"{model.name} {choices[-1][1].refusal}", hint=hint)


def writer_for(model: Model, renderer: str, decoding: str) -> Strategy | None:
    """Return the strategy with which the model writes, or None if it only chooses.

    The embedded model cannot write.
    """
    decoding = "auto" if decoding == "likelihood" else decoding
    cannot = isinstance(model, NoModel) or model.describe().get("provider") == "embedded"
    if cannot or decoding in _CHOOSING:
        return None
    for name in ("completion", "string_tool_call", "grammar", "tool_call"):
        if name == RENDERERS[renderer].strategy or name == decoding:
            return name
    return "grammar" if model.capabilities.grammar else "tool_call"


def may_write(provider: str, renderer: str, decoding: str, *, has_candidates: bool) -> bool:
    """Return True if `QuerySettings.writing` will be set for a model of this provider.

    No connection to the model is needed.
    """
    if provider == "none":
        return False
    wanted = RENDERERS[renderer].strategy or ("auto" if decoding == "likelihood" else decoding)
    if wanted == "auto":
        return provider != "embedded" or not has_candidates
    return wanted not in _CHOOSING


def check_model_can(model: Model, strategy: Strategy) -> None:
    """Raise ModelError if the model does not support the strategy."""
    if not STRATEGIES[strategy].is_supported(model.capabilities):
        raise ModelError(
            f"{model.name} does not support the agent's strategy {strategy}",
            hint="use the run's original model, or fork the agent with --model",
        )
