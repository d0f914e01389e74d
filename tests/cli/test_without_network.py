"""No command connects to anything but loopback."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import MODULE, SETTINGS, new_repository, user_without_weights, write
from tests.cli.without_network import COMMANDS

ROOT = Path(__file__).parents[2]
UNSHARE = [shutil.which("unshare") or "", "--map-root-user", "--net"]


def can_unshare() -> bool:
    return bool(UNSHARE[0]) and subprocess.run([*UNSHARE, "true"], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_command_leaves_this_machine(tmp_path: Path) -> None:
    if not can_unshare():
        pytest.skip("needs network namespaces without privileges")
    user = user_without_weights(tmp_path / "home")
    project = write(tmp_path / "project", {"settings.py": MODULE, "pyproject.toml": SETTINGS})
    new_repository(project)
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.cli.without_network", project, user.home],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    control, *commands = json.loads(done.stdout)
    assert control[2] == 1, "the counter does not count"
    assert len(commands) == len(COMMANDS)
    for words, code, attempts, errors in commands:
        assert attempts == 0, words
        assert code in (0, 1), f"{words}: {errors}"
