"""The `mcp` command, which serves facts and traces to other agents."""

import sys
from functools import partial
from importlib.util import find_spec

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import note
from remora.cli.app.project_context import invocation_of
from remora.errors import UsageError, install_extra

_CLIENTS = ("claude", "codex", "cursor", "vscode", "agents-md")  # those of remora.mcp


@command(
    "mcp",
    examples=(
        "remora mcp --print-config claude > .mcp.json",
        "remora mcp --print-config agents-md >> AGENTS.md",
        "remora mcp --http 8765",
        "remora mcp --jobs --print-config claude",
    ),
)
@click.option(
    "--http", metavar="[HOST:]PORT",
    help="Serve HTTP on a loopback address instead of stdio; port 0 picks a free port.",
)  # fmt: skip
@click.option(
    "--allow-run",
    is_flag=True,
    help="Let judge_change, verify_edit and impact run tests, and analyze run agents.",
)
@click.option(
    "--allow-write",
    "writable",
    is_flag=False,
    flag_value="*.py",
    multiple=True,
    metavar="[GLOB]",
    help="Let verify_edit write edits that nothing is said against: of Python files, or of files "
    "that match --allow-write=GLOB; repeatable.",
)
@click.option(
    "--tools", type=click.Choice(("main", "all")), default="main", show_default=True,
    help="Offer the main four, or also hub_callers, hub_search, runs, trace_packet and analyze.",
)  # fmt: skip
@click.option(
    "--jobs",
    "gives_jobs",
    is_flag=True,
    help="Give clients the jobs of Remora's agents, and let them call the agents' tools.",
)
@click.option(
    "--print-config", "client", type=click.Choice(_CLIENTS),
    help="Print settings for a client, or instructions for AGENTS.md, and exit.",
)  # fmt: skip
def mcp(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    http: str | None,
    allow_run: bool,
    writable: tuple[str, ...],
    tools: str,
    gives_jobs: bool,
    client: str | None,
) -> int:
    """Serve facts about the code, and recorded runs, to agents that speak MCP.

    Clients such as Claude Code, Codex, Cursor and VS Code start this command and talk to it over
    stdin and stdout; --print-config prints their settings. Tools: context shows a
    symbol with its callers and tests, and impact what a change concerns; judge_change judges a
    change, and verify_edit an edit before it is written. With --tools all, hub_callers and hub_search find symbols; runs and trace_packet show what Remora's
    agents did and what their models saw; with --allow-run, analyze starts a run. With --jobs, a client takes jobs in place of a model: next_job shows what an
    agent's model would see, and the agent's tools work on a private copy. No tool
    accepts changes, and none writes your files without --allow-write. HTTP clients need the project's token, which --print-config --http
    PORT prints. Requires the extra mcp.
    """
    from remora.bootstrap.open_trace import require_extra
    from remora.usecases.hub.target import http_address

    if options.json:
        raise UsageError("--json cannot be combined with mcp", hint="stdout carries the protocol")
    if gives_jobs and (allow_run or writable):
        raise UsageError(
            "--jobs cannot be combined with --allow-run or --allow-write",
            hint="use two servers: with --jobs, clients have the tools of jobs only",
        )
    invocation = invocation_of(options)
    address = None if http is None else http_address(http)
    if client is not None:
        from remora.mcp.client_settings import CLIENTS, client_settings

        if address is not None and address[1] == 0:
            raise UsageError("settings need a port", hint="choose one, such as --http 8765")
        given = {"--allow-run": allow_run, "--jobs": gives_jobs}
        flags = [flag for flag, is_given in given.items() if is_given]
        flags += [f"--allow-write={pattern}" for pattern in writable]
        flags += ["--tools=all"] if tools == "all" else []
        settings = client_settings(client, invocation, address, flags)
        click.echo(settings, nl=False)
        note(options, f"this belongs in {CLIENTS[client].file}")
        if "Bearer " in settings:
            note(options, "it has the project's token in it: do not commit that file")
        if find_spec("mcp") is None:
            note(options, f"the server needs the extra mcp: {install_extra('mcp')}")
        return 0
    if address is None and sys.stdin.isatty():
        note(options, "waiting for an MCP client on stdin; --print-config shows how to add one")
    require_extra("mcp", "mcp")
    from remora.mcp.project_server import serve
    from remora.mcp.server import Allowance

    serve(
        invocation,
        address,
        partial(note, options),
        Allowance(allow_run, writable, tools == "all"),
        gives_jobs=gives_jobs,
    )
    return 0
