"""Gates that run code of a project, which may be hostile."""

import sys
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.judges.gates import code_gates
from remora.judges.gates.code_gates import find_imports, pytest_gate
from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import write
from tests.isolation_levels import need

NO_RESULT = """
import os, sys
os.{make}
os._exit(0)
"""


@pytest.mark.parametrize("make", ["mkfifo(sys.argv[1])", "symlink('/dev/zero', sys.argv[1])"])
def test_a_result_that_is_no_file_is_not_waited_for(tmp_path: Path, make: str) -> None:
    need(2)
    write(tmp_path, {"evil.py": NO_RESULT.format(make=make)})
    gate = find_imports(["evil.py"], ProjectPython(python=Path(sys.executable), root=tmp_path))
    with pytest.raises(HostError, match="could not be imported"):
        gate.measure(tmp_path, 60, ())


def test_only_modules_and_packages_are_imported(tmp_path: Path) -> None:
    """Scripts in other folders, tests and files that run something are not."""
    fails = "raise ValueError\n"
    paths = ("shop.py", "src/cart/__init__.py", "src/cart/price.py")
    others = ("setup.py", "docs/conf.py", "tests/test_shop.py", "src/cart/__main__.py", "a-b.py")
    write(tmp_path, dict.fromkeys((*paths, *others), fails) | {"fine.py": ""})
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    found = find_imports([*paths, *others, "fine.py"], python).measure(tmp_path, 60, ())
    assert [*found] == [f"{path} can no longer be imported" for path in sorted(paths)]


def test_each_module_is_imported_apart(tmp_path: Path) -> None:
    """One of a circle may be imported only after another."""
    files = {
        "app/__init__.py": "",
        "app/admin.py": "import app.core\n",
        "app/api.py": "from app.core import LIMIT\n\nhandler = LIMIT\n",
        "app/core.py": "LIMIT = 3\n\nfrom app.api import handler\n",
    }
    python = ProjectPython(python=Path(sys.executable), root=write(tmp_path, files), trusted=True)
    found = find_imports([*files], python).measure(tmp_path, 60, ())
    assert [*found] == ["app/api.py can no longer be imported"]


def test_a_module_that_never_ends_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script may serve or ask when it is imported."""
    monkeypatch.setattr(code_gates, "_MODULE_SECONDS", 0.5)
    files = {"serve.py": "while True:\n    pass\n", "shop.py": ""}
    python = ProjectPython(python=Path(sys.executable), root=write(tmp_path, files), trusted=True)
    found = find_imports([*files], python).measure(tmp_path, 60, ())
    assert [*found] == ["serve.py can no longer be imported"]


@pytest.mark.parametrize("files", [{}, {"shop.py": "raise ValueError\n"}])
def test_without_a_module_that_can_be_imported_nothing_is_judged(
    tmp_path: Path, files: dict[str, str]
) -> None:
    write(tmp_path, files)
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    with pytest.raises(HostError, match="no module"):
        find_imports(files, python).measure(tmp_path, 60, ())


def test_imports_change_nothing_outside_the_result(tmp_path: Path) -> None:
    need(2)
    write(tmp_path, {"evil.py": "open('evil.py', 'w').write('')\nopen('new.py', 'w')\n"})
    gate = find_imports(["evil.py"], ProjectPython(python=Path(sys.executable), root=tmp_path))
    assert gate.measure(tmp_path, 60, ()) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["evil.py"]
    assert (tmp_path / "evil.py").read_text().startswith("open(")


@pytest.mark.slow
def test_the_settings_that_pytest_names_are_not_its_reason(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    write(errors, {"pytest.ini": "[pytest]\naddopts = --unknown\n"})
    gate = pytest_gate(ProjectPython(python=Path(sys.executable), root=errors, trusted=True))
    with pytest.raises(HostError, match=r"error: unrecognized arguments: --unknown$"):
        gate.measure(errors, 60, ())


@pytest.mark.slow
def test_what_isolation_makes_fail_is_not_judged(tmp_path: Path) -> None:
    offline = "import socket\ndef test_a(): socket.getaddrinfo('shop.invalid', 80)\n"
    files = {"test_a.py": f"{offline}def test_b(): assert 0\n"}
    python = ProjectPython(python=Path(sys.executable), root=write(tmp_path, files), trusted=True)
    found = {"test_a.py::test_a": 1, "test_a.py::test_b": 2, "test_a.py::test_b fails": -1}
    assert pytest_gate(python).measure(tmp_path, 60, ()) == found
