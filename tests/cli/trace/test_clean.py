"""Records that `remora clean` and a run compress and remove."""

import os
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
    """Settings let everything be compressed, and a run remove it, at once."""
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


def test_clean_removes_runs_that_are_older_and_need_no_review(old: tuple[Remora, Path]) -> None:
    remora, root = old
    limits(remora, "keep_days: 0, compress_after_days: null")
    before = streams(root)
    words = ("clean", "--older-than", "0", "--yes")
    assert remora(*words, cwd=root).code == 0
    assert streams(root) == before, "its change is pending"
    assert remora("reject", "last", "--all", cwd=root).code == 0
    assert remora("clean", "--older-than", "9", "--yes", cwd=root).code == 0
    assert remora("clean", "--yes", cwd=root).code == 0
    assert "1 old run" in remora(*words[:-1], "--dry-run", cwd=root).out
    assert streams(root) == before
    done = remora(*words, "--json", cwd=root)
    assert done.code == 0
    assert {one["kind"] for one in done.document["removed"]} >= {"run", "contents"}
    assert streams(root) == []
    assert remora("runs", "--json", cwd=root).document == {"runs": []}
    assert remora("trace", "verify", "--all", cwd=root).code == 0


def test_a_damaged_run_needs_attention(old: tuple[Remora, Path]) -> None:
    remora, root = old
    assert remora("reject", "last", "--all", cwd=root).code == 0
    path = next((root / ".agentfs" / "traces").glob("[!.]*"))
    path.write_bytes(path.read_bytes().replace(b'"trim":0', b'"trim":1'))
    before = streams(root)
    done = remora("clean", "--older-than", "0", "--yes", "--json", cwd=root)
    assert done.code == 1
    assert streams(root) == before
