"""Lost connections, and servers that are restarted, killed, full or behind."""

import gc
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import BinaryIO, Protocol

import psycopg
import pytest

from remora.errors import DatabaseError, SeqConflict, StreamWriteFailed, WriterReplaced
from remora.trace.postgres.database import Database
from remora.trace.postgres.schema import grant_worker
from remora.trace.postgres.store import PostgresTraceStore
from tests.postgres_server import PostgresServer
from tests.trace.postgres.cut_connection import CuttingProxy, Moment
from tests.trace.stream.store.conformance import STREAM, chained, stored

OpensStore = Callable[[], PostgresTraceStore]
LINES = chained(10)


class Opens(Protocol):
    """Opens a database, which is closed after the test."""

    def __call__(self, dsn: str, patience_s: float = 20) -> Database: ...


@pytest.fixture
def dsn(own_dsn: str) -> str:
    """These tests count connections and lose rows."""
    return own_dsn


@pytest.fixture
def opened() -> Iterator[Opens]:
    with ExitStack() as stack:

        def open_database(dsn: str, patience_s: float = 20) -> Database:
            database = Database(dsn, patience_s=patience_s)
            stack.callback(database.close)
            database.open()
            return database

        yield open_database


def test_the_connections_of_a_database_that_is_no_longer_used_are_closed(dsn: str) -> None:
    database = Database(dsn)
    database.open()
    database.cycle = database  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del database
        gc.collect()
    assert [str(each.message) for each in warned] == []


def test_a_closed_database_keeps_no_connection(dsn: str) -> None:
    database = Database(dsn)
    database.close()
    database.open()
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(dsn) as connection:
        deadline = time.monotonic() + 5
        while connection.execute(query).fetchone() != (1,):
            connection.rollback()
            assert time.monotonic() < deadline


class TestCutConnections:
    @pytest.fixture
    def proxy(self, postgres: PostgresServer) -> Iterator[CuttingProxy]:
        proxy = CuttingProxy(postgres.folder)
        yield proxy
        proxy.close()

    @pytest.fixture
    def store(self, proxy: CuttingProxy, dsn: str, opened: Opens) -> PostgresTraceStore:
        return PostgresTraceStore(opened(f"{dsn} host={proxy.folder}"), "shop")

    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_a_turn_is_written_once_whatever_became_of_its_commit(
        self, moment: Moment, proxy: CuttingProxy, store: PostgresTraceStore
    ) -> None:
        epoch = store.claim(STREAM).epoch
        store.append(STREAM, epoch, 0, *LINES[:3])
        proxy.cut(b"INSERT INTO events", moment)
        store.append(STREAM, epoch, 3, *LINES[3:6])
        assert proxy.cuts == 1
        store.append(STREAM, epoch, 6, *LINES[6:])
        assert stored(store) == LINES

    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_a_claim_whose_answer_was_lost_is_ours(
        self, moment: Moment, proxy: CuttingProxy, store: PostgresTraceStore
    ) -> None:
        proxy.cut(b"SET epoch = epoch ", moment)
        epoch = store.claim(STREAM).epoch
        assert proxy.cuts == 1
        store.append(STREAM, epoch, 0, *LINES)
        assert stored(store) == LINES

    def test_a_stream_taken_over_during_the_cut_is_not_written(
        self, proxy: CuttingProxy, store: PostgresTraceStore, opens: OpensStore, database: Database
    ) -> None:
        epoch = store.claim(STREAM).epoch
        expire = "UPDATE streams SET lease_until = now() - interval '1 s'"
        database.run(lambda connection: connection.execute(expire))
        opens().claim(STREAM)
        proxy.cut(b"INSERT INTO events", "before")
        with pytest.raises(WriterReplaced):
            store.append(STREAM, epoch, 0, *LINES)
        assert stored(opens()) == []


