"""`.agentfs/` beside another tool, AgentFS, which keeps databases in the same folder."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, lint_project, user_without_weights, write
from tests.web.recorded import client_of

MARK = "of another tool"
IGNORED = "*.db\n*.db-wal\n*.db-shm\nsnapshots/\n"
"""What tools around AgentFS write into `.agentfs/.gitignore`: settings are committed."""
THEIRS = {
    ".gitignore": IGNORED,
    "config.json": f'{{"note": "{MARK}"}}\n',
    "snapshots/first.db": f"a copy {MARK}\n",
    # named almost like ours
    "runs.jsonl": f"{MARK}\n",
    "expired.db": f"{MARK}\n",
}
LOOKS = (
    ("runs", "--json"),
    ("show", "last", "--json"),
    ("trace", "list", "--json"),
    ("trace", "verify", "--all", "--json"),
    ("trace", "export", "--run", "last", "--format", "jsonl"),
    ("clean", "--dry-run", "--json"),
    ("doctor", "--json"),
)


def add_theirs(root: Path) -> None:
    """Another tool's files; its settings are under version control."""
    write(root / ".agentfs", THEIRS)
    git(root, "add", "-f", ".agentfs/.gitignore", ".agentfs/config.json")
    git(root, "commit", "-q", "-m", "another tool")


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user and a project with another tool's files, in which `analyze` ran."""
    folder = tmp_path_factory.mktemp("shared")
    remora = user_without_weights(folder / "home")
    (folder / "project").mkdir()
    add_theirs(lint_project(folder / "project"))
    done = remora("analyze", "src", "-o", "steps", "--json", cwd=folder / "project")
    assert done.code == 0
    for part in ("project", "home"):
        shutil.copytree(folder / part, folder / "kept" / part, symlinks=True)
    return folder


@pytest.fixture
def remora(analyzed: Path) -> Remora:
    """The user as after the run."""
    for part in ("project", "home"):
        shutil.rmtree(analyzed / part)
        shutil.copytree(analyzed / "kept" / part, analyzed / part, symlinks=True)
    return Remora(analyzed / "home")


@pytest.fixture
def root(remora: Remora) -> Path:
    return remora.home.parent / "project"


@pytest.fixture
def database(root: Path) -> Iterator[sqlite3.Connection]:
    """A database of the other tool, which it has open."""
    with closing(sqlite3.connect(root / ".agentfs" / "agent-1.db")) as opened:
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("CREATE TABLE files (text)")
        opened.execute("INSERT INTO files VALUES (?)", [MARK])
        opened.commit()
        yield opened


def theirs(root: Path) -> dict[str, bytes]:
    """The other tool's files."""
    names = [*THEIRS, "agent-1.db", "agent-1.db-wal", "agent-1.db-shm"]
    paths = [root / ".agentfs" / name for name in names]
    return {path.name: path.read_bytes() for path in paths if path.exists()}


@pytest.mark.slow
def test_a_command_says_the_same_beside_another_tools_files(remora: Remora, root: Path) -> None:
    beside = [remora(*words, cwd=root) for words in LOOKS]
    for name in THEIRS:
        (root / ".agentfs" / name).unlink()  # each is still there
    alone = [remora(*words, cwd=root) for words in LOOKS]
    assert {done.code for done in alone} == {0}
    assert beside == alone


@pytest.mark.slow
def test_an_open_database_counts_as_nothing_and_survives(
    remora: Remora, root: Path, database: sqlite3.Connection
) -> None:
    before = theirs(root)
    assert len(before) == len(THEIRS) + 3
    assert remora("reject", "last", "--all", cwd=root).code == 0
    assert remora("clean", "--older-than", "0", "--yes", cwd=root).code == 0
    assert remora("trace", "verify", "--all", cwd=root).code == 0
    assert remora("runs", "--json", cwd=root).document == {"runs": []}
    assert theirs(root) == before
    assert database.execute("SELECT text FROM files").fetchall() == [(MARK,)]


def test_a_share_file_contains_only_ours(remora: Remora, root: Path, tmp_path: Path) -> None:
    words = ("trace", "export", "--run", "last", "--format", "html", "-o", tmp_path / "run.html")
    assert remora(*words, cwd=root).code == 0
    assert MARK not in (tmp_path / "run.html").read_text()


def test_no_private_copy_contains_another_tools_files(remora: Remora) -> None:
    copies = [path for path in remora.home.rglob("settings.py") if path.is_file()]
    assert copies, "the run has left no private copy to look at"
    found = [path for path in remora.home.rglob("*") if path.is_file()]
    assert not [path for path in found if MARK.encode() in path.read_bytes()]


def test_the_list_in_the_browser_is_the_same(remora: Remora, root: Path) -> None:
    with client_of(root, remora.home.parent / "elsewhere") as pages:
        beside = pages.get("/").text
        for name in THEIRS:
            (root / ".agentfs" / name).unlink()
        assert pages.get("/").text == beside
    (run,) = (root / ".agentfs" / "runs").glob("*.jsonl")
    assert run.stem in beside


def test_git_status_stays_clean_beside_another_tools_ignore_file(
    remora: Remora, root: Path
) -> None:
    assert (root / ".agentfs" / ".gitignore").read_text() == IGNORED
    seen = git(root, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert seen == ["?? .agentfs/runs.jsonl"], "theirs, which they do not ignore"
