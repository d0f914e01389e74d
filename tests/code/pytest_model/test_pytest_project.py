"""Tests that pytest collects, of which none is lost and none invented."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.code.pytest_model.pytest_settings import SETTINGS_FILES, pytest_settings
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.query.snapshots import MemorySnapshot

IMPORTS = "import pytest, unittest\nfrom app import low\n"
BY_DEFAULT = {
    "test_functions.py": """
        def test_plain(): low()
        def testable(): low()
        def test_switched_off(): low()
        test_switched_off.__test__ = False
        def test_deleted(): low()
        del test_deleted
        if False:
            def test_in_dead_code(): low()
        if low():
            def test_in_a_branch(): low()
        async def test_async(): low()
        def check_it(): low()
    """,
    "test_classes.py": """
        class TestPlain:
            def test_it(self): low()
            class TestInner:
                def test_it(self): low()
            class Helper:
                def test_it(self): low()
            @pytest.fixture(autouse=True)
            def made(self):
                class TestNested:
                    def test_it(self, made): low()
        class Helper:
            def test_it(self): low()
            class TestInner:
                def test_it(self): low()
        class TestOff:
            __test__ = False
            def test_it(self): low()
        class TestOnAgain(TestOff):
            __test__ = True
        class TestStillOff(TestOff): pass
        class TestMade:
            def __init__(self): pass
            def test_it(self): low()
        class TestMadeToo(TestMade): pass
        class TestError(Exception):
            def test_it(self): low()
        class TestGone(TestPlain): pass
        del TestGone
    """,
    "test_cases.py": """
        class Case(unittest.TestCase):
            def test_it(self): low()
            def testCamel(self): low()
            def check_it(self): low()
            class TestInner:
                def test_it(self): low()
        class Child(Case): pass
        class Prepared(unittest.IsolatedAsyncioTestCase):
            async def asyncSetUp(self): low()
            async def test_it(self): pass
        class Base: pass
        class Alone(Base):
            def test_it(self): low()
    """,
    "shop/tests.py": "class Shop(unittest.TestCase):\n    def test_it(self): low()\n",
    "conftest.py": "collect_ignore = ['test_ignored.py', 'old']\ncollect_ignore_glob = ['*_v1.py']\n",
    "test_ignored.py": "def test_it(): low()\n",
    "old/test_it.py": "def test_it(): low()\n",
    "test_v1.py": "def test_it(): low()\n",
    "test_module_off.py": "__test__ = False\ndef test_it(): low()\n",
}
OWN_NAMES = {
    "tox.ini": "[pytest]\npython_files = check_*.py\npython_classes = Describe* *Suite\n"
    "python_functions = it_* check\n",
    "check_it.py": """
        def it_works(): low()
        def check_it(): low()
        def test_usual(): low()
        class DescribeIt:
            def it_works(self): low()
            def test_usual(self): low()
        class ItSuite(DescribeIt): pass
        class TestUsual(DescribeIt): pass
        class Case(unittest.TestCase):
            def test_usual(self): low()
            def it_works(self): low()
    """,
    "test_usual.py": "def it_works(): low()\n",
    "helpers.py": "Cases = unittest.TestCase\n",
    "check_graph.py": """
        from helpers import Cases
        class Graph(Cases):
            def test_usual(self): low()
    """,
}


def ids_of_low(files: dict[str, str], root: Path) -> set[str]:
    """Write the files, and return the IDs of the tests of `app.low`."""
    for path, text in {"app.py": "def low(): return 1\n", **files}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        own = IMPORTS + dedent(text) if place.suffix == ".py" and path != "app.py" else text
        place.write_text(own)
    facts = [
        read_facts(path.relative_to(root).as_posix(), path.read_bytes())
        for path in sorted(root.rglob("*.py"))
    ]
    view = MemorySnapshot({file.path: file for file in facts})
    settings = pytest_settings(tuple(files.get(name, "") for name in SETTINGS_FILES))
    related = RelatedTests(Linker(view), view, settings=lambda: settings)
    return {test.id for test in related.search("node:app.py:low").tests}


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("files", [BY_DEFAULT, OWN_NAMES], ids=["default", "own names"])
def test_the_ids_are_those_that_pytest_collects(files: dict[str, str], tmp_path: Path) -> None:
    found = ids_of_low(files, tmp_path)
    named = [path for path in files if path.endswith("/tests.py")]
    assert found == {line for given in (["."], named) for line in collected(given, tmp_path)}


def collected(given: list[str], root: Path) -> list[str]:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", *given]
    run = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    return [line for line in run.stdout.splitlines() if "::" in line]


def test_a_nearer_fixture_replaces_another(tmp_path: Path) -> None:
    fixture = "@pytest.fixture\ndef conn({}): {}\n"
    files = {
        "tests/conftest.py": fixture.format("", "low()"),
        "tests/test_a.py": "def test_it(conn): pass\n",
        "tests/unit/conftest.py": fixture.format("", "return 1"),
        "tests/unit/test_b.py": "def test_it(conn): pass\n",
        "tests/wrapped/conftest.py": fixture.format("conn", "return conn"),
        "tests/wrapped/test_c.py": "def test_it(conn): pass\n",
        "tests/test_d.py": fixture.format("", "return 1") + "def test_it(conn): pass\n",
        "tests/test_e.py": """
            class TestOwn:
                @pytest.fixture
                def conn(self): return 1
                def test_it(self, conn): pass
            class TestOwnAndMore:
                def test_it(self, conn): pass
        """,
    }
    assert ids_of_low(files, tmp_path) == {
        "tests/test_a.py::test_it",
        "tests/wrapped/test_c.py::test_it",
        "tests/test_e.py::TestOwnAndMore::test_it",
    }
