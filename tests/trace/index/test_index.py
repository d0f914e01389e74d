"""Index database: a broken file is rebuilt from the streams."""

import contextlib
import fcntl
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remora.errors import DiskError, NotFound
from remora.trace.index import index_database as database_module
from remora.trace.index.queries import reindex, trace_queries
from remora.trace.read.store_queries import StreamQuery
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.index.conftest import NODE, RUN, Agent, World

JOB = f"trace:{RUN}:lint:{NODE}"
QUERIES = [
    StreamQuery(),
    StreamQuery(outcome="error"),
    StreamQuery(tool="apply_fix"),
    StreamQuery(text="needle"),
]


def answers(folder: TraceFolder, store: str = "kv") -> list[Any]:
    """Return the answers to all queries."""
    asked = trace_queries(folder, store)
    keys = asked.get(f"index:run:{RUN}")
    return [keys, [asked.get(key) for key in keys], *map(asked.find, QUERIES)]


def index_of(folder: TraceFolder) -> Path:
    return folder.path / "index.db"


@contextlib.contextmanager
def edited(folder: TraceFolder) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(index_of(folder))) as connection, connection:
        yield connection


def read_by(work: Callable[[], object]) -> int:
    """Return the bytes that the process read during the call."""

    def count() -> int:
        return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])

    before = count()
    work()
    return count() - before


@pytest.fixture
def right(world: World) -> list[Any]:
    """Answers from the streams."""
    found = answers(world.folder, "jsonl")
    assert answers(world.folder) == found
    assert index_of(world.folder).exists()
    return found


# its file

BREAKS: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"what is this?" * 999),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut oddly": lambda path: os.truncate(path, path.stat().st_size - 100),
    "doubled": lambda path: path.write_bytes(path.read_bytes() * 2),
    "a foreign journal": lambda path: path.with_name("index.db-journal").write_bytes(b"x" * 4096),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_file_is_rebuilt(broken: str, world: World, right: list[Any]) -> None:
    BREAKS[broken](index_of(world.folder))
    assert answers(world.folder) == right
    with edited(world.folder) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM trace").fetchone() == (8,)


def ask_and_rebuild(folder: TraceFolder) -> list[Any]:
    """Return the answers after a rebuild. Before it, they may be wrong, but not fail otherwise."""
    with contextlib.suppress(NotFound):  # a listed key may be wrong
        answers(folder)
    reindex(folder)
    return answers(folder)


@pytest.mark.slow
def test_a_flipped_byte_breaks_nothing(world: World, right: list[Any]) -> None:
    path = index_of(world.folder)
    good = path.read_bytes()
    chosen = random.Random(7)
    for _ in range(150):
        bad = bytearray(good)
        bad[chosen.randrange(len(good))] ^= 1 << chosen.randrange(8)
        path.write_bytes(bad)
        assert ask_and_rebuild(world.folder) == right


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version = 99",
        "PRAGMA user_version = 0",
        "DROP TABLE turns",
        "ALTER TABLE turns ADD COLUMN more",
        "CREATE TRIGGER t AFTER INSERT ON turns BEGIN DELETE FROM turns; END",
    ],
)
def test_another_schema_is_rebuilt(statement: str, world: World, right: list[Any]) -> None:
    with edited(world.folder) as connection:
        connection.execute(statement)
    world.open.reopen()
    world.open.whole_turn()  # so that something has to be written
    world.open.writer.close()
    assert answers(world.folder) == answers(world.folder, "jsonl")
    with edited(world.folder) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert not connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE turns SET "offset" = "offset" + 1',
        'UPDATE turns SET "offset" = -1 WHERE seq IS NOT NULL',
        "UPDATE turns SET size = 1 << 60 WHERE seq IS NOT NULL",
        "UPDATE turns SET hash = (SELECT max(hash) FROM turns)",
        "DELETE FROM turns WHERE turn = 1",
        "DELETE FROM turns WHERE call = 2",
        "DELETE FROM streams WHERE attempt = 2",
        "UPDATE streams SET turns = 0",
        "UPDATE turns SET tool = CAST(x'ff' AS TEXT)",
        "UPDATE turns SET tool = x'ff', ms = 1e300",
        "DELETE FROM states",
        "UPDATE states SET state = x'00'",
        "UPDATE states SET state = 'text'",
        "DELETE FROM turns",
        "DELETE FROM streams",
    ],
)
def test_an_invalid_row_is_noticed(statement: str, world: World, right: list[Any]) -> None:
    with edited(world.folder) as connection:
        assert connection.execute(statement).rowcount
    for agent in (world.open, world.second):
        os.utime(agent.path)  # reading goes on from what the index says, or begins anew
    assert answers(world.folder) == right


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE turns SET outcome = 'success'",
        'UPDATE turns SET "begin" = "begin" + 5, "end" = 1',
        "UPDATE turns SET turn = turn + 10",
        "UPDATE streams SET attempt = 9 WHERE attempt = 1",
        "UPDATE streams SET node_id = 'node:x'",
    ],
)
def test_an_edited_row_is_repaired_by_a_rebuild(
    statement: str, world: World, right: list[Any]
) -> None:
    with edited(world.folder) as connection:
        assert connection.execute(statement).rowcount
    assert ask_and_rebuild(world.folder) == right


