"""Slots of model servers in a real PostgreSQL database."""

import asyncio
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from remora.bootstrap import model_slots
from remora.bootstrap.model_slots import ModelSlots
from remora.errors import DatabaseError
from remora.models.client.circuit_breaker import FAILURES
from remora.models.client.server_limits import Slot, Use
from remora.models.client.shared_limits import SharedLimits
from remora.models.model_settings import RequestLimits
from remora.trace.postgres.administration import DatabaseOwner
from remora.trace.postgres.database import Database
from tests.load_server import load_servers
from tests.postgres_server import PostgresServer, required_server

Opens = Callable[..., ModelSlots]
A, B = "http://a/v1", "http://b/v1"
OK, FAILED = Use(failed=False), Use(failed=True)


@pytest.fixture
def opens(dsn: str) -> Iterator[Opens]:
    """Opens the slots as another process would."""
    with ExitStack() as stack:

        def open_slots(limit: int = 2, rate: int | None = None) -> ModelSlots:
            database = Database(dsn, patience_s=10)
            database.open()
            limits = RequestLimits(max_concurrency=limit, tokens_per_second=rate)
            slots = ModelSlots(database, limits)
            stack.callback(slots.close)
            return slots

        yield open_slots


def execute(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET search_path TO remora")
        found = connection.execute(statement)
        return found.fetchall() if found.description else []


def taken(slots: ModelSlots, *servers: str, tokens: int = 0) -> Slot:
    slot = slots.take(servers or (A,), tokens).slot
    assert slot is not None
    return slot


class TestSlots:
    def test_processes_share_the_limit(self, opens: Opens) -> None:
        one, other = opens(), opens()
        first = taken(one)
        taken(other)
        assert one.take((A,), 0) == other.take((A,), 0) == (None, True)
        one.give_back(first, OK)
        assert taken(other).number == first.number

    def test_of_many_that_take_at_once_only_so_many_get_one(self, opens: Opens) -> None:
        slots = [opens(5) for _ in range(4)]
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda number: slots[number % 4].take((A,), 0), range(40)))
        got = {each.slot.number for each in found if each.slot is not None}
        assert got == set(range(5))
        assert sum(each.slot is not None for each in found) == 5

    def test_the_server_with_the_fewest_requests_is_taken(self, opens: Opens) -> None:
        one, other = opens(4), opens(4)
        taken(one, A)
        taken(other, A)
        found = [taken(slots, A, B).server for slots in (one, other, one, other)]
        assert found[:2] == [B, B]
        assert sorted(found[2:]) == [A, B]

    def test_a_larger_limit_has_more_slots(self, opens: Opens) -> None:
        small, large = opens(1), opens(3)
        taken(small)
        taken(large)
        taken(large)
        assert small.take((A,), 0).slot is large.take((A,), 0).slot is None

    def test_a_smaller_limit_uses_fewer_of_them(self, opens: Opens) -> None:
        small, large = opens(1), opens(3)
        large.give_back(taken(large), OK)
        taken(small)
        assert small.take((A,), 0).slot is None

    def test_a_late_return_does_not_free_the_slot_of_another(self, opens: Opens, dsn: str) -> None:
        late, other = opens(1), opens(1)
        old = taken(late)
        execute(dsn, "UPDATE model_slots SET taken_until = now()")
        new = taken(other)
        assert new.number == old.number
        late.give_back(old, OK)
        assert late.take((A,), 0).slot is None

    @pytest.mark.slow
    def test_a_slot_is_kept_as_long_as_the_process_lives(self, opens: Opens) -> None:
        one, other = opens(1), opens(1)
        taken(one)
        end = time.monotonic() + model_slots._LEASE_S + 2
        while time.monotonic() < end:
            assert other.take((A,), 0).slot is None
            time.sleep(0.2)


class TestTokens:
    def test_processes_share_the_tokens(self, opens: Opens) -> None:
        one, other = opens(9, 1000), opens(9, 1000)
        slot = taken(one, tokens=1600)
        assert other.take((A,), 0) == (None, True)
        one.give_back(slot, Use(tokens=-1500, failed=False))
        taken(other, tokens=100)

    @pytest.mark.slow
    def test_they_are_held_in_the_long_run(self, opens: Opens) -> None:
        processes = [SharedLimits(opens(9, 1000)) for _ in range(2)]
        used = 0

        async def job(limits: SharedLimits) -> None:
            nonlocal used
            while time.monotonic() < end:
                slot = await limits.take((A,), 60)
                assert slot is not None
                used += 100
                await asyncio.sleep(0.02)
                await limits.give_back(slot, Use(tokens=40, failed=False))

        async def run() -> None:
            await asyncio.gather(*(job(limits) for limits in processes for _ in range(3)))

        begun = time.monotonic()
        end = begun + 4
        asyncio.run(run())
        # the first second's tokens may be used at once
        assert 0.8 <= (used - 1000) / (time.monotonic() - begun) / 1000 <= 1.2


