"""Base files of a run: their findings are computed once."""

from contextlib import closing
from pathlib import Path

import pytest

from remora.files.project_files import project_files
from remora.runs.execution.run import BaseFiles
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import take_base


def test_a_file_of_the_base_is_linted_once_for_all_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("import os\n")
    base = take_base(root, project_files(root), tmp_path / "base")
    with closing(RuffBase(base.folder)) as ruff:
        ground = BaseFiles(base=base, workspaces=SlotDriver(base, tmp_path / "slots"), ruff=ruff)
        assert [each["code"] for each in ground.findings("a.py")] == ["F401"]
        monkeypatch.setattr(ruff._processes, "session", lambda _: pytest.fail("a.py is known"))
        assert [each["code"] for each in ground.findings("a.py")] == ["F401"]
        monkeypatch.undo()
        assert [each["path"] for each in ground.findings("b.py")] == ["b.py"]
