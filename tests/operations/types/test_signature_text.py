"""Signatures in which a model proposes types."""

import pytest

from remora.errors import HostError
from remora.operations.types.signature_text import as_signature, says_something, types_in


@pytest.mark.parametrize(
    "text",
    [
        "(a: str, b: int = 1) -> list[str]",
        "def f(a: str, b: int = 1) -> list[str]:",
        "async def f(self, a: 'str', b: int) -> List[str]: ...",
        "`f(a: str, b: int) -> typing.List[str]`",
        "Shop.f(a: str, *, b: int) -> list[str]",
    ],
)
def test_types_of_a_signature_are_read_in_any_usual_form(text: str) -> None:
    assert types_in(text) == {"a": "str", "b": "int", "return": "list[str]"}


def test_result_alone_is_a_signature() -> None:
    assert types_in("-> bool") == {"return": "bool"}


@pytest.mark.parametrize("term", ["Any", "object", "Any | None", "compat.Any"])
def test_types_that_fit_every_value_say_nothing(term: str) -> None:
    assert not says_something(term)
    assert says_something(f"dict[str, {term}]")


def test_names_of_known_owners_keep_their_module() -> None:
    text = "(a: h11.Request, b: 'h11.Event | None', c: typing.Iterable[Literal['h11.x']])"
    assert types_in(text, ["h11"]) == {
        "a": "h11.Request",
        "b": "h11.Event | None",
        "c": "Iterable[Literal['h11.x']]",
    }
    assert types_in("(a: h11.Request)") == {"a": "Request"}


@pytest.mark.parametrize(
    "text",
    [
        "os.system('x').real",
        "os.path['a | b'].c",
        "Literal[exec('1'), 1]",
        "Literal[print('x')]",
        "Literal[x[0]]",
        "'os.system(1)'",
        "list[print(1)]",
        "(lambda: str)()",
        "int + str",
        "1",
        "a" + ".a" * 2000,
    ],
)
def test_what_python_would_evaluate_is_not_a_type(text: str) -> None:
    assert types_in(f"(x: {text}, y: int)", ["os", "a"]) == {"x": "", "y": "int"}


def test_literals_and_callables_are_types() -> None:
    text = "(a: Literal['r', -1, None, Mode.R], b: Callable[[int], str], c: tuple[int, ...], d: tuple[()])"
    assert types_in(text) == {
        "a": "Literal['r', -1, None, Mode.R]",
        "b": "Callable[[int], str]",
        "c": "tuple[int, ...]",
        "d": "tuple[()]",
    }


@pytest.mark.parametrize(
    "text", ["", "I think it is a string.", "(a: str", "() -> x\nimport os", "(a: str) -> str; 1", "lambda: 1"]
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(HostError, match="not a signature"):
        types_in(text)


def test_types_are_read_from_the_signature_that_they_make() -> None:
    types = {"a": "h11.Request | None", "args": "str", "return": "dict[str, list[int]]"}
    assert as_signature(types) == "(a: h11.Request | None, args: str) -> dict[str, list[int]]"
    assert types_in(as_signature(types), ["h11"]) == types
    assert as_signature({"a": "int"}) == "(a: int)"
