"""`remora watch` proposes changes for what is saved, and changes no file."""

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, tree, write
from tests.cli.test_bad_input import read_only

FINE = '"""A cart."""\n\n\ndef total(prices: list[int]) -> int:\n    """Add up."""\n    return sum(prices)\n'
WITH_FINDING = FINE.replace("    return", "    import os\n\n    return")
OTHER_FINDING = WITH_FINDING.replace("sum(prices)", "sum(prices) + 1")
SETTINGS = "[tool.ruff.lint]\nselect = ['F']\n"
PATIENCE_S = 60.0
QUIET_S = 4.0
"""Long enough for an analysis that must not happen."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = write(tmp_path / "shop", {"cart.py": FINE, "till.py": FINE, "pyproject.toml": SETTINGS})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


class Watched:
    """A running `remora watch --json-lines`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def until(self, kind: str) -> dict[str, Any]:
        """Return the next line of a kind."""
        end = time.monotonic() + PATIENCE_S
        while True:
            line = self._lines.get(timeout=max(0.1, end - time.monotonic()))
            if line["type"] == kind:
                return line

    def is_quiet(self) -> bool:
        try:
            self._lines.get(timeout=QUIET_S)
        except queue.Empty:
            return True
        return False

    def close(self) -> None:
        self.process.kill()
        self._reader.join()
        with self.process:  # closes its pipes
            pass

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


@contextmanager
def watching(user: Remora, root: Path, *args: str) -> Iterator[Watched]:
    words = ["watch", "--json-lines", "-o", "lint", "--delay", "0.1", *args]
    watched = Watched(user.start(*words, cwd=root))
    try:
        watched.until("watching")
        yield watched
    finally:
        watched.close()


def daemon_of(user: Remora, root: Path) -> dict[str, Any]:
    found: dict[str, Any] = user("hub", "status", "--json", cwd=root).document
    return found


def test_a_saved_finding_leads_to_a_proposal(shop: Path, poor: Remora) -> None:
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["jobs"] == 0
        write(shop, {"cart.py": WITH_FINDING})
        before = tree(shop)
        proposal = watched.until("proposal")
        assert (proposal["operation"], proposal["files"]) == ("lint", ["cart.py"])
        assert watched.until("analysis")["proposals"] == 1
        assert os.getpriority(os.PRIO_PROCESS, watched.process.pid) >= 10
        assert watched.end() == 0
    assert tree(shop) == before
    (run,) = poor("runs", "--json", cwd=shop).document["runs"]
    assert (run["watched"], run["pending"]) == (True, 1)


@pytest.mark.slow
def test_no_text_is_analyzed_twice_not_even_by_the_next_watch(shop: Path, poor: Remora) -> None:
    write(shop, {"cart.py": WITH_FINDING})
    with watching(poor, shop) as watched:
        watched.until("analysis")
        (shop / "cart.py").touch()
        write(shop, {"cart.py": f"# a comment\n{WITH_FINDING}", "till.py": FINE})
        assert watched.is_quiet()
        assert watched.end(signal.SIGTERM) == 0
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["jobs"] == 0
        assert watched.is_quiet()
    assert len(poor("runs", "--json", cwd=shop).document["runs"]) == 1


@pytest.mark.slow
def test_a_function_that_changes_again_has_only_its_newest_proposal(
    shop: Path, poor: Remora
) -> None:
    write(shop, {"cart.py": WITH_FINDING, "till.py": WITH_FINDING})
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["proposals"] == 2
        write(shop, {"cart.py": OTHER_FINDING})
        second = watched.until("analysis")
        assert (second["proposals"], second["withdrawn"]) == (1, 1)
        write(shop, {"till.py": FINE})
        last = watched.until("analysis")
        assert (last["run_id"], last["withdrawn"]) == (None, 1)
    runs = poor("runs", "--json", cwd=shop).document["runs"]
    assert [(run["pending"], run["rejected"]) for run in runs] == [(0, 0), (1, 0)]
    assert poor("accept", "last", "--all", cwd=shop).code == 0
    assert "import os" not in (shop / "cart.py").read_text()
    assert "sum(prices) + 1" in (shop / "cart.py").read_text()


@pytest.mark.slow
def test_a_file_with_a_syntax_error_waits_until_it_parses(shop: Path, poor: Remora) -> None:
    write(shop, {"cart.py": WITH_FINDING.replace("def total(", "def total((")})
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["jobs"] == 0
        write(shop, {"cart.py": WITH_FINDING})
        assert watched.until("analysis")["proposals"] == 1


@pytest.mark.slow
def test_the_newest_files_come_first_if_there_are_too_many_jobs(shop: Path, poor: Remora) -> None:
    write(shop, {"cart.py": WITH_FINDING, "till.py": WITH_FINDING})
    os.utime(shop / "cart.py", (0, 0))
    with watching(poor, shop, "--max-jobs", "1") as watched:
        assert watched.until("proposal")["files"] == ["till.py"]
        assert watched.until("analysis")["left_out"] == 1


@pytest.mark.slow
def test_the_watch_goes_on_when_the_daemon_is_killed(shop: Path, poor: Remora) -> None:
    with watching(poor, shop) as watched:
        watched.until("analysis")
        os.kill(daemon_of(poor, shop)["pid"], signal.SIGKILL)
        watched.until("note")
        write(shop, {"cart.py": WITH_FINDING})
        assert watched.until("analysis")["proposals"] == 1