def test_a_row_with_the_place_of_another_gets_no_other_line_out(
    world: World, right: list[Any]
) -> None:
    """All places are swapped: the line itself identifies its event."""
    with edited(world.folder) as connection:
        rows = connection.execute("SELECT * FROM turns WHERE seq IS NOT NULL").fetchall()
        places = [row[12:16] for row in rows]
        for row, place in zip(rows, [*places[1:], places[0]], strict=True):
            connection.execute(
                'UPDATE turns SET "offset" = ?, size = ?, seq = ?, hash = ? '
                "WHERE stream = ? AND turn = ? AND call = ?",
                (*place, *row[:3]),
            )
    assert answers(world.folder) == right


def test_index_is_for_the_user_alone(world: World, right: list[Any]) -> None:
    index_of(world.folder).unlink()
    before = os.umask(0)
    try:
        answers(world.folder)
    finally:
        os.umask(before)
    for name in ("index.db", "index.lock"):
        assert stat.S_IMODE((world.folder.path / name).stat().st_mode) == 0o600
    assert {path.name for path in world.folder.path.glob("index*")} == {"index.db", "index.lock"}


# where it cannot be had


def test_a_link_is_not_followed(world: World, right: list[Any], tmp_path: Path) -> None:
    for name in ("index.db", "index.lock"):
        target = tmp_path / f"mine-{name}"
        target.write_text("mine")
        path = world.folder.path / name
        path.unlink()
        path.symlink_to(target)
        assert answers(world.folder) == right
        assert target.read_text() == "mine"
        path.unlink()


