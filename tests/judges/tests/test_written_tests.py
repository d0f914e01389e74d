"""What the source of a test says against it, and tests that another one makes superfluous."""

import ast
from pathlib import Path
from textwrap import dedent, indent

import pytest

from remora.code.syntax.changed_behavior import lost_guards
from remora.code.syntax.definitions import FunctionNode
from remora.judges.judged_change import Change, ChangedFile
from remora.judges.tests.circumstances import HERE
from remora.judges.tests.claims import claims_of
from remora.judges.tests.entered_functions import entered_functions
from remora.judges.tests.hollow import (
    assertion_lines,
    is_self_contained,
    is_weak,
    only_arguments,
    thrown_away,
    why_hollow,
)
from remora.judges.tests.mocks import why_mocked
from remora.judges.tests.planted_faults import plant_faults
from remora.judges.tests.repeated import duplicates, repeated_tests
from remora.judges.tests.test_runs import Outcomes, run_tests
from remora.judges.tests.written_test import changed_tests, lost_checks
from remora.sandbox.interpreters import ProjectPython
from remora.tools.tree import ToolTree
from tests.isolation_levels import need


def written(body: str, head: str = "def test_it():") -> FunctionNode:
    (function,) = ast.parse(f"{head}\n{indent(dedent(body), '    ')}").body
    assert isinstance(function, FunctionNode)
    return function


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assert add(1, 2) == 3", "total = add(1, 2)\nassert 3 == total"),
        ("self.assertEqual(f(x), 3)", "assert f(x) == 3"),
        ("self.assertTrue(f(x) > 1)", "assert f(x) > 1"),
        ("assert a() and b()", "assert b()\nassert a()"),
        ("self.assertIsNone(f())", "found = f()\nassert found is None"),
    ],
)
def test_the_same_claims_have_the_same_texts(one: str, other: str) -> None:
    first, second = ({claim.text for claim in claims_of(written(body))} for body in (one, other))
    assert first == second != set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assert add(1, 2) == 3", "assert add(1, 2) == 4"),
        ("assert f(1)", "for n in (1, 2):\n    assert f(1)"),
        ("with pytest.raises(ValueError):\n    f(1)", "with pytest.raises(ValueError):\n    f(2)"),
        ("x = 1\nx = f(x)\nassert x", "x = f(1)\nassert x"),  # assigned twice: not replaced
    ],
)
def test_other_claims_have_other_texts(one: str, other: str) -> None:
    first, second = ([claim.text for claim in claims_of(written(body))] for body in (one, other))
    assert first != second


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("found = f()\nassert (found == 1, 'one')", "is true whatever the code does"),
        ("found = f()\nassert found == found", None),  # f() may differ from itself
        ("f()\nassert items == items", "`items == items` is true whatever the code does"),
        ("f()\nassert 'a'.upper() == 'A'", "is true whatever the code does"),
        ("assert isinstance(f(), object)", "is true whatever the code does"),
        ("assert len(f()) >= 0", "is true whatever the code does"),
        ("assert f() or True", "is true whatever the code does"),
        ("assert f() is not None\nassert True", "the others say only that there is a result"),
        ("parts = f()\nassert True\nassert isinstance(parts, list)", "the others say only"),
        ("assert f() == 3\nassert True", None),
        ("assert f() is not None", None),
        ("self.assertTrue(f(), 3)", "does not compare: `3` is its message"),
        ("self.assertTrue(f(), [1])", "does not compare: `[1]` is its message"),
        ("try:\n    assert f()\nexcept AssertionError:\n    pass", "it catches the AssertionError"),
        ("with suppress(Exception):\n    assert f()", "it catches the AssertionError"),
        ("f() == 3", "`f() == 3` is compared, but not asserted"),
        ("f()\ndef check():\n    assert g()", "its assertions are in `check`, which is not called"),
        ("assert f() == 3", None),
        ("try:\n    assert f()\nexcept AssertionError:\n    raise", None),
        ("try:\n    f()\nexcept Exception:\n    pytest.fail('no')\nassert g()", None),
        ("def check():\n    assert f()\ng(check)", None),
        ("self.assertTrue(f(), 'a message')", None),
    ],
)
def test_assertions_that_cannot_fail(body: str, why: str | None) -> None:
    function = written(body)
    said = why_hollow(function, claims_of(function))
    assert (why in said) if why else not said


