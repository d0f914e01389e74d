"""`remora trace compact` as its user has it."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, lint_project, user_without_weights, write

DAY = 86_400


@pytest.fixture(scope="module")
def analyzed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Remora, Path]:
    """A project after a run, and in `kept` how it was then: a run knows its root."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "project").mkdir()
    remora, root = user_without_weights(folder / "home"), lint_project(folder / "project")
    assert remora("analyze", "src", "-o", "steps", "--json", cwd=root).code == 0
    then = time.time() - 2 * DAY
    for part in ("blobs", "objects"):
        for path in (root / ".agentfs" / part).rglob("*"):
            os.utime(path, (then, then))
    for part in ("project", "home"):
        shutil.copytree(folder / part, folder / "kept" / part, symlinks=True)
    return remora, root


@pytest.fixture
def old(analyzed: tuple[Remora, Path]) -> tuple[Remora, Path]:
    """Settings let everything go at once."""
    remora, root = analyzed
    for folder in (root, remora.home):
        shutil.rmtree(folder)
        shutil.copytree(root.parent / "kept" / folder.name, folder, symlinks=True)
    limits(remora, "keep_days: 0, compress_after_days: 0")
    return remora, root


def limits(remora: Remora, settings: str) -> None:
    """The user's own."""
    write(
        remora.home,
        {"config/remora/config.yaml": f"runner: {{memory: {{retention: {{{settings}}}}}}}\n"},
    )


def streams(root: Path) -> list[str]:
    names = {path.name for path in (root / ".agentfs" / "traces").iterdir()}
    return sorted(names - {".gitignore"})


def test_a_run_that_waits_is_named_and_kept_then_it_goes(old: tuple[Remora, Path]) -> None:
    remora, root = old
    before = streams(root)
    waits = remora("trace", "compact", cwd=root)
    assert waits.code == 0
    assert "pending review" in waits.out
    assert "nothing to do; " in waits.out
    assert streams(root) == before
    assert remora("reject", "last", "--all", cwd=root).code == 0

    would = remora("trace", "compact", "--dry-run", "--json", cwd=root)
    assert streams(root) == before
    told = remora("trace", "compact", "--dry-run", cwd=root)
    assert "would be expired  " in told.out
    assert "would be reduced" in told.out
    done = remora("trace", "compact", "--json", cwd=root)
    assert (done.code, would.code) == (0, 0)
    assert would.document == {**done.document, "dry_run": True}
    assert [run["reason"] for run in done.document["expired"]] == ["age"]
    assert done.document["collected"]["objects"] > 0
    assert done.document["bytes_after"] == 0
    assert streams(root) == []
    assert remora("runs", "--json", cwd=root).document == {"runs": []}
    assert remora("trace", "verify", "--all", cwd=root).code == 0


def test_clean_removes_runs_that_are_older_and_need_no_review(old: tuple[Remora, Path]) -> None:
    remora, root = old
    limits(remora, "keep_days: null, compress_after_days: null")
    before = streams(root)
    words = ("clean", "--older-than", "0", "--yes")
    assert remora(*words, cwd=root).code == 0
    assert streams(root) == before, "its change is pending"
    assert remora("reject", "last", "--all", cwd=root).code == 0
    assert remora("clean", "--older-than", "9", "--yes", cwd=root).code == 0
    assert "1 set of old runs" in remora(*words[:-1], "--dry-run", cwd=root).out
    assert streams(root) == before
    assert remora(*words, cwd=root).code == 0
    assert streams(root) == []
    assert remora("trace", "verify", "--all", cwd=root).code == 0


def test_sealed_streams_are_looked_at_like_any_other(old: tuple[Remora, Path]) -> None:
    remora, root = old
    limits(remora, "keep_days: null, compress_after_days: 0")
    assert remora("reject", "last", "--all", cwd=root).code == 0
    looks = [
        ("runs", "--json"),
        ("show", "last"),
        ("show", "last", "--json"),
        ("diff", "last", "*"),
        ("trace", "verify", "--all"),
        ("trace", "show", "read"),
        ("trace", "show", "read", "--raw"),
        ("trace", "show", "read", "--turn", "1"),
        ("trace", "packet", "read"),
        ("trace", "transcript", "read"),
    ]
    before = [remora(*words, cwd=root) for words in looks]
    sealed = remora("trace", "compact", "-v", cwd=root)
    assert sealed.code == 0
    assert sealed.out.count("sealed  agent ") == len(streams(root)) > 0
    assert all(name.endswith(".jsonl.zst") for name in streams(root))
    assert [remora(*words, cwd=root) for words in looks] == before
    assert all(done.code == 0 for done in before)


def test_a_damaged_run_needs_attention(old: tuple[Remora, Path]) -> None:
    remora, root = old
    assert remora("reject", "last", "--all", cwd=root).code == 0
    path = next((root / ".agentfs" / "traces").glob("[!.]*"))
    path.write_bytes(path.read_bytes().replace(b'"trim":0', b'"trim":1'))
    done = remora("trace", "compact", "--json", cwd=root)
    assert done.code == 1
    (kept,) = done.document["kept"]
    assert kept["reason"].startswith("it is damaged")
    assert done.document["expired"] == []


def test_a_run_removes_old_runs_and_says_so(old: tuple[Remora, Path]) -> None:
    remora, root = old
    limits(remora, "after_runs: true, keep_days: 0, compress_after_days: 0")
    done = remora("analyze", "src", "-o", "steps", "--json", cwd=root)
    # The first run has nothing to decide any more, because the second proposes the same.
    (note,) = [line for line in done.err.splitlines() if line.startswith("retention")]
    assert note.startswith("retention: removed 1 run, ")
    assert note.endswith(" freed")
    assert done.document["run_id"] in {
        run["run_id"] for run in remora("runs", "--json", cwd=root).document["runs"]
    }
    (record,) = remora.home.rglob("retention.json")
    record.unlink()  # of the last pass, which is less than a day ago
    assert remora("reject", "last", "--all", cwd=root).code == 0
    limits(remora, "after_runs: true, keep_days: null, compress_after_days: 0")
    compressed = remora("analyze", "src", "-o", "steps", "--json", cwd=root)
    assert re.search(
        r"^retention: compressed \d+ streams?, .* freed$", compressed.err, re.MULTILINE
    )
    assert record.exists()


def test_a_project_without_records(poor: Remora, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = poor("trace", "compact", cwd=tmp_path / "empty")
    assert (done.code, done.out) == (0, "nothing to do; streams and their data take 0 bytes\n")
    assert list((tmp_path / "empty").iterdir()) == []
