"""Whole commands with `trace_store: postgres`, from `analyze` to `revert`, and its errors."""

import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.open_trace import project_key
from remora.memory.events import RunStart
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.line_builder import Identity, utc_now
from remora.trace.trace_folder import TraceFolder
from tests.cli.conftest import Done, Remora, lint_project, tree, write
from tests.postgres_server import PostgresServer

PASSWORD = "Correct-Horse-9"
STORE = "REMORA_RUNNER__MEMORY__TRACE_STORE"
DSN = "REMORA_POSTGRES__DSN"


def dsn_of(server: PostgresServer, name: str) -> str:
    """A connection string with a password, which this server does not ask for."""
    folder = str(server.folder).replace("/", "%2F")
    return f"postgresql://owner:{PASSWORD}@/{name}?host={folder}"


class Project:
    """A project whose streams are in a new database."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        name = f"cli_{secrets.token_hex(4)}"
        self.plain_dsn = server.new_database(name)
        self.home = folder / "home"
        self.home.mkdir()
        (folder / "project").mkdir()
        self.root = lint_project(folder / "project")
        environ = {STORE: "postgres", DSN: dsn_of(server, name)}
        self.remora = Remora(self.home, environ)
        self.said: list[Done] = []

    def __call__(self, *args: str | Path) -> Done:
        done = self.remora(*args, cwd=self.root)
        self.said.append(done)
        return done

    def analyze(self) -> Any:
        done = self("analyze", "src", "-o", "lint", "--json")
        assert done.code == 0, done.err
        return done.document

    def forget_copies(self) -> None:
        shutil.rmtree(self.home / "cache", ignore_errors=True)

    def query(self, text: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.plain_dsn) as connection:
            return connection.execute(text).fetchall()

    def change(self, text: str) -> None:
        import psycopg

        with psycopg.connect(self.plain_dsn) as connection:
            connection.execute(text)


@pytest.fixture(scope="module")
def ran(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> tuple[Project, dict[str, Any]]:
    """A project in which lint ran. Only for tests that read."""
    project = Project(tmp_path_factory.mktemp("postgres"), postgres)
    return project, project.analyze()


@pytest.fixture
def own(tmp_path: Path, postgres: PostgresServer) -> Project:
    return Project(tmp_path, postgres)


class TestReading:
    """After the copies were deleted."""

    @pytest.fixture(autouse=True)
    def _forgotten(self, ran: tuple[Project, dict[str, Any]]) -> None:
        self.project, self.document = ran
        self.run = self.document["run_id"]
        self.agent = self.document["jobs"][0]["agent_id"]
        self.project.forget_copies()

    def json(self, *words: str) -> Any:
        done = self.project(*words, "--json")
        assert done.code == 0, done.err
        return done.document

    @pytest.mark.slow
    def test_nothing_is_written_into_the_project(self) -> None:
        assert not (self.project.root / ".agentfs").exists()
        names = [row[0] for row in self.project.query("SELECT name FROM remora.streams")]
        assert sorted(names) == [f"runs/{self.run}", f"traces/{self.agent}"]

    @pytest.mark.slow
    def test_runs_show_and_diff(self) -> None:
        assert [run["run_id"] for run in self.json("runs")["runs"]] == [self.run]
        assert self.json("show", "last")["jobs"][0]["agent_id"] == self.agent
        assert "-import os\n-import sys\n" in self.project("diff", "last").out
        assert self.project("clean", "--older-than", "0", "--yes").code == 0

    def test_streams_are_listed_and_shown(self) -> None:
        assert self.agent in self.project("trace", "list").out
        assert self.project("trace", "show", self.agent).out.count("turn_start") == 2


@pytest.mark.slow
def test_accept_revert_reject_retry_and_fork(own: Project) -> None:
    before = tree(own.root)
    document = own.analyze()
    agent = document["jobs"][0]["agent_id"]
    for words in (
        ("accept", "--untested", "last", "--all"),
        ("revert", "last"),
        ("retry", "last", "src/settings.py", "--feedback", "keep sys"),
        ("reject", "last", "--all", "--feedback", "no"),
        ("trace", "fork", agent, "--turn", "2", "--continue"),
    ):
        own.forget_copies()
        done = own(*words)
        assert done.code in (0, 1), (words, done.err)
        assert "error" not in done.err, (words, done.err)
        changed = tree(own.root) != before
        assert changed == (words[0] == "accept"), words
    own.forget_copies()
    assert own("trace", "verify").code == 0
    assert not (own.root / ".agentfs").exists()


@pytest.fixture
def writer(own: Project) -> Iterator[JsonlEventEmitter]:
    """The writer of a run, in this process."""
    from remora.trace.postgres.database import Database
    from remora.trace.postgres.store import PostgresTraceStore

    assert own("database", "init").code == 0
    database = Database(own.plain_dsn)
    store = PostgresTraceStore(database, project_key(own.root))
    folder = TraceFolder(own.home)
    folder.create()
    options = EmitterOptions(blobs=folder.blobs, clock=utc_now)
    with JsonlEventEmitter.claim(store, "runs/run-1", Identity("run-1"), options) as emitter:
        yield emitter
    database.close()


@pytest.mark.needs("/proc")
def test_a_run_that_is_written_elsewhere_is_running_and_one_of_a_dead_process_is_not(
    own: Project, writer: JsonlEventEmitter
) -> None:
    def status() -> str:
        (run,) = own("runs", "--json").document["runs"]
        return str(run["status"])

    writer.emit(RunStart(), turn=0)
    writer.end_turn()
    assert status() == "running"
    own.change(
        """UPDATE remora.streams SET owner = regexp_replace(owner, '"pid":\\d+', '"pid":0')"""
    )
    assert status() == "interrupted"


@pytest.mark.slow
def test_a_run_that_the_database_has_lost_is_damaged_and_the_others_are_shown(own: Project) -> None:
    lost, other = own.analyze()["run_id"], own.analyze()["run_id"]
    own("show", other)
    own.change(f"DELETE FROM remora.streams WHERE name = 'runs/{lost}'")
    runs = own("runs", "--json").document["runs"]
    assert {run["run_id"]: run["status"] for run in runs} == {lost: "damaged", other: "ended"}
    assert own("show", other).code == 0
    verified = own("trace", "verify", "--json")
    assert verified.code == 1
    wrong = [each for each in verified.document["streams"] if not each["ok"]]
    assert [each.get("run_id") for each in wrong] == [lost]
    assert {problem["kind"] for problem in wrong[0]["problems"]} == {"copy"}


@pytest.mark.slow
def test_the_password_is_nowhere(own: Project) -> None:
    own.analyze()
    for words in (("runs", "-v"), ("show", "last", "-v"), ("trace", "show", "last", "-v"),
                  ("doctor", "-v"), ("config", "--json"), ("config",), ("database", "status"),
                  ("analyze", "src", "-o", "lint", "-v")):  # fmt: skip
        own(*words)
    own("trace", "export", "--all", "--format", "jsonl")
    said = "".join(done.out + done.err for done in own.said)
    assert "run_start" in said
    assert PASSWORD not in said
    for path in (*own.home.rglob("*"), *own.root.rglob("*")):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
    for table in ("events", "contents", "streams", "expired", "info"):
        columns = own.query(
            "SELECT string_agg(CASE data_type WHEN 'bytea' THEN format('encode(%I, ''escape'')', "
            "column_name) ELSE format('%I::text', column_name) END, ' || ') "
            f"FROM information_schema.columns WHERE table_name = '{table}'"
        )[0][0]
        nullable = columns.replace(" || ", ", ")
        for (row,) in own.query(f"SELECT concat({nullable}) FROM remora.{table}"):
            assert PASSWORD not in row


class TestErrors:
    READS = ("runs",)
    WRITES = ("analyze", "src", "-o", "lint")

    def refused(self, own: Project, *words: str, dsn: str, **environ: str) -> Done:
        remora = replace(own.remora, environ={**own.remora.environ, DSN: dsn, **environ})
        done = remora(*words, "--json", "-v", cwd=own.root)
        assert PASSWORD not in done.out + done.err
        assert done.error["hint"]
        return done

    def test_a_database_that_cannot_be_used_or_that_the_project_names_is_refused(
        self, own: Project, postgres: PostgresServer
    ) -> None:
        unreachable = f"postgresql://u:{PASSWORD}@127.0.0.1:1/none"
        for words, dsn, code, message in (
            (self.READS, f"password={PASSWORD} what", 2, "is not a connection string"),
            (self.WRITES, f"password={PASSWORD} what", 2, "is not a connection string"),
            (self.READS, unreachable, 3, "PostgreSQL at 127.0.0.1:1/none: "),
            (self.WRITES, unreachable, 3, "PostgreSQL at 127.0.0.1:1/none: "),
            (self.READS, dsn_of(postgres, "not_there"), 3, '"not_there" does not exist'),
        ):
            done = self.refused(own, *words, dsn=dsn)
            assert (done.code, message in done.error["message"]) == (code, True), done.err
        dsn = f"postgresql://u:{PASSWORD}@db/x"
        write(own.root, {"remora.yaml": f"postgres: {{dsn: '{dsn}'}}\n"})
        done = self.refused(own, *self.WRITES, dsn=own.remora.environ[DSN])
        assert (done.code, "postgres.dsn" in done.error["message"]) == (2, True)

    def test_it_is_taken_from_the_users_file(self, own: Project) -> None:
        text = (
            f"runner: {{memory: {{trace_store: postgres}}}}\npostgres: {{dsn: '{own.plain_dsn}'}}\n"
        )
        write(own.home, {"config/remora/config.yaml": text})
        remora = Remora(own.home)
        assert remora("analyze", "src", "-o", "lint", cwd=own.root).code == 0
        assert len(own.query("SELECT FROM remora.streams")) == 2
        assert not (own.root / ".agentfs").exists()


@pytest.fixture
def in_files(own: Project) -> Project:
    """A project whose streams are in files."""
    own.remora = Remora(own.home)
    own.analyze()
    return own


def test_records_in_files_are_read_even_if_the_configuration_is_invalid(in_files: Project) -> None:
    write(in_files.root, {"remora.yaml": "runner: [unclosed # for postgres one day\n"})
    assert in_files("analyze", "src").code == 2
    runs = in_files("runs", "--json")
    assert runs.code == 0
    assert len(json.loads(runs.out)["runs"]) == 1


def test_an_empty_database_is_named_and_pruned_after_a_question(own: Project) -> None:
    address = own("database", "init", "--json").document["address"]
    for words in (("show", "last"), ("show", "20260101"), ("trace", "show", "lint-1")):
        message = own(*words, "--json").error["message"]
        assert message.endswith(f" in {address}"), message
    own.change(
        "CREATE TABLE remora.events_2020_01 PARTITION OF remora.events "
        "FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')"
    )
    refused = own("database", "prune", "--json")
    assert refused.code == 2
    assert refused.error["message"].endswith("could be removed; nothing was removed")
    done = own("database", "prune", "--yes", "--json")
    assert [month["month"] for month in done.document["removed"]] == ["2020-01"]
    assert own("database", "prune", "--json").document["removed"] == []
