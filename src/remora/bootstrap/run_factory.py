"""From a planned run and a model to a run that goes."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any

from remora.bootstrap.invocation import Caller
from remora.bootstrap.open_project import model_key
from remora.config.schema import Config
from remora.models.protocol import Model
from remora.models.provider import open_model
from remora.runs.execution.agent_settings import asking_for
from remora.runs.execution.execute import execute
from remora.runs.execution.run import Ground, Run, Watcher
from remora.runs.planning.request import RunRequest
from remora.trace.stream.global_log import GlobalEventLog
from remora.workspaces.copy.driver_choice import make_driver


def connect_own_models(caller: Caller, prepared: Run, model: Model) -> dict[str, Model]:
    """By operation, the models that agents name for themselves where it is not `model`.

    They are asked of the configured server. Raises ModelError, ConfigError.
    """
    own: dict[str, Model] = {}
    for agent in prepared.agents.values():
        name = agent.definition.model
        if name is not None and name != model.name:
            config = prepared.project.config
            settings = config.model.model_copy(update={"name": name})
            folder = caller.folders.cache
            own[agent.definition.operation] = open_model(
                settings, cache=folder, api_key=model_key(caller, config)
            )
    return own


async def carry_out(
    prepared: Run,
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
    project, base = prepared.project, prepared.base
    assert base is not None, "a new run has a base"
    own = own or {}
    names = {
        agent.definition.model: own.get(operation, model)
        for operation, agent in prepared.agents.items()
        if agent.definition.model is not None
    }
    run = replace(
        prepared,
        request=wish,
        models={**names, model.name: model},
        default_model=model.name,
        settings={**project.config.model_dump(mode="json"), **_settings(model, wish)},
        watcher=watcher,
        clock=clock,
    )
    for agent in run.agents.values():  # before anything is recorded
        asking_for(project.config, agent, run.model(agent), wish)
    async with prepared.source.opened() as facts:
        driver = make_driver(project.config.workspace.driver, base, project.cache)
        with closing(driver):
            await execute(replace(run, facts=facts), Ground(base=base, workspaces=driver))


def listeners_for(caller: Caller, config: Config) -> tuple[GlobalEventLog, ...]:
    """Return who else sees every event."""
    events_file = caller.folders.cache / "events.jsonl"
    return (GlobalEventLog(events_file),) if config.runner.memory.global_events else ()


def _settings(model: Model, wish: RunRequest) -> dict[str, Any]:
    return {
        "model_name": model.name,
        "unsafe_fixes": wish.unsafe_fixes,
        "seed": wish.seed,
        "max_turns": wish.max_turns,
    }
