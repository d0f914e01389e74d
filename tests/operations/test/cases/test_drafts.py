"""What cases look like as tests: tables, and what is refused beside them."""

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.cases.drafts import case_drafts
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.target_function import TargetFunction, find_target

SOURCE = """
def f(text: str, times: int = 1, *, loud: bool = False, mode=object()) -> str:
    return text * times
"""
THREE = [
    Case(call="f('a')", value="'a'"),
    Case(call="f('b', times=2)", value="'bb'"),
    Case(call="f('')", value="''"),
]
REFUSED = Case(call="f('x')", raises="ValueError", origin="builtins")


def subject(source: str = SOURCE) -> TargetFunction:
    found = find_target("mod.py", source.encode(), "f", lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


def home(**more: object) -> InsertLocation:
    said = {
        "path": "test_mod.py",
        "exists": False,
        "imports_from": "mod",
        "quote": '"',
        "typed": False,
        "test_name": "test_f",
    }
    return InsertLocation(**{**said, **more})  # type: ignore[arg-type]


def test_three_cases_of_one_shape_are_a_table() -> None:
    (draft,) = case_drafts(subject(), THREE, home(), 88)
    assert draft.decorators == [
        "@pytest.mark.parametrize(",
        '    ("text", "times", "expected"),',
        "    [",
        '        ("a", 1, "a"),',
        '        ("b", 2, "bb"),',
        '        ("", 1, ""),',
        "    ],",
        ")",
    ]
    assert draft.parameters == "text, times, expected"
    assert draft.body == ["assert f(text, times=times) == expected"]


def test_the_names_of_the_columns_are_written_as_in_the_project() -> None:
    (draft,) = case_drafts(subject(), THREE, home(table="text"), 88)
    assert draft.decorators[1] == '    "text, times, expected",'


def test_refused_arguments_are_a_separate_test() -> None:
    table, refused = case_drafts(subject(), [*THREE, REFUSED], home(), 88)
    assert (table.name, refused.name) == ("test_f", "test_f_raises_value_error")
    assert refused.body == ["with pytest.raises(ValueError):", '    f("x")']


def test_types_where_the_tests_around_have_them() -> None:
    (draft,) = case_drafts(subject(), THREE, home(typed=True), 88)
    assert draft.parameters == "text: str, times: int, expected: str"


@pytest.mark.parametrize(
    "cases",
    [
        [*THREE[:2], Case(call="f('a', mode=2)", value="'a'")],  # a default that no row can spell
        [*THREE[:2], Case(call="f(*'ab')", value="'a'")],
        [*THREE[:2], Case(call="F('a').f('b')", value="'a'")],
        [*THREE[:2], Case(call="f('c')", value="['c']", listed=True)],
    ],
)
def test_other_shapes_are_lines(cases: list[Case]) -> None:
    drafts = case_drafts(subject(), cases, home(), 88)
    assert not any(draft.decorators for draft in drafts)
    assert sum(len(draft.body) for draft in drafts) == 3


def test_other_keyword_arguments_are_a_separate_test() -> None:
    cases = [
        Case(call="f('a')", value="'a'"),
        Case(call="f('b', times=2)", value="'bb'"),
        Case(call="f('c', loud=False)", value="'c'"),
    ]
    drafts = case_drafts(subject(), cases, home(), 88, tables=False)
    assert [(draft.name, draft.body) for draft in drafts] == [
        ("test_f", ['assert f("a") == "a"']),
        ("test_f_with_times", ['assert f("b", times=2) == "bb"']),
        ("test_f_without_loud", ['assert f("c", loud=False) == "c"']),
    ]


@pytest.mark.parametrize("name", ["expected", "request", "list", "f"])
def test_a_column_may_not_be_called_as_something_else_is(name: str) -> None:
    found = subject(f"def f({name}):\n    return {name}\n")
    cases = [Case(call=f"f({n})", value=str(n)) for n in range(3)]
    assert not case_drafts(found, cases, home(), 88)[0].decorators


def test_truths_are_compared_as_such() -> None:
    cases = [Case(call=f"f('{c}')", value=str(c == "a")) for c in "abc"]
    assert case_drafts(subject(), cases, home(), 88)[0].body == ["assert f(text) is expected"]


def test_rows_that_are_too_long_make_no_table() -> None:
    long = Case(call=f"f('{'x' * 90}')", value="'y'")
    assert not case_drafts(subject(), [*THREE, long], home(), 88)[0].decorators
    assert not case_drafts(subject(), THREE, home(), 20)[0].decorators


def test_each_line_of_an_expected_text_is_a_literal() -> None:
    text = "first line of a page\n\nlast line of the page\n"
    (draft,) = case_drafts(subject(), [Case(call="f('a')", value=repr(text))], home(), 88)
    assert draft.body == [
        "expected = (",
        '    "first line of a page\\n"',
        '    "\\n"',
        '    "last line of the page\\n"',
        ")",
        'assert f("a") == expected',
    ]


def test_an_expected_text_does_not_hide_a_variable() -> None:
    text = "first line of a page\n\nlast line of the page\n"
    case = Case(call="f(expected)", setup=("expected = 'a'",), value=repr(text))
    (draft,) = case_drafts(subject(), [case], home(), 88)
    assert draft.body[:2] == ['expected = "a"', "expected_value = ("]
    assert draft.body[-1] == "assert f(expected) == expected_value"


def test_a_result_does_not_hide_a_variable() -> None:
    case = Case(
        call="result.add(1)",
        setup=("result = Cart()",),
        claims=(("{}.size", "1"), ("{}.total", "2")),
    )
    (draft,) = case_drafts(subject(), [case], home(), 88)
    assert draft.body == [
        "result = Cart()",
        "result_value = result.add(1)",
        "assert result_value.size == 1",
        "assert result_value.total == 2",
    ]


def test_objects_are_made_first() -> None:
    setup = ("cart = Cart('Ann')",)
    cases = [
        Case(call="cart.total()", setup=setup, value="3"),
        Case(call="cart.owner()", setup=setup, value="'Ann'"),
    ]
    (draft,) = case_drafts(subject(), cases, home(), 88)
    assert draft.body == [
        'cart = Cart("Ann")',
        "assert cart.total() == 3",
        'assert cart.owner() == "Ann"',
    ]
    sets = SOURCE.replace("return", "text.size = 2\n    return")
    (draft,) = case_drafts(subject(sets), cases, home(), 88)
    assert draft.body == [
        'cart = Cart("Ann")',
        "assert cart.total() == 3",
        "",
        'cart = Cart("Ann")',
        'assert cart.owner() == "Ann"',
    ]


def test_the_lines_of_a_text_are_literals() -> None:
    rules = "User-agent: *\nDisallow: /admin\n\nSitemap: /map.xml\n"
    cases = [Case(call="parse(rules)", setup=(f"rules = {rules!r}",), value="2")]
    (draft,) = case_drafts(subject(), cases, home(), 88)
    assert draft.body == [
        "rules = (",
        r'    "User-agent: *\n"',
        r'    "Disallow: /admin\n"',
        r'    "\n"',
        r'    "Sitemap: /map.xml\n"',
        ")",
        "assert parse(rules) == 2",
    ]


def test_unittest_has_its_own_assertions() -> None:
    cases = [THREE[0], Case(call="f('')", value="False"), REFUSED]
    values, refused = case_drafts(subject(), cases, home(form="unittest"), 88)
    assert values.body == ['self.assertEqual(f("a"), "a")', 'self.assertFalse(f(""))']
    assert refused.body == ["with self.assertRaises(ValueError):", '    f("x")']


@pytest.mark.parametrize("quote", ["'", '"'])
def test_invisible_characters_are_written_as_escapes(quote: str) -> None:
    heart = Case(call="f('\N{HEAVY BLACK HEART}\ufe0f')", value="'\N{HEAVY BLACK HEART}\ufe0e'")
    (draft,) = case_drafts(subject(), [heart], home(quote=quote), 88)
    line = "assert f('\N{HEAVY BLACK HEART}\\ufe0f') == '\N{HEAVY BLACK HEART}\\ufe0e'"
    assert draft.body == [line.replace("'", quote)]
