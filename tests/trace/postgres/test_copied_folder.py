"""Copies of streams in the user's cache: new lines, damage on either side, and several readers."""

import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import GENESIS, AgentEnd, TurnStart
from remora.trace.content.line_format import hashed_part, line_hash, line_with_hash
from remora.trace.postgres import copied_folder
from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import Owner, this_machine
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.postgres.stream_lines import read_streams
from remora.trace.read.reader import is_being_written, list_streams
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.verify.folder_check import verify_all
from tests.clock import ticking
from tests.trace.conftest import AGENT, agent_identity
from tests.trace.postgres.conftest import Connects, OpensCopies
from tests.trace.postgres.written_stream import (
    LINES,
    Writer,
    change_line,
    delete_lines,
    lose_lines,
    lose_streams,
    write,
)
from tests.trace.stream.store.conformance import STREAM, head_of

WHOLE = b"".join(LINES)
END = AgentEnd(status="no_change", stop_reason="no_change")
OpensStore = Callable[[], PostgresTraceStore]


def found(copies: CopiedTraceFolder) -> bytes:
    """Look the stream up, and read its copy."""
    path = copies.find_agent(AGENT)
    assert path is not None
    return path.read_bytes()


def copy_of(copies: CopiedTraceFolder) -> Path:
    return copies.traces / f"{AGENT}.jsonl"


def problems(copies: CopiedTraceFolder) -> list[int]:
    """Return the lines whose hash is found to be wrong."""
    (report,) = verify_all(copies, AGENT).streams
    return [problem.line for problem in report.problems if problem.kind == "chain"]


def copy_problems(copies: CopiedTraceFolder) -> list[str]:
    """Return what `trace verify` says of the copies of all streams."""
    found = [each for report in verify_all(copies).streams for each in report.problems]
    return [problem.detail for problem in found if problem.kind == "copy"]


def replaced(number: int) -> bytes:
    """Return the stream with another line of the same length."""
    lines = WHOLE.splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(b"run-1", b"run-2", 1)
    return b"".join(lines)


def forge(database: Database, name: str, lines: Sequence[bytes] = LINES) -> None:
    """Write a stream of any name, as a worker's role could."""
    whole = b"".join(lines)
    values = {
        "project": "shop", "name": name, "lines": whole, "size": len(whole), "count": len(lines)
    }  # fmt: skip
    query = """
    WITH forged AS (
        INSERT INTO streams (project, name, next_seq, bytes)
        VALUES (%(project)s, %(name)s, %(count)s, %(size)s) RETURNING id, month
    )
    INSERT INTO events (stream, month, seq, lines) SELECT id, month, 0, %(lines)s FROM forged
    """
    database.run(lambda connection: connection.execute(query, values))


def execute(database: Database, query: str) -> None:
    database.run(lambda connection: connection.execute(query))


def emitter(store: PostgresTraceStore, copies: CopiedTraceFolder) -> JsonlEventEmitter:
    options = EmitterOptions(blobs=copies.blobs, clock=ticking())
    return JsonlEventEmitter.claim(store, STREAM, agent_identity(), options)


class TestNewLines:
    @pytest.mark.slow
    def test_a_growing_stream_is_copied_byte_for_byte(
        self, opens: OpensStore, copies: CopiedTraceFolder
    ) -> None:
        assert copies.find_agent(AGENT) is None
        assert copies.find_agent("../../secret") is None
        assert list(copies.agent_streams()) == []
        writer = Writer(opens())
        for number, line in enumerate(LINES):
            writer.append(line)
            assert found(copies) == b"".join(LINES[: number + 1])
        assert list(copies.agent_streams()) == [copy_of(copies)]
        assert copy_of(copies).stat().st_mode & 0o777 == 0o600
        assert copies.path.stat().st_mode & 0o777 == 0o700

    def test_a_cache_deleted_while_it_is_open_is_filled_again(
        self, opens: OpensStore, copies: CopiedTraceFolder, cache: Path
    ) -> None:
        writer = Writer(opens())
        writer.append(*LINES[:4])
        found(copies)
        shutil.rmtree(cache)
        writer.append(*LINES[4:])
        assert found(copies) == WHOLE


