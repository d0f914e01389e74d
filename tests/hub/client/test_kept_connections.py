"""Clients that keep their connection to the daemon, which may be restarted or busy meanwhile."""

import asyncio
from typing import Any

import pytest

from remora.hub.client import Context, HubClient
from remora.hub.sources.daemon_connection import DaemonConnection
from tests.hub.client.conftest import CART, TOTAL, House


@pytest.fixture
def served(house: House) -> HubClient:
    house.raised_to("socket")
    return house.client(keep_connections=True)


def open_connections(client: HubClient) -> list[DaemonConnection]:
    return list(client._daemon._kept.values())


@pytest.mark.slow
def test_a_daemon_that_was_restarted_is_asked_again(house: House, served: HubClient) -> None:
    async def ask() -> list[Context]:
        before = await served.get_context([TOTAL])
        await asyncio.to_thread(house.remora, "hub", "stop")
        alone = await served.get_context([TOTAL])
        await asyncio.to_thread(house.raised_to, "socket")
        return [before, alone, await served.get_context([TOTAL])]

    before, alone, after = asyncio.run(ask())
    assert [each.source for each in (before, alone, after)] == ["socket", "sqlite", "socket"]
    assert before[TOTAL].signature == after[TOTAL].signature


def test_a_cancelled_question_does_not_answer_the_next(served: HubClient) -> None:
    async def ask() -> tuple[Context, list[DaemonConnection], list[Any]]:
        await served.get_context([TOTAL])
        first = open_connections(served)
        question = asyncio.create_task(served.get_context([TOTAL]))
        await asyncio.sleep(0)
        question.cancel()
        found = await served.get_context([CART])
        both = await asyncio.gather(*(served.get_context([key]) for key in (TOTAL, CART) * 8))
        return found, first, both

    found, first, both = asyncio.run(ask())
    assert list(found) == [CART]
    assert [next(iter(each)) for each in both] == [TOTAL, CART] * 8
    assert len(first) == len(open_connections(served)) == 1
    served.close()
    assert open_connections(served) == []
