"""Style, folders and names of test files by the configuration of mypy and pytest."""

from pathlib import Path

import pytest

from remora.errors import HostError
from remora.operations.test.function_context import home_of, target_at
from remora.operations.test.runner.collection_check import require_collection
from remora.operations.test.target_function import TargetFunction
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.pytest_settings import PytestSettings, pytest_settings
from remora.tools.tree import ToolTree
from tests.isolation_levels import need


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = test\n", PytestSettings(("test",))),
        ("pytest.ini", "[pytest]\ntestpaths = shop/tests.py\n", PytestSettings()),
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


def test_settings_that_pytest_refuses_are_named(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    need(2)
    (tmp_path / "pytest.ini").write_text("[pytest]\nstrict = true\ntimeout_func_only = true\n")
    with pytest.raises(HostError, match=r"pytest cannot run here: .*timeout_func_only"):
        require_collection(ToolTree(tmp_path, plain_python))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    require_collection(ToolTree(tmp_path, plain_python))


@pytest.mark.parametrize(
    ("name", "text", "typed"),
    [
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", True),
        ("pyproject.toml", "[tool.pytest]\nstrict = true\n[tool.mypy]\npretty = true\n", False),
        ("mypy.ini", "[mypy]\nstrict = True\ndisallow_untyped_defs = False\n", False),
        (".mypy.ini", "[mypy]\nstrict = True\n", True),
        ("setup.cfg", "[mypy]\ndisallow_untyped_defs = 1\n", True),
    ],
)
def test_the_first_test_is_annotated_if_mypy_requires_it(
    tmp_path: Path, name: str, text: str, typed: bool
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "cart.py").write_text("def add(n):\n    return n\n")
    place = ToolTree(tmp_path)
    target = target_at(place, "cart.py", "add")
    assert isinstance(target, TargetFunction)
    assert home_of(place, target, {}).typed == typed
    others = {"tests/test_a.py": "def test_a():\n    assert 1\n"}
    assert not home_of(place, target, others).typed, "mypy does not check the project's tests"
