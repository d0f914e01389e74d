"""A project whose interpreter cannot run tests: said once, before a run, and by `doctor`."""

import os
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, write
from tests.isolation_levels import need

SUM = '''\
def plus(a):
    """One more.

    >>> plus(2)
    3
    """
    return a + 1
'''


@pytest.fixture
def bare(project: Path) -> Path:
    """A project with an environment of its own, in which nothing is installed."""
    need(2)
    venv.create(project / ".venv", with_pip=False)
    return write(project, {"plus.py": SUM})


def test_without_pytest_no_run_begins(poor: Remora, bare: Path) -> None:
    done = poor("analyze", "-o", "lint", "-o", "test", "--json", cwd=bare)
    assert done.code == 2
    interpreter = bare / ".venv" / "bin" / "python"
    assert done.error["message"].startswith(f"{interpreter} has no pytest")
    assert f"{interpreter} -m pip install pytest" in done.error["message"]
    assert "-o test" in done.error["hint"]
    assert not (bare / ".agentfs").exists()


def test_a_plan_and_other_operations_do_without(poor: Remora, bare: Path) -> None:
    assert poor("analyze", "-o", "test", "--dry-run", cwd=bare).code == 0
    assert poor("analyze", "-o", "lint", "plus.py", cwd=bare).code == 0


def check(poor: Remora, root: Path, name: str) -> Any:
    (found,) = [
        each
        for each in poor("doctor", "--json", cwd=root).document["checks"]
        if each["name"] == name
    ]
    return found


def test_doctor_names_the_missing_pytest_and_the_operation_that_needs_it(
    poor: Remora, bare: Path
) -> None:
    told = check(poor, bare, "tests")
    assert not told["ok"]
    assert not told["needed"]  # lint and docstring do without
    assert "has no pytest" in told["detail"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nowhere/python", "python: nowhere/python does not exist"),
        pytest.param("broken", "broken returned no result", marks=pytest.mark.slow),
    ],
)
def test_doctor_starts_the_interpreter_that_is_configured(
    poor: Remora, bare: Path, named: str, said: str
) -> None:
    write(bare, {"remora.yaml": f"python: {named}\n", "broken": "#!/bin/sh\nexit 1\n"})
    (bare / "broken").chmod(0o755)
    told = check(poor, bare, "tests")
    assert not told["ok"]
    assert told["needed"]
    assert said in told["detail"]
    assert poor("doctor", cwd=bare).code == 1


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "shop"])
def test_doctor_has_ruff_read_the_projects_settings(
    poor: Remora, project: Path, folder: str
) -> None:
    assert check(poor, project, "settings")["ok"]
    settings = os.path.join(folder, "ruff.toml")  # noqa: PTH118 - as it is spelled
    write(project, {"shop/cart.py": SUM, settings: 'lint.select = ["NOPE"]\n'})
    told = check(poor, project, "settings")
    assert not told["ok"]
    assert told["needed"]
    assert "NOPE" in told["detail"]
    assert settings in told["detail"]


def test_settings_that_count_for_no_python_file_are_nobodys(poor: Remora, project: Path) -> None:
    write(project, {"data/ruff.toml": "nonsense [\n"})
    assert check(poor, project, "settings")["ok"]
