"""Shared processes: which copies use them, and what is kept from earlier runs."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.ids import MODULE
from remora.tools.host.ruff.node_findings import node_findings
from remora.tools.host.ruff.ruff_process import check_text, is_formatted, lint_findings
from remora.tools.host.ruff.ruff_session import start_session
from remora.tools.host.ruff.shared_ruff import SharedRuff
from remora.tools.tree import ToolTree

IMPORT = b"import os\n"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[SharedRuff]:
    base = tmp_path / "base"
    base.mkdir()
    (base / "ruff.toml").write_text('lint.select = ["F401", "PLW0406"]\n')
    (base / "a.py").write_bytes(IMPORT)
    shared = SharedRuff(base)
    yield shared
    shared.close()


@pytest.mark.parametrize("is_like_base", [True, False])
def test_a_copy_is_checked_as_its_base_unless_its_settings_differ(
    tmp_path: Path, shared: SharedRuff, is_like_base: bool
) -> None:
    copy = ToolTree(tmp_path / "copy")
    shutil.copytree(tmp_path / "base", copy.tree)
    (copy.tree / "ruff.toml").write_text('lint.select = ["E501"]\n')
    with shared.used(copy.tree, lambda: is_like_base):
        found = [each["code"] for each in check_text(copy, "a.py", IMPORT)]
    assert found == (["F401"] if is_like_base else [])


def test_what_is_known_of_a_version_of_a_file_needs_no_run(
    tmp_path: Path, shared: SharedRuff, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    with shared.used():
        before = lint_findings(base, ["a.py"])
        other = check_text(ToolTree(base), "a.py", b"x = 1\n")
        shared.remember_format("a.py", IMPORT, is_formatted=True)
        monkeypatch.setattr("remora.tools.host.ruff.ruff_session.RuffSession.run", None)
        assert check_text(ToolTree(base), "a.py", IMPORT) == before
        assert check_text(ToolTree(base), "a.py", b"x = 1\n") == other == []
        assert is_formatted(ToolTree(base), "a.py", IMPORT)


def test_a_file_of_a_copy_is_checked_in_the_process_of_the_base(
    tmp_path: Path, shared: SharedRuff, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ToolTree(tmp_path / "copy")
    shutil.copytree(tmp_path / "base", copy.tree)
    (copy.tree / "a.py").write_text("import sys\n")
    monkeypatch.setattr("remora.tools.host.ruff.ruff_process.run_command", None)
    with shared.used(copy.tree, lambda: True):
        found = node_findings(copy, "a.py", MODULE)
    assert [each["message"] for each in found["findings"]] == ["`sys` imported but unused"]


def test_a_module_is_not_named_after_the_folder_of_a_copy(
    tmp_path: Path, shared: SharedRuff
) -> None:
    (tmp_path / "base" / "__init__.py").touch()
    with shared.used():
        found = check_text(
            ToolTree(tmp_path / "base"), "json.py", b"from . import json\n\nprint(json)\n"
        )
    assert [each["message"] for each in found] == ["Module `json` imports itself"]


def test_a_process_that_did_not_answer_in_time_is_not_used_again(tmp_path: Path) -> None:
    with start_session(tmp_path, 30.0) as session:
        with pytest.raises(HostError, match="in time"):
            session.run(["/bin/sleep", "1"], b"", 0.1)
        with pytest.raises(HostError, match="after an error"):
            session.run(["/bin/echo", "fresh"], b"", 5.0)
