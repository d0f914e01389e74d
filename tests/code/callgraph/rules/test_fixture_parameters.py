"""Parameters of tests are what fixtures of their name make, and what marks list."""

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project, edges, forward

TOOLS = "class A:\n    def run(self): ...\nclass B:\n    def run(self): ...\n"
IMPORTS = "import pytest\nfrom tools import A, B\n"
TEST = "def test_it(tool):\n    tool.run()\n"


def fixture(made: str, *, gives: str = "return", name: str = "tool") -> str:
    return f"@pytest.fixture\ndef {name}():\n    {gives} {made}()\n"


def called(files: dict[str, str], test: str = "test_a.py:test_it") -> set[str]:
    """What the test calls, of the tools."""
    found = edges({"tools.py": TOOLS, **files}, test)
    assert {tier for key, (tier, _) in found.items() if key.startswith("tools.py")} <= {"inferred"}
    return {key.removeprefix("tools.py:") for key in found if key.startswith("tools.py")}


def test_a_fixture_of_the_file_gives_what_it_returns() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A") + TEST}) == {"A.run"}


def test_a_fixture_that_goes_on_afterwards_gives_what_it_yields() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A", gives="yield") + TEST}) == {"A.run"}


def test_the_nearest_fixture_of_a_name_counts() -> None:
    outer, inner = IMPORTS + fixture("A"), IMPORTS + fixture("B")
    files = {"conftest.py": outer, "x/conftest.py": inner, "x/test_a.py": TEST}
    assert called(files, "x/test_a.py:test_it") == {"B.run"}
    assert called({"conftest.py": outer, "x/test_a.py": TEST}, "x/test_a.py:test_it") == {"A.run"}
    assert called({"conftest.py": outer, "test_a.py": inner + TEST}) == {"B.run"}


def test_a_fixture_of_another_folder_gives_nothing() -> None:
    files = {"x/conftest.py": IMPORTS + fixture("A"), "y/test_a.py": TEST}
    assert called(files, "y/test_a.py:test_it") == set()


def test_a_fixture_that_overrides_one_may_ask_for_it() -> None:
    inner = "import pytest\n@pytest.fixture\ndef tool(tool):\n    tool.run()\n    return tool\n"
    files = {"conftest.py": IMPORTS + fixture("A"), "test_a.py": inner + TEST}
    assert called(files, "test_a.py:tool") == {"A.run"}


def test_only_what_pytest_calls_is_given_fixtures() -> None:
    text = IMPORTS + fixture("A") + "def other(tool):\n    tool.run()\n"
    assert called({"test_a.py": text}, "test_a.py:other") == set()


def test_a_parameter_is_what_its_mark_lists() -> None:
    mark = "@pytest.mark.parametrize('tool', [A(), B()])\n"
    assert called({"test_a.py": IMPORTS + fixture("A") + mark + TEST}) == {"A.run", "B.run"}
    assert called({"test_a.py": IMPORTS + mark.replace("'tool'", "'other'") + TEST}) == set()


def test_callers_of_what_fixtures_give_are_their_tests() -> None:
    files = {"tools.py": TOOLS, "conftest.py": IMPORTS + fixture("A"), "test_a.py": TEST}
    linker = Linker(project := Project(files))
    assert {
        caller for caller, callee, _ in forward(project, linker) if callee.endswith("A.run")
    } == {edge.key for edge in linker.callers("node:tools.py:A.run")}
