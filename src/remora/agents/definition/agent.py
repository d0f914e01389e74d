"""Loads agents: the definition, the tools and the checked scripts."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from remora.agents.builtin_tools import BUILTIN_SCHEMAS
from remora.agents.definition.agent_yaml import (
    OWN_FOLDER,
    AgentDefinition,
    ScriptReference,
    read_definition,
    stated_operation,
)
from remora.agents.definition.scripts import HARNESS_INPUTS, load_scripts
from remora.agents.named_summarizers import summarizer_named
from remora.chat import ToolSchema
from remora.config.yaml_positions import read_yaml_file
from remora.errors import ConfigError, UsageError
from remora.memory.summarizers import Summarizer
from remora.operations.base import Operations
from remora.pym import Script, ScriptChecks, examine
from remora.text import did_you_mean, escape_surrogates
from remora.tools.host_functions import HostFunction
from remora.tools.tool import Tool

MAX_PROJECT_AGENTS = 100
"""Maximum number of agents that a project may define. Commands read all of their definitions."""


@dataclass(frozen=True)
class Agent:
    """An agent's definition, tools and scripts."""

    definition: AgentDefinition
    folder: Path
    builtin: bool
    tools: Mapping[str, Tool]
    candidates: Tool | None
    context: tuple[Tool, ...]
    scripts: Mapping[str, Script]
    """Keyed by the path of each script."""
    summarizers: Mapping[str, Summarizer]

    @property
    def needs(self) -> Script | None:
        return self.scripts.get(self.definition.needs)

    @property
    def grants(self) -> tuple[HostFunction, ...]:
        """Return the host functions granted to the tools and scripts; some may occur twice."""
        scripts = (*self.tools.values(), *self.context, *filter(None, (self.candidates,)))
        return tuple(function for script in scripts for function in script.grants)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the granted tools in definition order, followed by the built-in tools."""
        return (
            *(
                replace(
                    hide_harness_inputs(self.tools[tool.name].schema),
                    only_suggested=tool.only_suggested,
                )
                for tool in self.definition.tools
            ),
            *BUILTIN_SCHEMAS,
        )


def hide_harness_inputs(schema: ToolSchema) -> ToolSchema:
    """Return the schema without the inputs that the harness provides."""
    parameters = dict(schema.parameters)
    properties = parameters.get("properties", {})
    parameters["properties"] = {k: v for k, v in properties.items() if k not in HARNESS_INPUTS}
    required = [name for name in parameters.get("required", []) if name not in HARNESS_INPUTS]
    parameters.pop("required", None)
    if required:
        parameters["required"] = required
    description = escape_surrogates(
        schema.description
    )  # a script may contain what UTF-8 cannot encode
    return replace(schema, description=description, parameters=parameters)


def load_agent(
    folder: Path,
    operations: Operations,
    *,
    builtin: bool = False,
    checks: ScriptChecks | None = None,
) -> Agent:
    """Load the agent in `folder`.

    `checks` decides if the scripts of a built-in agent are checked. Raises ConfigError, with
    the position in the file, if the definition is invalid.
    """
    checks = checks or ScriptChecks()
    known = operations if checks.built_in or not builtin else None
    definition = read_definition(folder / "agent.yaml", known)
    return _with_scripts(folder, definition, operations, builtin=builtin, checks=checks)


def _with_scripts(
    folder: Path,
    definition: AgentDefinition,
    operations: Operations,
    *,
    builtin: bool,
    checks: ScriptChecks,
) -> Agent:
    functions = operations.host_functions
    is_checked = checks.built_in or not builtin
    examined = checks.examine if is_checked else partial(examine, checked=False)
    scripts = load_scripts(folder, definition, examined, checked=is_checked)
    granted = definition.candidates
    return Agent(
        definition=definition,
        folder=folder,
        builtin=builtin,
        tools={
            tool.name: _tool(functions, scripts, tool, tool.name, tool.description)
            for tool in definition.tools
        },
        candidates=_tool(functions, scripts, granted, "candidates")
        if granted is not None
        else None,
        context=tuple(
            _tool(functions, scripts, reference, "context") for reference in definition.context
        ),
        scripts=scripts,
        summarizers={
            tool.name: summarizer_named(tool.summarizer, tool.name, scripts.__getitem__)
            for tool in definition.tools
            if tool.summarizer is not None
        },
    )


def agent_folders(root: Path, operations: Operations) -> Iterator[tuple[Path, bool]]:
    """Yield each agent's folder and whether the agent is built in. Built-in agents come first.

    Raises ConfigError if the project has more than `MAX_PROJECT_AGENTS` agents.
    """
    yield from ((folder, True) for folder in sorted(operations.folders))
    own = _folders(root / OWN_FOLDER)
    yield from ((folder, False) for folder in own[:MAX_PROJECT_AGENTS])
    if len(own) > MAX_PROJECT_AGENTS:
        raise ConfigError(
            f"{root / OWN_FOLDER}: {len(own)} agents (maximum {MAX_PROJECT_AGENTS})",
            hint="remove unused agents",
        )


def _folders(base: Path) -> list[Path]:
    if not base.is_dir():
        return []
    try:
        return sorted(path for path in base.iterdir() if (path / "agent.yaml").is_file())
    except OSError as error:
        raise ConfigError(f"{base}: {error.strerror}", hint="check its permissions") from error


def load_agents(
    root: Path, operations: Operations, names: Collection[str] | None = None
) -> dict[str, Agent]:
    """Load all agents, or only those whose name or operation is in `names`, keyed by operation.

    If `names` is given, errors in other agents are ignored. Raises ConfigError for an invalid
    definition or a duplicate name, and UsageError for an unknown name.
    """
    found, wrong = read_definitions(root, operations)
    checks = ScriptChecks()
    if names is None and wrong:
        raise wrong[0]
    claimed: set[str] = set()  # by built-in agents, and by other agents that are loaded
    taken: set[str] = set()
    agents: dict[str, Agent] = {}
    for folder, builtin, definition in found:
        own_names = {definition.name, definition.operation}
        wanted = names is None or bool(own_names & {*names, *taken})
        if wanted and (error := name_in_use(folder, definition, claimed)):
            raise error
        if wanted or builtin:
            claimed |= own_names
        if wanted:
            taken |= own_names
            agents[definition.operation] = _with_scripts(
                folder, definition, operations, builtin=builtin, checks=checks
            )
    for name in names or ():
        if name not in taken:
            raise (
                wrong[0]
                if wrong
                else no_agent(name, (agent.definition.operation for agent in found))
            )
    return agents


def name_in_use(
    folder: Path, definition: AgentDefinition, claimed: Collection[str]
) -> ConfigError | None:
    """Return the error for a name or an operation that is in `claimed`, or None."""
    for key in ("name", "operation"):
        name = getattr(definition, key)
        if name in claimed:
            place = read_yaml_file(folder / "agent.yaml").places[key,]
            return ConfigError(
                f"{place}: the {key} {name} is already in use",
                hint="choose another name; an agent of a project replaces the built-in one of its "
                f"operation only if you set agents.replace: [{name}] in your own file, "
                "$XDG_CONFIG_HOME/remora/config.yaml (default: ~/.config/remora/config.yaml)",
            )
    return None


class FoundAgent(NamedTuple):
    """An agent's folder and its definition, without its scripts."""

    folder: Path
    builtin: bool
    definition: AgentDefinition


