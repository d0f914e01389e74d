"""An agent ready to run: its definition with every script loaded and checked."""

from collections.abc import Collection, Iterator, Mapping
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


def load_agents(root: Path, names: Collection[str] | None = None) -> dict[str, Agent]:
    """Agents by operation: all of them, or those whose name or operation is in `names`.

    With `names`, another agent that is wrong does no harm. Raises ConfigError for a definition
    that is, or that takes the name or operation of another one; NotFound for an unknown name.
    """
    found, wrong = _definitions(root)
    if names is None and wrong:
        raise wrong[0]
    claimed: set[str] = set()  # by built-in agents always, by others where they are wanted
    taken: set[str] = set()
    agents: dict[str, Agent] = {}
    for folder, builtin, definition in found:
        own_names = {definition.name, definition.operation}
        wanted = names is None or bool(own_names & {*names, *taken})
        if wanted and own_names & claimed:
            raise ConfigError(
                f"{folder / 'agent.yaml'}: the name {definition.name} or the operation "
                f"{definition.operation} is taken",
                hint="choose another one; a project's agent may not replace a built-in one",
            )
        if wanted or builtin:
            claimed |= own_names
        if wanted:
            taken |= own_names
            agents[definition.operation] = load_agent(folder, builtin=builtin)
    for name in names or ():
        if name not in taken:
            raise wrong[0] if wrong else _unknown(name, found)
    return agents


_Found = list[tuple[Path, bool, AgentDefinition]]


def _definitions(root: Path) -> tuple[_Found, list[ConfigError]]:
    """What can be read, and what is wrong with the rest; no script is looked at."""
    found: _Found = []
    wrong: list[ConfigError] = []
    for folder, builtin in agent_folders(root):
        try:
            found.append((folder, builtin, read_definition(folder / "agent.yaml")))
        except ConfigError as error:
            wrong.append(error)
    return found, wrong


def _unknown(name: str, found: _Found) -> NotFound:
    known = sorted(definition.operation for _, _, definition in found)
    return NotFound(f"no agent {name!r}", hint=f"there is {', '.join(known)}")


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
