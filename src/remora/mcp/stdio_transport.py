"""Serves MCP over standard input and output, to which only the protocol writes."""

import asyncio
import json
import os
import stat
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from select import PIPE_BUF, select
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from remora.mcp.command_process import STOP_S
from remora.text import is_utf8

MAX_LINE_BYTES = 1 << 24
"""Maximum bytes of a message. A longer one is refused like one that is not JSON."""
_MAX_ID = 1 << 53
"""IDs from here on are not the same number in every client."""
_LOOK_S = 1.0
_END_S = STOP_S + 0.5
"""Seconds that unfinished work has after the client is gone, such as a run that is interrupted."""


def serve_stdio(server: Server[Any]) -> None:
    """Serve until the client closes its end or exits. Afterwards the process must end."""
    requests, responses = take_standard_streams()
    try:
        asyncio.run(_serve(server, requests, responses))
    finally:
        _exit_soon()


def take_standard_streams() -> tuple[int, int]:
    """Return descriptors for standard input and output, and replace both for everything else.

    What Python or a child prints goes to standard error, and what they read is empty. This holds
    until the process ends, also for what is printed at exit.
    """
    sys.stdout.flush()
    requests, responses = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return requests, responses


class RequestLines:
    """Messages from a descriptor. A pipe is read by the event loop, which is faster than a thread.

    A line that is not a message is refused on `wire`, because the library does not answer it.
    """

    def __init__(self, descriptor: int, wire: "ResponseLines") -> None:
        self._file = os.fdopen(descriptor, "rb")
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[str]:
        read = await self._line_reader()
        while True:
            try:
                line = await read()
            except ValueError:  # the rest of a line that is too long is read as further lines
                line = b"too long"
            if not line:
                return
            text = line.decode(errors="replace")
            if (refusal := _refusal(text)) is None:
                yield text
            elif text.strip():
                await self._wire.write(refusal)

    async def _line_reader(self) -> Callable[[], Awaitable[bytes]]:
        mode = os.fstat(self._file.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return partial(asyncio.to_thread, self._file.readline, MAX_LINE_BYTES)
        lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            partial(asyncio.StreamReaderProtocol, lines), self._file
        )
        return lines.readline


class ResponseLines:
    """Writes lines to a descriptor, and waits in a thread only if the client does not read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def write(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        async with self._turn:
            for start in range(0, len(data), PIPE_BUF):
                if not select([], [self._descriptor], [], 0)[1]:
                    await asyncio.to_thread(select, [], [self._descriptor], [])
                os.write(self._descriptor, data[start : start + PIPE_BUF])  # does not block

    async def flush(self) -> None:
        """Do nothing: `write` has handed everything to the system."""


def _refusal(line: str) -> str | None:
    """Return the error that answers a line, or None if the line is a message."""
    code = types.INVALID_REQUEST
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        # the library takes a request with a wrong ID for a notification
        if not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(line):
            return None
        problem = "The ID should be a string or an integer"
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        problem = first["msg"]
        if first["type"] == "json_invalid":
            code = types.PARSE_ERROR
    about = {"code": code, "message": problem}
    return json.dumps({"jsonrpc": "2.0", "id": _request_id(line), "error": about}) + "\n"


def _request_id(line: str) -> int | str | None:
    """Return the ID in a line that the protocol refuses, such as for a surrogate, or None."""
    try:
        value = json.loads(line)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if isinstance(value, str):
        return value if is_utf8(value) else None
    return value if type(value) is int and abs(value) < _MAX_ID else None


async def _serve(server: Server[Any], requests: int, responses: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_with_parent, tasks.cancel_scope)
        # the library only iterates over the one, and only writes to and flushes the other
        written = ResponseLines(responses)
        lines = cast(anyio.AsyncFile[str], RequestLines(requests, written))
        wire = cast(anyio.AsyncFile[str], written)
        async with stdio_server(lines, wire) as (read, write):
            await server.run(read, write, server.create_initialization_options())
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
