"""Uses of a name, found by syntax."""

import sys

import pytest

from remora.tools.host.find_references import find_name_references

PROGRAM = '''\
from shop.load import load as fetch
import load.inner
__all__ = ["load", "other"]


def load(path, *, load=None):
    """Loads: load."""
    global load
    load = path.load
    return load(path.load(), load=1), f"load {load} load"


class Cart(load):
    load: int = 0

    @load
    def other(self): del self.load


try:
    pass
except ValueError as load:
    pass
match fetch:
    case Cart(load=1): pass
    case [*load]: pass
    case {**load}: pass
    case load: pass
unload = reload = "load me"
'''


def kinds(name: str, source: str) -> list[tuple[int, str]]:
    return [(each.line, each.kind) for each in find_name_references(name, source.encode())]


def test_every_kind_of_reference_is_found() -> None:
    assert kinds("load", PROGRAM) == [
        (1, "import"),
        (2, "import"),
        (3, "string"),
        (6, "definition"),
        (6, "parameter"),
        (8, "declaration"),
        (9, "read"),
        (9, "write"),
        (10, "call"),
        (10, "keyword"),
        (10, "read"),
        (13, "read"),
        (14, "write"),
        (16, "read"),
        (17, "write"),
        (22, "write"),
        (25, "keyword"),
        (26, "write"),
        (27, "write"),
        (28, "write"),
    ]


def test_a_reference_has_the_text_of_its_line() -> None:
    (found,) = find_name_references("total", b"class A:\r\n    total = 1  # \xc3\xa9\r\n")

    assert (found.line, found.text) == (2, "total = 1  # é")
    assert (
        find_name_references("x", b"x = '" + b"a" * 500 + b"'")[0].text == "x = '" + "a" * 194 + "…"
    )


def test_an_attribute_is_on_the_line_of_its_name() -> None:
    assert kinds("end", "(start\n .middle\n .end)\n") == [(3, "read")]


def test_a_file_that_is_not_python_is_searched_for_the_word() -> None:
    broken = "def load(:\n    unload()\n    load()\n"

    assert kinds("load", broken) == [(1, "text"), (3, "text")]


@pytest.mark.parametrize("source", [b"", b"# load\n", b"'load it'\n", b"unload()\n", b"\xff\n"])
def test_comments_and_other_words_are_not_found(source: bytes) -> None:
    assert find_name_references("load", source) == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of 3.12")
def test_a_type_parameter_is_a_definition() -> None:
    assert kinds("T", "def f[T](a: T) -> T: ...\n") == [(1, "definition"), (1, "read")]
