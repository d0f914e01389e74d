"""Calls that say nothing to a reader."""

import pytest
from msgspec.structs import replace

from remora.operations.test.cases.assertions import expected_value
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.hollow_cases import (
    comes_back,
    is_echo,
    is_empty_input,
    is_hollow,
    is_hollow_call,
)

HOLLOW_CALLS = [
    ("decode(b'hello')", (), "27756"),
    ("timeout()", (), "0.001"),
    ("stack.is_empty()", ("stack = Stack()",), "True"),
    ("reader.names()", ("reader = Reader(strict=True)",), "{'e', 'pi'}"),
]
ECHOES = [
    ("teecsv([['a', 1], ['b', 2]])", "[('a', 1), ('b', 2)]"),
    ("merge(['b', 'a'], ['b', 'a'])", "['b', 'b', 'a', 'a']"),
    (
        "rows('report.txt')",
        "[('r',), ('e',), ('p',), ('o',), ('r',), ('t',), ('.',), ('t',), ('x',), ('t',)]",
    ),
    ("stem('apple')", "'appl'"),
    ("convert([['a', None], ['b', 3]])", "[None, None, 'a']"),
]
HOLLOW_RESULTS = [
    ("error.is_error()", ("error = Error('Hello')",), "True"),
    ("codes('Hello, World')", (), "[72, 101, 108, 108, 111, 44, 32, 87, 111, 114]"),
]
TELLING = [
    ("version.text()", ("version = Version(1, 2)",), "'1.2'"),
    ("slug('Hello, World')", (), "'hello-world'"),
]


def case(call: str, setup: tuple[str, ...], value: str, source: str = "value") -> Case:
    return Case(call=call, setup=setup, value=value, source=source)  # type: ignore[arg-type]


@pytest.mark.parametrize(("call", "setup", "value"), HOLLOW_CALLS)
def test_hollow_calls(call: str, setup: tuple[str, ...], value: str) -> None:
    assert is_hollow_call(case(call, setup, value))
    assert is_hollow(case(call, setup, value))
    assert not is_hollow(case(call, setup, value, "documentation"))


@pytest.mark.parametrize(("call", "setup", "value"), HOLLOW_RESULTS)
def test_hollow_results(call: str, setup: tuple[str, ...], value: str) -> None:
    assert not is_hollow_call(case(call, setup, value))
    assert is_hollow(case(call, setup, value))
    assert not is_hollow(case(call, setup, value, "test"))


def test_constants_whose_value_a_reader_does_not_see() -> None:
    assert is_hollow_call(case("join(NAMES, sep='or')", (), "'a or b'", "call"))
    assert not is_hollow_call(case("join(NAMES)", ("NAMES = ['a', 'b']",), "'a, b'", "call"))
    assert not is_hollow_call(case("name_of(str)", (), "'str'", "call"))


@pytest.mark.parametrize(
    ("call", "is_empty"),
    [("pairs([], inclusive=False)", True), ("pairs(width=2)", False), ("pairs(['a'])", False)],
)
def test_options_by_name_are_no_input_beside_other_arguments(call: str, is_empty: bool) -> None:
    assert is_empty_input(case(call, (), "[]")) is is_empty


@pytest.mark.parametrize(("call", "setup", "value"), TELLING)
def test_telling_calls(call: str, setup: tuple[str, ...], value: str) -> None:
    assert not is_hollow(case(call, setup, value))


@pytest.mark.parametrize(("call", "value"), ECHOES)
def test_results_that_repeat_arguments_or_explain_errors(call: str, value: str) -> None:
    assert is_echo(case(call, (), value, "sibling"))
    assert not is_echo(case(call, (), value, "documentation"))


