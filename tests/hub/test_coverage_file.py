"""Tests that coverage saw run a function: claimed only of code that is as it was then."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from coverage import CoverageData

from remora.hub.coverage_file import Coverage, read_coverage
from tests.memory_limit import memory_limit

APP = '''"""An app."""

import functools


def low(): return 1


@functools.cache
def deep(
    n=3,
):
    """Call what is within."""

    def within():
        return n

    return [
        within,
        n,
    ]


class A:
    size = 1

    def run(self):
        return deep()[0]()


def alone():
    return 0
'''
TESTS = """import pytest

import app


@pytest.fixture
def a():
    return app.A()


@pytest.mark.parametrize("n", [1, 2])
def test_deep(n):
    assert app.deep(n)


class TestA:
    def test_run(self, a):
        assert a.run() == 3
"""
DEEP, WITHIN, RUN = (f"node:app.py:{name}" for name in ("deep", "deep.within", "A.run"))
ID_DEEP, ID_RUN = "tests/test_app.py::test_deep", "tests/test_app.py::TestA::test_run"
ALL = {DEEP: (ID_RUN, ID_DEEP), WITHIN: (ID_RUN,), RUN: (ID_RUN,)}
PYTEST_COV = """import coverage


def pytest_runtest_protocol(item, nextitem):
    coverage.Coverage.current().switch_context(f"{item.nodeid}|run")
"""


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(text)


def run(root: Path, settings: str = "", file: str = ".coveragerc") -> None:
    """Run the tests with coverage. Two tests of one cached function run its body once each."""
    write(root, file, settings)
    words = ["-m", "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve()
    write(folder, "app.py", APP)
    write(folder, "tests/test_app.py", TESTS)
    return folder


def read(root: Path) -> Coverage:
    found = read_coverage(root, ["app.py"])
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "branch = true\nrelative_files = true\n"])
def test_contexts_of_functions_are_tests(root: Path, more: str) -> None:
    run(root, f"[run]\ndynamic_context = test_function\n{more}")
    found = read(root)
    assert found.tests == ALL
    assert found.note == ""
    assert found.day


@pytest.mark.slow
def test_contexts_of_pytest_cov_are_tests(root: Path) -> None:
    write(root, "tests/conftest.py", PYTEST_COV)
    run(root, "[tool.coverage.run]\ndata_file = 'seen.db'\n", "pyproject.toml")
    assert not (root / ".coverage").exists()
    assert read(root).tests == ALL


def test_without_contexts_it_is_said_how_to_record_them(root: Path) -> None:
    assert read_coverage(root, ["app.py"]) is None
    run(root)
    found = read(root)
    assert found.tests == {}
    assert found.note == (
        ".coverage has no contexts for this code; `pytest --cov --cov-context=test` records which "
        "test runs which lines"
    )


@pytest.mark.parametrize("name", [".", r"a\u0000b"])
def test_a_name_that_is_not_of_a_file_is_said(root: Path, name: str) -> None:
    write(root, "pyproject.toml", f'[tool.coverage.run]\ndata_file = "{name}"\n')
    assert read(root).tests == {}
    assert read(root).note


def recorded(root: Path, context: str = f"{ID_RUN}|run") -> None:
    """Record what an import of the app and one test ran, apart from the clock's last tick."""
    time.sleep(0.05)
    data = CoverageData(str(root / ".coverage"))
    data.set_context("")
    data.add_lines({str(root / "app.py"): [1, 3, 6, 9, 10, 24, 25, 27, 31]})
    data.set_context(context)
    data.add_lines({str(root / "app.py"): [28]})
    data.close()


CHANGES: dict[str, Callable[[Path], object]] = {
    "the code is newer": lambda root: write(root, "app.py", APP.replace("0", "1")),
    "older code was moved there": lambda root: (root / "old.py").replace(root / "app.py"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_of_code_that_changed_since_nothing_is_claimed(root: Path, change: str) -> None:
    write(root, "old.py", APP.replace("0", "1"))
    recorded(root)
    assert read(root).tests == {RUN: (ID_RUN,)}
    time.sleep(0.05)
    CHANGES[change](root)
    found = read(root)
    assert found.tests == {}
    assert found.note == f"app.py changed after the coverage of {found.day}"


@pytest.mark.parametrize(
    "text",
    [
        f"# a line more\n{APP}",
        APP.replace("def alone():\n    return 0\n", ""),
        f"{APP}\n\ndef new():\n    return 0\n",
        "def broken(:\n",
    ],
)
def test_a_newer_coverage_file_of_other_code_claims_nothing(root: Path, text: str) -> None:
    """Such a file was copied, or data were appended to it."""
    write(root, "app.py", text)
    recorded(root)
    assert read(root).tests == {}


def test_a_test_file_that_changed_since_is_not_named(root: Path) -> None:
    recorded(root)
    time.sleep(0.05)
    write(root, "tests/test_app.py", f"{TESTS}\n")
    assert read(root).tests == {}


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ("tests/test_app.py::TestA::test_run[a|b]|setup", ID_RUN),
        ("nightly|tests/test_app.py::TestA::test_run|teardown", ID_RUN),
        ("nightly|tests.test_app.TestA.test_run", ID_RUN),
        ("test_app.TestA.test_run", ID_RUN),
        ("other.TestA.test_run", ""),
        ("tests/gone.py::test_a|run", ""),
        ("../tests/test_app.py::test_a|run", ""),
        ("\0::test_a|run", ""),
    ],
)
def test_only_tests_of_the_project_are_named(root: Path, context: str, named: str) -> None:
    recorded(root, context)
    assert read(root).tests == ({RUN: (named,)} if named else {})


def test_a_module_that_two_test_files_may_be_is_not_named(root: Path) -> None:
    write(root, "more/test_app.py", TESTS)
    recorded(root, "test_app.TestA.test_run")
    assert read(root).tests == {}


def database(root: Path, *statements: str) -> None:
    with closing(sqlite3.connect(root / ".coverage")) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


NAMED = ("CREATE TABLE context (id, context)", "CREATE TABLE file (id, path)")
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i FROM n"
HOSTILE: dict[str, Callable[[Path], object]] = {
    "no database": lambda root: write(root, ".coverage", "!coverage.py: a JSON file"),
    "an empty file": lambda root: write(root, ".coverage", ""),
    "other tables": lambda root: database(root, "CREATE TABLE t (a)"),
    "values of other types": lambda root: database(
        root,
        *NAMED,
        "CREATE TABLE line_bits (file_id, context_id, numbits)",
        "INSERT INTO file VALUES ('x', 'app.py')",
        "INSERT INTO line_bits VALUES ('x', 7, 'text')",
    ),
    "an endless view": lambda root: database(
        root, "CREATE TABLE file (id, path)", f"CREATE VIEW context (id, context) AS {ENDLESS}"
    ),
    "much in a few bytes": lambda root: database(
        root,
        *NAMED,
        "INSERT INTO file VALUES (1, 'app.py')",
        "CREATE VIEW line_bits (file_id, context_id, numbits) AS SELECT 1, 1, zeroblob(900000000)",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_coverage_file_is_named(
    root: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.coverage_file._SECONDS", 0.5)
    HOSTILE[kind](root)
    with memory_limit(300 << 20):
        found = read(root)
    assert found.tests == {}
    assert found.note == ".coverage is not a readable coverage file"


def test_a_link_is_not_followed(root: Path) -> None:
    recorded(root)
    (root / ".coverage").rename(root / "elsewhere")
    (root / ".coverage").symlink_to("elsewhere")
    assert read_coverage(root, ["app.py"]) is None
