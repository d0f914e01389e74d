"""Serves MCP over standard input and output, to which only the protocol writes."""

import os
import sys
import threading
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_LOOK_S = 1.0
_END_S = 3.5
"""Seconds that unfinished work has after the client is gone."""


def serve_stdio(server: Server[Any]) -> None:
    """Serve until the client closes its end or exits. Afterwards the process must end."""
    wire = take_stdout()
    try:
        anyio.run(_serve, server, wire)
    finally:
        _exit_soon()


def take_stdout() -> TextIOWrapper:
    """Return standard output, and send everything else that is written to it to standard error.

    This holds until the process ends, also for its children and for what is printed at exit.
    """
    sys.stdout.flush()
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return wire


async def _serve(server: Server[Any], wire: TextIOWrapper) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_with_parent, tasks.cancel_scope)
        async with stdio_server(stdout=anyio.wrap_file(wire)) as (requests, responses):
            await server.run(requests, responses, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_with_parent(scope: anyio.CancelScope) -> None:
    """Stop serving when the client has exited, even if another process keeps the input open."""
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 (no event tells that a parent has exited)
        await anyio.sleep(_LOOK_S)
    _exit_soon()
    scope.cancel()


def _exit_soon() -> None:
    """End the process in a few seconds, even if a thread is still reading files."""
    timer = threading.Timer(_END_S, os._exit, [0])
    timer.daemon = True
    timer.start()
