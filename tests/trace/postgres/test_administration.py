"""Tables, rights and retention of a PostgreSQL database."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from remora.errors import ConfigError, DatabaseError, NotFound, StreamWriteFailed
from remora.memory.events import RunStart
from remora.trace.postgres.administration import DatabaseOwner
from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.verify.folder_check import verify_all
from tests.clock import ticking
from tests.postgres_server import PostgresServer
from tests.trace.postgres.written_stream import LINES, Writer, write
from tests.trace.stream.store.conformance import STREAM

OpensStore = Callable[[], PostgresTraceStore]
WORKER, STRANGER = "remora_worker", "stranger"
CONTENT = b"content"
FORBIDDEN = (
    "UPDATE events SET lines = 'x'",
    "DELETE FROM events",
    "TRUNCATE events",
    "UPDATE contents SET content = 'x'",
    "DELETE FROM contents",
    "DELETE FROM streams",
    "UPDATE streams SET project = 'mine'",
    "UPDATE streams SET month = '2020-01-01'",
    "UPDATE streams SET updated = '2026-01-01'",
    "UPDATE info SET version = 2",
    "DELETE FROM expired",
    "INSERT INTO expired (project, name, count, head) VALUES ('', '', 0, '')",
    "DROP TABLE events",
    "DROP TABLE events_later",
    "DROP SCHEMA remora CASCADE",
    "ALTER TABLE events ADD x int",
    "ALTER TABLE events DETACH PARTITION events_later",
    "CREATE TABLE mine (x int)",
)


def query(database: Database, text: str, *values: object) -> list[tuple[Any, ...]]:
    def work(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
        found = connection.execute(text, values)
        return found.fetchall() if found.description else []

    return database.once(work)


@pytest.fixture
def dsn(own_dsn: str) -> str:
    """These tests change tables."""
    return own_dsn


@pytest.fixture
def roles(postgres: PostgresServer) -> None:
    """Two roles without rights. They are for all databases of the server."""
    with psycopg.connect(postgres.dsn(), autocommit=True) as connection:
        for role in (WORKER, STRANGER):
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
                connection.execute(f"CREATE ROLE {role} LOGIN")


def as_role(dsn: str, role: str) -> Database:
    return Database(dsn.replace("user=owner", f"user={role}"), patience_s=1)


class TestInstallation:
    def test_tables_are_created_once(self, empty_dsn: str) -> None:
        databases = [Database(empty_dsn) for _ in range(4)]
        with ThreadPoolExecutor() as pool:
            (store,) = set(pool.map(Database.open, databases))
        DatabaseOwner(databases[0]).install()
        assert databases[1].open() == store
        for database in databases:
            database.close()

    def test_two_databases_are_told_apart(self, database: Database, empty_dsn: str) -> None:
        other = Database(empty_dsn)
        assert other.open() != database.open()
        other.close()

    def test_another_version_is_refused(self, database: Database) -> None:
        query(database, "UPDATE info SET version = 99")
        owner = DatabaseOwner(database)
        for act in (database.open, owner.install, owner.status, lambda: owner.prune(0)):
            with pytest.raises(
                DatabaseError, match=r"have version 99, but .* uses version 1"
            ) as error:
                act()
            assert error.value.hint == (
                "use the same version of Remora on all machines, or another database"
            )

    def test_without_tables_there_is_a_hint(self, empty_dsn: str) -> None:
        owner = DatabaseOwner(Database(empty_dsn))
        for act in (owner.status, lambda: owner.prune(0)):
            with pytest.raises(DatabaseError, match="there are no tables of Remora in") as error:
                act()
            assert error.value.hint == "create them with `remora database init`"

    def test_partitions_are_there_for_two_years(self, database: Database) -> None:
        for table in ("events", "contents"):
            months = query(
                database,
                "SELECT relname FROM pg_class WHERE relname ~ %s ORDER BY relname",
                rf"^{table}_\d{{4}}_\d\d$",
            )
            assert months[0] == (f"{table}_{datetime.now(UTC):%Y_%m}",)
            assert len(months) == 12

    def test_rows_that_had_no_partition_get_theirs(
        self, database: Database, opens: OpensStore
    ) -> None:
        now = datetime.now(UTC)
        query(database, f"DROP TABLE events_{now:%Y_%m}")
        query(database, f"DROP TABLE contents_{now:%Y_%m}")
        write(opens(), LINES)
        assert query(database, "SELECT count(*) FROM events_later") == [(12,)]
        DatabaseOwner(database).install()
        assert query(database, "SELECT count(*) FROM events_later") == [(0,)]
        assert query(database, f"SELECT count(*) FROM events_{now:%Y_%m}") == [(12,)]
        assert [line + b"\n" for line in opens().lines(STREAM)] == LINES

    def test_new_partitions_have_the_checks_too(self, database: Database) -> None:
        query(database, f"DROP TABLE contents_{datetime.now(UTC):%Y_%m}")
        DatabaseOwner(database).install()
        with pytest.raises(psycopg.errors.CheckViolation):
            query(
                database, "INSERT INTO contents (kind, digest, content) "
                "VALUES ('objects', sha256('a'), 'b')"
            )  # fmt: skip

    def test_rows_that_nobody_reads_are_refused(self, database: Database) -> None:
        for row in (
            "events (month, stream, seq, lines) VALUES ('2027-11-15', 1, 0, 'x')",
            "events (month, stream, seq, lines) VALUES ('infinity', 1, 0, 'x')",
            "events (month, stream, seq, lines) VALUES ('2027-11-01', 1, -1, 'x')",
            "contents (month, kind, digest, content) VALUES "
            "('2027-11-15', 'blobs', sha256('x'), 'x')",
        ):
            with pytest.raises(psycopg.errors.CheckViolation):
                query(database, f"INSERT INTO {row}")

    def test_the_status_counts_runs_and_streams(
        self, database: Database, opens: OpensStore
    ) -> None:
        write(opens(), LINES)
        status = DatabaseOwner(database).status()
        (month,) = status.months
        assert (month.month, month.runs, month.streams) == (f"{datetime.now(UTC):%Y-%m}", 1, 1)
        assert status.bytes == month.bytes + status.other_bytes
        assert month.bytes > 8192
        query(
            database, "INSERT INTO expired (project, name, count, head) "
            "SELECT n, n, 0, '' FROM generate_series(1, 10000) n"
        )  # fmt: skip
        larger = DatabaseOwner(database).status()
        assert larger.other_bytes - status.other_bytes > 500_000
        ((whole,),) = query(database, "SELECT pg_database_size(current_database())")
        assert 0 < whole - larger.bytes < 12 << 20  # PostgreSQL's own catalogs


class TestLocks:
    """A session that keeps its locks, such as one that was left open in a terminal."""

    @pytest.fixture(autouse=True)
    def _short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("remora.trace.postgres.database._LOCK_WAIT_S", 0.5)

    def test_init_says_where_to_look_for_who_has_locked_the_tables(
        self, dsn: str, database: Database
    ) -> None:
        partition = f"events_{datetime.now(UTC):%Y_%m}"
        query(database, f"DROP TABLE {partition}")
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE remora.events_later IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(DatabaseError, match="others held locks on the tables") as error:
                DatabaseOwner(database).install()
        assert "pg_locks" in error.value.hint
        assert query(database, f"SELECT to_regclass('{partition}')") == [(None,)]

    def test_prune_waits_for_a_lock_only_for_some_seconds_and_a_dry_run_does_not(
        self, dsn: str, database: Database
    ) -> None:
        owner = DatabaseOwner(database)
        with psycopg.connect(dsn) as other:
            other.execute("UPDATE remora.streams SET deaths = 0")
            assert owner.prune(0, dry_run=True).removed == ()
            with pytest.raises(DatabaseError, match="others held locks on the tables"):
                owner.prune(0)


@pytest.mark.usefixtures("roles")
class TestRights:
    @pytest.fixture
    def worker(self, dsn: str, database: Database, copies: CopiedTraceFolder) -> Iterator[Database]:
        """The worker's role, in a database with a stream and a content."""
        DatabaseOwner(database).install(WORKER)
        write(PostgresTraceStore(database, "shop"), LINES[:4])
        copies.objects.put(CONTENT)
        copies.objects.sync()
        worker = as_role(dsn, WORKER)
        yield worker
        worker.close()

    def test_a_worker_stores_no_row_that_no_reader_understands(self, worker: Database) -> None:
        for name in (
            "", "x", "traces/../x", "traces/A", "traces/a/b", "traces/a\n", "notes/x", "traces/é",
            "traces/" + "a" * 65, "runs/" + "a" * 3000,
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.CheckViolation, match="streams_name"):
                query(worker, "INSERT INTO streams (project, name) VALUES ('shop', %s)", name)
        for values in (
            "epoch = 9223372036854775807", "deaths = 2147483647", "ended = '-infinity'",
            "lease_until = '200000-01-01'", "next_seq = -1", "bytes = -1", "turn = -1",
            "head = 'x'", "owner = repeat('x', 10001)", "node_id = repeat('x', 100001)",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.CheckViolation, match="streams_values"):
                query(worker, f"UPDATE streams SET {values}")

    def test_a_worker_appends_and_stores_and_reads_contents(
        self, worker: Database, copies: CopiedTraceFolder
    ) -> None:
        worker.open()
        writer = Writer(PostgresTraceStore(worker, "shop"))
        writer.append(*LINES[4:])
        writer.release()
        write(PostgresTraceStore(worker, "shop"), LINES, "traces/lint-new")
        path = copies.find_agent(STREAM.split("/")[1])
        assert path is not None
        assert path.read_bytes() == b"".join(LINES)
        folder = CopiedTraceFolder(copies.root, copies.path, worker, "shop")
        folder.objects.put(b"more")
        folder.objects.sync()
        digest = sha256(CONTENT).hexdigest()
        (folder.objects.folder / digest[:2] / digest).unlink()
        assert folder.objects.get(digest) == CONTENT

    def test_a_worker_can_neither_change_nor_delete_nor_prune(self, worker: Database) -> None:
        partition = f"events_{datetime.now(UTC):%Y_%m}"
        directly = [f"{verb} {partition}" for verb in ("DELETE FROM", "TRUNCATE", "DROP TABLE")]
        for statement in (*FORBIDDEN, *directly):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                query(worker, statement)
        with pytest.raises(DatabaseError) as error:
            DatabaseOwner(worker).prune(0)
        assert error.value.hint == "use the role that owns the tables"

    @pytest.mark.parametrize("name", ["dsn", "empty_dsn"])
    def test_a_role_without_rights_is_told_whom_to_ask(
        self, name: str, request: pytest.FixtureRequest
    ) -> None:
        stranger = as_role(request.getfixturevalue(name), STRANGER)
        with pytest.raises(DatabaseError, match="this role may not use or create") as error:
            stranger.open()
        assert "`remora database init --worker ROLE`" in (error.value.hint or "")
        stranger.close()

    def test_rights_taken_away_later_end_with_the_same_hint(
        self, worker: Database, database: Database
    ) -> None:
        writer = Writer(PostgresTraceStore(worker, "shop"))
        query(database, "REVOKE INSERT ON events FROM remora_worker")
        with pytest.raises(StreamWriteFailed, match="permission denied") as error:
            writer.append(*LINES[4:])
        assert "`remora database init --worker ROLE`" in (error.value.hint or "")

    def test_a_role_that_does_not_exist_is_named(self, database: Database) -> None:
        with pytest.raises(ConfigError, match='role "nobody_here" does not exist') as error:
            DatabaseOwner(database).install("nobody_here")
        assert "CREATE ROLE" in (error.value.hint or "")