def test_an_assertion_that_must_not_be_reached_is_none_that_should_run() -> None:
    function = written("try:\n    f()\nexcept ValueError:\n    return\nassert False")
    assert assertion_lines(function) == set()
    assert assertion_lines(written("if f():\n    assert g()")) == {3}


@pytest.mark.parametrize(
    ("body", "is_so"),
    [
        ("given = [1]\nf(given)\nassert given == [1]", True),
        ("given = [1]\nfound = f(given)\nassert found == given", False),
        ("given = [1]\nassert given == [1]", False),
        ("given = 1\nf(given)\nassert given == 1", False),
    ],
)
def test_assertions_about_arguments_that_stay_as_they_are(body: str, is_so: bool) -> None:
    function = written(body)
    assert only_arguments(function, claims_of(function)) == is_so


@pytest.mark.parametrize(
    ("test", "is_so"),
    [
        ("def test_it():\n    moved = 1 + 2\n    assert moved == 3", True),
        ("ROWS = [1, 2]\ndef test_it():\n    assert len(ROWS) == 2", True),
        ("ROWS = [f(1)]\ndef test_it():\n    assert len(ROWS) == 2", False),
        ("from shop import f\ndef test_it():\n    assert f.name", False),
        ("def test_it():\n    from shop import f\n    assert f", False),
        ("def test_it(price):\n    assert price", False),
        ("def helper(): ...\ndef test_it():\n    assert helper()", False),
    ],
)
def test_a_test_that_uses_only_its_own_file(test: str, is_so: bool) -> None:
    module = ast.parse(test)
    function = module.body[-1]
    assert isinstance(function, ast.FunctionDef)
    assert is_self_contained(function, module) == is_so


@pytest.mark.parametrize(
    ("body", "head", "why"),
    [
        (
            "monkeypatch.setattr(shop, 'price', lambda item: 3)\nassert shop.price('tea') == 3",
            "def test_it(monkeypatch):",
            "it replaces `price`, which it then calls",
        ),
        (
            "mock_it.side_effect = [True]\nassert shop.confirm() is True\nassert mock_it.called",
            "@mock.patch('shop.confirm')\ndef test_it(mock_it):",
            "it replaces `confirm`, which it then calls",
        ),
        (
            "clock = Mock(return_value=7)\nassert clock() == 7",
            "def test_it():",
            "it asserts only what its own mocks",
        ),
        (
            "with patch('shop.render', return_value='<p>tea</p>'):\n"
            "    assert shop.page() == '<p>tea</p>'",
            "def test_it():",
            "it asserts only what its own mocks return",
        ),
        (
            "with patch.object(Path, 'clean') as clean:\n    shop.Path('/').clean()\n"
            "    clean.assert_called_once()",
            "def test_it():",
            "it replaces `clean`, and only the test itself calls it",
        ),
        (
            "send = Mock()\nshop.order('tea', send)\nsend.assert_called_once_with('tea')",
            "def test_it():",
            "",
        ),
        (
            "with patch('shop.fetch', return_value='3 EUR'):\n    assert shop.price('tea') == 3",
            "def test_it():",
            "",
        ),
    ],
)
def test_assertions_about_mocks_of_the_test(body: str, head: str, why: str) -> None:
    function = written(body, head)
    said = why_mocked(function, claims_of(function))
    assert (why in said) if why else not said