class TestDamagedCopies:
    @pytest.fixture(autouse=True)
    def _copied(self, opens: OpensStore, copies: CopiedTraceFolder) -> None:
        write(opens(), LINES)
        found(copies)

    def test_a_copy_with_a_damaged_end_is_mended(self, copies: CopiedTraceFolder) -> None:
        for damaged in (
            b"",
            WHOLE[:-1],
            WHOLE[:-40],
            LINES[0][:30],
            b"".join(LINES[:4]),
            b"".join(LINES[:4]) + LINES[4][:30],
            WHOLE + b"half a li",
        ):
            copy_of(copies).write_bytes(damaged)
            assert found(copies) == WHOLE
            assert {path.name for path in copies.traces.iterdir()} == {
                ".gitignore",
                f"{AGENT}.jsonl",
            }

    def test_a_file_that_is_not_a_copy_is_kept(self, copies: CopiedTraceFolder) -> None:
        strange = {b"notes", b"my notes\n", WHOLE + b"my notes\n", b"\0" * 5000 + b"\n"}
        for content in strange:
            copy_of(copies).write_bytes(content)
            assert found(copies) == WHOLE
        assert {path.read_bytes() for path in copies.traces.glob("*.replaced*")} == strange

    def test_a_folder_that_became_a_link_is_not_followed(
        self, copies: CopiedTraceFolder, tmp_path: Path
    ) -> None:
        copies.traces.rename(tmp_path / "elsewhere")
        copies.traces.symlink_to(tmp_path / "elsewhere")
        copied = tmp_path / "elsewhere" / f"{AGENT}.jsonl"
        copied.write_bytes(b"my notes\n")
        with pytest.raises(DiskError, match="is a link"):
            found(copies)
        assert copied.read_bytes() == b"my notes\n"

    def test_verify_reads_the_database_and_not_a_changed_copy(
        self, copies: CopiedTraceFolder
    ) -> None:
        changed = WHOLE.replace(b"run-1", b"run-2", 1)
        copy_of(copies).write_bytes(changed)
        assert found(copies) == changed  # it has the right length
        assert problems(copies) == []
        assert found(copies) == WHOLE

    def test_verify_reports_and_keeps_a_copy_that_differs(self, copies: CopiedTraceFolder) -> None:
        for number in (3, 5):
            changed = replaced(number)
            copy_of(copies).write_bytes(changed)
            (problem,) = copy_problems(copies)
            assert f"line {number} in " in problem
            kept = Path(problem.rpartition(" ")[2])
            assert kept.read_bytes() == changed
            assert found(copies) == WHOLE
        assert copy_problems(copies) == []
        assert len(list(copies.traces.iterdir())) == 4