def months_ago(count: int) -> date:
    """Return the first day of the month so many months ago."""
    day = datetime.now(UTC).date().replace(day=1)
    for _ in range(count):
        day = (day - timedelta(days=1)).replace(day=1)
    return day


class History:
    """Runs that were written in earlier months."""

    def __init__(self, database: Database, copies: CopiedTraceFolder) -> None:
        self.database = database
        self.owner = DatabaseOwner(database)
        self._copies = copies
        for ago in range(1, 7):
            for table in ("events", "contents"):
                month, following = months_ago(ago), months_ago(ago - 1)
                query(
                    database,
                    f"CREATE TABLE {table}_{month:%Y_%m} PARTITION OF {table} "
                    f"FOR VALUES FROM ('{month}') TO ('{following}')",
                )

    def run(self, name: str, begun: int, written: int, project: str = "shop") -> str:
        """Write a run, begun and last written to in the middle of months so many months ago."""
        identity = Identity(name)
        options = EmitterOptions(blobs=self._copies.blobs, clock=ticking())
        store = PostgresTraceStore(self.database, project)
        with JsonlEventEmitter.claim(store, f"runs/{name}", identity, options) as emitter:
            emitter.emit(RunStart(), turn=0)
        digest = self._copies.objects.put(f"{project}/{name}".encode())
        self._copies.objects.sync()
        first, last = months_ago(begun), months_ago(written)
        updated = last + timedelta(days=14 if written else 0)
        query(
            self.database,
            "UPDATE streams SET month = %s, updated = %s WHERE name = %s AND project = %s",
            first, updated if written else datetime.now(UTC), f"runs/{name}", project,
        )  # fmt: skip
        query(
            self.database,
            "UPDATE events SET month = %s WHERE stream = (SELECT id FROM streams WHERE name = %s "
            "AND project = %s)",
            first, f"runs/{name}", project,
        )  # fmt: skip
        query(
            self.database,
            "UPDATE contents SET month = %s WHERE digest = %s",
            last, bytes.fromhex(digest),
        )  # fmt: skip
        return digest

    @property
    def runs(self) -> list[str]:
        return sorted(row[0] for row in query(self.database, "SELECT name FROM streams"))

    @property
    def expired(self) -> list[str]:
        return sorted(row[0] for row in query(self.database, "SELECT name FROM expired"))

    def has_content(self, name: str) -> bool:
        found = query(self.database, "SELECT 1 FROM contents WHERE content = %s", name.encode())
        return bool(found)

    def prune(self, days: int = 40) -> list[str]:
        """Prune, and return the months that were removed and had streams."""
        removed = self.owner.prune(days).removed
        names = [f"{months_ago(ago):%Y-%m}" for ago in range(7)]
        return [f"{names.index(month.month)} months ago" for month in removed if month.streams]


