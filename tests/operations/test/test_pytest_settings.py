"""Folders and names of test files by the pytest configuration."""

from pathlib import Path

import pytest

from remora.errors import HostError
from remora.operations.test.pytest_settings import PytestSettings, pytest_settings
from remora.operations.test.runner.collection_check import require_collection
from remora.tools.tree import ToolTree


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = test\n", PytestSettings(("test",))),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py\n", PytestSettings((), ("check_*.py",))),
        ("tox.ini", "[pytest]\ntestpaths =\n    src/tests\n    docs/*.md\n", PytestSettings(("src/tests",))),
        ("pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = ['a', 'b/']\n", PytestSettings(("a", "b"))),
        ("pyproject.toml", "[tool.black]\nline-length = 80\n", PytestSettings()),
        ("pyproject.toml", "not toml", PytestSettings()),
    ],
)  # fmt: skip
def test_settings(tmp_path: Path, name: str, text: str, expected: PytestSettings) -> None:
    (tmp_path / name).write_text(text)
    assert pytest_settings(ToolTree(tmp_path)) == expected


def test_the_first_file_counts(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\ntestpaths = test\n")
    assert pytest_settings(ToolTree(tmp_path)) == PytestSettings()


def test_a_project_whose_test_files_have_other_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = Test*.py\n")
    with pytest.raises(HostError, match=r"pytest collects only Test\*\.py here"):
        require_collection(ToolTree(tmp_path))
