"""Requests for the reports of all workers of a queue, and their answers.

They are notifications of the database, so that a worker also answers while it runs a shard, and
nothing is stored.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import psycopg

from remora.engines.worker_report import WorkerReport
from remora.threads import run_in_thread

_CHANNEL = "remora_workers"
_PAUSE_S = 5.0
_NOTIFY = "SELECT pg_notify(%s, %s)"


async def answer_requests(dsn: str, own_report: Callable[[], WorkerReport]) -> None:
    """Answer requests with `own_report` until the task is cancelled. A lost connection is replaced."""
    while True:
        with suppress(psycopg.Error):
            async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
                await connection.execute(f"LISTEN {_CHANNEL}")
                async for request in connection.notifies():
                    await run_in_thread(_answer, dsn, own_report, request.payload)
        await asyncio.sleep(_PAUSE_S)


def _answer(dsn: str, own_report: Callable[[], WorkerReport], channel: str) -> None:
    """Send the report on a connection of its own, because a listening one is in use."""
    report = msgspec.json.encode(own_report()).decode()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_NOTIFY, [channel, report])


def request_reports(
    dsn: str, is_enough: Callable[[int], bool], limit_s: float
) -> list[WorkerReport]:
    """Ask all workers for their reports.

    Returns the reports when `is_enough` is true for their number, or after `limit_s` seconds.
    Raises psycopg.Error.
    """
    channel = f"remora_doctor_{secrets.token_hex(8)}"
    found: list[WorkerReport] = []
    end = time.monotonic() + limit_s
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"LISTEN {channel}".encode())
        connection.execute(_NOTIFY, [_CHANNEL, channel])
        while not is_enough(len(found)) and (left := end - time.monotonic()) > 0:
            for answer in connection.notifies(timeout=left, stop_after=1):
                _add(found, answer)
    return found


def _add(found: list[WorkerReport], answer: Any) -> None:
    with suppress(msgspec.DecodeError):
        found.append(msgspec.json.decode(answer.payload, type=WorkerReport))