def test_an_index_that_cannot_be_made_is_reported(world: World, tmp_path: Path) -> None:
    (world.folder.path / "index.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(DiskError):
        reindex(world.folder)


def test_a_folder_in_its_place(world: World, right: list[Any]) -> None:
    index_of(world.folder).unlink()
    index_of(world.folder).mkdir()
    assert answers(world.folder) == right
    with pytest.raises(DiskError):
        reindex(world.folder)


def test_locked_by_a_sqlite_shell(world: World, right: list[Any]) -> None:
    with edited(world.folder) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert answers(world.folder) == right


def test_kept_busy_by_another_process(
    world: World, right: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_WAIT_S", 0.05)
    with (world.folder.path / "index.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert answers(world.folder) == right
        with pytest.raises(DiskError):
            reindex(world.folder)


ASK = """
import sys
from pathlib import Path
from remora.trace.trace_folder import TraceFolder
from remora.trace.index.queries import trace_queries
from remora.trace.read.store_queries import StreamQuery
asked = trace_queries(TraceFolder(Path(sys.argv[1])))
print(len(asked.get("index:run:run-1")), len(asked.find(StreamQuery(outcome="error"))))
"""


def asked_by_another(folder: TraceFolder) -> list[int]:
    """Query as a user with read access only."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # not by `exec`: the interpreter may lie where that user cannot go
        try:
            os.setuid(65534)
            asked = trace_queries(folder)
            told = [
                len(asked.get(f"index:run:{RUN}")),
                len(asked.find(StreamQuery(outcome="error"))),
            ]
            os.write(writing, bytes(told))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return [*pipe.read()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("indexed", [False, True])
def test_a_folder_of_which_nothing_may_be_written(indexed: bool) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        folder = TraceFolder(root)
        folder.create()
        World(folder)
        if indexed:
            answers(folder)
        before = sorted(root.rglob("*"))
        for path in (root, *before):
            path.chmod(0o755 if path.is_dir() else 0o644)
        assert asked_by_another(folder) == [7, 2]
        assert sorted(root.rglob("*")) == before
    finally:
        shutil.rmtree(root)


def test_a_full_disk(world: World, right: list[Any]) -> None:
    """The file cannot grow beyond a few pages: answers are read from the streams."""
    index_of(world.folder).unlink()
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
    ignoring = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    done = subprocess.run(
        [sys.executable, "-c", limited + ignoring + ASK, world.folder.root],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["7", "2"]
    assert answers(world.folder) == right


# how it is kept up to date


def test_only_what_is_new_is_read(folder: TraceFolder) -> None:
    agent = Agent(folder)
    for _ in range(60):
        agent.whole_turn(output="x" * 50_000)
    asked = trace_queries(folder)
    assert read_by(lambda: asked.find(StreamQuery(tool="late"))) > 3_000_000
    assert read_by(lambda: asked.find(StreamQuery(tool="late"))) < 300_000
    agent.whole_turn("late")
    assert read_by(lambda: asked.find(StreamQuery(tool="late"))) < 300_000
    agent.end()
    compress_stream(
        agent.path
    )  # compressed to next to nothing, and still not read from its beginning
    assert [len(found.turns) for found in asked.find(StreamQuery(tool="late"))] == [1]
    assert read_by(lambda: asked.get(f"{JOB}:61")) < 300_000


def test_a_rewritten_stream_is_read_again(world: World, right: list[Any]) -> None:
    path = world.second.path
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"apply_fix"', b'"apply_foo"'))
    assert path.stat().st_size == status.st_size
    asked = trace_queries(world.folder)
    assert {f.stream.agent_id for f in asked.find(StreamQuery(tool="apply_foo"))} == {
        world.second.name
    }
    path.unlink()
    shorter = Agent(world.folder, attempt=2)
    shorter.whole_turn("other")
    shorter.writer.close()
    assert path.stat().st_size < status.st_size
    assert answers(world.folder) == answers(world.folder, "jsonl")
    (found,) = asked.find(StreamQuery(tool="other"))
    assert len(found.turns) == 1


def test_a_torn_tail_is_read_once_it_is_whole(world: World, right: list[Any]) -> None:
    line = world.lines(world.open)[-1]
    whole = world.open.path.read_bytes()
    world.open.path.write_bytes(whole[: -len(line) // 2])
    assert answers(world.folder) == answers(world.folder, "jsonl")
    world.open.path.write_bytes(whole)
    assert answers(world.folder) == right


def test_what_expired_leaves_nothing_behind(world: World, right: list[Any]) -> None:
    assert b"write_docstring" in index_of(world.folder).read_bytes()
    world.doc.path.unlink()
    answers(world.folder)
    assert b"write_docstring" not in index_of(world.folder).read_bytes()
    assert world.doc.name.encode() not in index_of(world.folder).read_bytes()


def test_reindexing_shows_what_it_read(world: World, right: list[Any]) -> None:
    done = reindex(world.folder)
    assert (done.streams, done.bytes) == (5, sum(a.path.stat().st_size for a in world.agents))
    assert done.turns == 15
    assert answers(world.folder) == right


def test_people_can_look_into_it(world: World, right: list[Any]) -> None:
    asked = trace_queries(world.folder)
    with edited(world.folder) as connection:
        rows = connection.execute("SELECT key, seq, tool FROM trace").fetchall()
    assert len(rows) == 8
    for key, seq, tool in rows:
        entry = asked.get(key)
        assert isinstance(entry, dict)
        assert (entry["seq"], entry["data"]["tool"]) == (seq, tool)


def test_many_ask_while_one_writes(folder: TraceFolder) -> None:
    agent = Agent(folder)
    agent.whole_turn()
    wrong: list[object] = []
    done = threading.Event()

    def ask() -> None:
        asked, most = trace_queries(folder), 0
        while not done.is_set():
            (found,) = asked.find(StreamQuery(tool="apply_fix"))
            if len(found.turns) < most:
                wrong.append(found)
            most = len(found.turns)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for _ in range(40):
        agent.whole_turn()
    done.set()
    for asker in askers:
        asker.join()
    assert wrong == []
    (found,) = trace_queries(folder).find(StreamQuery(tool="apply_fix"))
    assert len(found.turns) == 41


BUILD = """
import sys
from pathlib import Path
from remora.trace.trace_folder import TraceFolder
from remora.trace.index import index_update
from remora.trace.index.queries import trace_queries
from remora.trace.read.store_queries import StreamQuery
index_update._COMMIT = 1
print("begin", flush=True)
trace_queries(TraceFolder(Path(sys.argv[1]))).find(StreamQuery(tool="x"))
"""


def kill_builders(folder: TraceFolder, rounds: int) -> int:
    """Return how many builders were killed before they ended; answers are checked after each."""
    agent = Agent(folder)
    for turn in range(300):
        agent.whole_turn(f"tool_{turn % 3}")
    agent.end()
    right = trace_queries(folder, "jsonl").find(StreamQuery(tool="tool_1"))
    chosen, killed = random.Random(3), 0
    for _ in range(rounds):
        index_of(folder).unlink(missing_ok=True)
        builder = subprocess.Popen(
            [sys.executable, "-c", BUILD, folder.root], stdout=subprocess.PIPE
        )
        assert builder.stdout is not None
        builder.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            builder.wait(chosen.uniform(0.01, 0.3))
        killed += builder.poll() is None
        builder.kill()
        builder.communicate()
        with edited(folder) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert trace_queries(folder).find(StreamQuery(tool="tool_1")) == right
    return killed


def test_a_killed_builder_leaves_an_older_state(folder: TraceFolder) -> None:
    assert kill_builders(folder, 4) >= 1


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_many_killed_builders(folder: TraceFolder) -> None:
    assert kill_builders(folder, 50) >= 15
