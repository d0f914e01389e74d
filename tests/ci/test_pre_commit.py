"""The hook of `.pre-commit-hooks.yaml`, run by the real pre-commit in a repository of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import git, write

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs/how-to/run-in-ci.md"
BIN = Path(sys.executable).parent
UNUSED = 'import os\n\n\ndef load():\n    """Read."""\n    return 1\n'
RULES = "[tool.ruff.lint]\nselect = ['F']\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a developer. pip's settings are those of this machine."""
    ours = ("REMORA_", "XDG_", "PRE_COMMIT", "VIRTUAL_ENV", "PYTHON", "GIT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "HOME": str(tmp_path / "home"),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A repository with a finding in a Python file, and files that the hook is not for."""
    root = tmp_path / "sample"
    files = {"a.py": UNUSED, "b.py": "def load():\n    return 1\n", "README.md": "# Sample\n"}
    write(root, {**files, "pyproject.toml": RULES})
    git(root, "init", "-q")
    git(root, "config", "user.name", "dev")
    git(root, "config", "user.email", "dev@localhost")
    return root


def hooks() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(
        (REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    )
    return found


def configured(sample: Path, repository: dict[str, Any]) -> None:
    text = yaml.safe_dump({"repos": [repository]})
    (sample / ".pre-commit-config.yaml").write_text(text, encoding="utf-8")
    git(sample, "add", "-A")


def commit(sample: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "commit", "-q", "-m", "work", *words],
        cwd=sample,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def refused_then_accepted(sample: Path, environ: dict[str, str]) -> None:
    """A commit with a finding is refused, and its message's command makes it pass."""
    subprocess.run(
        [BIN / "pre-commit", "install"], cwd=sample, env=environ, check=True, capture_output=True
    )
    refused = commit(sample, environ)
    shown = refused.stdout + refused.stderr
    assert refused.returncode == 1, shown
    assert "a.py:1: lint F401: `os` imported but unused" in shown
    assert "b.py" not in shown
    command = re.search(r"^  (remora analyze .*)$", shown, re.MULTILINE)
    assert command, shown
    assert command[1].startswith("remora analyze a.py && ")
    assert not (sample / ".agentfs").exists()
    subprocess.run(command[1], shell=True, cwd=sample, env=environ, check=True, capture_output=True)
    git(sample, "add", "-A")
    passed = commit(sample, environ)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "import os" not in git(sample, "show", "HEAD:a.py")


@pytest.mark.slow
def test_a_commit_with_a_finding_is_refused_until_it_is_fixed(
    sample: Path, environ: dict[str, str]
) -> None:
    """The hook with Remora from this environment instead of one that pre-commit makes."""
    local = [{**hook, "language": "system"} for hook in hooks()]
    configured(sample, {"repo": "local", "hooks": local})
    refused_then_accepted(sample, environ)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pre_commit_installs_remora_from_its_repository(
    sample: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    source = tmp_path / "remora"
    listed = git(REPOSITORY, "ls-files", "-co", "--exclude-standard", "src", "*.toml", "*.yaml")
    for name in [*listed.splitlines(), ".pre-commit-hooks.yaml", "README.md", "LICENSE"]:
        if (REPOSITORY / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, source / name)
    git(source, "init", "-q")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "release")
    rev = git(source, "rev-parse", "HEAD").strip()
    used = [{"id": hook["id"]} for hook in hooks()]
    configured(sample, {"repo": str(source), "rev": rev, "hooks": used})
    refused_then_accepted(sample, environ)


def test_no_file_name_is_an_option_of_the_hook() -> None:
    check, judge = hooks()
    assert check["args"][-1] == "--"
    assert check["require_serial"] is True
    assert judge["pass_filenames"] is False


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("-a",), ("test_a.py",)])
def test_what_a_commit_has_is_judged(
    sample: Path, environ: dict[str, str], words: tuple[str, ...]
) -> None:
    """`git commit -a` and `git commit FILE` have an index of their own."""
    good, hollow = "def test_a():\n    assert open\n", "def test_a():\n    assert True\n"
    write(sample, {"test_a.py": good})
    _, judge = hooks()
    configured(sample, {"repo": "local", "hooks": [{**judge, "language": "system"}]})
    git(sample, "commit", "-q", "-m", "start")
    subprocess.run(
        [BIN / "pre-commit", "install"], cwd=sample, env=environ, check=True, capture_output=True
    )
    write(sample, {"test_a.py": hollow})
    if not words:
        git(sample, "add", "test_a.py")
    refused = commit(sample, environ, *words)
    assert "test_a.py:1: test: test_a: `True` is true whatever" in refused.stdout + refused.stderr
    write(sample, {"test_a.py": f"{good}\n"})
    if not words:
        git(sample, "add", "test_a.py")
    passed = commit(sample, environ, *words)
    assert passed.returncode == 0, passed.stdout + passed.stderr
