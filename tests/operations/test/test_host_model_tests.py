"""Tests that a model wrote are run and measured, and kept if they pass and detect faults."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host_functions import bind
from remora.tools.tree import ToolTree
from tests.isolation_levels import need

DATES = """\
def parse(text, strict=False):
    parts = text.split("-")
    if len(parts) != 3 or (strict and len(parts[0]) != 4):
        raise ValueError(text)
    year, month, day = parts
    return int(year) * 10000 + int(month) * 100 + int(day)
"""
CART = """\
class Cart:
    def __init__(self, owner, limit=3):
        self.owner = owner
        self.limit = limit
        self.names = []

    def add(self, name, count=1):
        self.names.extend([name] * count)
        return len(self.names) < self.limit
"""
HELPED = """\
import pytest


def text(year, rest="01-02"):
    return f"{year}-{rest}"


def test_parse_reads_year_month_and_day():
    assert parse(text(2024)) == 20240102


def test_parse_refuses_two_parts():
    with pytest.raises(ValueError):
        parse("2024-01")
"""
SHORT_YEAR = """\
def test_strict_refuses_a_short_year():
    with pytest.raises(ValueError):
        parse("24-01-02", strict=True)
    assert parse("24-01-02") == 240102
"""
WEAK = (
    "from dates import parse\n\n\ndef test_parse():\n    assert parse('2024-01-02') == 20240102\n"
)
Run = Callable[..., Any]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    need(2)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "dates.py").write_text(DATES)
    return tmp_path / "tree"


@pytest.fixture
def place(tree: Path, plain_python: ProjectPython) -> ToolTree:
    return ToolTree(tree, plain_python)


@pytest.fixture
def run(place: ToolTree) -> Run:
    host = bind(BUILT_IN.host_functions.values(), place)
    return lambda name, *args: host[name](*args)


def files(tree: Path) -> dict[str, str]:
    return {p.relative_to(tree).as_posix(): p.read_text() for p in tree.rglob("*") if p.is_file()}


def written(run: Run, code: str, node: str = "parse", kept: Any = (), replaced: Any = ()) -> Any:
    return run("write_test", "dates.py", node, code, [*kept], [*replaced])


class TestWritten:
    @pytest.mark.slow
    def test_functions_are_written_with_helpers_and_replaced(self, tree: Path, run: Run) -> None:
        done = written(run, HELPED)
        assert done.get("problem") is None
        assert done["tests"] == [
            "test_parse_reads_year_month_and_day",
            "test_parse_refuses_two_parts",
        ]
        assert done["functions"] == ["text", *done["tests"]]
        assert "line 6: it returns None" in done["found"]
        assert "line 1: the argument strict was ignored" in done["left"]
        assert done["killed"] > 3
        assert files(tree)[done["path"]] == (
            "import pytest\n\nfrom dates import parse\n\n\n" + HELPED.partition("\n\n\n")[2]
        )

        again = written(run, SHORT_YEAR, replaced=done["functions"])
        assert again["tests"] == ["test_strict_refuses_a_short_year"]
        text = files(tree)[again["path"]]
        assert text.startswith("import pytest\n\nfrom dates import parse\n\n\ndef test_strict")
        assert text.count("def ") == 1

    @pytest.mark.slow
    def test_faults_that_other_tests_detect_are_not_counted_and_lines_keep_their_ends(
        self, tree: Path, run: Run
    ) -> None:
        old = WEAK.replace("\n", "\r\n").encode()
        (tree / "test_dates.py").write_bytes(old)
        done = written(run, SHORT_YEAR)
        assert "line 1: the argument strict was ignored" in done["found"]
        assert "line 6: it returns None" not in done["found"] + done["left"]
        now = (tree / "test_dates.py").read_bytes()
        assert old.partition(b"\n")[2] in now
        assert now.count(b"\n") == now.count(b"\r\n") > old.count(b"\n")

    def test_lines_with_different_ends_are_refused(self, tree: Path, run: Run) -> None:
        (tree / "test_dates.py").write_bytes(WEAK.replace("\n", "\r\n", 1).encode())
        assert "do not all end in the same way" in written(run, SHORT_YEAR)["problem"]

    @pytest.mark.slow
    def test_a_test_may_write_below_tmp_path_and_read_the_name_of_the_machine(
        self, run: Run
    ) -> None:
        code = """
            import socket

            def test_parse(tmp_path, monkeypatch):
                monkeypatch.setenv("DATE", "2024-01-02")
                (tmp_path / "dates").mkdir()
                (tmp_path / "dates" / "a.txt").write_text("2024-01-02")
                assert socket.gethostname()
                assert parse((tmp_path / "dates" / "a.txt").read_text()) == 20240102
        """
        assert written(run, code)["tests"] == ["test_parse"]

    @pytest.mark.slow
    def test_subtests_of_unittest_are_measured_and_watched_as_other_tests(self, run: Run) -> None:
        code = """
            import unittest

            class TestParse(unittest.TestCase):
                def test_parse(self):
                    for text, day in (("2024-01-02", 20240102), ("24-01-02", 240102)):
                        with self.subTest(text):
                            CALL
                            self.assertEqual(parse(text), day)
        """
        done = written(run, code.replace("CALL", ""))
        assert (done["lines"], done["all_lines"]) == (4, 5)
        assert "line 6: it returns None" in done["found"]
        code = code.replace("CALL", "open('a.txt', 'w').close()")
        again = written(run, code, replaced=done["functions"])
        assert "side effects: open" in again["problem"]


REFUSED = {
    "Sure! Here is a test:": "the code is not Python: invalid syntax",
    "import os": "no function in the code has a name that begins with test",
    "X = 1\ndef test_a(): assert parse('1-1-1')": "may be at the top, not `X = 1`",
    "def test_a(): assert True": "test_a does not use parse",
    "def test_a(self): assert parse('1-1-1')": "test_a has the parameter self, but is in no class",
    "def test_a(): assert parse(unknown)": "Undefined name `unknown`",
    "def test_a(): assert parse('1-1-1') == 5": "failed: AssertionError: assert 10101 == 5",
    "def test_a(): assert parse": "the test detects none of",
    "def test_a():\n    with open('a.txt', 'w') as file:\n        assert parse('1-1-1') != file": "side effects: open",
    "import random\ndef test_a(): assert parse(f'{random.random() < 2}-1-1')": "failed: ValueError",
    "import time\ndef test_a(): assert parse('1-1-1') + time.localtime().tm_year == 10101 + 2026": "",
    "".join(f"def test_{n}(): assert parse('1-1-1')\n" for n in range(5)): "at most 4 tests",
    "def test_a(): pass\n" * 800: "longer than 8,000 characters",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("code", "why"), REFUSED.items())
def test_what_is_refused_leaves_the_files_as_they_were(
    tree: Path, run: Run, code: str, why: str
) -> None:
    assert why in written(run, code)["problem"]
    assert files(tree) == {"dates.py": DATES}


class TestShown:
    def test_a_function_comes_with_what_a_test_of_it_needs(self, tree: Path, run: Run) -> None:
        (tree / "shop.py").write_text(CART)
        found = run("show_function", "shop.py", "Cart.add", True)["view"]
        assert found["excerpt"]["lines"] == [1, 9]
        assert found["excerpt"]["text"].startswith("class Cart:\n    def __init__(self, owner")
        assert found["excerpt"]["focus"] == 7
        assert found["knowledge_delta"] == {
            "made by": "Cart(owner, limit=3)",
            "import in tests": "from shop import Cart",
        }
        fault = "`len(self.names) < self.limit` became `len(self.names) <= self.limit`"
        assert f"no test detects: line 9: {fault}" in found["diagnostics"]

    @pytest.mark.slow
    def test_tests_and_fixtures_of_the_project_are_shown(self, tree: Path, run: Run) -> None:
        (tree / "test_dates.py").write_text(WEAK)
        fixture = "import pytest\n\n\n@pytest.fixture\ndef day():\n    return 1\n"
        (tree / "conftest.py").write_text(fixture)
        found = run("show_function", "dates.py", "parse", True)["view"]
        assert found["knowledge_delta"] == {
            "calls of parse": "parse('2024-01-02')",
            "an existing test": "def test_parse():\n    assert parse('2024-01-02') == 20240102",
            "fixtures": "day",
            "import in tests": "from dates import parse",
        }
        faults = [text.removeprefix("no test detects: ") for text in found["diagnostics"]]
        assert "line 1: the argument strict was ignored" in faults
        assert "line 6: it returns None" not in faults

    @pytest.mark.slow
    def test_that_the_tests_are_methods_is_said_before_one_is_written(
        self, tree: Path, run: Run
    ) -> None:
        method = (
            "    def test_parse(self):\n        self.assertEqual(parse('2024-01-02'), 20240102)\n"
        )
        head = (
            "import unittest\n\nfrom dates import parse\n\n\nclass TestDates(unittest.TestCase):\n"
        )
        (tree / "test_dates.py").write_text(head + method)
        found = run("show_function", "dates.py", "parse", True)["view"]["knowledge_delta"]
        assert found["form of the tests"] == "methods of unittest classes"

    def test_other_names_are_refused_with_those_that_there_are(self, run: Run) -> None:
        found = run("show_function", "dates.py", "missing", True)
        assert found == {"problem": "dates.py has no missing; it has parse"}

    def test_the_code_that_a_function_uses_is_shown(self, tree: Path, run: Run) -> None:
        body = "".join(f"    x = {number}\n" for number in range(99))
        source = f"LIMIT = 3\n\n\ndef f(x):\n{body}\n\ndef g(x):\n    return f(x) < LIMIT\n"
        (tree / "used.py").write_text(source)
        found = run("show_function", "used.py", "g", False)["view"]["excerpt"]
        assert (found["ref"], found["lines"], found["focus"]) == ("g", [1, 107], 106)
        beginning = "LIMIT = 3\n\n\ndef f(x):\n    x = 0\n"
        assert found["text"].startswith(beginning)
        assert found["text"].endswith("... 90 lines ...\ndef g(x):\n    return f(x) < LIMIT")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("text = '2024-01-02'\nparse(text)", {"value": "20240102"}),
        ("text = '2024-01-02'", {}),
        ("print('a')", {"value": "None", "printed": "a\n"}),
        ("parse('a')", {"raised": "ValueError: a at dates.py:4"}),
        ("open('dates.py', 'w').write('')", {"value": "0"}),
        ("import os\nos._exit(1)", {"problem": "it ends the process"}),
        ("parse(", {"problem": "the code is not Python: '(' was never closed"}),
    ],
)
def test_code_is_run_and_nothing_stays(
    tree: Path, run: Run, code: str, expected: dict[str, str]
) -> None:
    found = run("run_code", "dates.py", code)
    assert {key: text for key, text in found.items() if text} == expected
    assert files(tree) == {"dates.py": DATES}
