"""`remora hub observe`: consent first; then pytest's own output and code, and links that are kept."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.hub.observe.observation_queue import spool_folder
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, write
from tests.cli.test_terminal import on_terminal

APP = """
def total():
    return 3


def run(name):
    return globals()["to" + name]()
"""
TESTS = """
import app


def test_run():
    assert app.run("tal") == 3
"""
WORDS = ("--", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    write(folder, {"app.py": APP, "tests/test_app.py": TESTS, ".gitignore": "__pycache__/\n"})
    git(folder, "init", "-q")
    return folder


@pytest.fixture
def active(poor: Remora, plain_python: ProjectPython) -> Remora:
    """A user in an active environment that has pytest."""
    return Remora(poor.home, {"VIRTUAL_ENV": str(plain_python.python.parents[1])})


def links(remora: Remora, root: Path, what: str, node: str, of: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = remora("hub", what, node, "--json", cwd=root).document[of]
    return found


def callees(remora: Remora, root: Path) -> list[dict[str, Any]]:
    """Of the node that calls what only a run can tell."""
    found = links(remora, root, "callees", "app.py:run", "callees")
    return [edge for edge in found if edge["key"].startswith("node:")]


def test_writes_of_observed_tests_are_discarded(active: Remora, root: Path) -> None:
    write(
        root,
        {
            "tests/test_app.py": "import app\n\n\ndef test_write():\n"
            "    open('left', 'w').write('x')\n"
            "    open('app.py', 'a').write('# more')\n"
            "    assert open('app.py').read().endswith('# more')\n"
        },
    )
    before = contents(root)
    done = active("hub", "observe", "--", "python", "-m", "pytest", "-q", cwd=root)
    assert (done.code, "1 passed" in done.out) == (0, True)
    assert "the tests are isolated" in done.err
    assert contents(root) == before


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_a_project_cannot_consent_for_its_user(active: Remora, root: Path) -> None:
    (root / "remora.yaml").write_text("workspace: {allow_unsandboxed: true}\n")
    assert active("hub", "observe", *WORDS, cwd=root).code == 2


def test_what_was_seen_is_kept_until_the_caller_changes(active: Remora, root: Path) -> None:
    assert callees(active, root) == []
    seen = active("hub", "observe", *WORDS, cwd=root)
    assert seen.code == 0
    assert "1 passed" in seen.out
    seen_call = {"key": "node:app.py:total", "tier": "observed", "lines": [7]}
    assert callees(active, root) == [seen_call]
    tests = links(active, root, "tests", "app.py:total", "tests")
    assert tests == [{"id": "tests/test_app.py::test_run", "tier": "observed"}]
    write(root, {"app.py": "# moved\n\n" + APP})
    assert callees(active, root) == [{**seen_call, "lines": [9]}]
    write(root, {"app.py": APP.replace('"to"', '"t"')})
    assert callees(active, root) == []


def test_tests_do_not_get_the_file_that_shows_their_output(active: Remora, root: Path) -> None:
    empties = "import os\n\n\ndef test_it():\n    os.ftruncate(1, 0)\n"
    write(root, {"tests/test_app.py": empties})
    log = root.parent / "log"
    log.write_text("before\n")
    with log.open("a") as file:
        environ, line = (
            active.environment,
            [sys.executable, "-m", "remora", "hub", "observe", *WORDS, "-s"],
        )
        code = subprocess.run(line, check=False, cwd=root, env=environ, stdout=file).returncode
    assert code == 1
    assert log.read_text().startswith("before\n")
    assert "Invalid argument" in log.read_text()  # a pipe


def test_a_terminal_shows_colored_output_that_tests_did_not_write_to_it(
    active: Remora, root: Path
) -> None:
    no_terminal = "import os\n\n\ndef test_it():\n    assert not any(map(os.isatty, range(3)))\n"
    write(root, {"tests/test_app.py": no_terminal})
    shown = on_terminal(active, root, "hub", "observe", *WORDS, "-s")
    assert "\x1b[32m" in shown
    assert "1 passed" in shown


def test_a_terminal_shows_no_colors_if_the_user_wants_none(active: Remora, root: Path) -> None:
    write(root, {"tests/test_app.py": "def test_it():\n    pass\n"})
    user = replace(active, environ={**active.environ, "NO_COLOR": "1"})
    shown = on_terminal(user, root, "hub", "observe", *WORDS)
    assert "\x1b[3" not in shown
    assert "1 passed" in shown


def test_pytests_own_code_passes_through(active: Remora, root: Path) -> None:
    write(root, {"tests/test_app.py": "def test_bad():\n    assert 0\n"})
    done = active("hub", "observe", "--json", *WORDS, cwd=root)
    assert done.code == 1
    assert done.document["exit_code"] == 1
    assert set(done.document) == {
        "exit_code",
        "timed_out",
        "isolation",
        "tests",
        "calls",
        "complete",
        "left_out",
    }
    assert "1 failed" in done.err


def test_what_cannot_be_observed_is_refused_with_what_to_do(
    poor: Remora, active: Remora, root: Path
) -> None:
    for user, words, says in (
        (active, ("--", "make"), "only pytest"),
        (active, ("pytest", "tests", "-x"), "`remora hub observe -- pytest tests -q`"),
        (poor, WORDS, "activate"),
    ):
        done = user("hub", "observe", "--json", *words, cwd=root)
        assert done.code == 2
        assert says in done.error["message"] + done.error["hint"]


@pytest.fixture
def daemon(active: Remora, root: Path) -> Iterator[dict[str, Any]]:
    started = active.afresh("hub", "start", "--json", cwd=root)
    try:
        assert started.code == 0, started.err
        yield json.loads(started.out)
    finally:
        active.afresh("hub", "stop", cwd=root)


@pytest.mark.slow
def test_a_daemon_stores_what_was_seen_beside_it(
    active: Remora, root: Path, daemon: dict[str, Any]
) -> None:
    assert Path(daemon["db"]).exists()
    done = active("hub", "observe", *WORDS, cwd=root)
    assert done.code == 0
    assert "daemon" in done.err
    until = time.monotonic() + 50
    while not callees(active, root):
        assert time.monotonic() < until, "the daemon has not taken what was seen"
        time.sleep(0.2)
    assert list(spool_folder(Path(daemon["db"])).iterdir()) == []
