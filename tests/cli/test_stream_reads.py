"""Commands that only read open each stream once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, lint_project, user

COUNT = """
import collections, json, sys
from remora.cli.main import main
from remora.trace.read import reader
opened, real = collections.Counter(), reader.open_read_only
def counting(path):
    opened[f"{path.parent.name}/{path.name}"] += 1
    return real(path)
reader.open_read_only = counting
sys.argv = ["remora", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(opened), file=sys.stderr)
"""


def opens(remora: Remora, cwd: Path, *words: str) -> dict[str, int]:
    """How often each stream was opened, by the name of its file."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *words],
        cwd=cwd,
        env=remora.environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert "Traceback" not in done.stderr
    found: dict[str, int] = json.loads(done.stderr.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def remora(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Remora:
    return user(tmp_path_factory.mktemp("home"), models)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, remora: Remora) -> Path:
    """A project with changes of two runs to review."""
    root = lint_project(tmp_path_factory.mktemp("shop"))
    for _ in range(2):
        assert remora("analyze", "--quiet", "--max-nodes", "1", cwd=root).code == 0
    return root


@pytest.mark.parametrize("command", ["show", "report", "diff"])
def test_a_stream_is_opened_once(command: str, remora: Remora, project: Path) -> None:
    runs = sorted(path.stem for path in (project / ".agentfs/runs").glob("*.jsonl"))
    found = opens(remora, project, command, runs[-1])
    assert f"runs/{runs[-1]}.jsonl" in found
    assert any(name.startswith("traces/") for name in found)
    assert set(found.values()) == {1}


def test_the_first_line_shows_which_run_is_the_last(remora: Remora, project: Path) -> None:
    """The name `last` costs one look at the first line of each run."""
    found = opens(remora, project, "show", "last")
    assert {name: count for name, count in found.items() if count > 2} == {}
    assert {count for name, count in found.items() if name.startswith("traces/")} == {1}


def test_a_listing_opens_each_run_once(remora: Remora, project: Path) -> None:
    assert set(opens(remora, project, "runs").values()) == {1}
