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
)


def case(call: str, setup: tuple[str, ...], value: str, source: str = "test") -> Case:
    return Case(call=call, setup=setup, value=value, source=source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "is_empty"),
    [("pairs([], inclusive=False)", True), ("pairs(width=2)", False), ("pairs(['a'])", False)],
)
def test_options_by_name_are_no_input_beside_other_arguments(call: str, is_empty: bool) -> None:
    assert is_empty_input(case(call, (), "[]")) is is_empty


def test_a_result_that_is_asserted_beside_its_class_can_be_an_argument() -> None:
    claims = (("isinstance({}, Names)", "True"), ("{}", "['a']"))
    case = Case(call="names(['a'])", claims=claims)
    assert comes_back(case)
    assert not comes_back(replace(case, call="names(['b'])"))
    assert not comes_back(replace(case, claims=(*claims, ("len(names.all)", "2"))))


def test_flags_and_lengths_say_nothing() -> None:
    flags = Case(call="table.add()", claims=(("table.is_open", "False"),), source="test")
    assert is_echo(flags)
    assert is_echo(replace(flags, call="table.add(3)", claims=(("len(table)", "1"),)))
    assert not is_echo(replace(flags, call="table.add(3)", claims=(("table.total", "3"),)))


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
