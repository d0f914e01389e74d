"""Further cases go into the existing tests of a function, in the form of these."""

import ast
from pathlib import Path

import pytest

from remora.code.edit.parsed_text import ParsedText
from remora.errors import HostError
from remora.judges.calls.case import Case
from remora.judges.calls.project_examples import ProjectExamples
from remora.judges.calls.target_function import TargetFunction, find_target
from remora.operations.test.insert.added_tests import added_tests, extended_tests
from remora.operations.test.insert.further_cases import further_case, with_further_cases
from remora.tools.tree import ToolTree

CODE = "def grade(points, name=''):\n    return 'A' if points >= 90 else 'B'\n"
HEAD = "import pytest\nfrom shop import grade\n\n\n"
ZERO = Case(call="grade(0)", value="'B'")


def subject(code: str = CODE) -> TargetFunction:
    found = find_target("shop.py", code.encode(), "grade", lambda _: False)
    assert isinstance(found, TargetFunction)
    return found


def extended(tree: Path, test: str, *cases: Case, code: str = CODE, quote: str = '"') -> str:
    """Return the test file after its imports, with those of the cases that a test of it can say."""
    (tree / "test_shop.py").write_text(HEAD + test)
    target = subject(code)
    own = ProjectExamples(ToolTree(tree)).own_cases(target, "test_shop.py")
    found = [made for case in cases if (made := further_case(case, target, own)) is not None]
    text = with_further_cases(found, ParsedText(HEAD + test), quote)
    ast.parse(text)
    return text.removeprefix(HEAD)


