"""Definitions of agents: `agents list`, `show` and `validate`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from remora.agents import Agent, load_agents
from remora.agents.agent import agent_named, definition_record
from remora.cli.asker import caller_of
from remora.cli.options import PATH, Options, command, group
from remora.cli.output import emit, note, plain, print_error, table
from remora.runs.definitions import Checked, check_definitions


@command("list", examples=("remora agents list", "remora agents list --json"))
def list_(options: Options) -> int:
    """List the agents, built-in ones first."""
    found = load_agents(caller_of(options).find_root())
    document = {"agents": [_document(agent) for agent in found.values()]}
    rows = [
        [agent["operation"], agent["name"], _origin(agent), agent["description"]]
        for agent in document["agents"]
    ]
    emit(options, document, table(("OPERATION", "AGENT", "FROM", "DESCRIPTION"), rows))
    return 0


@command("show", examples=("remora agents show lint", "remora agents show lint --json"))
@click.argument("name")
def show(options: Options, name: str) -> int:
    """Show an agent's definition: goal, tools with their grants, checks.

    NAME is an agent's name or its operation.
    """
    agent = agent_named(load_agents(caller_of(options).find_root()), name)
    document = _document(agent) | {"definition": definition_record(agent)}
    emit(options, document, _shown(agent))
    return 0


@command(
    "validate",
    examples=("remora agents validate", "remora agents validate .remora/agents/rename"),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
def validate(options: Options, paths: tuple[Path, ...]) -> int:
    """Check definitions and their scripts; exit 2 if any is wrong.

    PATH is an agent's folder or its agent.yaml; without one, all agents of the project.
    """
    checked = check_definitions(caller_of(options).find_root(), paths)
    wrong = [one for one in checked if one.error]
    document = {
        "ok": not wrong,
        "agents": [
            {
                "path": str(one.path),
                "name": one.name,
                "ok": not one.error,
                "error": one.error,
                "warnings": list(one.warnings),
            }
            for one in checked
        ],
    }
    emit(options, document, _verdicts(checked))
    for warning in (warning for one in checked for warning in one.warnings):
        note(options, f"warning: {warning}")
    for one in wrong:
        print_error("config_error", one.error, one.hint, as_json=False)
    return 2 if wrong else 0


agents = group(
    "agents",
    """The agents, yours in .remora/agents/NAME/ and the built-in ones.

    An agent is an agent.yaml with .pym scripts beside it; `remora schema agent` tells every key.
    """,
    (list_, show, validate),
)


def _document(agent: Agent) -> dict[str, Any]:
    definition = agent.definition
    return {
        "name": definition.name,
        "operation": definition.operation,
        "builtin": agent.builtin,
        "description": definition.description,
        "node_types": list(definition.node_types),
        "needs": definition.needs,
        "tools": [schema.name for schema in agent.schemas],
        "verify": list(definition.verify),
        "path": str(agent.folder / "agent.yaml"),
    }


def _origin(agent: dict[str, Any]) -> str:
    return "built in" if agent["builtin"] else "project"


def _shown(agent: Agent) -> Iterator[str]:
    definition = agent.definition
    yield click.style(f"{definition.name} ({definition.operation})", bold=True)
    if definition.description:
        yield plain(definition.description)
    yield plain(f"goal        {definition.goal}")
    yield f"works on    {', '.join(definition.node_types)} that need it by: {definition.needs}"
    yield f"must pass   {', '.join(definition.verify)}"
    yield f"most turns  {definition.max_turns or 'runner.max_turns of the configuration'}"
    yield plain(f"file        {agent.folder / 'agent.yaml'}")
    grants = {tool.name: ", ".join(tool.grants) for tool in definition.tools}
    rows = [
        [schema.name, grants.get(schema.name, "built in"), schema.description]
        for schema in agent.schemas
    ]
    yield ""
    yield from table(("TOOL", "MAY CALL", "DESCRIPTION"), rows)


def _verdicts(checked: list[Checked]) -> Iterator[str]:
    for one in checked:
        word = click.style("wrong", fg="red") if one.error else click.style("ok   ", fg="green")
        yield f"{word}  {plain(str(one.path))}"
