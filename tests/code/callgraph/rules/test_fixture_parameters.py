"""Test parameters have the values of fixtures and of `parametrize` marks."""

from remora.code.callgraph.linker import Linker
from tests.code.callgraph.project import Project, edges, forward

TOOLS = "class A:\n    def run(self): ...\nclass B:\n    def run(self): ...\n"
IMPORTS = "import pytest\nfrom tools import A, B\n"
TEST = "def test_it(tool):\n    tool.run()\n"


def fixture(made: str, *, statement: str = "return", name: str = "tool") -> str:
    return f"@pytest.fixture\ndef {name}():\n    {statement} {made}()\n"


def called(files: dict[str, str], test: str = "test_a.py:test_it") -> set[str]:
    """Return the callees of the test in `tools.py`."""
    found = edges({"tools.py": TOOLS, **files}, test)
    assert {tier for key, (tier, _) in found.items() if key.startswith("tools.py")} <= {
        "inferred",
        "possible",
    }
    return {key.removeprefix("tools.py:") for key in found if key.startswith("tools.py")}


def test_a_fixture_of_the_same_file_provides_its_return_value() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A") + TEST}) == {"A.run"}


def test_a_generator_fixture_provides_its_yielded_value() -> None:
    assert called({"test_a.py": IMPORTS + fixture("A", statement="yield") + TEST}) == {"A.run"}


def test_the_nearest_fixture_wins() -> None:
    outer, inner = IMPORTS + fixture("A"), IMPORTS + fixture("B")
    files = {"conftest.py": outer, "x/conftest.py": inner, "x/test_a.py": TEST}
    assert called(files, "x/test_a.py:test_it") == {"B.run"}
    assert called({"conftest.py": outer, "x/test_a.py": TEST}, "x/test_a.py:test_it") == {"A.run"}
    assert called({"conftest.py": outer, "test_a.py": inner + TEST}) == {"B.run"}


def test_a_fixture_of_another_folder_does_not_count() -> None:
    files = {"x/conftest.py": IMPORTS + fixture("A"), "y/test_a.py": TEST}
    assert called(files, "y/test_a.py:test_it") == set()


def test_a_fixture_may_request_the_fixture_it_overrides() -> None:
    inner = "import pytest\n@pytest.fixture\ndef tool(tool):\n    tool.run()\n    return tool\n"
    files = {"conftest.py": IMPORTS + fixture("A"), "test_a.py": inner + TEST}
    assert called(files, "test_a.py:tool") == {"A.run"}


def test_only_tests_and_fixtures_get_fixtures() -> None:
    text = IMPORTS + fixture("A") + "def other(tool):\n    tool.run()\n"
    assert called({"test_a.py": text}, "test_a.py:other") == set()


def test_a_parameter_has_the_values_of_its_mark() -> None:
    mark = "@pytest.mark.parametrize('tool', [A(), B()])\n"
    assert called({"test_a.py": IMPORTS + fixture("A") + mark + TEST}) == {"A.run", "B.run"}
    assert called({"test_a.py": IMPORTS + mark.replace("'tool'", "'other'") + TEST}) == set()


def test_tests_call_the_methods_of_fixture_values() -> None:
    files = {"tools.py": TOOLS, "conftest.py": IMPORTS + fixture("A"), "test_a.py": TEST}
    linker = Linker(project := Project(files))
    assert {
        caller for caller, callee, _ in forward(project, linker) if callee.endswith("A.run")
    } == {edge.key for edge in linker.callers("node:tools.py:A.run")}
