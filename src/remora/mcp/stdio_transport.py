"""Serves MCP over standard input and output, to which only the protocol writes."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, cast

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from remora.text import is_utf8
from remora.usecases.command_document import STOP_S

MAX_LINE_BYTES = 1 << 24
"""Maximum bytes of a message. A longer one is refused like one that is not JSON."""
_MAX_ID = 1 << 53
"""IDs from here on are not the same number in every client."""
_AROUND = b"\xef\xbb\xbf\0 \t\r\n"
"""Bytes that may be around a message: a byte order mark, NUL and the end of a line."""
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


async def _messages(requests: int, wire: anyio.AsyncFile[str]) -> AsyncIterator[str]:
    """Yield the lines that are messages.

    Others are refused on `wire`, because the library does not answer them. The rest of a line that
    is too long is read as further lines.
    """
    with os.fdopen(requests, "rb") as file:
        read = partial(file.readline, MAX_LINE_BYTES)
        while line := await to_thread.run_sync(read, abandon_on_cancel=True):
            line = line.strip(_AROUND)
            refusal = _refusal(line) if line else ""
            if refusal is None:
                yield line.decode()
            elif refusal:
                await wire.write(refusal)
                await wire.flush()


def _refusal(line: bytes) -> str | None:
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


def _request_id(line: bytes) -> int | str | None:
    """Return the ID in a line that the protocol refuses, or None if it has none that can be sent."""
    try:
        text = line.decode(errors="surrogateescape")
        message, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    match message:
        case {"id": str(value)} if is_utf8(value):
            return value
        case {"id": int(value)} if abs(value) < _MAX_ID and not isinstance(value, bool):
            return value
    return None


async def _serve(server: Server[Any], requests: int, responses: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_with_parent, tasks.cancel_scope)
        wire = anyio.wrap_file(
            os.fdopen(responses, "w", encoding="utf-8", errors="backslashreplace")
        )
        # the library only iterates over it
        lines = cast(anyio.AsyncFile[str], _messages(requests, wire))
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