def read_definitions(
    root: Path, operations: Operations
) -> tuple[list[FoundAgent], list[ConfigError]]:
    """Return the valid definitions, and the errors of the invalid ones. Scripts are not loaded."""
    found: list[FoundAgent] = []
    wrong: list[ConfigError] = []
    try:
        for folder, builtin in agent_folders(root, operations):
            try:
                known = None if builtin else operations  # the tests check built-in ones
                definition = read_definition(folder / "agent.yaml", known)
                found.append(FoundAgent(folder, builtin, definition))
            except ConfigError as error:
                wrong.append(error)
    except ConfigError as error:
        wrong.append(error)
    return found, wrong


def with_replaced(root: Path, operations: Operations, allowed: Collection[str]) -> Operations:
    """Return the operations without those in `allowed` that an agent of the project does.

    An invalid agent counts too, for all of `allowed` if its operation cannot be read, so that the
    built-in agent does not silently take its place. Raises ConfigError if `allowed` contains an
    unknown operation.
    """
    without_all = operations.replacing(allowed)
    folders = _folders(root / OWN_FOLDER) if allowed else []
    if len(folders) > MAX_PROJECT_AGENTS:
        return without_all
    own = {stated_operation(folder / "agent.yaml") for folder in folders}
    return without_all if None in own else operations.replacing({*allowed} & own)


def no_agent(name: str, known: Iterable[str]) -> UsageError:
    names = sorted(set(known))
    hint = f"available agents: {', '.join(names)}"
    if "," in name and set(name.split(",")) <= set(names):
        hint = f"repeat the option: `{' '.join(f'-o {part}' for part in name.split(','))}`; {hint}"
    return UsageError(f"no agent {name!r}{did_you_mean(name, names)}", hint=hint)


def agent_named(agents: Mapping[str, Agent], name: str) -> Agent:
    """Return the agent with this name or operation. Raises UsageError if there is none."""
    for agent in agents.values():
        if name in (agent.definition.name, agent.definition.operation):
            return agent
    raise no_agent(name, agents)


def definition_record(agent: Agent) -> dict[str, Any]:
    """Return the definition as recorded in `agent_start`, including the hash of each script."""
    record = {**agent.definition.model_dump(mode="json"), "builtin": agent.builtin}
    record["scripts"] = {
        script.path.relative_to(agent.folder).as_posix(): script.sha256
        for script in agent.scripts.values()
        if script.path is not None
    }
    return record


def _tool(
    functions: Mapping[str, HostFunction],
    scripts: Mapping[str, Script],
    reference: ScriptReference,
    name: str,
    description: str = "",
) -> Tool:
    return Tool(
        name=name,
        description=description,
        script=scripts[reference.script],
        grants=tuple(functions[grant] for grant in reference.grants),
    )
