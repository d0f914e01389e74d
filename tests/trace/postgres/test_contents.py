"""Blobs and objects in PostgreSQL: when they are stored, for how long, and what is refused."""

import threading
from collections.abc import Callable
from hashlib import sha256

import pytest

from remora.errors import DatabaseError, NotFound, StreamDamaged, StreamWriteFailed
from remora.memory.events import ToolResulted, TurnStart
from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from tests.clock import ticking
from tests.trace.conftest import agent_identity
from tests.trace.postgres.conftest import OpensCopies
from tests.trace.stream.store.conformance import STREAM

CONTENT = "é\x00\r\n".encode() * 3000
DIGEST = sha256(CONTENT).hexdigest()
LAST_MONTH = "(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month')::date"
OpensStore = Callable[[], PostgresTraceStore]


def stored(database: Database) -> list[tuple[str, str]]:
    """Return the kinds and hashes of the contents in the database."""
    query = "SELECT kind, encode(digest, 'hex') FROM contents ORDER BY month, kind, digest"
    return [tuple(row) for row in database.run(lambda found: found.execute(query).fetchall())]


def change(database: Database, query: str) -> None:
    database.run(lambda connection: connection.execute(query))


@pytest.mark.parametrize("kind", ["blobs", "objects"])
class TestStoring:
    def test_sync_stores_once_what_was_put_and_it_is_fetched_when_the_copy_is_gone(
        self, kind: str, opens_copies: OpensCopies, database: Database
    ) -> None:
        contents = getattr(opens_copies(), kind)
        assert contents.put(CONTENT) == DIGEST
        assert stored(database) == []
        for _ in range(2):
            contents.put(CONTENT)
            contents.sync()
        contents.drop_copy(DIGEST)
        again = getattr(opens_copies(), kind)
        assert again.get(DIGEST) == CONTENT
        assert (contents.folder / DIGEST[:2] / DIGEST).exists()
        again.put(CONTENT)
        again.sync()
        assert stored(database) == [(kind, DIGEST)]

    def test_what_nobody_stored_is_missing(self, kind: str, copies: CopiedTraceFolder) -> None:
        contents = getattr(copies, kind)
        with pytest.raises(NotFound, match=f"{DIGEST} is missing"):
            contents.get(DIGEST)
        assert contents.problem(DIGEST) == "is missing"
        assert contents.problem("../../etc/passwd") == "is not a SHA-256"

    def test_a_changed_content_is_refused_with_its_name(
        self, kind: str, copies: CopiedTraceFolder, database: Database
    ) -> None:
        contents = getattr(copies, kind)
        contents.put(CONTENT)
        contents.sync()
        change(
            database,
            """
            ALTER TABLE contents DROP CONSTRAINT contents_digest;
            UPDATE contents SET content = 'x';
            ALTER TABLE contents ADD CONSTRAINT contents_digest CHECK (digest = sha256(content))
                NOT VALID
            """,
        )
        assert contents.get(DIGEST) == CONTENT  # the copy
        assert contents.problem(DIGEST) == "does not match its hash"
        with pytest.raises(StreamDamaged, match=f"{DIGEST} in the table contents of .* does not"):
            contents.get(DIGEST)
        contents.sync()
        assert stored(database) == [(kind, DIGEST)]

    def test_bytes_that_do_not_match_are_not_stored(self, kind: str, database: Database) -> None:
        with pytest.raises(DatabaseError, match="contents_digest"):
            change(database, f"INSERT INTO contents VALUES ('\\x{DIGEST}', now(), '{kind}', 'x')")
        assert stored(database) == []

    def test_a_damaged_copy_is_replaced_when_it_is_verified(
        self, kind: str, copies: CopiedTraceFolder
    ) -> None:
        contents = getattr(copies, kind)
        contents.put(CONTENT)
        contents.sync()
        (contents.folder / DIGEST[:2] / DIGEST).write_bytes(b"x")
        with pytest.raises(StreamDamaged):
            contents.get(DIGEST)
        assert contents.problem(DIGEST) is None
        assert contents.get(DIGEST) == CONTENT

    @pytest.mark.slow
    def test_a_content_that_is_too_large_is_not_stored(self, kind: str, database: Database) -> None:
        size = (64 if kind == "blobs" else 256) << 20
        insert = (
            "INSERT INTO contents (kind, digest, content) SELECT '{}', sha256(c), c "
            "FROM convert_to(repeat('a', {}), 'UTF8') AS c"
        )
        with pytest.raises(DatabaseError, match="contents_size"):
            change(database, insert.format(kind, size + 1))
        change(database, insert.format(kind, size))


