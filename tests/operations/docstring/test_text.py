"""A docstring is outdated where it surely documents something else than the code has."""

import textwrap

import pytest

from remora.code.file_analysis import read_facts


def outdated(header: str, docstring: str, body: str = "return 1") -> bool:
    inside = f'"""Do it.\n\n{textwrap.dedent(docstring).strip()}\n"""\n{body}'
    source = f"{header}\n{textwrap.indent(inside, '    ')}\n"
    node = read_facts("a.py", source.encode()).nodes[1]
    assert node.docstring == "Do it."
    return node.docstring_outdated


def listed(style: str, *names: str) -> str:
    match style:
        case "google":
            return "Args:\n" + "".join(f"    {name} (int): Some {name}.\n" for name in names)
        case "numpy":
            return "Parameters\n----------\n" + "".join(f"{n} : int\n    A {n}.\n" for n in names)
        case _:
            return "".join(f":param int {name}: some {name}\n" for name in names)


STYLES = pytest.mark.parametrize("style", ["google", "numpy", "rest"])


@STYLES
@pytest.mark.parametrize(
    ("header", "names", "expected"),
    [
        ("def f(a, b):", ("a", "b"), False),
        ("def f(a, b):", ("a",), True),
        ("def f(a):", ("a", "b"), True),
        ("def f(a, c):", ("a", "b"), True),
        ("def f(self, a):", ("a",), False),
        ("def f(cls, a):", ("a",), False),
        ("def f(a, _b):", ("a",), False),
        ("def f(a, *args, **kwargs):", ("a",), False),
        ("def f(a, **kwargs):", ("a", "b"), False),
        ("def f(a, *args):", ("a", "b"), False),
        ("def f(a, *args, **kwargs):", ("a", "*args", "**kwargs"), False),
        ("async def f(a, /, b, *, c):", ("a", "b", "c"), False),
        ("async def f(a, /, b, *, c):", ("a", "b"), True),
    ],
)
def test_parameters(style: str, header: str, names: tuple[str, ...], expected: bool) -> None:
    assert outdated(header, listed(style, *names)) is expected


@pytest.mark.parametrize(
    ("header", "docstring", "expected"),
    [
        ("def f(a, b):", "Args:\n    a, b: Both.", False),
        ("def f(a, b):", "Parameters\n----------\na, b : int\n    Both.", False),
        ("def f(a):", "Args:\n    a: One.\n        gone: is the rest of it.", False),
        ("def f(a):", "Args:\n    a: One.\n    and then more text.", False),
        ("def f(a):", "Args:\n    a: One.\n    Note: more text.", False),
        ("def f(a):", "Args:\n    `a`: One.\n\n    b (list[int], optional): Two.", True),
        ("def f(a):", "Args:\n    a: One.\n\nExample:\n    b: is no parameter", False),
        ("def f(a):", "Parameters\n----------\na\n    One.\n\nNotes\n-----\nb : no", False),
        ("def f(a):", "Keyword Args:\n    b: Two.", True),
        ("def f(a):", ":param a: one\n:type a: int\n:param b: two", True),
        ("def f(a):", ":param a: one: with a colon\n:returns: b: two", False),
        ("def f(a):", "It takes these args: b, c.", False),
        ("def f(a):", "Args: b, c", False),
    ],
)
def test_lists_of_parameters(header: str, docstring: str, expected: bool) -> None:
    assert outdated(header, docstring) is expected


RETURNS = ("Returns:\n    A number.", "Returns\n-------\nint\n    A number.", ":returns: a number")
YIELDS = ("Yields:\n    A number.", "Yields\n------\nint\n    A number.", ":yields: a number")


@pytest.mark.parametrize("docstring", RETURNS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", False),
        ("print(1)", True),
        ("return", True),
        ("return None", True),
        ("if a:\n    return\nfor b in c:\n    return b", False),
        ("def g():\n    return 1", True),
        ("x = lambda: (yield)", True),
        ("yield 1", False),
        ("raise NotImplementedError", False),
        ("...", False),
        ("pass", False),
        ("raise A()", False),
    ],
)
def test_what_it_returns(docstring: str, body: str, expected: bool) -> None:
    assert outdated("def f():", docstring, body) is expected
    assert not outdated("@abstractmethod\ndef f():", docstring, body)
    assert not outdated("def f() -> int:", docstring, body)
    assert outdated("def f() -> None:", docstring, body) is expected


@pytest.mark.parametrize("docstring", YIELDS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [("yield 1", False), ("yield from a", False), ("return a", False), ("print(1)", True)],
)
def test_what_it_yields(docstring: str, body: str, expected: bool) -> None:
    assert outdated("def f():", docstring, body) is expected


@pytest.mark.parametrize("nothing", ["None", "None: always", "Nothing."])
def test_that_it_returns_nothing_is_not_a_promise(nothing: str) -> None:
    assert not outdated("def f():", f"Returns:\n    {nothing}", "print(1)")
    assert not outdated("def f():", f":returns: {nothing}", "print(1)")


@STYLES
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise ValueError('no')", False),
        ("raise ValueError", False),
        ("raise UnicodeDecodeError", False),
        ("raise OSError", True),
        ("raise OwnError", False),
        ("raise self.error", False),
        ("raise", False),
        ("return 1", True),
        ("return len([1])", True),
        ("return int('1')", False),
        ("with a:\n    return 1", False),
        ("yield 1", False),
        ("def g():\n    raise ValueError", True),
        ("raise NotImplementedError", False),
        ("raise ValueError from KeyError()", False),
        ("int()\nraise OSError", True),
        ("int()\nraise AssertionError", False),
        ("try:\n    raise OSError\nexcept OSError:\n    int()", False),
    ],
)
def test_what_it_raises(style: str, body: str, expected: bool) -> None:
    docstring = {
        "google": "Raises:\n    ValueError: If not.",
        "numpy": "Raises\n------\nValueError\n    If not.",
        "rest": ":raises ValueError: if not",
    }[style]
    assert outdated("def f():", docstring, body) is expected


def test_an_error_that_any_index_may_raise_says_nothing() -> None:
    assert not outdated("def f(a):", "Raises:\n    KeyError: If not.", "return a[1]")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def __init__(self, a): pass", False),
        ("def __init__(self, b): pass", True),
        ("def __init__(self, b): self.a = b", False),
        ("a: int\ndef __init__(self, b): pass", False),
        ("def __init__(self, **b): pass", False),
        ("a: int", False),
        ("def a(self, b): pass", False),
    ],
)
def test_parameters_of_a_class_are_those_of_its_init(body: str, expected: bool) -> None:
    inside = f'"""Do it.\n\nArgs:\n    a: One.\n"""\n{body}'
    source = f"class A:\n{textwrap.indent(inside, '    ')}\n"
    assert read_facts("a.py", source.encode()).nodes[1].docstring_outdated is expected


def test_no_docstring_is_not_outdated() -> None:
    assert not read_facts("a.py", b"def f(a): return 1").nodes[1].docstring_outdated
