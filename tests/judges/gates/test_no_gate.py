"""What cannot judge is named, and the other gates count."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import ruff  # type: ignore[import-untyped]

from remora.judges.gates.project_gates import find_gates
from remora.sandbox.interpreters import ProjectPython
from remora.tools.file_tree import FileTree
from tests.cli.conftest import write
from tests.judges.gates.conftest import Judge

SHOP = "def half(n):\n    return n / 2\n"
THIRD = "\n\ndef third(n):\n    return n / 3\n"
PLANTS = {"shop.py": [("return n / 2", "return n * 0.5")]}
TEST = "import shop\n\n\ndef test_half():\n    assert shop.half(2) == 1\n"
PYTEST = "[tool.pytest.ini_options]\naddopts = ''\n"
NO_NETWORK = """\
import socket


def test_network():
    socket.create_connection(("192.0.2.1", 80), timeout=1)
"""
ODD = """\
import os
import time
from pathlib import Path


def test_writes():
    Path("shop.py").write_text("broken(")
    Path("new.txt").write_text("new")


def test_forks():
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


def test_display():
    assert os.environ["DISPLAY"]
"""
REORDER = """\
def pytest_collection_modifyitems(items):
    items.reverse()
"""
CRASH = "import mypy.missing\n"
CASES: dict[str, tuple[Mapping[str, str], str, dict[str, str]]] = {
    "odd tests": (
        {"test_odd.py": ODD, "test_network.py": NO_NETWORK, "test_shop.py": TEST},
        "tested",
        {},
    ),
    "another order": ({"conftest.py": REORDER, "test_shop.py": TEST, "test_more.py": TEST}, "tested", {}),
    "no test": ({}, "checked", {"pytest": "pytest finds no tests"}),
    "red": (
        {"test_shop.py": TEST.replace("== 1", "== 3")},
        "checked",
        {"pytest": "no test passes before the changes"},
    ),
    "several configurations": (
        {"a/pyproject.toml": PYTEST, "b/pyproject.toml": PYTEST, "b/test_shop.py": TEST},
        "checked",
        {"pytest": "several folders configure pytest: a, b"},
    ),
    "an option that pytest does not know": (
        {"pytest.ini": "[pytest]\naddopts = --unknown\n", "test_shop.py": TEST},
        "checked",
        {"pytest": "pytest does not run to its end: python -m pytest: error: unrecognized arguments: --unknown"},
    ),
    "a type checker that crashes": (
        {"mypy.ini": "[mypy]\nplugins = crash.py\n", "crash.py": CRASH, "test_shop.py": TEST},
        "tested",
        {},
    ),
    "linters that are not installed": (
        {"setup.cfg": "[flake8]\n[isort]\n", "pyproject.toml": "[tool.black]\n", "test_shop.py": TEST},
        "tested",
        {
            "flake8": "it is not installed in the project's environment",
            "black": "it is not installed in the project's environment",
            "isort": "it is not installed in the project's environment",
        },
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_odd_projects_are_judged_as_far_as_possible(case: str, active: Path, judge: Judge) -> None:
    files, proof, missing = CASES[case]
    judged = judge({"shop.py": SHOP, **files}, PLANTS)
    assert judged.missing == missing
    assert judged.gates.proof == proof
    assert judged.accepted() == {"shop.py": SHOP.replace(*PLANTS["shop.py"][0])}


@pytest.mark.slow
def test_a_suite_that_takes_too_long_is_named(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMORA_GATES__TIME_S", "9")
    judged = judge(
        {"shop.py": SHOP, "test_slow.py": f"import time\n\ntime.sleep(20)\n{TEST}"}, PLANTS
    )
    assert judged.missing["pytest"].startswith(
        "the tests take longer than 3 seconds; `pytest --cov"
    )
    assert judged.gates.proof == "checked"


@pytest.mark.slow
def test_of_a_slow_suite_the_tests_that_coverage_saw_reach_the_changes_judge(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(40)\n"
    files = {"shop.py": f"{SHOP}{THIRD}", "test_shop.py": TEST, "test_slow.py": slow}
    write(active, files)
    settings = {".coveragerc": "[run]\ndynamic_context = test_function\n"}
    write(active, settings)
    words = ("run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py")
    subprocess.run([sys.executable, "-B", "-m", "coverage", *words], cwd=active, check=True)
    monkeypatch.setenv("REMORA_GATES__TIME_S", "30")
    plants = {"shop.py": [("return n / 2", "return n * 2"), ("return n / 3", "return n * (1 / 3)")]}
    judged = judge({}, plants)
    (tests,) = (result for result in judged.gates.results if result.name == "pytest")
    assert tests.note == "only test_shop.py, because the tests take longer than 10 seconds"
    assert judged.gates.proof == "tested"
    (reason,) = judged.reasons
    assert reason.startswith("taken out by pytest (half, line 2): test_shop.py::test_half fails: ")
    assert judged.accepted() == {"shop.py": files["shop.py"].replace("n / 3", "n * (1 / 3)")}


@pytest.mark.needs("namespaces")
def test_without_an_environment_only_ruff_judges(user: Path, judge: Judge) -> None:
    files = {"shop.py": SHOP, "pyproject.toml": "[tool.ruff]\n", "test_shop.py": TEST}
    judged = judge(files, PLANTS)
    assert judged.missing.keys() == {"pytest"}
    assert judged.missing["pytest"].startswith(f"{user} has no .venv, and no environment is active")
    assert judged.gates.proof == "checked"
    (job,) = judged.view.jobs
    assert job.proposal.proof == "checked"


PINNED = """import pathlib, sys
wrong = [path for path in pathlib.Path().glob("*.py") if "/ 4" in path.read_text()]
print(*(f"{path}:1: [X001] a quarter" for path in wrong), sep="\\n")
sys.exit(bool(wrong))
"""
"""Stands for a version of ruff with another opinion than Remora's own."""