def test_a_result_that_is_asserted_beside_its_class_can_be_an_argument() -> None:
    claims = (("isinstance({}, Names)", "True"), ("{}", "['a']"))
    case = Case(call="names(['a'])", claims=claims)
    assert comes_back(case)
    assert not comes_back(replace(case, call="names(['b'])"))
    assert not comes_back(replace(case, claims=(*claims, ("len(names.all)", "2"))))


@pytest.mark.parametrize("value", ["''", "'apple'"])
def test_nothing_and_the_whole_word_are_no_stems(value: str) -> None:
    assert not is_echo(case("stem('apple')", (), value, "sibling"))


def test_flags_and_texts_without_letters_say_nothing() -> None:
    flags = Case(call="table.add(3)", claims=(("table.dividers", "[False]"),), source="call")
    assert is_echo(flags)
    assert not is_echo(Case(call="table.add(3)", claims=(("table.total", "3"),), source="call"))
    assert is_echo(case("table.get_csv()", ("table = Table(width=3)",), "'\\r\\n'", "call"))


def test_defaults_are_hollow_even_in_documentation() -> None:
    assert is_hollow(case("get_alphabet()", (), "'abc'", "documentation"))
    assert not is_hollow(case("get_course(1, 2)", (), "'N'", "documentation"))


def test_exact_floats_in_collections_and_vague_exceptions_are_left_out() -> None:
    assert is_hollow(case("scale([1, 3])", (), "[[0.3333333333333333]]", "test"))
    assert not is_hollow(case("scale([1, 3])", (), "[0.30000000000000004]", "test"))
    assert is_hollow(case("distance(paris, paris)", (), "0.0", "test"))
    assert is_hollow(case("unpack('u1u1', data)", (), "(0, 0)", "documentation"))
    assert is_hollow(case("slope(1, 2)", (), "(1, -0.0)", "documentation"))
    assert is_hollow(replace(case("f('')", (), ""), raises="Exception"))


def test_an_object_that_gives_back_what_it_was_made_with_says_nothing() -> None:
    setup = ("grammar = Grammar([3, 1, 2, 1])",)
    assert is_echo(case("grammar.unused()", setup, "[3, 1, 2]"))
    assert not is_echo(case("grammar.unused()", setup, "[1, 2]"))
    kept = replace(case("path.add('x')", (), ""), claims=(("path.last", "'x'"),))
    assert is_echo(kept)
    assert not is_echo(replace(kept, claims=(("path.all", "['y', 'x']"),)))


def test_floats_are_compared_approximately() -> None:
    assert expected_value("(0.5, 0.3333333333333333)") == "pytest.approx((0.5, 0.3333333333333333))"
    assert expected_value("(0.5, 'a')") == "(0.5, 'a')"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("md5('hello')", "'5d41402abc4b2a76b9719d911017c592'"),
        ("sign('a', key='MIIBOgIBAAJBAKj34GkxFhD90vcN')", "'ok'"),
        ("pack('text')", "b'\\x00\\x01\\x02\\x03\\x04\\x05\\x06'"),
        ("code('a')", "1715956215"),
        ("distance('a', 'b')", "0.8333333333333334"),
    ],
)
def test_values_that_a_reader_cannot_check(call: str, value: str) -> None:
    assert is_hollow(case(call, (), value, "test"))
    assert not is_hollow(case(call, (), value, "documentation"))
    assert not is_hollow(case(f"same({value})", (), "1000000000", "documentation"))


def test_a_hash_may_be_documented_but_not_longer_bytes() -> None:
    assert not is_hollow(case("sha1(b'a')", (), repr(b"\xff" * 20), "documentation"))
    assert is_hollow(case("key.dump()", (), repr(b"\xff" * 64), "documentation"))


def test_attributes_say_something_if_a_reader_finds_them_in_the_call() -> None:
    call = "parse('http://example.com:80')"
    host = Case(call=call, claims=(("{}.host", "'example.com'"),), source="documentation")
    assert not is_echo(host)
    assert is_echo(replace(host, claims=(*host.claims, ("{}.mask", "6"))))
