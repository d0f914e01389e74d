"""The systemd unit in docs/ is valid."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[3] / "docs/how-to/remora-hub@.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    unit = tmp_path / "remora-hub@tmp.service"
    shutil.copy(UNIT, unit)
    command = tmp_path / ".local" / "bin" / "remora"
    command.parent.mkdir(parents=True)
    command.symlink_to(Path(sys.executable).with_name("remora"))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
