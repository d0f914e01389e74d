"""Opening the trace of a project reads little of its configuration files."""

import os
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_trace import open_trace_folder
from tests.peak_memory import PeakMemory


def test_a_huge_configuration_file_is_not_read_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    os.truncate(tmp_path / "pyproject.toml", 2 << 30)
    caller = Invocation(environ={"HOME": str(tmp_path / "home")}, folder=tmp_path)
    memory = PeakMemory()
    assert open_trace_folder(caller, tmp_path).root == tmp_path
    assert memory.growth < 100 << 10  # KiB