def test_a_test_has_the_worst_outcome_of_its_rows_and_the_message_of_one() -> None:
    rows = {"t::a[1]": {"outcome": "passed"}, "t::a[2]": {"outcome": "failed", "message": "no"}}
    outcomes = Outcomes(rows, {})
    assert (outcomes.of("t::a"), outcomes.message("t::a")) == ("failed", "no")
    assert (outcomes.of("t::b"), outcomes.message("t::b")) == ("", "")


def test_a_weak_claim_says_only_that_there_is_a_result() -> None:
    claims = claims_of(
        written(
            "assert f() is not None\nself.assertIsInstance(g(), int)\nassert h()\n"
            "assert text == str(text)\nassert len(rows) == len(set(rows))\n"
            "assert isinstance(f(), Cart)\nassert issubclass(g(), (int, shop.Bound))"
        )
    )
    weak = [is_weak(claim) for claim in claims]
    assert weak == [True, True, False, True, False, False, False]


def test_a_result_that_no_statement_reads_is_thrown_away() -> None:
    assert thrown_away(written("found = shop.price('tea')")) == "shop.price"
    assert thrown_away(written("found = shop.price('tea')\nprint(found)")) == ""


TWICE = """\
def test_{name}():
    cart = Cart({kind})
    total = cart.pay(3)
    assert total == 3
    total = cart.pay(4)
    assert total == 7
"""


def test_variables_with_several_values_count_with_what_they_are_made_of() -> None:
    known, new = TWICE.format(name="a", kind="1"), TWICE.format(name="b", kind="2")
    added = change(known, f"{known}\n\n{new}")
    assert duplicates(added, [*changed_tests(added)]) == {}
    again = change(known, f"{known}\n\n{TWICE.format(name='b', kind='1')}")
    assert [*duplicates(again, [*changed_tests(again)])] == ["tests/test_cart.py::test_b"]


KNOWN = """\
def test_length():
    assert len(Cart("a", "b")) == 2
    assert len(Cart()) == 0


def test_order():
    cart = Cart("a")
    cart.add("b")
    assert list(cart) == ["a", "b"]
"""
ADDED = """

def test_length_of_two():
    cart = Cart("a", "b")
    assert 2 == len(cart)


def test_order_without_adding():
    cart = Cart("a")
    assert list(cart) == ["a", "b"]


def test_length_of_one():
    assert len(Cart("a")) == 1


def test_length_of_one_again():
    assert 1 == len(Cart("a"))
"""


def change(before: str, after: str, path: str = "tests/test_cart.py") -> Change:
    file = ChangedFile(path=path, before=before.encode(), after=after.encode())
    tree = ToolTree(Path("/nowhere"))
    return Change(before=tree, after=tree, files={path: file})


def test_a_test_that_claims_nothing_new_is_a_duplicate() -> None:
    """Not one that changes something else before, nor the first of two new ones."""
    added = change(KNOWN, KNOWN + ADDED)
    found = duplicates(added, [*changed_tests(added)])
    assert {test.partition("::")[2]: known.name for test, known in found.items()} == {
        "test_length_of_two": "test_length",
        "test_length_of_one_again": "test_length_of_one",
    }


def test_only_tests_with_changed_lines_are_judged() -> None:
    edited = change(KNOWN, KNOWN.replace("== 0", "== 1"))
    assert [test.name for test in changed_tests(edited)] == ["test_length"]
    assert [*changed_tests(change(KNOWN, KNOWN + ADDED, path="shop/cart.py"))] == []


def test_tests_that_are_gone_are_named() -> None:
    gone = change(KNOWN + ADDED, KNOWN)
    assert lost_checks(gone)[0][0] == "tests/test_cart.py::test_length_of_two"
    assert lost_checks(change(KNOWN, KNOWN)) == ([], [])


def test_a_test_that_moved_is_not_gone_but_one_beside_a_namesake_is() -> None:
    class_a, class_b, other = (
        f"class Test{name}:\n    def test_ok(self):\n        assert 1\n" for name in "ABC"
    )
    assert lost_checks(change(class_a + class_b, class_b + other)) == ([], [])
    assert lost_checks(change(class_a + class_b, class_b))[0] == [
        "tests/test_cart.py::TestA::test_ok"
    ]


