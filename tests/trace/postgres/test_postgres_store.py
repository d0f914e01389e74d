"""PostgreSQL store: the conformance suite, and ownership of streams."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from remora.errors import StreamDamaged, StreamError, StreamLocked, WriterReplaced
from remora.memory.events import AgentEnd, ModelRequest, TurnStart
from remora.trace.postgres import store as store_module
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import Owner
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.trace.conftest import agent_identity
from tests.trace.stream.store.conformance import STREAM, Opens, StoreConformance, chained, stored

OpensStore = Callable[[], PostgresTraceStore]


class TestPostgresTraceStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _database(self, database: Database) -> None:
        self.database = database

    def storage(self, folder: TraceFolder) -> Opens:
        return partial(PostgresTraceStore, self.database, "shop")


def end_lease(database: Database) -> None:
    """Let the time of all leases pass, as on the database's clock."""
    query = "UPDATE streams SET lease_until = now() - interval '1 second'"
    database.run(lambda connection: connection.execute(query))


def filled(store: PostgresTraceStore, lines: list[bytes]) -> int:
    epoch = store.claim(STREAM).epoch
    store.append(STREAM, epoch, 0, *lines)
    return epoch


class TestOwnership:
    def test_a_stream_with_a_lease_is_refused_and_its_owner_named(self, opens: OpensStore) -> None:
        filled(opens(), chained(1))
        with pytest.raises(StreamLocked, match=f"is being written by process {os.getpid()} on "):
            opens().claim(STREAM)

    def test_a_forged_lease_does_not_last_forever(
        self, opens: OpensStore, database: Database
    ) -> None:
        filled(opens(), chained(1))
        query = (
            "UPDATE streams SET lease_until = '8999-01-01', epoch = 1000000000000000, "
            "deaths = 1000000000"
        )
        database.run(lambda connection: connection.execute(query))
        claim = opens().claim(STREAM)
        assert (claim.epoch, claim.head.count) == (1, 1)
        with pytest.raises(StreamLocked):
            opens().claim(STREAM)

    def test_a_stream_whose_last_line_is_not_an_event_is_damaged(
        self, opens: OpensStore, database: Database
    ) -> None:
        store = opens()
        store.release(STREAM, filled(store, chained(1)))
        query = (
            "WITH forged AS (UPDATE streams SET next_seq = 2 RETURNING id, month) "
            "INSERT INTO events (stream, month, seq, lines) SELECT id, month, 1, %s FROM forged"
        )
        database.run(lambda connection: connection.execute(query, [b"[" * 100_000 + b"\n"]))
        with pytest.raises(StreamDamaged, match="the last line is not an event"):
            opens().claim(STREAM)

    def test_when_the_lease_has_ended_the_former_owner_writes_nothing(
        self, opens: OpensStore, database: Database
    ) -> None:
        lines, former, new = chained(3), opens(), opens()
        epoch = filled(former, lines[:1])
        end_lease(database)
        taken = new.claim(STREAM)
        assert taken.epoch > epoch
        with pytest.raises(WriterReplaced, match="was taken over by process"):
            former.append(STREAM, epoch, 1, lines[1])  # before the new owner's first append
        new.append(STREAM, taken.epoch, 1, *lines[1:])
        with pytest.raises(WriterReplaced):
            former.append(STREAM, epoch, 1, lines[1])
        former.release(STREAM, epoch)  # changes nothing
        assert stored(opens()) == lines
        with pytest.raises(StreamLocked):
            opens().claim(STREAM)

    def test_a_store_that_ignores_epochs_is_found(
        self, opens: OpensStore, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        condition = "AND epoch = %(epoch)s"
        assert condition in store_module._APPEND
        monkeypatch.setattr(store_module, "_APPEND", store_module._APPEND.replace(condition, ""))
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            self.test_when_the_lease_has_ended_the_former_owner_writes_nothing(opens, database)

    def test_without_a_new_owner_a_late_writer_goes_on(
        self, opens: OpensStore, database: Database
    ) -> None:
        lines, store = chained(2), opens()
        epoch = filled(store, lines[:1])
        end_lease(database)
        store.append(STREAM, epoch, 1, lines[1])
        with pytest.raises(StreamLocked):  # the append has renewed the lease
            opens().claim(STREAM)

    def test_leases_are_renewed_without_appends(
        self, database: Database, opens: OpensStore
    ) -> None:
        store = PostgresTraceStore(database, "shop", lease_s=1)
        epoch = filled(store, chained(1))
        time.sleep(1.2)
        with pytest.raises(StreamLocked):
            opens().claim(STREAM)
        store.release(STREAM, epoch)
        opens().claim(STREAM)

    def test_agent_end_closes_the_stream(self, opens: OpensStore, folder: TraceFolder) -> None:
        options = EmitterOptions(blobs=folder.blobs, clock=ticking())
        with JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), options) as emitter:
            emitter.emit(AgentEnd(status="no_change", stop_reason="no_change"), turn=1)
        store = opens()
        epoch = store.claim(STREAM).epoch
        with pytest.raises(StreamError, match="has ended"):
            store.append(STREAM, epoch, 1, chained(2)[1])

    def test_projects_do_not_share_streams(self, database: Database) -> None:
        ours, theirs = (PostgresTraceStore(database, name) for name in ("shop", "bank"))
        filled(ours, chained(2))
        filled(theirs, chained(1))
        assert (len(stored(ours)), len(stored(theirs))) == (2, 1)


