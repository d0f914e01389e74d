"""From a planned run and a model to a run that goes."""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from remora.agents.decision.query_settings import ANSWER_TOKENS, Asking, strategy_for
from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Caller
from remora.bootstrap.open_project import model_key
from remora.bootstrap.prepare_run import Prepared, RunRequest
from remora.config.schema import Config
from remora.models.protocol import Model
from remora.models.provider import open_model
from remora.runs.execution.engine import LocalEngine
from remora.runs.execution.execute import execute
from remora.runs.execution.run import Ground, Run, Watcher
from remora.trace.stream.global_log import GlobalLog
from remora.workspaces.copy.driver_choice import make_driver

EMBEDDED_LIMIT = 600
"""Tokens of a whole request to the embedded model: what it reads in about two seconds."""


def connect_own_models(caller: Caller, prepared: Prepared, model: Model) -> dict[str, Model]:
    """By operation, the models that agents name for themselves where it is not `model`.

    They are asked of the configured server. Raises ModelError, ConfigError.
    """
    own: dict[str, Model] = {}
    for agent in prepared.agents:
        name = agent.definition.model
        if name is not None and name != model.name:
            settings = prepared.project.config.model.model_copy(update={"name": name})
            folder = caller.folders.cache
            own[agent.definition.operation] = open_model(
                settings, cache=folder, api_key=model_key(caller)
            )
    return own


async def carry_out(
    prepared: Prepared,
    model: Model,
    wish: RunRequest,
    watcher: Watcher,
    clock: Callable[[], datetime],
    own: Mapping[str, Model] | None = None,
) -> None:
    """Run the plan to its end; agents of the operations in `own` ask that model instead.

    Raises ModelError if a model cannot answer as configured, OutsideError where a hub is asked for
    that does not run.
    """
    project = prepared.project
    models = {agent.definition.operation: model for agent in prepared.agents} | dict(own or {})
    asking = {
        agent.definition.operation: asking_for(
            project.config, agent, models[agent.definition.operation], wish
        )
        for agent in prepared.agents
    }
    async with prepared.facts.opened() as facts:
        run = Run(
            run_id=prepared.run_id,
            project=project,
            plan=prepared.plan,
            agents={agent.definition.operation: agent for agent in prepared.agents},
            model=lambda agent, _: models[agent.definition.operation],
            engine=LocalEngine(wish.concurrency or project.config.model.max_concurrency),
            facts=facts,
            clock=clock,
            asking=lambda agent: asking[agent.definition.operation],
            max_turns=lambda agent: max_turns_for(project.config, agent, wish),
            options={"unsafe_fixes": wish.unsafe_fixes},
            settings={**project.config.model_dump(mode="json"), **_settings(model, wish)},
            watcher=watcher,
            listeners=listeners_for(project.config, prepared.events_file),
            python=prepared.python,
        )
        driver = make_driver(project.config.workspace.driver, prepared.base, project.cache)
        with closing(driver):
            await execute(run, Ground(base=prepared.base, workspaces=driver))


def listeners_for(config: Config, events_file: Path) -> tuple[GlobalLog, ...]:
    """Who else is shown every event."""
    return (GlobalLog(events_file),) if config.runner.memory.global_events else ()


def asking_for(config: Config, agent: Agent, model: Model, wish: RunRequest) -> Asking:
    """How `model` is asked for `agent`. Raises ModelError or ConfigError if it cannot be so."""
    memory = config.runner.memory
    renderer: str = "lines" if config.model.renderer == "auto" else config.model.renderer
    limit = memory.packet_size_limit
    if model.describe().get("provider") == "embedded":
        limit = min(limit, EMBEDDED_LIMIT)
    if not memory.enabled:  # for comparisons: as much raw history as the server takes
        renderer, limit = "history", model.context or limit
    if model.context is not None:
        limit = min(limit, model.context - ANSWER_TOKENS)
    has_candidates = agent.candidates is not None
    return Asking(
        renderer=f"{renderer}/1",
        strategy=strategy_for(
            model, renderer, config.model.decoding, has_candidates=has_candidates
        ),
        limit=limit,
        margin=config.model.margin,
        seed=wish.seed if wish.seed is not None else 0,
        exact=config.model.exact,
    )


def max_turns_for(config: Config, agent: Agent, wish: RunRequest) -> int:
    """The flag, else the configured operation, else the definition, else the runner's."""
    operation = config.operations.get(agent.definition.operation)
    configured = operation.max_turns if operation is not None else None
    return wish.max_turns or configured or agent.definition.max_turns or config.runner.max_turns


def _settings(model: Model, wish: RunRequest) -> dict[str, Any]:
    return {
        "model_name": model.name,
        "unsafe_fixes": wish.unsafe_fixes,
        "seed": wish.seed,
        "max_turns": wish.max_turns,
    }
