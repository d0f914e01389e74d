"""The `agents list`, `show`, `validate` and `new` commands."""

import shlex
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit, note, print_error, print_failure, table
from remora.cli.app.project_context import config_of, invocation_of
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.agents.definition.agent import Agent
    from remora.runs.planning.agent_definitions import CheckedDefinition

_HEAD = ("OPERATION", "AGENT", "FROM", "DESCRIPTION")


@command("list", examples=("remora agents list", "remora agents list --json"))
def list_(options: Options) -> int:
    """List the agents, built-in ones first.

    Exit with 2 if a definition is invalid. Scripts are not checked; use `remora agents validate`
    for that.
    """
    from remora.agents.definition.agent_listing import list_agents
    from remora.bootstrap.open_project import open_operations

    invocation = invocation_of(options)
    root = invocation.find_root()
    listed, wrong = list_agents(root, open_operations(invocation, root))
    document = {"agents": listed, "errors": [error.message for error in wrong]}
    rows = [
        (agent["operation"], agent["name"], _origin(agent), agent["description"])
        for agent in listed
    ]
    emit(options, document, table(_HEAD, rows))
    for error in wrong:
        print_failure(error)
    return 2 if wrong else 0


def _origin(agent: dict[str, Any]) -> str:
    replaces = ", replaces the built-in agent" if agent["replaces"] else ""
    return "built in" if agent["builtin"] else f"project{replaces}"


@command("show", examples=("remora agents show lint", "remora agents show lint --json"))
@click.argument("name")
def show(options: Options, name: str) -> int:
    """Show an agent's definition: its goal, its checks, and its tools with their grants.

    NAME is the name of an agent or of its operation.
    """
    from remora.agents.definition.agent import agent_named, definition_record, load_agents
    from remora.agents.definition.agent_listing import agent_document
    from remora.bootstrap.open_project import open_operations

    invocation = invocation_of(options)
    root = invocation.find_root()
    operations = open_operations(invocation, root)
    agent = agent_named(load_agents(root, operations), name)
    definition = agent.definition.model_dump()
    document = agent_document(
        agent.folder, definition, builtin=agent.builtin, replaced=operations.replaced
    )
    document["definition"] = definition_record(agent)
    emit(options, document, _agent_lines(agent))
    return 0


@command(
    "validate",
    examples=(
        "remora agents validate",
        "remora agents validate rename",
        "remora agents validate .remora/agents/rename --json",
    ),
)
@click.argument("paths", metavar="[NAME_OR_PATH]...", nargs=-1, type=PATH)
def validate(options: Options, paths: tuple[Path, ...]) -> int:
    """Check agent definitions and their scripts. Exit with 2 if any of them is invalid.

    NAME_OR_PATH is the name of an agent, of its operation or of its folder in .remora/agents, or
    the path of an agent's folder or agent.yaml. By default, all agents are checked. The checks are
    those of `remora analyze`. Errors include the line and column in agent.yaml, or the line in the
    script.
    """
    from remora.bootstrap.open_project import open_operations
    from remora.runs.planning.agent_definitions import check_definitions

    invocation, config = config_of(options)
    root = invocation.find_root()
    checked = check_definitions(root, open_operations(invocation, root), paths, config.model)
    wrong = [definition for definition in checked if definition.error]
    document = {
        "ok": not wrong,
        "agents": [
            {
                "path": str(definition.path),
                "name": definition.name,
                "ok": not definition.error,
                "error": definition.error,
                "warnings": list(definition.warnings),
            }
            for definition in checked
        ],
    }
    emit(options, document, _verdict_lines(checked))
    note(options, *(f"warning: {text}" for definition in checked for text in definition.warnings))
    for definition in wrong:
        print_error("config_error", definition.error, definition.hint, as_json=False)
    return 2 if wrong else 0


@command(
    "new",
    examples=(
        "remora agents new uncomment",
        "remora agents new tidy --operation tidy-up",
        "remora agents new todo --model",
    ),
)
@click.argument("name")
@click.option("--operation", metavar="OP", help="Operation name for `analyze -o`. [default: NAME]")
@click.option("--model", "by_model", is_flag=True, help="Create an agent in which a model decides.")
def new(options: Options, name: str, operation: str | None, *, by_model: bool) -> int:
    """Create an example agent in .remora/agents/NAME/.

    The new agent is a working example that removes commented-out code, by rules. With `--model`, it
    does what TODO comments say, and a model calls its tools. Both include a check and a test. Edit
    it to do something else. Existing files are never overwritten, and names and operations that are
    already in use are rejected.
    """
    from remora.agents.definition.scaffold import create_agent

    invocation, config = config_of(options)
    operations = invocation.operations.replacing(config.agents.replace)
    started = create_agent(invocation.find_root(), operations, name, operation, by_model=by_model)
    document = {
        "name": started.name,
        "operation": started.operation,
        "path": str(started.folder / "agent.yaml"),
        "files": [str(started.folder / file) for file in started.files],
    }
    emit(options, document, _next_steps(document, started.folder, " --model ADDRESS" * by_model))
    return 0


def _agent_lines(agent: "Agent") -> Iterator[str]:
    definition = agent.definition
    yield click.style(f"{definition.name} ({definition.operation})", bold=True)
    if definition.description:
        yield escape_line(definition.description)
    yield escape_line(f"goal        {definition.goal}")
    yield f"works on    {', '.join(definition.node_types)} with: {definition.needs}"
    yield f"must pass   {', '.join(definition.verify)}"
    yield f"max turns   {definition.max_turns or 'runner.max_turns (from the configuration)'}"
    yield escape_line(f"file        {agent.folder / 'agent.yaml'}")
    grants = {tool.name: ", ".join(tool.grants) for tool in definition.tools}
    rows = [
        [schema.name, grants.get(schema.name, "built in"), schema.description]
        for schema in agent.schemas
    ]
    yield ""
    yield from table(("TOOL", "MAY CALL", "DESCRIPTION"), rows)


def _next_steps(document: dict[str, Any], folder: Path, model: str) -> Iterator[str]:
    root, here = folder.parents[2], Path.cwd().resolve()
    inside = here.is_relative_to(root)  # else commands need --root
    where = "" if inside else f" --root {shlex.quote(str(root))}"
    test = shlex.quote(
        relpath(folder / "test_agent.py", here) if inside else f"{folder}/test_agent.py"
    )
    yield from (escape_line(f"wrote {file}") for file in document["files"])
    yield ""
    yield escape_line(f"check it   remora agents validate {document['name']}{where}")
    yield escape_line(f"run it     remora analyze -o {document['operation']}{model}{where}")
    yield escape_line(f"test it    python3 {test}")


def _verdict_lines(checked: "list[CheckedDefinition]") -> Iterator[str]:
    for definition in checked:
        color, word = ("red", "wrong") if definition.error else ("green", "ok   ")
        yield f"{click.style(word, fg=color)}  {escape_line(str(definition.path))}"