class TestFailures:
    def test_a_server_that_fails_is_left_alone_by_all(self, opens: Opens, dsn: str) -> None:
        processes = [opens(9) for _ in range(FAILURES)]
        for slots in processes:
            slots.give_back(taken(slots), FAILED)
        assert processes[0].take((A,), 0) == (None, False)
        assert taken(processes[1], A, B).server == B
        execute(dsn, "UPDATE model_servers SET failing_until = now()")
        trial = taken(processes[0])
        assert processes[1].take((A,), 0) == (None, False)
        processes[0].give_back(trial, FAILED)
        assert processes[1].take((A,), 0) == (None, False)
        execute(dsn, "UPDATE model_servers SET failing_until = now()")
        processes[1].give_back(taken(processes[1]), OK)
        for slots in processes * 3:
            taken(slots)

    def test_only_failures_in_a_row_count(self, opens: Opens) -> None:
        slots = opens()
        for use in (FAILED, FAILED, OK, FAILED, FAILED, Use()):
            slots.give_back(taken(slots), use)
        taken(slots)

    def test_a_failing_server_ends_the_wait(self, opens: Opens) -> None:
        limits, slots = SharedLimits(opens(1)), opens(1)
        slot = taken(slots)

        async def wait() -> Slot | None:
            waiting = asyncio.ensure_future(limits.take((A,), 0))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            for _ in range(FAILURES - 1):
                slots.give_back(slot._replace(owner=0), FAILED)  # it stays taken
            slots.give_back(slot, FAILED)
            return await waiting

        assert asyncio.run(wait()) is None

    def test_a_cancelled_wait_takes_nothing(self, opens: Opens) -> None:
        limits, slots = SharedLimits(opens(1)), opens(1)

        async def cancel_often() -> None:
            for number in range(20):
                waiting = asyncio.ensure_future(limits.take((A,), 0))
                await asyncio.sleep(number / 10_000)
                if waiting.cancel():
                    await asyncio.wait([waiting])
                if not waiting.cancelled() and (slot := waiting.result()) is not None:
                    await limits.give_back(slot, OK)

        asyncio.run(cancel_often())
        taken(slots)

    def test_without_a_database_there_is_an_error(self, dsn: str) -> None:
        gone = Database(dsn.replace("dbname=", "dbname=no"), patience_s=0.1)
        with pytest.raises(DatabaseError, match="does not exist"):
            ModelSlots(gone, RequestLimits()).take((A,), 0)

    @pytest.mark.slow
    def test_slots_are_made_again_after_a_crash_of_the_server(self) -> None:
        server = required_server()
        try:
            database = Database(server.dsn(), patience_s=20)
            database.open()
            slots = ModelSlots(database, RequestLimits(max_concurrency=1))
            old = taken(slots)
            server.kill()
            server.start()
            taken(slots)  # the tables are empty after a crash
            slots.give_back(old, OK)
            assert slots.take((A,), 0).slot is None
            slots.close()
        finally:
            server.remove()


class TestRights:
    def test_a_worker_may_use_but_not_empty_the_tables(
        self, dsn: str, postgres: PostgresServer
    ) -> None:
        role = f"worker_{secrets.token_hex(4)}"
        postgres.execute(f"CREATE ROLE {role} LOGIN")
        database = Database(dsn, patience_s=1)
        DatabaseOwner(database).install(role)
        worker = Database(dsn.replace("user=owner", f"user={role}"), patience_s=1)
        worker.open()
        slots = ModelSlots(worker, RequestLimits())
        slots.give_back(taken(slots), OK)
        forbidden = ("DELETE FROM model_slots", "TRUNCATE model_servers", "DROP TABLE model_slots")
        for statement in forbidden:
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                worker.connected() as connection,
            ):
                connection.execute(statement)
        slots.close()
        database.close()


@contextmanager
def processes(dsn: str, address: str, *, limit: int, times: int) -> Iterator[list[Any]]:
    """Two processes that ask a server, when they get a line."""
    database = Database(dsn)
    database.open()
    database.close()
    command = [sys.executable, "-m", "tests.usecases.model_process"]
    running = [
        subprocess.Popen(
            [*command, dsn, address, str(limit), str(times)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def begin(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.slow
class TestProcesses:
    def test_two_together_never_exceed_the_limit(self, dsn: str) -> None:
        with (
            load_servers(0.03) as (server,),
            processes(dsn, server.address, limit=3, times=60) as running,
        ):
            for process in running:
                begin(process)
            assert [process.wait(40) for process in running] == [0, 0]
        assert server.chats == 120
        assert server.most == 3

    def test_the_slots_of_a_killed_one_are_free_again(self, dsn: str) -> None:
        with (
            load_servers(0.03) as (server,),
            processes(dsn, server.address, limit=2, times=20) as (killed, other),
        ):
            server.delay_s = 30
            begin(killed)
            while server.chats < 2:
                time.sleep(0.01)
            killed.kill()
            server.delay_s = 0.03
            begun = time.monotonic()
            begin(other)
            assert other.wait(40) == 0
        assert model_slots._LEASE_S / 3 < time.monotonic() - begun < model_slots._LEASE_S + 10
        assert server.chats == 22
