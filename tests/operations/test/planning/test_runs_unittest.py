"""Which commands of a project run unittest."""

from pathlib import Path

import pytest

from remora.operations.test.planning.run_doctests import runs_unittest
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
        ({"Makefile": "test:\n\tpython -m unittest\n", "tox.ini": "deps = pytest\n"}, False),
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
