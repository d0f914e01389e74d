"""Which commands of a project run unittest, and the folders in which they look for tests."""

from pathlib import Path

import pytest

from remora.operations.test.project_commands import pytest_folders, runs_unittest
from remora.tools.tree import ToolTree
from tests.cli.conftest import write

WORKFLOW = ".github/workflows/tests.yml"
RUNNER = "import unittest\n\nunittest.TextTestRunner().run(unittest.TestLoader().discover('.'))\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({WORKFLOW: "run: python -m unittest\n"}, True),
        ({WORKFLOW: "run: python run_tests.py\n", "run_tests.py": RUNNER}, True),
        ({WORKFLOW: "run: python run_tests.py\n", "run_tests.py": "import cart\n"}, False),
        ({"Makefile": "test:\n\tpython -m unittest\n", "tox.ini": "deps = pytest\n"}, True),
        ({"run_tests.py": RUNNER}, False),
        (dict.fromkeys(["Makefile"], "\tpython ../tests/run.py\n\tpython /opt/run.py\n"), False),
        ({WORKFLOW: "run: python ./../x.py\n"}, False),
        ({WORKFLOW: "run: nose2 -v\n"}, True),
        ({"noxfile.py": "session.run('nose2', '-v')\n"}, True),
        ({"tox.ini": "commands = python -m nose2\n"}, True),
        ({WORKFLOW: "run: pip install nose2\n", "setup.cfg": "  nose2>=0.9\n"}, False),
    ],
)
def test_direct_commands_and_scripts(tmp_path: Path, files: dict[str, str], expected: bool) -> None:
    write(tmp_path, files)
    assert runs_unittest(ToolTree(tmp_path)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("commands = coverage run -m pytest {posargs:src/shop}\n", ("src/shop",)),
        ("commands = pytest --cov src/shop -n 2 src/shop tests/ {posargs}\n", ("tests",)),
        ("commands = py.test --cov=shop ./tests\n", ("tests",)),
        ("commands = pytest --doctest-modules src/shop\n", ()),
        ("commands = pytest benchmarks\n", ()),
        ("# use pytest to test against the local copy of tests\n", ()),
        ("commands = pytest\n", ()),
    ],
)
def test_folders_that_commands_of_pytest_name(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    folders = ("src/shop", "tests", "benchmarks", "copy")
    write(tmp_path, {"tox.ini": text, **{f"{each}/a.py": "" for each in folders}})
    assert pytest_folders(ToolTree(tmp_path)) == expected