CODE = """\
import re

DAYS = {"mon": 1, "sun": 7}


def seconds(text, limit=100):
    number, unit = text[:-1], text[-1]
    if unit not in ("s", "m"):
        raise ValueError(unit)
    return min(int(number), limit) * (60 if unit == "m" else 1)


def day(name):
    return DAYS[name.strip()]


def is_code(text):
    return bool(re.fullmatch("[a-c]+", text))


def size(text):
    return len(SIZES[text])


def _sizes(name):
    return {name: ["s"]}


SIZES = _sizes("xs")
"""
BEFORE = """\
import pytest

from times import day, is_code, seconds, size


def test_seconds():
    assert seconds("5s") == 5


def test_day():
    assert day(" mon") == 1


def test_code():
    assert is_code("aa")


def test_size():
    assert size("xs") == 1


def test_unknown_units():
    with pytest.raises(ValueError):
        seconds("5h")
"""
REPEATED = """

def test_many_seconds():
    assert seconds("70s") == 70


def test_monday():
    assert day("mon") == 1


def test_middle_of_a_range_of_a_pattern():
    assert is_code("b")


def test_first_of_a_range_of_a_pattern():
    assert is_code("aaa")


def test_table_of_a_call():
    assert size("xs") == 1


def test_minutes():
    assert seconds("5m") == 300


def test_no_more_than_the_limit():
    assert seconds("500s") == 100


def test_sixty_seconds():
    assert seconds("60s") == 60


def test_another_limit():
    assert seconds("500s", limit=10) == 10


def test_another_unknown_unit():
    with pytest.raises(ValueError):
        seconds("70d")


def test_type():
    assert isinstance(seconds("5s"), int)
"""
PATH = "tests/test_times.py"


@pytest.fixture
def added(tmp_path: Path, plain_python: ProjectPython) -> Change:
    need(2)
    (tmp_path / "tests").mkdir()
    (tmp_path / "times.py").write_text(CODE)
    (tmp_path / PATH).write_text(BEFORE + REPEATED)
    file = ChangedFile(path=PATH, before=BEFORE.encode(), after=(BEFORE + REPEATED).encode())
    after, before = ToolTree(tmp_path, plain_python), tmp_path / "before"
    (before / "tests").mkdir(parents=True)
    (before / "times.py").write_text(CODE.replace("text[:-1]", "text[:-1].lstrip('6')"))
    (before / PATH).write_text(BEFORE)
    return Change(before=ToolTree(before), after=after, files={PATH: file})


@pytest.mark.slow
def test_tests_import_from_a_folder_of_packages(
    tmp_path: Path, plain_python: ProjectPython
) -> None:
    need(2)
    for folder in ("lib/shop", "python/tea", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib/shop/cart.py").write_text("SIZE = 3\n")
    (tmp_path / "python/tea/__init__.py").touch()
    test = "import tea\nfrom shop.cart import SIZE\n\n\ndef test_size():\n    assert SIZE == 3\n"
    (tmp_path / PATH).write_text(test)
    (tmp_path / "tests/test_end.py").write_text("import os\ndef test_end(): os._exit(0)\n")
    ids = [f"{PATH}::test_size", "tests/test_end.py::test_end"]
    found = run_tests(ToolTree(tmp_path, plain_python), ids, HERE)
    assert found.of(ids[0]) == "passed", found.problems
    assert found.problems["tests/test_end.py"] == "it ends the process"


@pytest.mark.slow
def test_a_test_that_reaches_no_function_is_not_late(added: Change) -> None:
    """The other one detects the first fault, so that no other is tried."""
    tests = [*changed_tests(change("", BEFORE, PATH))][:2]
    entered = {test.id: ["times.py:seconds"] for test in tests}
    planted = plant_faults(added.after, tests, entered, lambda: False)
    assert [(shown.asserted, shown.late) for shown in planted.values()] == [
        (True, False),
        (False, False),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "with pytest.raises(ValueError):\n        seconds('5h')",
        "unittest.TestCase().assertRaises(ValueError, seconds, '5h')",
    ],
)
def test_another_error_than_the_expected_one_is_noticed(
    tmp_path: Path, plain_python: ProjectPython, body: str
) -> None:
    need(2)
    code = "def seconds(text):\n    if text[-1] != 's':\n        raise ValueError\n    return int(text[:-1])\n"
    test = f"import unittest, pytest\nfrom times import seconds\n\ndef test_unit():\n    {body}\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "times.py").write_text(code.replace("int(text[:-1])", "[][text]"))
    (tmp_path / PATH).write_text(test)
    (found,) = [*changed_tests(change("", test, PATH))]
    entered = {found.id: ["times.py:seconds"]}
    place = ToolTree(tmp_path, plain_python)
    assert plant_faults(place, [found], entered, lambda: False)[found.id].asserted