@pytest.mark.slow
def test_the_daemon_that_it_started_ends_with_it(shop: Path, poor: Remora) -> None:
    with watching(poor, shop):
        assert daemon_of(poor, shop)["running"]
    until = time.monotonic() + PATIENCE_S
    while daemon_of(poor, shop)["running"]:  # the watch was killed
        assert time.monotonic() < until
    poor("hub", "start", cwd=shop)
    try:
        with watching(poor, shop) as watched:
            assert watched.end() == 0
        assert daemon_of(poor, shop)["running"]
    finally:
        poor("hub", "stop", cwd=shop)


@pytest.mark.slow
def test_an_analysis_that_fails_is_told_once_and_tried_again(shop: Path, poor: Remora) -> None:
    with watching(poor, shop) as watched:
        watched.until("analysis")
        write(shop, {"remora.yaml": "modle: {}\n", "cart.py": WITH_FINDING})
        assert "modle" in watched.until("error")["message"]
        (shop / "remora.yaml").unlink()
        write(shop, {"till.py": WITH_FINDING})
        assert watched.until("analysis")["proposals"] == 2


@pytest.mark.slow
def test_it_waits_while_git_writes(shop: Path, poor: Remora) -> None:
    with watching(poor, shop) as watched:
        watched.until("analysis")
        lock = shop / ".git" / "index.lock"
        lock.touch()
        write(shop, {"cart.py": WITH_FINDING})
        assert watched.is_quiet()
        lock.unlink()
        assert watched.until("analysis")["proposals"] == 1


@pytest.mark.slow
def test_a_checkout_of_many_files_loses_nothing(shop: Path, poor: Remora) -> None:
    git(shop, "switch", "-q", "-c", "other")
    write(shop, {f"pkg/m{number}.py": WITH_FINDING for number in range(100)})
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "other")
    git(shop, "switch", "-q", "-")
    write(shop, {"cart.py": WITH_FINDING})
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["proposals"] == 1
        for branch in ("other", "-"):
            git(shop, "switch", "-q", branch)
            assert watched.is_quiet()  # they are as they were committed
        git(shop, "switch", "-q", "other")
        write(shop, {"pkg/m7.py": OTHER_FINDING})
        assert watched.until("proposal")["files"] == ["pkg/m7.py"]
        assert watched.until("analysis")["withdrawn"] == 0
    runs = poor("runs", "--json", cwd=shop).document["runs"]
    assert [run["pending"] for run in runs] == [1, 1]


@pytest.mark.slow
def test_a_rebase_keeps_the_proposals_that_still_fit(shop: Path, poor: Remora) -> None:
    write(shop, {"cart.py": WITH_FINDING})
    git(shop, "commit", "-q", "-a", "-m", "mine")
    git(shop, "switch", "-q", "-c", "upstream", "HEAD~")
    write(shop, {f"pkg/m{number}.py": FINE for number in range(100)})
    git(shop, "add", "-A")
    git(shop, "commit", "-q", "-m", "upstream")
    git(shop, "switch", "-q", "-")
    write(shop, {"till.py": WITH_FINDING})
    with watching(poor, shop) as watched:
        assert watched.until("analysis")["proposals"] == 1
        git(shop, "rebase", "-q", "--autostash", "upstream")
        assert watched.is_quiet()
        write(shop, {"cart.py": OTHER_FINDING})
        assert watched.until("proposal")["files"] == ["cart.py"]
    runs = poor("runs", "--json", cwd=shop).document["runs"]
    assert [run["pending"] for run in runs] == [1, 1]
    for run in runs:
        assert poor("accept", run["run_id"], "--all", cwd=shop).code == 0
    assert "import os" not in (shop / "till.py").read_text() + (shop / "cart.py").read_text()


@pytest.mark.slow
def test_it_ends_when_the_project_is_removed(shop: Path, poor: Remora) -> None:
    with watching(poor, shop) as watched:
        shutil.rmtree(shop)
        assert watched.process.wait(PATIENCE_S) == 3
        assert watched.process.stderr is not None
        assert "was removed" in watched.process.stderr.read()


@pytest.mark.slow
def test_a_project_that_cannot_be_written_to_is_an_error(shop: Path, poor: Remora) -> None:
    done = read_only(poor, shop, "watch")
    assert (done.returncode, f"{shop}/.agentfs" in done.stderr) == (3, True)


@pytest.mark.slow
def test_only_one_watch_of_a_project(shop: Path, poor: Remora) -> None:
    with watching(poor, shop):
        second = poor("watch", cwd=shop)
    assert second.code == 2
    assert "is being watched by another process" in second.err


@pytest.mark.slow
def test_it_needs_a_commit_and_the_hub(tmp_path: Path, shop: Path, poor: Remora) -> None:
    bare = write(tmp_path / "bare", {"cart.py": FINE})
    without_git = poor("watch", "--root", bare, cwd=bare)
    git(bare, "init", "-q")
    without_commit = poor("watch", cwd=bare)
    write(shop, {"remora.yaml": "hub:\n  enabled: false\n"})
    without_hub = poor("watch", cwd=shop)
    assert (without_git.code, without_commit.code, without_hub.code) == (2, 2, 2)
    assert "without git" in without_git.err
    assert "make a commit first" in without_commit.err
    assert "the Hub is disabled" in without_hub.err