@pytest.fixture
def packages(active: Path, plain_python: ProjectPython) -> Iterator[Path]:
    """Packages of the user's environment, in which a test puts a ruff."""
    del active
    (found,) = plain_python.python.parents[1].glob("lib/python3*/site-packages")
    yield found
    shutil.rmtree(found / "ruff")
    plain_python.python.with_name("ruff").unlink(missing_ok=True)


QUARTER = {"shop.py": [("/ 2", "/ 4")]}


@pytest.mark.slow
def test_the_ruff_of_the_projects_environment_judges(packages: Path, judge: Judge) -> None:
    write(packages, {"ruff/__init__.py": "", "ruff/__main__.py": PINNED})
    judged = judge({"shop.py": SHOP, "pyproject.toml": "[tool.ruff]\n"}, QUARTER)
    assert judged.reasons == ["taken out by ruff (half, line 2): shop.py: [X001] a quarter"]


@pytest.mark.slow
def test_one_that_does_not_know_the_options_leaves_it_to_remoras_own(
    packages: Path, judge: Judge
) -> None:
    write(packages, {"ruff/__init__.py": "", "ruff/__main__.py": "import sys\nsys.exit(2)\n"})
    judged = judge({"shop.py": SHOP, "pyproject.toml": "[tool.ruff]\n"}, QUARTER)
    assert "ruff" not in judged.missing
    assert judged.reasons == []


@pytest.mark.slow
def test_a_real_ruff_of_the_environment_checks_and_formats(
    packages: Path, judge: Judge, plain_python: ProjectPython
) -> None:
    shutil.copytree(Path(ruff.__file__).parent, packages / "ruff")
    shutil.copy2(ruff.find_ruff_bin(), plain_python.python.with_name("ruff"))
    places = {
        "a.py": [("x", "import os\n\nx")],
        "b.py": [("= 1", "=  1")],
        "c.py": [("= 1", "= 2")],
    }
    files = {**dict.fromkeys(places, "x = 1\n"), "pyproject.toml": "[tool.ruff.format]\n"}
    judged = judge(files, places)
    taken = [reason.partition(" (")[0] for reason in judged.reasons]
    assert sorted(taken) == ["taken out by ruff", "taken out by ruff format"]
    assert judged.accepted() == {"c.py": "x = 2\n"}


def test_no_gates_are_run_if_they_may_take_no_time(
    active: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMORA_GATES__TIME_S", "0")
    judged = judge({"shop.py": SHOP, "test_shop.py": TEST}, PLANTS)
    assert judged.view.gates is None
    assert [job.proposal.proof for job in judged.view.jobs] == ["parsed"]


def test_nothing_is_run_without_proposals(active: Path, judge: Judge) -> None:
    judged = judge({"shop.py": SHOP, "test_shop.py": "import time\n\ntime.sleep(60)\n"}, {})
    assert judged.view.gates is None


FLAKY = """
import random

import pytest


@pytest.mark.parametrize("number", range(200))
def test_luck(number):
    assert random.random() < 0.5
"""


@pytest.mark.slow
def test_tests_that_differ_from_run_to_run_are_named_and_judge_nothing(
    active: Path, judge: Judge
) -> None:
    judged = judge({"shop.py": SHOP, "test_shop.py": TEST, "test_luck.py": FLAKY}, PLANTS)
    (note,) = (gate.note for gate in judged.gates.results if gate.name == "pytest")
    assert note.startswith("test_luck.py::test_luck[")
    assert note.startswith("different in two runs: ") or note.endswith("but not in every run")
    assert judged.gates.proof == "tested"
    assert judged.accepted() == {"shop.py": SHOP.replace(*PLANTS["shop.py"][0])}


@pytest.mark.slow
def test_of_two_gates_that_disagree_each_takes_out_what_it_refuses(
    active: Path, judge: Judge
) -> None:
    """Mypy refuses one place, a test the other."""
    files = {"mypy.ini": "[mypy]\nfiles = use.py, shop.py\n", "shop.py": SHOP, "test_shop.py": TEST}
    use = "n: int = 3\n"
    plants = {"shop.py": [("n / 2", "n / 4")], "use.py": [("= 3", "= '3'")]}
    judged = judge(
        {**files, "use.py": use, "other.py": SHOP}, {**plants, "other.py": [("/ 2", "/ 4")]}
    )
    by = sorted(reason.partition(" (")[0] for reason in judged.reasons)
    assert by == ["taken out by mypy", "taken out by pytest"]
    assert judged.accepted() == {"other.py": SHOP.replace("/ 2", "/ 4")}


@pytest.mark.parametrize(
    "settings",
    ['[tool.mypy]\n"plugins" = ["evil.py"]\n', "[tool]\nmypy.python_executable = './evil.sh'\n"],
)
def test_mypy_does_not_judge_if_its_settings_may_run_code(tmp_path: Path, settings: str) -> None:
    """Without an interpreter, nothing of the project may be run."""
    write(tmp_path, {"pyproject.toml": settings, "a.py": "x = 1\n"})
    gates, missing = find_gates(FileTree(tmp_path), ["pyproject.toml", "a.py"], None)
    assert "mypy" not in {gate.name for gate in gates}
    assert "mypy" in {result.name for result in missing}