@pytest.fixture
def history(database: Database, copies: CopiedTraceFolder) -> History:
    return History(database, copies)


class TestPrune:
    def test_old_months_are_removed_with_their_partitions(
        self, history: History, database: Database, copies: CopiedTraceFolder
    ) -> None:
        history.run("old", 5, 5)
        ((*stream, count, head),) = query(
            database, "SELECT project, name, next_seq, head FROM streams"
        )
        history.run("young", 0, 0)
        old = f"{months_ago(5):%Y_%m}"
        tables = "SELECT count(*) FROM pg_class WHERE relname IN (%s, %s)"
        assert query(database, tables, f"events_{old}", f"contents_{old}") == [(2,)]
        assert history.prune() == ["5 months ago"]
        assert query(database, tables, f"events_{old}", f"contents_{old}") == [(0,)]
        assert history.runs == ["runs/young"]
        assert not history.has_content("shop/old")
        assert history.has_content("shop/young")
        assert copies.find_run("old") is None
        with pytest.raises(NotFound):
            PostgresTraceStore(database, "shop").head("runs/old")
        # its head is kept
        expired = query(database, "SELECT project, name, count, head FROM expired")
        assert expired == [(*stream, count, head)]
        assert [stream.name for stream in verify_all(copies).streams] == ["young"]

    def test_a_dry_run_removes_nothing(self, history: History) -> None:
        history.run("old", 5, 5)
        report = history.owner.prune(40, dry_run=True)
        assert f"{months_ago(5):%Y-%m}" in [month.month for month in report.removed]
        assert report.bytes > 0
        assert history.runs == ["runs/old"]
        assert history.has_content("shop/old")

    def test_a_month_is_kept_while_one_of_its_runs_is_young_or_being_written(
        self, history: History, database: Database
    ) -> None:
        history.run("old", 3, 3)
        history.run("retried", 3, 0)
        assert history.prune() == []
        assert history.runs == ["runs/old", "runs/retried"]
        assert history.expired == []
        query(database, "DELETE FROM streams WHERE name = 'runs/retried'")
        query(database, "UPDATE streams SET lease_until = now() + interval '30 s'")
        assert history.prune() == []
        assert history.runs == ["runs/old"]

    def test_a_time_before_its_month_keeps_no_stream(self, history: History) -> None:
        history.run("old", 5, 5)
        query(history.database, "UPDATE streams SET updated = '2000-01-01'")
        assert history.prune() == ["5 months ago"]
        assert history.runs == []

    def test_a_stream_stays_in_its_run_and_is_young_when_written_to(
        self, database: Database, opens: OpensStore
    ) -> None:
        write(opens(), LINES)
        query(database, "UPDATE streams SET updated = '2020-01-01', run_id = 'old'")
        query(database, "UPDATE streams SET next_seq = 13")
        rows = query(database, "SELECT run_id, updated > now() - interval '1 h' FROM streams")
        assert rows == [("run-1", True)]

    def test_this_month_is_kept_even_if_nothing_is_kept(self, history: History) -> None:
        history.run("young", 0, 0)
        assert history.prune(0) == []
        assert history.runs == ["runs/young"]

    def test_all_months_of_a_young_run_are_kept(self, history: History) -> None:
        history.run("long", 4, 0)
        history.run("old", 2, 2)  # contents of the long run may be in its month, too
        history.run("older", 5, 5)
        assert history.prune() == ["5 months ago"]
        assert history.runs == ["runs/long", "runs/old"]

    def test_an_old_run_is_kept_if_all_of_its_months_are(self, history: History) -> None:
        history.run("spanning", 5, 4)
        history.run("retried", 5, 0)
        assert history.prune() == []
        assert history.has_content("shop/spanning")
        assert history.runs == ["runs/retried", "runs/spanning"]

    def test_no_run_is_kept_without_its_contents(
        self, history: History, database: Database
    ) -> None:
        history.run("spanning", 5, 4)
        history.run("beside", 5, 5)
        lease = "UPDATE streams SET lease_until = now() + interval '1 min' WHERE name = %s"
        query(database, lease, "runs/beside")
        history.prune()
        assert history.runs == ["runs/beside"]
        assert history.expired == ["runs/spanning"]
        assert history.has_content("shop/beside")
        assert not history.has_content("shop/spanning")

    def test_runs_of_the_same_name_in_other_projects_are_others(self, history: History) -> None:
        history.run("same", 5, 5)
        history.run("same", 1, 0, project="bakery")
        assert history.prune() == ["5 months ago"]
        rows = query(history.database, "SELECT project FROM streams")
        assert rows == [("bakery",)]
