"""Server-sent events: what a browser that connects again is sent, and how they end."""

import asyncio
import re
from fcntl import LOCK_EX, flock
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from remora.bootstrap.invocation import Invocation
from remora.web.live_updates import _changes, live_agent
from tests.cli.conftest import Remora
from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import stream_of


def rows_in(text: str) -> list[str]:
    return re.findall(r"^id: (\d+)", text, re.MULTILINE)


def test_a_browser_that_connects_again_gets_the_rows_that_it_lacks(
    pages: TestClient, failed: Planted
) -> None:
    address = f"/live/agents/{failed.agent_id}?after=1"
    assert rows_in(pages.get(address).text)[:3] == ["1", "2", "3"]
    again = pages.get(address, headers={"Last-Event-ID": "3"}).text
    assert set(rows_in(again)) == {"3"}
    assert 'event: end\r\ndata: <span class="state failed">failed</span>' in again


def test_a_stream_that_grows_is_read_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.web.live_updates._REST_S", 0.4)

    async def follow() -> float:
        changes = _changes(tmp_path / "run.jsonl")
        with (tmp_path / "run.jsonl").open("ab", buffering=0) as stream:
            flock(stream, LOCK_EX)
            times = []
            for _ in range(3):
                assert await anext(changes)
                times.append(monotonic())
                stream.write(b"{}\n")
        return times[2] - times[1]

    assert asyncio.run(follow()) >= 0.4


def test_a_stream_that_is_removed_while_it_is_followed_ends(
    failed: Planted, copied: Path, tmp_path: Path
) -> None:
    invocation = Invocation(environ=Remora(tmp_path).environment, folder=copied)
    scope = {"type": "http", "path_params": {"agent": failed.agent_id}, "headers": []}
    request = Request(scope | {"query_string": b""})

    async def follow() -> list[Any]:
        sent: list[Any] = []
        async for event in (await live_agent(invocation, request)).body_iterator:
            stream_of(copied, failed.agent_id).unlink(missing_ok=True)
            sent.append(event)
        return sent

    last = asyncio.run(follow())[-1]
    assert (last.event, last.data) == ("end", '<span class="state ">removed</span>')
