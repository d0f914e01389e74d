"""The interpreter of a project: which one it is, and whose."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import ConfigError, UsageError
from remora.sandbox.interpreters import (
    ProjectPython,
    environment_digest,
    find_interpreter,
    interpreter_paths,
    is_activated,
)
from tests.odd_files import ODD


def test_an_environment_is_another_once_a_package_is_installed(tmp_path: Path) -> None:
    python = ProjectPython(python=tmp_path / "bin" / "python", root=tmp_path)
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    (packages / "pytest-9.0.dist-info").mkdir(parents=True)
    before = environment_digest(python)
    assert environment_digest(python) == before
    (packages / "attrs-25.1.dist-info").mkdir()
    assert environment_digest(python) != before


def test_an_environment_is_the_users_where_they_are_in_it_and_it_is_not_the_projects() -> None:
    root, python = Path("/p"), Path("/env/bin/python")
    assert is_activated(python, root, "/env")
    assert not is_activated(python, root, None)
    assert not is_activated(python, root, "")
    assert not is_activated(python, root, "/other")
    assert not is_activated(root / ".venv/bin/python", root, "/p/.venv")


def test_the_interpreter_is_the_configured_the_roots_or_the_active_one(tmp_path: Path) -> None:
    active, own, named = tmp_path / "active", tmp_path / "root" / ".venv", tmp_path / "root" / "py"
    with pytest.raises(UsageError, match="no environment is active"):
        find_interpreter(tmp_path / "root", None, str(active))
    for folder in (active, own):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to(sys.executable)
    named.symlink_to(sys.executable)
    root = tmp_path / "root"
    assert find_interpreter(root, "py", str(active)) == named
    assert find_interpreter(root, None, str(active)) == own / "bin" / "python"
    own.rename(tmp_path / "moved")
    assert find_interpreter(root, None, str(active)) == active / "bin" / "python"
    with pytest.raises(ConfigError, match="missing"):
        find_interpreter(root, "missing", str(active))


@pytest.mark.parametrize("make", ODD)
def test_what_is_not_a_text_file_of_an_environment_is_ignored(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    packages = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "env" / "bin").mkdir()
    python = tmp_path / "env" / "bin" / "python"
    python.symlink_to(sys.executable)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    make(packages / "odd.pth")
    found = interpreter_paths(python, trusted=True)
    assert tmp_path / "env" / "bin" in found
