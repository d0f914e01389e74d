"""Rows of lines: one for each append, compressed together, and read in pages from any line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remora.trace.postgres import copied_folder, stream_lines
from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.postgres.stream_lines import SELECT_ROWS, StreamRow, read_pages
from tests.trace.conftest import AGENT
from tests.trace.stream.store.conformance import STREAM, chained, stored

OpensStore = Callable[[], PostgresTraceStore]
LINES = chained(11)
APPENDED = ((0, 3), (3, 4), (4, 9), (9, 11))


@pytest.fixture
def store(opens: OpensStore) -> PostgresTraceStore:
    """A store with one stream, appended in four turns."""
    store = opens()
    epoch = store.claim(STREAM).epoch
    for start, end in APPENDED:
        store.append(STREAM, epoch, start, *LINES[start:end])
    return store


@pytest.fixture
def row(store: PostgresTraceStore, database: Database) -> StreamRow:
    return StreamRow(*database.rows(SELECT_ROWS, {"project": store.project})[0])


@pytest.mark.slow
def test_an_append_is_one_row(store: PostgresTraceStore, database: Database) -> None:
    query = "SELECT seq, lines FROM events ORDER BY seq"
    rows = database.run(lambda connection: connection.execute(query).fetchall())
    assert rows == [(start, b"".join(LINES[start:end])) for start, end in APPENDED]


def test_the_lines_of_a_row_are_compressed_together(opens: OpensStore, database: Database) -> None:
    lines = [line for line in chained(60) if len(line) < 1000]  # too short to compress alone
    store = opens()
    store.append(STREAM, store.claim(STREAM).epoch, 0, *lines)
    query = "SELECT pg_column_size(lines) FROM events"
    row = database.run(lambda connection: connection.execute(query).fetchone())
    assert row is not None
    assert row[0] < sum(map(len, lines)) / 2


def test_reading_begins_at_any_line_of_a_row(store: PostgresTraceStore) -> None:
    for start in range(12):
        assert stored(store, start) == LINES[start:]


def test_a_row_that_is_too_large_is_not_read(
    database: Database, row: StreamRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_lines, "_ROW_BYTES", 1_000_000)
    query = "UPDATE events SET lines = lines || decode(repeat('0a', 1000000), 'hex') WHERE seq = 4"
    database.run(lambda connection: connection.execute(query))
    assert b"".join(read_pages(database, row, 0, len(LINES))) == b"".join(LINES[:4])


@pytest.mark.parametrize("size", [1, 1_000, 400_000])
def test_a_page_has_whole_rows_up_to_a_size(
    size: int, database: Database, row: StreamRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_lines, "_PAGE_BYTES", size)
    rows = [b"".join(LINES[start:end]) for start, end in APPENDED]
    pages = list(read_pages(database, row, 0, len(LINES)))
    assert b"".join(pages) == b"".join(rows)
    assert all(len(page) < size + max(map(len, rows)) for page in pages)
    assert len(pages) == len(rows) or size > 1


def test_many_rows_are_read_in_several_pages(
    store: PostgresTraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_lines, "_PAGE_ROWS", 2)
    assert stored(store) == LINES
    assert stored(store, 5) == LINES[5:]


def test_rows_that_are_gone_end_the_reading(
    database: Database, row: StreamRow, store: PostgresTraceStore
) -> None:
    database.run(lambda connection: connection.execute("DELETE FROM events WHERE seq >= 4"))
    assert b"".join(read_pages(database, row, 0, 11)) == b"".join(LINES[:4])
    assert list(read_pages(database, row, 4, 11)) == []
    assert list(read_pages(database, row, 7, 11)) == []


def test_a_copy_that_ends_within_a_row_is_continued(
    store: PostgresTraceStore, database: Database, tmp_path: Path
) -> None:
    copied = CopiedTraceFolder(tmp_path, tmp_path / "copy", database, "shop")
    copied.create()
    path = copied.agent_stream(AGENT)
    for count in range(12):
        path.write_bytes(b"".join(LINES[:count]) + b'{"cut o')
        copied.refresh(path)
        assert path.read_bytes() == b"".join(LINES)


@pytest.mark.parametrize("size", [1, 1_000_000, 10_000_000])
def test_all_streams_are_copied_whatever_their_size_and_month(
    size: int,
    store: PostgresTraceStore,
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copied_folder, "_BATCH_BYTES", size)
    others = [f"traces/lint-{number}" for number in range(4)]
    for number, stream in enumerate(others):
        epoch = store.claim(stream).epoch
        if number:  # one has no events
            store.append(stream, epoch, 0, *LINES[:number])
            store.append(stream, epoch, number, *LINES[number:5])
    with database.connected() as connection:
        connection.execute("UPDATE streams SET month = '2020-01-01' WHERE id % 2 = 0")
        connection.execute("UPDATE events SET month = '2020-01-01' WHERE stream % 2 = 0")
    copied = CopiedTraceFolder(tmp_path, tmp_path / "copy", database, "shop")
    copied.create()
    for _ in range(2):  # the second time, all but one are there
        found = {path.stem: path.read_bytes() for path in copied.agent_streams()}
        assert found.pop(AGENT) == b"".join(LINES)
        assert found.pop("lint-0") == b""
        assert list(found.values()) == [b"".join(LINES[:5])] * 3
        copied.agent_stream("lint-2").unlink()
