"""The `tools list`, `tools check` and `tools run` commands."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import color_word, emit, fit_line, indented, note, plain_lines, wrapped
from remora.cli.app.project_context import invocation_of
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.pym import ScriptChecks
    from remora.tools.host_functions import HostFunction
    from remora.usecases.tool_lookup import DeclaredTool, ScriptCheck
    from remora.usecases.tool_run import ToolTrial

_EXIT = {"success": 0, "partial": 0, "error": 1}


@command("list", examples=("remora tools list", "remora tools list --json"))
def list_(options: Options) -> int:
    """List the tools of all agents, and the host functions that can be granted."""
    from remora.bootstrap.open_project import open_operations
    from remora.pym import ScriptChecks
    from remora.usecases.tool_lookup import known_tools

    invocation, checks = invocation_of(options), ScriptChecks()
    root = invocation.find_root()
    known = known_tools(root, open_operations(invocation, root))
    found = [_tool_document(tool, checks) for tool in known]
    granted = sorted(invocation.operations.host_functions.items())
    functions = [_function_document(function) for _, function in granted]
    emit(options, {"tools": found, "host_functions": functions}, _list_lines(found, functions))
    for tool in found:
        if tool["error"]:
            note(options, f"warning: {tool['name']}: {tool['error']}")
    return 0


@command(
    "check",
    examples=(
        "remora tools check count.pym",
        "remora tools check .remora/agents/rename/*.pym --json",
    ),
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=PATH)
def check(options: Options, paths: tuple[Path, ...]) -> int:
    """Check the declarations, syntax and types of scripts. Exit with 1 if there are errors.

    Scripts are not run. An external that is unknown, or that the script's agent does not grant, is
    an error, because calls to it are denied.
    """
    import msgspec

    from remora.usecases.tool_lookup import check_scripts

    invocation = invocation_of(options)
    checked = check_scripts(invocation.find_root(), invocation.operations, paths)
    ok = all(script.ok for script in checked)
    emit(options, {"ok": ok, "scripts": msgspec.to_builtins(checked)}, _verdict_lines(checked))
    return 0 if ok else 1


@command(
    "run",
    examples=(
        "remora tools run lint/fix_findings --input target=src/app.py",
        "remora tools run count.pym --input pattern='**/*.py' --grant list_files",
        "remora tools run count.pym --input limit=3 --input 'names=[\"a\"]' --json",
    ),
)
@click.argument("name", metavar="NAME_OR_FILE")
@click.argument("more", metavar="", nargs=-1)
@click.option(
    "--input",
    "inputs",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set an input to JSON or plain text; repeatable.",
)
@click.option(
    "--grant",
    "grants",
    metavar="FUNCTION",
    multiple=True,
    help="Grant this host function as well; repeatable.",
)
def run(
    options: Options,
    name: str,
    more: tuple[str, ...],
    inputs: tuple[str, ...],
    grants: tuple[str, ...],
) -> int:
    """Run a tool once on a private copy of the project. Your files do not change.

    NAME_OR_FILE is the name of a tool (agent/tool if several agents have a tool with this name) or
    a .pym file. The input `target` can be given as PATH:QUALNAME. Exit with 0 for the outcomes
    success and partial, with 1 for the outcome error or an unknown tool, and with 2 for invalid
    inputs.
    """
    from remora.memory.encode_values import encode_value
    from remora.usecases.tool_run import ToolRequest, try_tool

    # `--input a=1 b=2`: words without an option belong to the preceding option
    words = [*inputs, *(word for word in more if "=" in word)]
    functions = [part for word in grants for part in word.split(",")]
    functions += [word for word in more if "=" not in word]
    request = ToolRequest(name=name, inputs=words, grants=functions)
    tried = try_tool(invocation_of(options), request)
    emit(options, encode_value(tried.document), _run_lines(tried))
    if options.json and tried.run.printed:
        note(options, "it printed:", *tried.run.printed.rstrip("\n").split("\n"))
    if tried.problem:
        note(options, f"warning: {tried.problem}")
    return _EXIT[tried.run.result.outcome]


def _tool_document(tool: "DeclaredTool", checks: "ScriptChecks") -> dict[str, Any]:
    script, errors = checks.examine(tool.path)
    summary = script.description.split("\n\n")[0] if script else ""
    return {
        "name": tool.name,
        "agent": tool.agent,
        "tool": tool.definition.name,
        "builtin": tool.builtin,
        "description": tool.definition.description or summary,
        "parameters": script.parameters if script else None,
        "grants": tool.definition.grants,
        "path": str(tool.path),
        "error": errors[0].message if errors else "",
    }


def _function_document(host: "HostFunction") -> dict[str, str]:
    import inspect

    name, function = host.name, host.function
    shape = inspect.signature(function)
    own = [part for part in shape.parameters.values() if part.name != "place"]
    signature = f"{name}{shape.replace(parameters=own)}".replace("typing.", "")
    about = " ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split())
    return {"name": name, "signature": signature, "description": about}


def _list_lines(found: list[dict[str, Any]], functions: list[dict[str, str]]) -> Iterator[str]:
    yield click.style("TOOLS", bold=True)
    for tool in found:
        yield from _block_lines(
            f"{tool['name']}({_parameters_text(tool['parameters'])})", tool["description"]
        )
        if tool["grants"]:
            yield from indented(f"may call {', '.join(tool['grants'])}")
    yield ""
    yield click.style("HOST FUNCTIONS", bold=True)
    for function in functions:
        yield from _block_lines(function["signature"], function["description"])


def _parameters_text(parameters: dict[str, Any] | None) -> str:
    """Return a tool's parameters, such as `target, limit=3`.

    Returns an empty string if the script cannot be read.
    """
    known = (parameters or {}).get("properties", {})
    needed = (parameters or {}).get("required", ())
    listed = [
        name if name in needed else f"{name}={json.dumps(schema.get('default'))}"
        for name, schema in known.items()
    ]
    return ", ".join(listed)


def _block_lines(head: str, about: str) -> Iterator[str]:
    yield from (click.style(line, bold=True) for line in wrapped(head, "        "))
    yield from indented(about)


def _verdict_lines(checked: "Sequence[ScriptCheck]") -> Iterator[str]:
    for script in checked:
        word = click.style("ok   ", fg="green") if script.ok else click.style("wrong", fg="red")
        yield f"{word}  {escape_line(script.path)}"
        yield from (f"       {escape_line(error)}" for error in script.errors)


def _run_lines(tried: "ToolTrial") -> Iterator[str]:
    from remora.memory.encode_values import encode_value

    document = tried.document
    summary = document["summary"] or ""
    yield f"{color_word(document['outcome'])}  {escape_line(summary)}".rstrip()
    if document["error"]:
        kind = f"{document['error_kind']}: " if document["error_kind"] else ""
        yield f"  {kind}{escape_line(document['error'])}"
    if tried.run.printed:
        yield from _section("printed", plain_lines(tried.run.printed.rstrip("\n")))
    if document["result"] is not None:
        shown = json.dumps(encode_value(document["result"]), indent=2, ensure_ascii=False)
        yield from _section("result", plain_lines(shown))
    if document["host_calls"]:
        yield from _section("host calls", [_call(call) for call in document["host_calls"]])
    if tried.diffs:
        yield from _section("changes (in the private copy only)", [])
        for diff in tried.diffs:
            yield from plain_lines(diff.rstrip("\n"))


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield ""
    yield click.style(title, bold=True)
    yield from (f"  {line}" for line in lines)


def _call(call: dict[str, Any]) -> str:
    words = [repr(arg) for arg in call["args"]]
    words += [f"{key}={value!r}" for key, value in call["kwargs"].items()]
    ended = f"  {call['error']}" if call["error"] else ""
    return fit_line(
        escape_line(f"{call['name']}({', '.join(words)})  {call['duration_ms']} ms{ended}")
    )
