"""An agent ready to run: its definition with every script loaded and checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remora.agents.definition import NEEDS, AgentDefinition, ScriptReference, read_definition
from remora.agents.recall import BUILTIN_SCHEMAS
from remora.agents.summarize import ScriptSummarizer, summarizer_named
from remora.chat import ToolSchema
from remora.errors import ConfigError, NotFound, ScriptError
from remora.memory.canonical import escape_surrogates
from remora.memory.summarizers import Summarizer
from remora.pym import Script, load
from remora.tools import Tool

BUILTIN_FOLDER = Path(__file__).parent / "builtin"
OWN_FOLDER = Path(".remora") / "agents"
HARNESS_INPUTS = frozenset({"target", "packet", "options"})
"""Inputs that the harness fills and no model sees: where the node stands, the packet, options."""


@dataclass(frozen=True)
class Agent:
    """A definition, its tools by name, its scripts, and what its tools are called for a model."""

    definition: AgentDefinition
    folder: Path
    builtin: bool
    tools: Mapping[str, Tool]
    candidates: Tool | None = None
    context: tuple[Tool, ...] = ()
    needs: Script | None = None
    summarizers: Mapping[str, Summarizer] = field(default_factory=dict)

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The granted tools in the definition's order, then the built-in ones."""
        return (*(visible(tool.schema) for tool in self.tools.values()), *BUILTIN_SCHEMAS)


def visible(schema: ToolSchema) -> ToolSchema:
    """The schema without the inputs that the harness fills."""
    parameters = dict(schema.parameters)
    properties = parameters.get("properties", {})
    parameters["properties"] = {k: v for k, v in properties.items() if k not in HARNESS_INPUTS}
    required = [name for name in parameters.get("required", []) if name not in HARNESS_INPUTS]
    parameters.pop("required", None)
    if required:
        parameters["required"] = required
    description = escape_surrogates(schema.description)  # a script may say what UTF-8 cannot
    return ToolSchema(name=schema.name, description=description, parameters=parameters)


def load_agent(folder: Path, *, builtin: bool = False) -> Agent:
    """The agent in `folder`. Raises ConfigError that points at the place."""
    definition = read_definition(folder / "agent.yaml")
    try:
        return _loaded(folder, definition, builtin=builtin)
    except ScriptError as error:
        hint = error.hint or "correct it; `remora agents validate` checks every script"
        raise ConfigError(f"{folder}: {error.message}", hint=hint) from error


def _loaded(folder: Path, definition: AgentDefinition, *, builtin: bool) -> Agent:
    tools = {
        tool.name: _tool(folder, tool, tool.name, tool.description) for tool in definition.tools
    }
    summarizers = {
        tool.name: summarizer_named(tool.summarizer, tool.name, folder)
        for tool in definition.tools
        if tool.summarizer is not None
    }
    granted = definition.candidates
    return Agent(
        definition=definition,
        folder=folder,
        builtin=builtin,
        tools=tools,
        candidates=_tool(folder, granted, "candidates") if granted is not None else None,
        context=tuple(_tool(folder, reference, "context") for reference in definition.context),
        needs=load(folder / definition.needs) if definition.needs not in NEEDS else None,
        summarizers=summarizers,
    )


def agent_folders(root: Path) -> Iterator[tuple[Path, bool]]:
    """Folders of the built-in agents, then of the project's own; true for built-in ones."""
    for base, builtin in ((BUILTIN_FOLDER, True), (root / OWN_FOLDER, False)):
        if base.is_dir():
            for folder in sorted(base.iterdir()):
                if (folder / "agent.yaml").is_file():
                    yield folder, builtin


def load_agents(root: Path) -> dict[str, Agent]:
    """Every agent by operation.

    Raises ConfigError where a project's agent takes the name or operation of another one.
    """
    agents: dict[str, Agent] = {}
    names: set[str] = set()
    for folder, builtin in agent_folders(root):
        agent = load_agent(folder, builtin=builtin)
        operation, name = agent.definition.operation, agent.definition.name
        if operation in agents or name in names:
            raise ConfigError(
                f"{folder / 'agent.yaml'}: the name {name} or the operation {operation} is taken",
                hint="choose another one; a project's agent may not replace a built-in one",
            )
        agents[operation] = agent
        names.add(name)
    return agents


def agent_named(agents: Mapping[str, Agent], name: str) -> Agent:
    """The agent of that name or operation. Raises NotFound that lists the known ones."""
    for agent in agents.values():
        if name in (agent.definition.name, agent.definition.operation):
            return agent
    raise NotFound(f"no agent {name!r}", hint=f"there is {', '.join(sorted(agents))}")


def definition_record(agent: Agent) -> dict[str, Any]:
    """The definition as `agent_start` holds it, each script with the hash of its source."""
    record = agent.definition.model_dump(mode="json")
    record["scripts"] = {
        script.path.relative_to(agent.folder).as_posix(): script.sha256
        for script in _scripts(agent)
        if script.path is not None
    }
    return record


def _scripts(agent: Agent) -> Iterator[Script]:
    parts = [*agent.tools.values(), *agent.context]
    yield from (part.script for part in parts)
    if agent.candidates is not None:
        yield agent.candidates.script
    if agent.needs is not None:
        yield agent.needs
    for summarizer in agent.summarizers.values():
        if isinstance(summarizer, ScriptSummarizer):
            yield summarizer.script


def _tool(folder: Path, reference: ScriptReference, name: str, description: str = "") -> Tool:
    return Tool(
        name=name,
        description=description,
        script=load(folder / reference.script),
        grants=tuple(reference.grants),
    )
