"""One model on several servers: load, limits, and servers that die, return or change."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from remora.chat import Message
from remora.config.schema import ModelConfig
from remora.errors import ModelError
from remora.models.client import circuit_breaker
from remora.models.configured_model import ConfiguredModel, _expected_tokens
from remora.models.protocol import Decoding, Request
from remora.models.provider import check_model, open_model
from tests.load_server import LoadServer, load_servers

Ask = Callable[[], Awaitable[str]]
PAUSE_S = 0.3


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_breaker, "PAUSE_S", PAUSE_S)


def settings(*servers: LoadServer, **more: Any) -> ModelConfig:
    addresses = tuple(server.address for server in servers)
    return ModelConfig(base_url=addresses, **{"timeout_s": 5.0, "retries": 0, **more})


def use(work: Callable[[Ask], Awaitable[Any]], *servers: LoadServer, **more: Any) -> Any:
    """Call `work` with a function that asks the model on the servers, and return its result."""
    model = open_model(settings(*servers, **more), cache=Path("/nonexistent"), api_key=None)
    assert isinstance(model, ConfiguredModel)
    numbers = count()

    async def ask() -> str:
        message = Message(role="user", content=f"question {next(numbers)}" + " word" * 76)
        answer = await model.ask(Request(messages=(message,), decoding=Decoding(strategy="rules")))
        return answer.text

    async def run() -> Any:
        try:
            return await work(ask)
        finally:
            await model.aclose()

    return asyncio.run(run())


async def ask_often(ask: Ask, times: int, workers: int = 1) -> list[str]:
    """Ask a number of questions with so many jobs."""
    left, found = iter(range(times)), []

    async def job() -> None:
        for _ in left:
            answer = await ask()
            found.append(answer)

    await asyncio.gather(*(job() for _ in range(workers)))
    return found


class TestChoice:
    def test_the_server_with_the_fewest_requests_is_asked(self) -> None:
        with load_servers(0.01, 0.2) as (fast, slow):
            use(lambda ask: ask_often(ask, 40, workers=4), fast, slow)
        assert fast.chats + slow.chats == 40
        assert slow.chats >= 1
        assert fast.chats > 3 * slow.chats

    def test_no_server_gets_more_requests_than_it_may(self) -> None:
        with load_servers(0.05, 0.05) as servers:
            use(lambda ask: ask_often(ask, 20, workers=8), *servers, max_concurrency=2)
        assert [server.most for server in servers] == [2, 2]

    def test_waiting_for_a_slot_is_no_timeout(self) -> None:
        with load_servers(0.2) as (server,):
            more = {"max_concurrency": 1, "timeout_s": 0.4}
            assert len(use(lambda ask: ask_often(ask, 4, workers=4), server, **more)) == 4

    def test_a_cancelled_question_gives_its_slot_back(self) -> None:
        async def work(ask: Ask) -> str:
            tasks = [asyncio.ensure_future(ask()) for _ in range(3)]
            await asyncio.sleep(0.1)
            for task in tasks:  # the first one is asked, and the others wait
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return await ask()

        with load_servers(0.3) as (server,):
            assert use(work, server, max_concurrency=1) == f"from {server.port}"

    def test_a_prompt_is_estimated_by_its_bytes(self) -> None:
        decoding = Decoding(strategy="completion")
        messages = (Message(role="user", content="\N{HIRAGANA LETTER A}" * 8),)
        assert _expected_tokens(Request(messages=messages, decoding=decoding)) == 6

    @pytest.mark.slow
    def test_tokens_per_second_are_held(self) -> None:
        async def work(ask: Ask) -> float:
            begun = time.monotonic()
            await ask_often(ask, 40, workers=4)
            return time.monotonic() - begun

        with load_servers(0.01) as (server,):
            seconds = use(work, server, tokens_per_second=1000, max_concurrency=4)
        # the first second's tokens may be used at once
        assert 0.8 <= (server.tokens - 1000) / seconds / 1000 <= 1.2


class TestFailures:
    @pytest.mark.slow
    def test_another_server_answers_for_one_that_dies_and_it_comes_back(self) -> None:
        async def work(ask: Ask) -> None:
            await ask_often(ask, 4, workers=2)
            assert dying.chats > 0
            dying.stop()
            before = dying.chats
            assert set(await ask_often(ask, 10, workers=2)) == {f"from {other.port}"}
            dying.start()
            assert dying.chats == before
            await asyncio.sleep(PAUSE_S)
            await ask_often(ask, 10, workers=2)
            assert dying.chats > before

        with load_servers(0.02, 0.02) as (dying, other):
            use(work, dying, other)

    def test_a_server_that_fails_is_soon_left_alone(self) -> None:
        with load_servers(0.01, 0.05) as (failing, other):
            failing.status = 503
            found = use(lambda ask: ask_often(ask, 12), failing, other)
        assert found == [f"from {other.port}"] * 12
        assert failing.chats <= circuit_breaker.FAILURES + 2  # and trials

    @pytest.mark.slow
    def test_a_server_that_hangs_is_too(self) -> None:
        with load_servers(0.6, 0.01) as (hanging, other):
            found = use(lambda ask: ask_often(ask, 8), hanging, other, timeout_s=0.2)
        assert found == [f"from {other.port}"] * 8
        assert hanging.chats <= circuit_breaker.FAILURES + 2

    def test_a_server_that_refuses_the_key_is_left_alone_at_once(self) -> None:
        with load_servers(0.0, 0.01) as (refusing, other):
            refusing.status = 401
            found = use(lambda ask: ask_often(ask, 5), refusing, other)
        assert found == [f"from {other.port}"] * 5
        assert refusing.chats == 1

    def test_an_invalid_request_is_not_repeated_elsewhere(self) -> None:
        async def work(ask: Ask) -> None:
            with pytest.raises(ModelError, match="returned status 400"):
                await ask()

        with load_servers(0.0, 0.0) as servers:
            for server in servers:
                server.status = 400
            use(work, *servers)
        assert [server.chats for server in servers] == [1, 0]

    def test_all_are_asked_again_after_a_pause(self) -> None:
        async def work(ask: Ask) -> str:
            question = asyncio.ensure_future(ask())
            await asyncio.sleep(0.1)
            servers[1].status = 200
            return await question

        with load_servers(0.0, 0.0) as servers:
            for server in servers:
                server.status = 503
            assert use(work, *servers, retries=2) == f"from {servers[1].port}"
        assert [server.chats for server in servers] == [2, 2]

    def test_if_all_fail_they_are_left_alone_for_a_while(self) -> None:
        async def work(ask: Ask) -> None:
            for _ in range(circuit_breaker.FAILURES):
                with pytest.raises(ModelError, match="returned status 503"):
                    await ask()
            with pytest.raises(ModelError, match="was not asked"):
                await ask()

        with load_servers(0.0, 0.0) as servers:
            for server in servers:
                server.status = 503
            use(work, *servers)
        assert [server.chats for server in servers] == [circuit_breaker.FAILURES] * 2

    @pytest.mark.slow
    def test_one_that_is_away_at_the_start_is_used_later(self) -> None:
        async def work(ask: Ask) -> None:
            await ask_often(ask, 8, workers=2)
            late.start()
            await asyncio.sleep(PAUSE_S)
            await ask_often(ask, 8, workers=2)

        with load_servers(0.02, 0.02) as (late, other):
            late.stop()
            use(work, late, other)
        assert other.chats >= 8
        assert late.chats > 0

    def test_without_any_there_is_an_error(self) -> None:
        with load_servers(0.0, 0.0) as servers:
            for server in servers:
                server.stop()
            with pytest.raises(ModelError, match="cannot reach the model server"):
                use(lambda ask: ask(), *servers)


class TestSameModel:
    def test_servers_with_different_models_are_refused(self) -> None:
        with load_servers(0.0, 0.0) as (first, second):
            second.model = "other"
            said = f"{second.address} has the model other, not m"
            with pytest.raises(ModelError, match=said) as caught:
                use(lambda ask: ask(), first, second)
            assert "use the same model" in caught.value.hint

    @pytest.mark.parametrize("has_it", [0, 1])
    def test_also_if_one_of_them_does_not_list_the_configured_model(self, has_it: int) -> None:
        with load_servers(0.0, 0.0) as servers:
            servers[1 - has_it].model = "other"
            with pytest.raises(ModelError, match="has the model other, not m"):
                use(lambda ask: ask(), *servers, name="m")

    @pytest.mark.slow
    def test_one_that_comes_back_with_another_model_is_not_used(self) -> None:
        async def work(ask: Ask) -> None:
            await ask_often(ask, 4, workers=2)
            replaced.stop()
            await ask_often(ask, 6)
            before = replaced.chats
            replaced.model = "other"
            replaced.start()
            for _ in range(3):
                await asyncio.sleep(PAUSE_S)
                assert set(await ask_often(ask, 4, workers=2)) == {f"from {other.port}"}
            assert replaced.chats == before

        with load_servers(0.02, 0.02) as (replaced, other):
            use(work, replaced, other)

    def test_one_that_is_replaced_without_a_failure_is_asked_once(self) -> None:
        async def work(ask: Ask) -> None:
            await ask_often(ask, 8, workers=4)
            replaced.model, before = "other", replaced.chats
            found = await ask_often(ask, 8, workers=2)
            assert set(found) == {f"from {other.port}"}
            assert replaced.chats == before + 1

        with load_servers(0.02, 0.02) as (replaced, other):
            use(work, replaced, other)

    def test_a_single_server_that_comes_back_with_another_model_is_an_error(self) -> None:
        async def work(ask: Ask) -> None:
            await ask()
            server.stop()
            for _ in range(circuit_breaker.FAILURES):
                with pytest.raises(ModelError, match="cannot reach"):
                    await ask()
            server.model = "other"
            server.start()
            await asyncio.sleep(PAUSE_S)
            with pytest.raises(ModelError, match="has the model other, not m"):
                await ask()

        with load_servers(0.0) as (server,):
            use(work, server)


class TestStatus:
    def test_all_addresses_are_shown(self) -> None:
        with load_servers(0.0, 0.0) as servers:
            found = check_model(settings(*servers), cache=Path("/nonexistent"), api_key=None)
        assert found.problem is None
        assert found.document["base_url"] == [server.address for server in servers]
        assert found.document["name"] == "m"

    def test_one_that_is_away_is_named(self) -> None:
        with load_servers(0.0, 0.0) as (first, second):
            second.stop()
            found = check_model(settings(first, second), cache=Path("/nonexistent"), api_key=None)
        assert found.problem is not None
        assert second.address in found.problem.message

    def test_the_same_address_twice_is_one_server(self) -> None:
        with load_servers(0.0) as (server,):
            found = check_model(settings(server, server), cache=Path("/nonexistent"), api_key=None)
        assert found.document["base_url"] == server.address
