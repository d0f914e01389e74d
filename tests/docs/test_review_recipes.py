"""The recipes of docs/how-to/run-in-ci.md, as a hook and as a CI job in a repository of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, user_without_weights, write

PAGE = Path(__file__).parents[2] / "docs/how-to/run-in-ci.md"
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'
CLEAN = 'def load():\n    """Read."""\n    return 1\n'


def recipe(name: str) -> str:
    blocks = re.findall(r"^```sh\n(# (\w+): .*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return next(str(text) for text, called in blocks if called == name)


def carried_out(
    remora: Remora, root: Path, name: str, *args: str
) -> subprocess.CompletedProcess[str]:
    bin_ = Path(sys.executable).parent
    return subprocess.run(
        ["sh", "-c", recipe(name), name, *args],
        cwd=root,
        env={**remora.environment, "PATH": f"{bin_}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def remora(tmp_path: Path) -> Remora:
    return user_without_weights(tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    write(root, {"old.py": UNUSED, "pyproject.toml": "[tool.ruff.lint]\nselect=['F']\n"})
    git(root, "init", "-q")
    git(root, "config", "user.name", "ci")
    git(root, "config", "user.email", "ci@localhost")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    git(root, "switch", "-q", "-c", "work")
    write(root, {"new.py": UNUSED})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")
    return root


@pytest.mark.slow
def test_the_hook_takes_what_is_verified_of_the_files_it_is_given(
    remora: Remora, root: Path
) -> None:
    done = carried_out(remora, root, "hook", "new.py")
    assert done.returncode == 0, done.stderr
    assert "import os" not in (root / "new.py").read_text()
    assert (root / "old.py").read_text() == UNUSED
    again = carried_out(remora, root, "hook", "new.py")
    assert again.returncode == 0, "with nothing to do it passes, and takes no older run's changes"


@pytest.mark.slow
def test_the_hook_takes_no_file_for_an_option(remora: Remora, root: Path) -> None:
    """As in a branch of somebody else's, of which all files are looked at."""
    write(root, {"--operation=no.py": UNUSED})
    done = carried_out(remora, root, "hook", "--operation=no.py", "new.py")
    assert done.returncode == 0, done.stderr
    assert "import os" not in (root / "new.py").read_text()


@pytest.mark.parametrize("detached", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.slow
def test_the_ci_job_puts_the_changes_on_a_branch_beside_the_reports(
    remora: Remora, root: Path, tmp_path: Path, detached: bool
) -> None:
    if detached:
        git(root, "switch", "-q", "--detach")
    out = tmp_path / "out"
    out.mkdir()
    done = carried_out(remora, root, "ci", "main", str(out))
    assert done.returncode == 0, done.stderr
    assert git(root, "diff", "--stat", "work", "remora-fixes").count("new.py") == 1
    assert "import os" not in git(root, "show", "remora-fixes:new.py")
    assert git(root, "status", "--porcelain") == ""
    assert "remora/lint" in (out / "remora.sarif").read_text()
    assert "accepted on `remora-fixes`" in (out / "remora.md").read_text()


@pytest.mark.slow
def test_the_ci_job_has_nothing_to_do_on_a_clean_branch(
    remora: Remora, root: Path, tmp_path: Path
) -> None:
    write(root, {"new.py": CLEAN})
    git(root, "commit", "-q", "-a", "-m", "clean")
    assert carried_out(remora, root, "ci", "main", str(tmp_path)).returncode == 0
    assert git(root, "branch", "--list", "remora-fixes") == ""


def test_the_check_writes_its_reports_and_no_run(
    remora: Remora, root: Path, tmp_path: Path
) -> None:
    done = carried_out(remora, root, "check", "main", str(tmp_path / "out"))
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("new.py:1: lint F401")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    endings = ("json", "md", "patch", "sarif")
    assert names == [f"remora.{ending}" for ending in endings]
    assert not (root / ".agentfs").exists()
    git(root, "apply", str(tmp_path / "out/remora.patch"))
    assert (root / "new.py").read_text() == CLEAN


@pytest.mark.slow
def test_a_run_can_be_followed(remora: Remora, root: Path) -> None:
    done = carried_out(remora, root, "follow")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["verified new.py", "verified old.py"]


@pytest.mark.slow
def test_the_loop_analyzes_each_repository(remora: Remora, root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    for name in ("cart", "shop"):
        git(tmp_path, "clone", "-q", str(root), str(folder / name))
    done = carried_out(remora, root, "loop", str(folder))
    assert done.returncode == 0, done.stderr
    for name in ("cart", "shop"):
        assert list((folder / name / ".agentfs/runs").glob("*.jsonl"))