@pytest.mark.slow
def test_equal_branches_words_and_faults_make_a_test_superfluous(added: Change) -> None:
    """Not another unit or parameter, what may be an entry of a table or a part of a pattern, nor a
    fault that only the new test detects.
    """
    tests = [*changed_tests(added)]
    entered = entered_functions(
        added.after, run_tests(added.after, [test.id for test in tests], HERE, traced=True).seen
    )
    repeated, late = repeated_tests(added, tests, entered, lambda: False)
    assert {test.partition("::")[2]: why.split("`")[1] for test, why in repeated.items()} == {
        "test_many_seconds": "test_seconds",
        "test_another_unknown_unit": "test_unknown_units",
        "test_type": "test_seconds",
    }
    assert {test.partition("::")[2] for test in late} == {
        "test_monday",
        "test_middle_of_a_range_of_a_pattern",
        "test_first_of_a_range_of_a_pattern",
        "test_table_of_a_call",
    }
    assert repeated_tests(added, tests, entered, lambda: True)[1] != []


ROWS = """
import pytest

@pytest.mark.parametrize("given", [1, 2, -3])
def test_size(given):
    assert size(given) == 1
    assert size(0) == 0

@pytest.mark.parametrize("given", [2, -3])
def test_other_size(given):
    assert size(given) == 1
"""


@pytest.mark.parametrize(
    ("old", "new", "is_weaker"),
    [
        ("1, 2, -3]", "1]", True),
        ("1, 2, -3]", "1, 2, 3]", False),
        ("    assert size(given) == 1\n    ", "    ", True),
        ("    assert size(0) == 0\n", "", True),
        ("    assert size(0) == 0\n", "\ndef test_zero():\n    assert size(0) == 0\n", False),
        ("size(0) == 0", "size(0) is None", False),
    ],
)
def test_a_test_that_checks_less_is_named(old: str, new: str, is_weaker: bool) -> None:
    named = ["tests/test_cart.py::test_size"] if is_weaker else []
    assert lost_checks(change(ROWS, ROWS.replace(old, new))) == ([], named)


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("    if count < 1:\n        raise ValueError(count)\n", "", ["add `if count < 1: raise ValueError`"]),
        ("count < 1", "count < 0", ["add `if count < 1: raise ValueError`"]),
        ("ValueError(count)", "ValueError('too few')", []),
        ("    if count < 1:\n        raise ValueError(count)\n", "    check(count)\n\ndef check(count):\n    if count < 1:\n        raise ValueError(count)\n", []),
        ("def add", "def put", []),
    ],
)  # fmt: skip
def test_a_guard_that_is_nowhere_any_more_is_lost(old: str, new: str, lost: list[str]) -> None:
    before = (
        "def add(count):\n    if count < 1:\n        raise ValueError(count)\n    return count\n"
    )
    assert lost_guards(ast.parse(before), ast.parse(before.replace(old, new))) == lost
