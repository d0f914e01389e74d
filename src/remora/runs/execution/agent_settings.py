"""Agent settings taken from the run's configuration."""

from collections.abc import Iterable, Sequence
from typing import Any

from remora.agents.decision.query_settings import (
    THINKING_TOKENS,
    Deciding,
    QuerySettings,
    answer_tokens,
    strategy_for,
    supported_strategy,
)
from remora.agents.definition.agent import Agent
from remora.config.schema import Config
from remora.memory.prompt.render import FUNCTIONGEMMA_TOOLS, GUIDED, LONG_TRACK, RENDERERS
from remora.models.protocol import Capabilities, Model
from remora.runs.execution.run import RunRequest

_LARGER_CONTEXT = 16_000
"""Tokens that a larger model is assumed to read if its server does not say how many it can."""
UNKNOWN_LIMIT = 3000
"""Maximum tokens of a request if the server does not report its context."""
LARGEST_LIMIT = 8000
"""Maximum tokens of a request to a model with a large context."""
SMALL_LIMIT = 600
"""Maximum tokens of a request to the embedded model, which takes about two seconds to read them,
and of a guided one."""
_TOKEN_BYTES = 3
"""Bytes of a token, until a server has counted one. Else a method of 6 lines is shown without two."""


def query_settings_for(
    config: Config, agent: Agent, model: Model, request: RunRequest
) -> QuerySettings:
    """Return the settings that `agent` uses to query `model`.

    Raises ModelError or ConfigError if the model cannot be used as configured.
    """
    answer, thinking = _answer_tokens(config, agent, model)
    limit, most = _limits(config, model, answer + thinking * model.capabilities.thinks)
    renderer, decoding = _renderer_and_decoding(config)
    provider = str(model.describe().get("provider"))
    if renderer.startswith("lines/") and is_guided(config, provider) and agent.candidates:
        renderer = GUIDED
        if config.runner.memory.packet_size_limit == "auto":
            unit = _TOKEN_BYTES if model.counter.basis == "bytes" else 1
            limit = min(limit, SMALL_LIMIT * unit)
    return QuerySettings(
        renderer=renderer,
        strategy=strategy_for(model, renderer, decoding),
        limit=limit,
        most=most,
        answer_tokens=answer,
        thinking_tokens=thinking,
        decisions=deciding(config, agent, provider),
        opening=config.runner.opening,
        **_common_settings(config, request),
    )


def is_guided(config: Config, provider: str) -> bool:
    """Return True if models of a provider only choose suggestions and fill them in."""
    asks = config.model.asks
    return asks == "guided" or (asks == "auto" and provider == "embedded")


def _answer_tokens(config: Config, agent: Agent, model: Model) -> tuple[int, int]:
    """Return the maximum tokens of an answer, and of thinking before it, in half of the context."""
    context = model.context
    answer = answer_tokens((tool.schema for tool in agent.tools.values()), context)
    configured = config.model.max_output_tokens
    most = THINKING_TOKENS + answer if configured is None else configured
    most = most if context is None else min(most, context // 2)
    return (answer, most - answer) if configured is None else (most, 0)


def _limits(config: Config, model: Model, answer: int) -> tuple[int, int]:
    """Return the maximum tokens of a request, and of one that cannot be trimmed further."""
    memory, context = config.runner.memory, model.context
    room = LARGEST_LIMIT if context is None else context - answer
    if memory.mode != "packets" and context is not None:  # as much history as is accepted
        return room, room
    limit = UNKNOWN_LIMIT if context is None else min(LARGEST_LIMIT, context // 2)
    if memory.packet_size_limit != "auto":
        limit = memory.packet_size_limit
    if model.describe().get("provider") == "embedded":
        limit = min(limit, SMALL_LIMIT)
    if context is not None:
        limit = min(limit, room)
    return limit, room if memory.packet_size_limit == "auto" else limit


def deciding(config: Config, agent: Agent, provider: str) -> Deciding:
    """Return who chooses the agent's tool calls.

    An agent without candidates has no rules that could.
    """
    by_rules = {"rules", "free"} if is_guided(config, provider) else {"rules"}
    if provider == "none" or agent.definition.decisions in by_rules:
        return "rules"
    return "model" if agent.candidates is None else config.runner.decisions


def driven_operations(agents: Iterable[Agent], config: Config, provider: str) -> frozenset[str]:
    """Return the operations of the agents in which a model chooses the tool calls."""
    return frozenset(
        agent.definition.operation
        for agent in agents
        if deciding(config, agent, provider) == "model"
    )


def configured_strategy(config: Config, name: str, able: Capabilities) -> str:
    """Return the strategy of the model `name` with the capabilities `able`.

    Raises ModelError if the model does not support it.
    """
    return supported_strategy(name, able, *_renderer_and_decoding(config))


def _renderer_and_decoding(config: Config) -> tuple[str, str]:
    """Return the newest version of the renderer, and the decoding to use with it."""
    renderer: str = "lines" if config.model.renderer == "auto" else config.model.renderer
    if config.runner.memory.mode != "packets":
        renderer = {"raw": "history", "masked": "masked"}[config.runner.memory.mode]
    if (renderer, config.model.decoding) == ("functiongemma", "tool_call"):
        return FUNCTIONGEMMA_TOOLS, "auto"
    newest = max(name for name in RENDERERS if name.startswith(f"{renderer}/"))
    return newest, config.model.decoding


def larger_settings(
    config: Config, agent: Agent, model: Model, request: RunRequest
) -> QuerySettings:
    """Return the settings of the larger model, which sees as much of the history as it can read."""
    answer, thinking = _answer_tokens(config, agent, model)
    return QuerySettings(
        renderer=LONG_TRACK,
        strategy=strategy_for(model, LONG_TRACK, "auto"),
        limit=(model.context or _LARGER_CONTEXT) - answer - thinking * model.capabilities.thinks,
        answer_tokens=answer,
        thinking_tokens=thinking,
        **_common_settings(config, request),
    )


def _common_settings(config: Config, request: RunRequest) -> dict[str, Any]:
    limits = config.model
    return {
        "max_requests": limits.max_requests,
        "max_tokens": limits.max_tokens,
        "seed": request.seed if request.seed is not None else 0,
        "exact": limits.exact,
    }


def max_turns_for(config: Config, agent: Agent, request: RunRequest) -> int:
    """Return the maximum number of turns for an agent.

    The command-line flag takes precedence, followed by the operation's configuration, the agent
    definition, and the runner's default.
    """
    operation = config.operations.get(agent.definition.operation)
    configured = operation.max_turns if operation is not None else None
    return request.max_turns or configured or agent.definition.max_turns or config.runner.max_turns


def selected_rules_of(config: Config) -> Sequence[str]:
    """Return the ruff rules that the user selects, also for the checks of other operations."""
    found = (getattr(settings, "select", None) for settings in config.operations.values())
    return next(filter(None, found), ())