class TestMonths:
    def test_what_is_put_again_in_another_month_is_stored_again(
        self, copies: CopiedTraceFolder, opens_copies: OpensCopies, database: Database
    ) -> None:
        copies.objects.put(CONTENT)
        copies.objects.sync()
        change(database, f"UPDATE contents SET month = {LAST_MONTH}")
        again = opens_copies()
        assert again.objects.get(DIGEST) == CONTENT
        again.objects.sync()
        assert len(stored(database)) == 1  # reading keeps nothing
        again.objects.put(CONTENT)
        again.objects.sync()
        assert stored(database) == [("objects", DIGEST)] * 2

    def test_the_same_process_stores_it_again_in_another_month(
        self, copies: CopiedTraceFolder, database: Database
    ) -> None:
        copies.objects.put(CONTENT)
        copies.objects.sync()
        change(database, f"UPDATE contents SET month = {LAST_MONTH}")
        copies.objects.put(CONTENT)
        copies.objects.sync()
        assert stored(database) == [("objects", DIGEST)] * 2


class TestOrder:
    @pytest.fixture
    def dsn(self, own_dsn: str) -> str:
        """These tests change tables."""
        return own_dsn

    def test_a_content_is_stored_before_the_line_that_names_it(
        self, opens: OpensStore, copies: CopiedTraceFolder, database: Database
    ) -> None:
        refuse_events(database)
        options = EmitterOptions(blobs=copies.blobs, objects=copies.objects, clock=ticking())
        emitter = JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), options)
        emitter.emit(ToolResulted(tool="read", raw_output={"log": "é" * 40_000}), turn=1)
        copies.objects.put(CONTENT)
        with pytest.raises(StreamWriteFailed, match="no events today"):
            emitter.end_turn()
        assert [kind for kind, _ in stored(database)] == ["blobs", "objects"]
        assert opens().head(STREAM).count == 0

    def test_a_line_is_not_stored_if_its_content_cannot_be(
        self, opens: OpensStore, copies: CopiedTraceFolder, database: Database
    ) -> None:
        options = EmitterOptions(blobs=copies.blobs, objects=copies.objects, clock=ticking())
        emitter = JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), options)
        emitter.emit(TurnStart(), turn=1)
        emitter.end_turn()
        change(database, "ALTER TABLE contents ADD CHECK (length(content) < 10)")
        emitter.emit(ToolResulted(tool="read", raw_output={"log": "é" * 40_000}), turn=1)
        with pytest.raises(StreamWriteFailed, match="violates check constraint"):
            emitter.end_turn()
        assert opens().head(STREAM).count == 1


def refuse_events(database: Database) -> None:
    change(
        database,
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no events today'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()
        """,
    )


def test_processes_that_store_the_same_contents_at_once(
    opens_copies: OpensCopies, database: Database
) -> None:
    contents = [b"%d" % number for number in range(50)]
    begin = threading.Barrier(4)

    def put(copies: CopiedTraceFolder) -> None:
        begin.wait()
        for content in contents:
            copies.objects.put(content)
            copies.objects.sync()

    threads = [threading.Thread(target=put, args=[opens_copies()]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    digests = sorted(sha256(content).hexdigest() for content in contents)
    assert stored(database) == [("objects", digest) for digest in digests]
    assert [opens_copies().objects.get(digest) for digest in digests]
