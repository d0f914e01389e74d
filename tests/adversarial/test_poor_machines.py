"""Machines that give less: what they give is told as it is, and nothing is run below what is asked."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remora.sandbox.supervisor_client import bubblewrap_path
from tests.adversarial.limited_machines import NO_LANDLOCK, NO_PROC, NO_USERS, ORDINARY

pytestmark = pytest.mark.needs("namespaces")

BEST_OF_ALL = 3 if bubblewrap_path() else 2
APP = """
def half(n):
    \"""Return the half.

    >>> half(4)
    2.0
    \"""
    return n / 2
"""
RUN = ("analyze", "app.py", "-o", "test")
"""It runs code of the project, to write a test for an example."""


class Done(NamedTuple):
    code: int
    document: Any
    err: str


def remora(
    machine: Sequence[str], folder: Path, *words: str, environ: Mapping[str, str] | None = None
) -> Done:
    """A command of ours on such a machine, as a new user in an active environment."""
    (folder / "home").mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "VIRTUAL_ENV": sys.prefix,
        **(environ or {}),
    }
    command = [*machine, sys.executable, "-m", "remora", "--json", *words]
    done = subprocess.run(
        command,
        check=False,
        cwd=folder / "project",
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
    )
    return Done(done.returncode, json.loads(done.stdout), done.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text(APP)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "level"),
    [
        pytest.param((), BEST_OF_ALL, id="this one"),
        pytest.param(ORDINARY, BEST_OF_ALL, id="an ordinary user"),
        pytest.param(NO_USERS, 1, id="no user namespaces"),
        pytest.param(NO_PROC, 1, id="proc cannot be mounted"),
        pytest.param(NO_LANDLOCK, 3 if bubblewrap_path() else 0, id="no Landlock"),
        pytest.param((*NO_USERS, *NO_LANDLOCK), 0, id="neither"),
    ],
)
def test_doctor_shows_the_isolation_level_and_how_to_raise_it(
    folder: Path, machine: Sequence[str], level: int
) -> None:
    isolation = remora(machine, folder, "doctor").document["isolation"]
    assert isolation["level"] == level
    lacking = isolation["lacking"]
    assert [each["level"] for each in lacking] == list(range(level + 1, 4))
    assert all(each["problem"] and each["hint"] for each in lacking)


def test_an_ordinary_user_gets_namespaces_too(folder: Path) -> None:
    ask = "from remora.sandbox.isolation import level_problem; print([level_problem(2)])"
    done = subprocess.run(
        [*ORDINARY, sys.executable, "-c", ask], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['']\n"


@pytest.mark.parametrize(
    "machine",
    [
        NO_USERS,
        pytest.param(NO_PROC, marks=pytest.mark.slow),
        pytest.param((*NO_USERS, *NO_LANDLOCK), marks=pytest.mark.slow),
    ],
)
def test_below_level_two_nothing_of_the_project_runs_without_consent(
    folder: Path, machine: Sequence[str]
) -> None:
    refused = remora(machine, folder, *RUN)
    assert refused.code == 2
    assert "--allow-unsandboxed" in refused.document["error"]["hint"]
    assert "doctor" in refused.document["error"]["hint"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("machine", "level"), [(NO_USERS, "L1"), ((*NO_USERS, *NO_LANDLOCK), "L0")]
)
def test_with_consent_it_runs_as_isolated_as_can_be(
    folder: Path, machine: Sequence[str], level: str
) -> None:
    ran = remora(machine, folder, *RUN, "--allow-unsandboxed", environ={"REMORA_API_KEY": "secret"})
    assert (ran.code, ran.document["totals"]["verified"]) == (0, 1), ran.err
    assert f"({level}, " in ran.err or level == "L0"


@pytest.mark.parametrize(
    "words",
    [pytest.param(("analyze", "--dry-run"), marks=pytest.mark.slow), (*RUN, "--allow-unsandboxed")],
)
def test_a_missing_required_level_stops_everything(folder: Path, words: tuple[str, ...]) -> None:
    wanted = {"REMORA_WORKSPACE__REQUIRE_ISOLATION": "2"}
    refused = remora(NO_USERS, folder, *words, environ=wanted)
    assert refused.code == 2
    assert "require_isolation is L2" in refused.document["error"]["message"]
    assert "supports only L1" in refused.document["error"]["message"]
    assert "user namespaces" in refused.document["error"]["hint"]


@pytest.mark.slow
def test_an_available_required_level_stops_nothing(folder: Path) -> None:
    wanted = {"REMORA_WORKSPACE__REQUIRE_ISOLATION": "2"}
    assert remora((), folder, "analyze", "--dry-run", environ=wanted).code == 0