class TestTurns:
    """A turn is appended as a whole."""

    @pytest.fixture
    def emitter(self, opens: OpensStore, folder: TraceFolder) -> JsonlEventEmitter:
        options = EmitterOptions(blobs=folder.blobs, clock=ticking())
        return JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), options)

    def test_events_wait_for_the_end_of_the_turn(
        self, emitter: JsonlEventEmitter, opens: OpensStore
    ) -> None:
        for turn in (1, 2):
            emitter.emit(TurnStart(), turn=turn)
            assert opens().head(STREAM).count == turn - 1
            emitter.end_turn()
            assert opens().head(STREAM) == emitter.head

    def test_a_model_sees_nothing_that_is_not_stored(
        self, emitter: JsonlEventEmitter, opens: OpensStore
    ) -> None:
        emitter.emit(TurnStart(), turn=1)
        request = ModelRequest(
            prompt="p", renderer="lines/2", decoding={}, packet_sha256="", trim=0, prompt_tokens=1
        )
        emitter.emit(request, turn=1)
        emitter.flush()
        assert opens().head(STREAM).count == 2

    def test_events_of_an_unfinished_turn_are_stored_on_close(
        self, emitter: JsonlEventEmitter, opens: OpensStore
    ) -> None:
        emitter.emit(TurnStart(), turn=1)
        emitter.close()
        assert opens().head(STREAM).count == 1

    def test_a_replaced_emitter_accepts_no_more_events(
        self, emitter: JsonlEventEmitter, opens: OpensStore, database: Database
    ) -> None:
        end_lease(database)
        opens().claim(STREAM)
        emitter.emit(TurnStart(), turn=1)
        with pytest.raises(WriterReplaced):
            emitter.end_turn()
        with pytest.raises(StreamError, match="accepts no more events"):
            emitter.emit(TurnStart(), turn=2)


WRITER = """
import sys, time
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from tests.trace.stream.store.conformance import STREAM, chained

database = Database(sys.argv[1])
database.open()
store = PostgresTraceStore(database, "shop", lease_s=60)
epoch, seq = store.claim(STREAM).epoch, 0
for line in chained(2):
    store.append(STREAM, epoch, seq, line)
    seq += 1
    print(seq, flush=True)
time.sleep(60)
"""


class TestDeadOwners:
    @pytest.fixture
    def writer(self, dsn: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", WRITER, dsn]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        assert process.stdout.readline() == b"2\n"
        process.stdout.close()
        return process

    @pytest.mark.needs("/proc")
    def test_the_stream_of_a_killed_process_of_this_machine_is_free_at_once(
        self, writer: "subprocess.Popen[bytes]", opens: OpensStore
    ) -> None:
        with pytest.raises(StreamLocked, match=f"process {writer.pid} on"):
            opens().claim(STREAM)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert opens().claim(STREAM).head.count == 2

    def test_a_stopped_process_is_not_dead(
        self, writer: "subprocess.Popen[bytes]", opens: OpensStore
    ) -> None:
        writer.send_signal(signal.SIGSTOP)
        with pytest.raises(StreamLocked):
            opens().claim(STREAM)
        writer.kill()
        writer.wait()

    @pytest.mark.needs("/proc")
    def test_a_process_of_another_machine_is_never_called_dead(self) -> None:
        here = Owner.of_this_process()
        assert not here.has_died
        gone = Owner(here.host, 2**22 - 1, here.started, here.machine, "")
        assert gone.has_died
        elsewhere = Owner(here.host, gone.pid, here.started, "another machine", "")
        assert not elsewhere.has_died
        assert Owner.decode(here.encode()) == here
        assert Owner.decode("nonsense") is None


def test_of_many_that_claim_at_once_one_succeeds(opens: OpensStore) -> None:
    stores, claimed = [opens() for _ in range(6)], []
    start = threading.Barrier(len(stores))

    def claim(store: PostgresTraceStore) -> None:
        start.wait()
        with suppress(StreamLocked):
            claimed.append(store.claim(STREAM).epoch)

    threads = [threading.Thread(target=claim, args=[store]) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert claimed == [1]
