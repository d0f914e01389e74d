"""Commands open each stream once, or a second time for a reason that is stated here."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, lint_project, user_without_weights, write
from tests.diagnosis.planted_failures import TOOL_CRASH, plant

COUNT = """
import collections, json, os, sys
from remora.cli.main import main
from remora.trace.read import reader
from remora.trace.stream import line_file
opened = collections.Counter()
def counting(real, how):
    def count(path):
        opened[f"{how} {path.parent.name}/{path.stem}"] += 1
        return real(path)
    return count
reader.open_read_only = counting(reader.open_read_only, "read")
line_file._open_locked = counting(line_file._open_locked, "lock")
sys.argv = ["remora", *sys.argv[1:]]
try:
    main()
finally:
    with open(os.environ["STREAMS_OPENED"], "w") as file:
        json.dump(opened, file)
"""
LOCK = 1
"""A writer checks a stream again under its lock: another process may have written since."""


class Counted:
    """Counts how often a command opens each stream, for reading and for writing."""

    def __init__(self, remora: Remora, place: Path) -> None:
        self.place = place
        program = place.with_name("counting.py")
        program.write_text(COUNT)
        environ = {"STREAMS_OPENED": str(place)}
        self.remora = replace(remora, environ=environ, program=str(program))

    def __call__(self, cwd: Path, *words: str) -> dict[str, int]:
        done = self.remora(*words, cwd=cwd)
        assert done.code == 0, done.err
        return self.read()

    def read(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.place.read_text())
        return found


@pytest.fixture(scope="module")
def remora(tmp_path_factory: pytest.TempPathFactory) -> Remora:
    return user_without_weights(tmp_path_factory.mktemp("user") / "home")


@pytest.fixture
def opens(remora: Remora, tmp_path: Path) -> Counted:
    return Counted(remora, tmp_path / "opened.json")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, remora: Remora) -> Path:
    """A project with changes of two runs to review."""
    root = lint_project(tmp_path_factory.mktemp("shop"))
    for _ in range(2):
        assert remora("analyze", "-o", "steps", "--quiet", "--max-nodes", "1", cwd=root).code == 0
    return root


@pytest.fixture
def two(tmp_path: Path, remora: Remora) -> Path:
    """A project with a run of two jobs to review."""
    root = lint_project(write(tmp_path / "two", {"src/other.py": '"""Other."""\nimport os\n'}))
    assert remora("analyze", "-o", "steps", "--quiet", "--node", "*:__module__", cwd=root).code == 0
    return root


def run_of(root: Path) -> tuple[str, Path]:
    """The stream's name and file."""
    (path,) = (root / ".agentfs/runs").glob("*.jsonl")
    return f"runs/{path.stem}", path


def agent_of(root: Path, file: str) -> tuple[str, Path]:
    """The stream of the agent that works on a file, by name and file."""
    for path in (root / ".agentfs/traces").glob("*.jsonl"):
        if f'"node_id":"node:{file}:__module__"'.encode() in path.read_bytes():
            return f"traces/{path.stem}", path
    raise AssertionError(file)


@pytest.mark.parametrize("command", ["show", "report", "diff"])
def test_reading_opens_each_stream_once(command: str, opens: Counted, project: Path) -> None:
    runs = sorted(path.stem for path in (project / ".agentfs/runs").glob("*.jsonl"))
    found = opens(project, command, runs[-1])
    assert f"read runs/{runs[-1]}" in found
    assert any(name.startswith("read traces/") for name in found)
    assert set(found.values()) == {1}


def test_why_failed_jobs_are_not_looked_up_in_the_run(
    opens: Counted, remora: Remora, tmp_path: Path
) -> None:
    """A stream of a failed job is read again for its cause. Only submitted jobs have verdicts."""
    planted = plant(TOOL_CRASH, tmp_path / "planted", remora)
    run, _ = run_of(planted.root)
    found = opens(planted.root, "show", run.removeprefix("runs/"))
    assert found == {f"read {run}": 1, f"read traces/{planted.agent_id}": 2}


def test_the_first_line_shows_which_run_is_the_last(opens: Counted, project: Path) -> None:
    """The name `last` costs one look at the first line of each run."""
    found = opens(project, "show", "last")
    assert {name: count for name, count in found.items() if count > 2} == {}
    assert {count for name, count in found.items() if name.startswith("read traces/")} == {1}


def test_a_listing_opens_each_run_once(opens: Counted, project: Path) -> None:
    assert set(opens(project, "runs").values()) == {1}


def test_verdicts_read_once_and_check_again_under_the_lock(opens: Counted, two: Path) -> None:
    run, path = run_of(two)
    agents = {agent_of(two, file)[0] for file in ("src/settings.py", "src/other.py")}
    expected = {f"read {name}": 1 for name in (run, *agents)} | {f"lock {run}": LOCK}
    assert opens(two, "reject", path.stem, "src/settings.py:__module__") == expected
    assert opens(two, "accept", path.stem, "--all") == expected
    assert opens(two, "revert", path.stem) == expected
