"""Connections to the models of a recorded run, at the addresses that are configured now."""

import asyncio
from collections.abc import Collection, Iterable, Sequence

from remora.agents.definition.agent import Agent
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_helpers, connect_model
from remora.errors import ModelError, UsageError
from remora.memory.events import AgentStart, RunStart
from remora.models.agreed_addresses import require_agreed
from remora.models.protocol import Model
from remora.models.provider import model_is_optional
from remora.runs.project import Project
from remora.runs.records.run_record import is_of_client


def models_named_by(agents: Iterable[Agent], starts: Iterable[AgentStart | None] = ()) -> set[str]:
    """Return the models that definitions of agents name, now and in recorded start events."""
    recorded = (start.definition.get("model") for start in starts if start is not None)
    return {
        str(name) for name in (*(agent.definition.model for agent in agents), *recorded) if name
    }


def connect_models(
    invocation: Invocation,
    project: Project,
    start: RunStart,
    names: Iterable[str],
    by_project: Collection[str],
) -> dict[str, Model]:
    """Connect to models at their current addresses, and return them keyed by name.

    `by_project` are the models that agents of the project name, now or when they ran. Nothing is
    connected before the user has agreed to each of them.

    Raises ConfigError if the user has not, and ModelError if the server has a different model,
    because a run must never change its model silently. Raises UsageError if no address is
    configured; the address in `start` is never used, but the error names it.
    """
    connected: dict[str, Model] = {}
    names = tuple(dict.fromkeys(names))
    _require_address(project, start, names)
    for name in names:
        require_agreed(project.config, name, by_project=name in by_project)
    for name in names:
        model = connect_model(invocation, project.config, name, by_project=name in by_project)
        if model.name != name:
            raise ModelError(
                f"the agents used the model {name}, but the configured "
                f"server provides {model.name}",
                hint="use a server with the original model, or fork an agent with --model",
            )
        connected[name] = model
    main = next(iter(connected.values()), None)
    return connected | (connect_helpers(invocation, project.config, main) if main else {})


def _require_address(project: Project, start: RunStart, names: Sequence[str]) -> None:
    recorded = start.config.get("model")
    address = recorded.get("base_url") if isinstance(recorded, dict) else None
    model = project.config.model
    if is_of_client(start) and start.config["model_name"] in names and model_is_optional(model):
        raise UsageError(
            "clients of `remora mcp --jobs` decided in this run, in place of a model",
            hint="let a client call next_job, or pass `--model URL` of a server whose model "
            "has the client's name",
        )
    if names and address and model_is_optional(model):
        raise UsageError(
            f"the run used the model {names[0]} at {address}, but no address is configured now",
            hint=f"pass `--model {address}`, or set model.base_url to the address of a server "
            "that has this model",
        )


def close_models(models: Iterable[Model]) -> None:
    """Close models outside an event loop."""

    async def close() -> None:
        for model in models:
            await model.aclose()

    asyncio.run(close())
