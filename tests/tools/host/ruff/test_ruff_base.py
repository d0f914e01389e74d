"""Shared processes: which copies use them, and what is kept from earlier runs."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.tools.host.ruff.processes import start_process
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree

IMPORT = b"import os\n"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[RuffBase]:
    base = tmp_path / "base"
    base.mkdir()
    (base / "ruff.toml").write_text('lint.select = ["F401", "PLW0406"]\n')
    (base / "a.py").write_bytes(IMPORT)
    shared = RuffBase(base)
    yield shared
    shared.close()


def _copy(folder: Path, base: RuffBase, *, is_like_base: bool) -> ToolTree:
    shutil.copytree(folder / "base", folder / "copy")
    ruff = partial(Ruff, base=base, is_like_base=lambda: is_like_base)
    return ToolTree(folder / "copy", ruff=ruff)


@pytest.mark.parametrize("is_like_base", [True, False])
def test_a_copy_is_checked_as_its_base_unless_its_settings_differ(
    tmp_path: Path, shared: RuffBase, is_like_base: bool
) -> None:
    copy = _copy(tmp_path, shared, is_like_base=is_like_base)
    (copy.tree / "ruff.toml").write_text('lint.select = ["E501"]\n')
    found = [each["code"] for each in copy.ruff.check_text("a.py", IMPORT)]
    assert found == (["F401"] if is_like_base else [])


def test_what_is_known_of_a_version_of_a_file_needs_no_run(
    tmp_path: Path, shared: RuffBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruff = Ruff(ToolTree(tmp_path / "base"), shared)
    before = ruff.check(["a.py"], unsafe=True)
    other = ruff.check_text("a.py", b"x = 1\n")
    shared.remember_format("a.py", IMPORT, is_formatted=True)
    monkeypatch.setattr("remora.tools.host.ruff.processes.RuffProcess.run", None)
    assert ruff.check_text("a.py", IMPORT) == before
    assert ruff.check_text("a.py", b"x = 1\n") == other == []
    assert ruff.is_formatted("a.py", IMPORT, options=None)


def test_a_file_of_a_copy_is_checked_in_the_process_of_the_base(
    tmp_path: Path, shared: RuffBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = _copy(tmp_path, shared, is_like_base=True)
    (copy.tree / "a.py").write_text("import sys\n")
    monkeypatch.setattr("remora.tools.host.ruff.ruff.run_command", None)
    found = copy.ruff.check_file("a.py")
    assert [each["message"] for each in found] == ["`sys` imported but unused"]


def test_a_module_is_not_named_after_the_folder_of_a_copy(tmp_path: Path, shared: RuffBase) -> None:
    (tmp_path / "base" / "__init__.py").touch()
    ruff = Ruff(ToolTree(tmp_path / "base"), shared)
    found = ruff.check_text("json.py", b"from . import json\n\nprint(json)\n")
    assert [each["message"] for each in found] == ["Module `json` imports itself"]


def test_a_process_that_did_not_answer_in_time_is_not_used_again(
    tmp_path: Path,
) -> None:
    with start_process(tmp_path, 30.0) as session:
        with pytest.raises(HostError, match="in time"):
            session.run(["/bin/sleep", "1"], b"", 0.1)
        with pytest.raises(HostError, match="after an error"):
            session.run(["/bin/echo", "fresh"], b"", 5.0)
