"""The tests that reach what a model edited run before its edits are submitted."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from remora.judges.submission import Note, Submission
from remora.judges.tests.changed_code import changes_tested
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.agents.conftest import a_job, of_job

PRICES = """\
def parse(text, currency="EUR"):
    try:
        return int(text), currency
    except ValueError:
        return 0, currency


def total(texts):
    return sum(parse(text)[0] for text in texts)


def label(price):
    if price < 0:
        return "none"
    return str(price)
"""
TESTS = """\
import pytest

from mod import parse, total


@pytest.mark.parametrize("text", ["1", "2"])
def test_parse(text):
    assert parse(text) == (int(text), "EUR")


def test_total_of_no_numbers():
    assert total(["a"]) == 0


def test_that_always_fails():
    assert parse("1") == (2, "EUR")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "test_mod.py").write_text(TESTS)
    return tmp_path / "project"


def checked(tree: Path, after: str, python: ProjectPython | None = None) -> str:
    """What the check says of an edit of PRICES."""
    (tree / "mod.py").write_text(after)
    place = ToolTree(tree, python)
    return changes_tested(_submission({"mod.py": (PRICES.encode(), after.encode())}, place))


def _submission(
    edits: Mapping[str, tuple[bytes | None, bytes | None]], place: ToolTree
) -> Submission:
    return Submission(
        **of_job(a_job("parse", "lint")),
        files=edits,
        edits=edits,
        findings_before=lambda _: [],
        findings_after=lambda _: [],
        in_tree=lambda work: work(place),
    )


def test_what_only_rules_changed_is_not_looked_at(tree: Path) -> None:
    edited = _submission({"mod.py": (PRICES.encode(), b"")}, ToolTree(tree))
    assert changes_tested(replace(edited, edits={})) == ""


def test_a_test_that_is_gone_is_refused_and_a_changed_assertion_is_named(tree: Path) -> None:
    def of_tests(before: str, after: str) -> str:
        edits = {"test_mod.py": (before.encode(), after.encode())}
        return changes_tested(_submission(edits, ToolTree(tree)))

    gone = of_tests(TESTS, TESTS.replace("def test_that_always", "def that_always"))
    assert gone == "test_mod.py: the test test_that_always_fails is gone"
    assert not isinstance(gone, Note)
    twice = "def test_a():\n    assert 1\n"
    assert isinstance(of_tests(twice * 2, twice), Note)
    assert of_tests(twice, twice.replace("assert 1", "assert True")).endswith(
        "line 2: `assert 1` is `assert True` now"
    )


def test_layout_and_comments_are_not_tested(tree: Path) -> None:
    assert checked(tree, PRICES.replace("int(text),", "int( text ),  # a number\n        ")) == ""


def test_without_an_interpreter_it_is_not_tested(tree: Path) -> None:
    found = checked(tree, PRICES.replace('"EUR"', '"USD"'))
    assert isinstance(found, Note)
    assert found == (
        "not tested (no environment of the project was found): "
        "line 1: the default of `currency` was 'EUR' and is 'USD' now"
    )


def test_a_project_that_contains_the_home_folder_is_not_run(
    tree: Path, plain_python: ProjectPython
) -> None:
    python = msgspec.structs.replace(plain_python, sees_home=True)
    found = checked(tree, PRICES.replace("return int", "return  1 + int"), python)
    assert found == "not tested (running the project's code needs isolation level 2 or consent)"


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("in texts)", "in list(texts))", "tests that may reach it: 1 of 1 pass"),
        ("ValueError", "(TypeError, ValueError)",
         "tests that may reach it: 3 of 4 pass: "
         "line 4: `except ValueError` is `except (TypeError, ValueError)` now"),
        ("price < 0", "price is None", "not tested (no test reaches it)"),
        ('return "none"', "print(price)",
         "not tested (no test reaches it): `return 'none'`, which was in line 14, is gone"),
    ],
    ids=["tested", "tested and named", "not tested", "not tested and named"],
)  # fmt: skip
def test_a_note_says_how_far_it_is_tested(
    tree: Path, plain_python: ProjectPython, old: str, new: str, said: str
) -> None:
    found = checked(tree, PRICES.replace(old, new), plain_python)
    assert isinstance(found, Note)
    assert found == said


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ValueError", "TypeError",
         "test_mod.py::test_total_of_no_numbers passes without your edits; with them, "
         "ValueError: invalid literal for int() with base 10: 'a'"),
        ("def total(texts):", "raise OSError(3)\n\n\ndef total(texts):",
         "passes without your edits; with them, OSError: 3"),
    ],
    ids=["test", "import"],
)  # fmt: skip
def test_a_test_that_passed_before_refuses_the_edits(
    tree: Path, plain_python: ProjectPython, old: str, new: str, said: str
) -> None:
    found = checked(tree, PRICES.replace(old, new), plain_python)
    assert not isinstance(found, Note)
    assert said in found


@pytest.mark.slow
def test_edits_of_several_files_are_taken_back_together(
    tree: Path, plain_python: ProjectPython
) -> None:
    """The second file breaks the test, which passes only without the edits of both."""
    shared = PRICES.replace("return 0, currency", "return NONE, currency")
    (tree / "mod.py").write_text(f"from other import NONE\n{shared}")
    (tree / "other.py").write_text("NONE = 1\n\n\ndef f():\n    return 2\n")
    before = {"mod.py": PRICES.encode(), "other.py": None}
    edits = {path: (before[path], (tree / path).read_bytes()) for path in before}
    for order in (edits, dict(reversed(edits.items()))):
        found = changes_tested(_submission(order, ToolTree(tree, plain_python)))
        assert found.startswith("test_mod.py::test_total_of_no_numbers passes without your edits")
    assert {path: (tree / path).read_bytes() for path in edits} == {
        p: e[1] for p, e in edits.items()
    }