class TestServers:
    @pytest.fixture
    def server(self) -> Iterator[PostgresServer]:
        pytest.importorskip("psycopg")
        server = PostgresServer({"fsync": "on"}).start()
        yield server
        server.remove()

    @pytest.mark.slow
    def test_a_restart_is_waited_for(self, server: PostgresServer, opened: Opens) -> None:
        store = PostgresTraceStore(opened(server.dsn()), "shop")
        epoch = store.claim(STREAM).epoch
        store.append(STREAM, epoch, 0, LINES[0])
        server.stop()
        threading.Timer(1, server.start).start()
        store.append(STREAM, epoch, 1, *LINES[1:])
        assert stored(store) == LINES

    @pytest.mark.slow
    def test_a_killed_server_loses_no_acknowledged_event(
        self, server: PostgresServer, opened: Opens
    ) -> None:
        lines = chained(300)
        for round_ in range(5):
            stream = f"traces/lint-{round_}"
            store = PostgresTraceStore(opened(server.dsn()), "shop")
            epoch, killed = store.claim(stream).epoch, threading.Event()

            def kill(begun: threading.Event, killed: threading.Event) -> None:
                begun.wait()
                server.kill()
                killed.set()
                server.start()

            begun = threading.Event()
            killer = threading.Thread(target=kill, args=[begun, killed])
            killer.start()
            acknowledged_before = acknowledged = 0
            for seq in range(0, len(lines), 5):
                store.append(stream, epoch, seq, *lines[seq : seq + 5])
                acknowledged = seq + 5
                if acknowledged == 50:
                    begun.set()
                if not killed.is_set():
                    acknowledged_before = acknowledged
                    time.sleep(0.005)  # so that the kill does not come after the last append
            killer.join()
            assert 0 < acknowledged_before < acknowledged, "the kill hit no append"
            assert stored(store, stream=stream) == lines

    @pytest.mark.slow
    def test_a_server_that_stays_away_ends_the_job_with_a_reason(
        self, server: PostgresServer, opened: Opens
    ) -> None:
        store = PostgresTraceStore(opened(server.dsn(), patience_s=0.5), "shop")
        epoch = store.claim(STREAM).epoch
        server.stop()
        with pytest.raises(StreamWriteFailed, match=r"traces/.*: PostgreSQL at .*connection"):
            store.append(STREAM, epoch, 0, *LINES)
        with pytest.raises(DatabaseError) as failure:
            opened(server.dsn())
        assert failure.value.exit_code == 3
        assert "remora doctor" in failure.value.hint

    @pytest.mark.slow
    @pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk requires root")
    def test_a_full_disk_loses_nothing_and_is_waited_for(
        self, server: PostgresServer, opened: Opens
    ) -> None:
        with server.small_tablespace(40) as disk:
            database = opened(server.new_database("full", tablespace="small"), patience_s=30)
            store, filler = PostgresTraceStore(database, "shop"), disk / "filler"
            epoch = store.claim(STREAM).epoch
            store.append(STREAM, epoch, 0, *LINES[:3])
            with filler.open("wb") as file:
                fill(file)
            threading.Timer(2, filler.unlink).start()
            many, started = chained(400), time.monotonic()
            other = store.claim("traces/lint-1").epoch
            store.append("traces/lint-1", other, 0, *many)
            assert time.monotonic() - started > 1, "the disk was not full"
            store.append(STREAM, epoch, 3, *LINES[3:])
            assert stored(store) == LINES
            assert stored(store, stream="traces/lint-1") == many


def fill(file: BinaryIO) -> None:
    """Write until the disk is full."""
    with suppress(OSError):
        while True:
            os.write(file.fileno(), os.urandom(1 << 12))


def test_too_many_connections_are_waited_for_and_then_named(
    postgres: PostgresServer, dsn: str, database: Database, opened: Opens
) -> None:
    with database.connected() as connection:
        connection.execute("DROP ROLE IF EXISTS crowded")
        connection.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 1")
        grant_worker(connection, "crowded")
    crowded = dsn.replace("user=owner", "user=crowded")
    with psycopg.connect(crowded) as occupying:
        with pytest.raises(DatabaseError, match="too many connections for role"):
            opened(crowded)
        threading.Timer(0.5, occupying.close).start()
        waiting = Database(crowded, patience_s=20)
        assert PostgresTraceStore(waiting, "shop").claim(STREAM).epoch == 1
        waiting.close()


def test_a_database_that_lost_the_last_turn_is_reported(
    opens: OpensStore, database: Database
) -> None:
    store = opens()
    epoch = store.claim(STREAM).epoch
    store.append(STREAM, epoch, 0, *LINES[:3])
    store.append(STREAM, epoch, 3, *LINES[3:5])

    def lose(connection: "psycopg.Connection[object]") -> None:  # as a failover to a late replica
        connection.execute("DELETE FROM events WHERE seq >= 3")
        connection.execute("UPDATE streams SET next_seq = 3")

    database.run(lose)
    with pytest.raises(SeqConflict, match="has 3 lines in the database, not 5; if it was restored"):
        store.append(STREAM, epoch, 5, *LINES[5:])
    assert stored(store) == LINES[:3]


def test_a_clock_that_is_wrong_here_changes_nothing(
    opens: OpensStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)  # leases run on the database's clock
    store = opens()
    epoch = store.claim(STREAM).epoch
    store.append(STREAM, epoch, 0, *LINES)
    assert stored(opens()) == LINES