class TestDamagedDatabases:
    @pytest.fixture(autouse=True)
    def _copied(self, opens: OpensStore, copies: CopiedTraceFolder) -> None:
        write(opens(), LINES)
        found(copies)

    def test_verify_finds_a_line_that_was_changed_in_the_database(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        change_line(database, 5)
        assert problems(copies) == [6]
        (kept,) = copies.traces.glob("*.replaced")
        assert kept.read_bytes() == WHOLE

    def test_lost_last_lines_and_a_lost_stream_are_reported_and_the_copy_is_kept(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        lose_lines(database, 7)
        with pytest.raises(
            StreamDamaged, match=r"had 12 lines and now has 7 in .*failover"
        ) as error:
            found(copies)
        assert str(copy_of(copies)) in (error.value.hint or "")
        (problem,) = copy_problems(copies)
        assert problem == f"{error.value.message}; {error.value.hint}"
        assert copy_of(copies).read_bytes() == WHOLE
        lose_streams(database)  # without pruning it
        assert list(copies.agent_streams()) == [copy_of(copies)]
        (problem,) = copy_problems(copies)
        assert "is no longer in" in problem
        assert "was not pruned" in problem
        assert copy_of(copies).read_bytes() == WHOLE

    @pytest.mark.parametrize("count", [10, 12, 14])
    def test_other_lines_after_a_failover_are_reported_and_the_copy_is_kept(
        self, count: int, copies: CopiedTraceFolder, database: Database, opens: OpensStore
    ) -> None:
        lose_lines(database, 7)
        with emitter(opens(), copies) as others:
            for number in range(7, count):
                others.emit(TurnStart(), turn=number)
        with pytest.raises(StreamDamaged):
            found(copies)
        assert len(copy_problems(copies)) == 1
        assert copy_of(copies).read_bytes() == WHOLE

    def test_lines_deleted_in_the_table_are_missed(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        delete_lines(database, 9)
        (problem,) = copy_problems(copies)
        assert "should have 12 lines in" in problem
        assert "but only 9 can" in problem


class TestRowsOfWorkers:
    """What a worker's role can write."""

    @pytest.fixture(autouse=True)
    def _written(self, opens: OpensStore) -> None:
        write(opens(), LINES)

    @pytest.mark.parametrize(
        "run_id", ["{}/notes", "../../x/runs/notes", "a\0b/notes", "a" * 300 + "/notes"]
    )
    def test_the_run_that_an_event_names_never_leads_out_of_the_folder(
        self, run_id: str, copies: CopiedTraceFolder, database: Database
    ) -> None:
        victim = copies.path.parent / "x" / "runs" / "notes.jsonl"
        victim.parent.mkdir(parents=True)
        victim.write_bytes(WHOLE)
        named = run_id.format(victim.parent)
        forge(database, "runs/notes")
        query = "UPDATE streams SET owner = 'x', lease_until = now() + interval '1 h' WHERE name = 'runs/notes'"
        execute(database, query)
        run = b'"run_id":' + json.dumps(named).encode()
        body = bytes(hashed_part(LINES[0][:-1])).replace(b'"run_id":"run-1"', run)
        assert run in body
        forge(database, "traces/lint-forged", [line_with_hash(body, line_hash(GENESIS, body))])
        for name in (None, "lint-forged", named):
            with suppress(NotFound):
                verify_all(copies, name)
        assert copies.find_run(named) is None
        assert copies.find_agent(named) is None
        copies.refresh(victim)
        assert [each.name for each in victim.parent.iterdir()] == ["notes.jsonl"]
        assert victim.read_bytes() == WHOLE

    def test_a_lease_is_not_written_through_a_link(
        self, copies: CopiedTraceFolder, opens: OpensStore, tmp_path: Path
    ) -> None:
        Writer(opens(), "traces/lint-other").append(LINES[0])
        copies.traces.rename(tmp_path / "elsewhere")
        copies.traces.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(DiskError, match="is a link"):
            copies.find_agent("lint-other")
        assert [p.name for p in (tmp_path / "elsewhere").iterdir()] == [".gitignore"]

    def test_strange_values_do_not_end_the_list(
        self, copies: CopiedTraceFolder, database: Database, opens: OpensStore
    ) -> None:
        strange = {
            "lint-forged-1": "lease_until = '8999-01-01', owner = 'x'",
            "lint-forged-2": "lease_until = now() + interval '1 h', "
            "owner = '{\"x\":' || repeat('[', 9990)",
            "lint-forged-3": "next_seq = 2147483647, bytes = 0",
        }
        for name, columns in strange.items():
            write(opens(), LINES[:3], f"traces/{name}")
            query = f"UPDATE streams SET {columns} WHERE name = 'traces/{name}'"
            execute(database, query)
        assert [each.agent_id for each in list_streams(copies)] == [AGENT, *strange]
        ours = next(each for each in verify_all(copies).streams if each.name == AGENT)
        assert ours.head == head_of(LINES)

    def test_rows_with_invalid_names_are_named_and_the_others_are_shown(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        names = {"traces/../../x", "traces/", "runs/A\n", "traces/" + "a" * 300}
        drop = "ALTER TABLE streams DROP CONSTRAINT streams_name"  # as the owner could
        execute(database, drop)
        for name in names:
            forge(database, name)
        assert [each.agent_id for each in list_streams(copies)] == [AGENT]
        assert list(copies.run_streams()) == []
        assert copies.invalid_names() == names
        reports = {each.name: each for each in verify_all(copies).streams}
        assert reports.keys() == {AGENT, *names}
        assert reports[AGENT].head == head_of(LINES)
        for name in names:
            (problem,) = reports[name].problems
            assert (problem.kind, "cannot have this name" in problem.detail) == ("copy", True)

    @pytest.mark.needs("/proc")
    def test_an_owner_with_an_impossible_process_id_has_died(self) -> None:
        owner = Owner("build1", 2**62, "1", this_machine(), "x")
        assert owner.has_died

    def test_a_stream_without_its_lines_is_damaged_and_leaves_no_file_behind(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        found(copies)
        delete_lines(database, 9)
        verify_all(copies)
        assert {path.name for path in copies.traces.iterdir()} == {".gitignore", f"{AGENT}.jsonl"}
        copy_of(copies).unlink()
        (listed,) = list_streams(copies)
        assert listed.status == "damaged"

    def test_the_check_of_a_stream_stops_after_many_lines_that_are_no_events(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        forge(database, "traces/lint-forged", [*LINES, *[b"\n"] * 20_000])
        ours, forged = verify_all(copies).streams
        assert ours.head == head_of(LINES)
        assert not forged.ok
        assert forged.head.count == 12 + 10_000

    def test_streams_that_claim_to_be_small_are_not_read_at_once(
        self, copies: CopiedTraceFolder, database: Database, opens: OpensStore
    ) -> None:
        names = [f"lint-{number}" for number in range(5)]
        for name in names:
            write(opens(), LINES, f"traces/{name}")
        query = (
            "UPDATE streams SET bytes = 0; "
            "UPDATE events SET lines = lines || decode(repeat('0a', 5000000), 'hex') WHERE seq = 11"
        )
        execute(database, query)
        month, ids = database.run(
            lambda connection: connection.execute(
                "SELECT month, array_agg(id) FROM streams GROUP BY month"
            ).fetchone()
        ) or (None, [])
        assert len(read_streams(database, month, ids)) == 3
        assert [each.status for each in list_streams(copies)] == ["damaged"] * 6
        assert copies.agent_stream(names[4]).stat().st_size == 0

    def test_a_stream_with_more_bytes_than_recorded_does_not_fill_the_disk(
        self, copies: CopiedTraceFolder, database: Database, opens: OpensStore
    ) -> None:
        write(opens(), LINES, "traces/lint-forged")
        query = (
            "UPDATE streams SET next_seq = 100000000 WHERE name = 'traces/lint-forged'; "
            "INSERT INTO events (stream, month, seq, lines) "
            "SELECT id, month, 12 + 9000000 * n, decode(repeat('0a', 9000000), 'hex') "
            "FROM streams, generate_series(0, 3) n WHERE name = 'traces/lint-forged'"
        )
        execute(database, query)
        listed = {each.agent_id: each.status for each in list_streams(copies)}
        assert listed == {AGENT: "interrupted", "lint-forged": "damaged"}
        assert copies.agent_stream("lint-forged").stat().st_size == 0
        assert any("can be read" in each for each in copy_problems(copies))

    def test_a_stream_is_copied_later_if_the_disk_is_almost_full(
        self, copies: CopiedTraceFolder, opens: OpensStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(opens(), LINES, "traces/lint-other")
        path = copies.agent_stream("lint-other")
        with monkeypatch.context() as patch:
            patch.setattr(copied_folder, "_FREE_BYTES", 1 << 60)
            list(copies.agent_streams())
            assert "of the disk would be left" in str(copies.copy_problem(path))
            assert path.stat().st_size == 0
        list(copies.agent_streams())
        assert copies.copy_problem(path) is None
        assert path.read_bytes() == WHOLE

    def test_lines_that_were_written_after_the_rows_were_read_are_copied(
        self, copies: CopiedTraceFolder, opens: OpensStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        writers = [Writer(opens(), f"traces/lint-{number}") for number in range(3)]

        def after_an_append(*args: Any) -> dict[int, bytes]:
            for writer in writers:
                writer.append(*LINES)
            return read_streams(*args)

        monkeypatch.setattr(copied_folder, "read_streams", after_an_append)
        paths = [each for each in copies.agent_streams() if each.stem != AGENT]
        assert [each.read_bytes() for each in paths] == [WHOLE] * 3
        assert [copies.copy_problem(each) for each in paths] == [None] * 3


class TestExpiredStreams:
    def test_the_copy_of_a_pruned_stream_is_removed(
        self, opens: OpensStore, copies: CopiedTraceFolder, database: Database
    ) -> None:
        write(opens(), LINES)
        found(copies)
        log = "INSERT INTO expired (project, name, count, head) VALUES ('shop', %s, 12, '')"
        database.run(lambda connection: connection.execute(log, [STREAM]))
        lose_streams(database)
        assert list(copies.agent_streams()) == []
        assert not copy_of(copies).exists()


def test_an_ended_stream_is_read_without_the_database_but_verified_with_it(
    opens: OpensStore, copies: CopiedTraceFolder, database: Database
) -> None:
    with emitter(opens(), copies) as agent:
        agent.emit(END, turn=1)
    before = found(copies)
    change_line(database, 0)
    assert found(copies) == before
    assert problems(copies) == [1]


class TestLeases:
    def test_a_copy_is_being_written_while_its_writer_has_a_lease(
        self, connects: Connects, copies: CopiedTraceFolder
    ) -> None:
        writer = Writer(PostgresTraceStore(connects(), "shop", lease_s=60))
        writer.append(LINES[0])
        found(copies)
        assert is_being_written(copy_of(copies))
        later = time.time() + 61
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: later)
            assert not is_being_written(copy_of(copies))
        writer.release()
        found(copies)
        assert not is_being_written(copy_of(copies))

    @pytest.mark.needs("/proc")
    def test_the_stream_of_a_dead_process_is_not_being_written(
        self, opens: OpensStore, copies: CopiedTraceFolder, database: Database
    ) -> None:
        Writer(opens()).append(LINES[0])
        query = (
            "UPDATE streams SET owner = regexp_replace(owner, '\"pid\":\\d+', '\"pid\":99999999')"
        )
        execute(database, query)
        found(copies)
        assert not is_being_written(copy_of(copies))

    def test_an_ended_stream_is_not_being_written_when_its_end_was_copied_before_the_release(
        self, opens: OpensStore, copies: CopiedTraceFolder
    ) -> None:
        with emitter(opens(), copies) as agent:
            agent.emit(END, turn=1)
            agent.end_turn()
            found(copies)
        found(copies)
        assert not is_being_written(copy_of(copies))


def test_readers_that_copy_at_once_see_complete_lines(
    opens: OpensStore, opens_copies: OpensCopies
) -> None:
    writer, done = Writer(opens()), threading.Event()
    writer.append(LINES[0])

    def read(copies: CopiedTraceFolder) -> bool:
        whole = True
        while not done.is_set():
            whole &= WHOLE.startswith(found(copies))
        return whole

    shared = opens_copies()
    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(read, copies) for copies in (shared, shared, opens_copies())]
        writer.append(*LINES[1:])
        done.set()
        assert [reader.result() for reader in readers] == [True] * 3
    assert found(opens_copies()) == WHOLE


def test_a_copy_that_another_process_has_continued_meanwhile_has_not_lost_lines(
    opens: OpensStore, opens_copies: OpensCopies
) -> None:
    writer, other = Writer(opens()), opens_copies()
    writer.append(*LINES[:4])
    with ThreadPoolExecutor() as pool:
        folder = os.open(other.traces, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)  # the other process is copying
        reader = pool.submit(found, opens_copies())
        time.sleep(0.3)  # the reader has seen four lines, and waits
        writer.append(*LINES[4:])
        copy_of(other).write_bytes(WHOLE)
        os.close(folder)
        assert reader.result() == WHOLE