TABLE = """\
@pytest.mark.parametrize("points, expected", [
    (95, "A"),
    (60, "B"){end}
def test_grade(points, expected):
    assert grade(points) == expected
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (",\n])", ',\n    (0, "B"),\n])'),
        ("\n])", ',\n    (0, "B")\n])'),
        ("])", ',\n    (0, "B")])'),
        (",  # half, (1)\n])", ',  # half, (1)\n    (0, "B"),\n])'),
        ("  # half\n])", ',  # half\n    (0, "B")\n])'),
    ],
)
def test_a_row_follows_the_last_one(tmp_path: Path, end: str, expected: str) -> None:
    made = extended(tmp_path, TABLE.replace("{end}", end), ZERO)
    assert made == TABLE.replace("{end}", expected)
    before, after = (HEAD + text for text in (TABLE.replace("{end}", end), made))
    assert added_tests("test_shop.py", before.encode(), after.encode()) == []
    assert extended_tests(before.encode(), after.encode()) == ["test_grade"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (
            "def test_grade():\n    assert grade(95) == 'A'\n    assert grade(60) == 'B'  # half\n",
            '    assert grade(0) == "B"\n',
        ),
        (
            "class TestGrade(TestCase):\n    def test_it(self):\n"
            '        self.assertEqual(grade(95), "A")\n        self.assertEqual("B", grade(60))\n',
            '        self.assertEqual(grade(0), "B")\n',
        ),
        (
            "def test_grade():\n\tassert grade(95) == 'A'\n\tassert grade(60) == 'B'\n",
            '\tassert grade(0) == "B"\n',
        ),
        ("def test_m():\n    assert grade(95) == 'A', 'm'\n    assert grade(60) == 'B', 'm'\n", ""),
        (
            "def test_names():\n    assert grade(95, name='a') == 'A'\n"
            "    assert grade(60, name='b') == 'B'\n",
            "",
        ),
        ("def test_one():\n    assert grade(95) == 'A'\n", ""),
        (
            "def test_fixture(points):\n    assert grade(points) == 'A'\n"
            "    assert grade(points) == 'B'\n",
            "",
        ),
    ],
    ids=["assert", "unittest", "tabs", "message", "other parameters", "one", "fixture"],
)
def test_an_assertion_follows_the_others(tmp_path: Path, test: str, expected: str) -> None:
    assert extended(tmp_path, test, ZERO) == test + expected


def test_an_assertion_follows_the_last_one_about_the_function(tmp_path: Path) -> None:
    test = "def test_grade():\n    assert grade(95) == 'A'\n    assert grade(60) == 'B'\n    assert other(1)\n"
    made = extended(tmp_path, test, ZERO)
    assert made == test.replace("    assert o", '    assert grade(0) == "B"\n    assert o')
    before, after = (f"{HEAD}{text}".encode() for text in (test, made))
    assert added_tests("test_shop.py", before, after) == []
    assert extended_tests(before, after) == ["test_grade"]


def test_arguments_of_a_row_may_be_listed_in_a_cell(tmp_path: Path) -> None:
    table = TABLE.replace("(95,", "([95],").replace("(60,", "([60],").replace("grade(p", "grade(*p")
    made = extended(tmp_path, table.replace("{end}", ",\n])"), ZERO)
    assert made == table.replace("{end}", ',\n    ([0], "B"),\n])')


def test_an_argument_that_stays_may_be_an_expression(tmp_path: Path) -> None:
    test = (
        "def test_grade():\n    assert grade(95, name=str(1)) == 'A'\n"
        "    assert grade(60, name=str(1)) == 'B'\n"
    )
    made = extended(tmp_path, test, Case(call="grade(0, name=str(1))", value="'B'"))
    assert made == test + '    assert grade(0, name=str(1)) == "B"\n'


def test_a_table_of_arguments_gets_those_with_the_same_result(tmp_path: Path) -> None:
    test = (
        '@pytest.mark.parametrize("points", [60, 70])\ndef test_low(points):\n'
        "    assert grade(points) == 'B'\n"
    )
    high = Case(call="grade(99)", value="'A'")
    assert extended(tmp_path, test, high, ZERO) == test.replace("70]", "70, 0]")


@pytest.mark.parametrize(
    "rows", ['pytest.param(95, "A", id="high"), pytest.param(60, "B", id="low")', "ROWS", "*ROWS"]
)
def test_a_table_with_names_or_elsewhere_stays_as_it_is(tmp_path: Path, rows: str) -> None:
    test = TABLE.replace('\n    (95, "A"),\n    (60, "B"){end}', f"{rows}])")
    assert extended(tmp_path, test, ZERO) == test


def test_a_case_of_another_object_is_no_further_one(tmp_path: Path) -> None:
    test = "def test_grade():\n    data = 95\n    assert grade(95) == 'A'\n    assert grade(60) == 'B'\n"
    other = Case(call="grade(0)", value="'B'", setup=("data = 0",))
    result = Case(call="grade(95)(0)", value="'B'")
    assert extended(tmp_path, test, other, result) == test


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("    assert grade(95) == 'A'; assert grade(60) == 'B'\n", "several statements"),
        ("    assert grade(\n        95,  # high\n    ) == 'A'\n    assert grade(60) == 'B'\n", ""),
    ],
)
def test_what_cannot_be_repeated_alone_is_refused(tmp_path: Path, body: str, problem: str) -> None:
    test = f"def test_grade():\n{body}"
    if problem:
        with pytest.raises(HostError, match=problem):
            extended(tmp_path, test, ZERO)
    else:
        with pytest.raises(HostError, match="a comment"):
            extended(tmp_path, test, Case(call="grade(0)", value="'A'"))


def test_rows_on_one_line_stay_there(tmp_path: Path) -> None:
    test = TABLE.replace('[\n    (95, "A"),\n    (60, "B"){end}', '[(95, "A"), (60, "B")])')
    assert '(60, "B"), (0, "B"), (1, "B")])' in extended(
        tmp_path, test, ZERO, Case(call="grade(1)", value="'B'")
    )


def test_a_truth_and_an_exception_need_a_test_of_that_kind(tmp_path: Path) -> None:
    test = (
        "def test_is():\n    assert grade(95)\n    assert not grade(60)\n"
        "    with pytest.raises(ValueError):\n        grade(-1)\n"
    )
    cases = (
        Case(call="grade(0)", value="False"),
        Case(call="grade(99)", value="True"),
        Case(call="grade(-2)", raises="ValueError"),
        Case(call="grade(-3)", raises="TypeError"),
        Case(call="grade(1)", value="None"),
    )
    assert extended(tmp_path, test, *cases) == (
        test + "    assert not grade(0)\n    assert grade(99)\n"
        "    with pytest.raises(ValueError):\n        grade(-2)\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    assert f(1)\n", "    assert f(2)\n    assert f(1)\n"),
        ("    assert f(1)\n", "    assert f(1)\n    x = 1\n"),
        ("    assert f(1)\n", "    assert f(2)\n    assert f(3)\n"),
        ("    assert f(1)\n", "    assert f(1)\n    yield\n"),
        ("    assert f(1)\n", "    assert f(1)\n    with open('x', 'w'):\n        f(2)\n"),
        ("    assert f(1)\n", "    assert f(1)\n    f(2)\n"),
    ],
)
def test_other_changes_of_a_test_are_no_further_cases(before: str, after: str) -> None:
    old, new = (f"def test_f():\n{body}".encode() for body in (before, after))
    assert extended_tests(old, new) == []
    assert added_tests("test_f.py", old, new) == "test_f.py: more than tests was changed"


def test_comments_and_order_of_extended_tests_are_kept() -> None:
    old = "def test_a():\n    # why\n    assert f(1)\n    assert f(2)\n\n\ndef test_b():\n    assert f(3)\n"
    new = old.replace("    assert f(2)\n", "    assert f(2)\n    assert f(4)\n")
    assert added_tests("test_f.py", old.encode(), new.encode()) == []
    gone = new.replace("    # why\n", "")
    assert "existing lines" in str(added_tests("test_f.py", old.encode(), gone.encode()))
    first, _, second = new.partition("\n\n\n")
    moved = f"{second}\n\n{first}\n"
    assert "more than tests" in str(added_tests("test_f.py", old.encode(), moved.encode()))
