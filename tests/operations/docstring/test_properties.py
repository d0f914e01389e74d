"""Docstrings that are written, in each style, change nothing else of a file."""

import ast
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remora.code.docstrings.docstring_sections import Style
from remora.code.docstrings.documented_node import find_documented
from remora.code.syntax.source import read_source
from remora.errors import HostError
from remora.operations.docstring.docstring_verification import tree_without_docstring
from remora.operations.docstring.docstring_writer import corrected_file, file_with_docstring
from remora.operations.docstring.given_text import fitted_summary, plain_text, text_problem
from remora.operations.docstring.mend import mend_of
from remora.operations.docstring.style import STYLES, DocstringFormat, StyleCounts, docstring_format
from tests.operations.lint.fixed_files import versions

NAMES = st.sampled_from(["a", "b", "count", "path", "to_file", "x1"])
WORDS = st.lists(
    st.sampled_from(
        ["take", "`a < b`", "it's", '"so"', "a\\d", "ä", "Note:", "Args", "x" * 90, "%s"]
    ),
    min_size=1,
    max_size=14,
).map(" ".join)
STATEMENTS = st.sampled_from(
    [
        "pass",
        "return 1",
        "yield 2",
        "raise ValueError(1)",
        "x = '''\n  y'''",
        "...",
        "# note\ny = 1",
    ]
)
STYLE = st.sampled_from(STYLES)


@st.composite
def parameters(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    cut = draw(st.integers(0, len(names)))
    shown = [_parameter(draw, name, index >= cut) for index, name in enumerate(names)]
    if draw(st.booleans()):
        shown.insert(cut, "*args" if draw(st.booleans()) or cut == len(names) else "*")
    if draw(st.booleans()):
        shown.append("**more")
    return ", ".join(shown)


def _parameter(draw: st.DrawFn, name: str, given: bool) -> str:
    annotation = draw(st.sampled_from(["", ": int", ": 'dict[str, int]'"]))
    return f"{name}{annotation}{' = None' if given else ''}"


@st.composite
def functions(draw: st.DrawFn, docstring: str = "") -> str:
    """A file with one function in it, perhaps in a class, in any layout."""
    header = f"{draw(st.sampled_from(['', 'async ']))}def f({draw(parameters())}):"
    body = draw(st.lists(STATEMENTS, min_size=1, max_size=3))
    simple = "\n" not in body[0] and not docstring
    if simple and draw(st.booleans()):
        text = f"{header} {body[0]}  # why\n"
    else:
        text = f"{header}\n{textwrap.indent(docstring + chr(10).join(body), '    ')}\n    z = 0\n"
    if draw(st.booleans()):
        text = f"class A:\n{textwrap.indent(text, '    ')}"
    if draw(st.booleans()):
        text = text.replace("\n    ", "\n\t").replace("\t    ", "\t\t").replace("\n    ", "\n\t")
    text = draw(st.sampled_from(["", "# first\n\n", "\ufeff"])) + text + "\n\nlast = 1\n"
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def parses(text: str) -> bool:
    try:
        ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError:
        return False
    return True


def node_of(text: str) -> str:
    return "A.f" if "class A" in text else "f"


def outside(before: bytes, after: bytes) -> bool:
    """Whether `after` is `before` with lines put in at one place, or in the place of others."""
    old, new = before.split(b"\n"), after.split(b"\n")
    first = next((i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    kept = 0
    while kept < len(old) - first and old[-1 - kept] == new[-1 - kept]:
        kept += 1
    return len(old) - first - kept <= 1  # the line that was split, if any


@given(functions(), WORDS, STYLE)
@example("def f(): return 1\n", "take", "rest")
def test_a_new_docstring(text: str, word: str, style: Style) -> None:
    if not parses(text):
        return
    source, node = text.encode(), node_of(text)
    found = find_documented("a.py", source, node)
    given = f"{word}\n\n{word} {word}"
    after = file_with_docstring(found, given, DocstringFormat(style=style))
    now = find_documented("a.py", after, node)
    assert now.text is not None
    assert now.text.split() == given.split()
    key = f"node:a.py:{node}"
    assert tree_without_docstring("a.py", source, key) == tree_without_docstring("a.py", after, key)
    assert outside(source, after)
    assert (b"\r\n" in after) == (b"\r\n" in source)
    assert after.replace(b"\r\n", b"").count(b"\n") == source.replace(b"\r\n", b"").count(
        b"\n"
    ) or (b"\r\n" not in source)
    again = find_documented("a.py", file_with_docstring(now, "Another.", DocstringFormat()), node)
    assert again.text == "Another."


DOCUMENTED = {
    "google": "\n\nArgs:\n{items}\n\nNote:\n    Stays {word}.\n",
    "numpy": "\n\nParameters\n----------\n{items}\n\nNotes\n-----\nStays {word}.\n",
    "rest": "\n\n{items}\n\nStays {word}.\n",
}
ITEMS = {
    "google": "    {name}: Old {name} words.",
    "numpy": "{name} : int\n    Old {name} words.",
    "rest": ":param {name}: Old {name} words.",
}


@st.composite
def outdated(draw: st.DrawFn) -> tuple[str, Sequence[str]]:
    style = draw(STYLE)
    names = draw(
        st.lists(st.sampled_from(["a", "b", "gone", "lost", "count"]), unique=True, min_size=1)
    )
    items = "\n".join(ITEMS[style].format(name=name) for name in names)
    body = DOCUMENTED[style].format(items=items, word="put")
    return draw(functions(docstring=f'"""Do it.{body}"""\n')), names


@given(outdated())
def test_an_outdated_docstring(case: tuple[str, Sequence[str]]) -> None:
    text, names = case
    if not parses(text):
        return
    source, node = text.encode(), node_of(text)
    found = find_documented("a.py", source, node)
    if not mend_of(found):
        with pytest.raises(HostError, match="nothing can be changed"):
            corrected_file(found)
        return
    after = corrected_file(found)
    now = find_documented("a.py", after, node)
    assert now.text is not None
    left = {(each.code, each.name) for each in now.contradictions}
    assert left < {(each.code, each.name) for each in found.contradictions}
    gone = {each.old for each in found.contradictions if node == "f"}  # A.f may be overridden
    for name in set(names) - gone:
        assert f"Old {name} words." in now.text
    assert "Do it." in now.text
    assert "Stays put." in now.text
    with pytest.raises(HostError, match="nothing can be changed"):
        corrected_file(now)


FUNCTION = """
def move(shelf: str, count: int = 1, *, by: Person | None = None) -> bool:
    if count < 1:
        raise ValueError(count)
    return shelf.take(count)
"""
GOOGLE = '''
    """Move books from a shelf.

    Args:
        shelf: The shelf's name.
        count: Number of books.
        by: Person who carries the books; if None, the person who has waited for the
            longest time.

    Returns:
        True if the shelf had enough books.

    Raises:
        ValueError: If `count < 1`.
    """
'''
NUMPY = '''
    """Move books from a shelf.

    Parameters
    ----------
    shelf : str
        The shelf's name.
    count : int, optional
        Number of books.
    by : Person | None, optional
        Person who carries the books; if None, the person who has waited for the longest
        time.

    Returns
    -------
    bool
        True if the shelf had enough books.

    Raises
    ------
    ValueError
        If `count < 1`.
    """
'''
REST = '''
    """Move books from a shelf.

    :param shelf: The shelf's name.
    :param count: Number of books.
    :param by: Person who carries the books; if None, the person who has waited for the
        longest time.
    :returns: True if the shelf had enough books.
    :raises ValueError: If `count < 1`.
    """
'''


def with_text(source: str, text: str, node: str = "f", **said: Any) -> str:
    """The file after `text` was written as the docstring of `node`."""
    found = find_documented("a.py", source.encode(), node)
    return file_with_docstring(found, text, DocstringFormat(**said)).decode()


def corrected(source: str) -> str:
    """The file after the docstring of `f` was corrected."""
    return corrected_file(find_documented("a.py", source.encode(), "f")).decode()


@pytest.mark.parametrize(
    ("style", "expected"), [("google", GOOGLE), ("numpy", NUMPY), ("rest", REST)]
)
def test_a_given_text_is_indented_and_wrapped(style: Any, expected: str) -> None:
    header, body = FUNCTION.split("    if count", 1)
    text = plain_text(re.sub(r"for the( longest)?\n +", r"for the\1 ", expected))
    assert max(map(len, text.split("\n"))) > 88
    made = with_text(FUNCTION, text, "move", style=style)
    assert made == f"{header}{expected.removeprefix(chr(10))}    if count{body}"
    assert with_text(FUNCTION, text, "move", style=style, below=True) == made.replace(
        '"""Move', '"""\n    Move'
    )
    assert with_text(made, "Move it.", "move") == f'{header}    """Move it."""\n    if count{body}'


def test_code_in_a_text_is_not_wrapped() -> None:
    code = ">>> " + "move('a', " * 9 + "1"
    assert f"    {code}\n" in with_text(FUNCTION, f"Move.\n\n{code}\nTrue", "move")


GIVEN = {
    '"""Do it."""': "Do it.",
    "  r'''Do it.\n\n    Now.\n    '''\n": "Do it.\n\nNow.",
    "Do it.\n\n  Args:\n      a: One.\n": "Do it.\n\nArgs:\n    a: One.",
}


@pytest.mark.parametrize("given", GIVEN)
def test_quotes_and_indentation_of_a_given_text_do_not_count(given: str) -> None:
    assert plain_text(given) == GIVEN[given]


REFUSED = {
    "7.": "a docstring needs a text",
    " ": "needs a text",
    "Do it so.": "the first line has 9 characters (maximum 8)",
    "The docstring is missing.": "about what the code does",
    'Do """.': "triple quotes",
    "Do \a.": "control characters",
    "Do.\n\n" + "x" * 4000: "4,005 characters (maximum 4,000)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_texts_that_cannot_be_a_docstring(text: str) -> None:
    assert REFUSED[text] in text_problem(plain_text(text), 8)
    assert text_problem("Do it.\n\nNow, and then again.", 8) == ""


LAYOUTS = {
    "a body behind the colon": (
        "def f(): return 1  # why\n",
        'def f():\n    """Do it."""\n    return 1  # why\n',
    ),
    "a class of dots": ("class f: ...\n", 'class f:\n    """Do it."""\n    ...\n'),
    "a class with a body": ("class f:\n    x = 1\n", 'class f:\n    """Do it."""\n\n    x = 1\n'),
    "tabs": ("def f():\n\treturn 1\n", 'def f():\n\t"""Do it."""\n\treturn 1\n'),
    "tabs, behind the colon": (
        "class A:\n\tx = 1\n\tdef f(self): pass\n",
        'class A:\n\tx = 1\n\tdef f(self):\n\t\t"""Do it."""\n',
    ),
    "Windows": ("def f():\r\n    pass\r\n", 'def f():\r\n    """Do it."""\r\n'),
    "Windows, below other lines": (
        "x = 1\n\n\ndef f():\r\n    return x\n",
        'x = 1\n\n\ndef f():\r\n    """Do it."""\n    return x\n',
    ),
    "a byte order mark": ("\ufeffdef f(): pass\n", '\ufeffdef f():\n    """Do it."""\n'),
    "a comment first": (
        "async def f(\n    a: int,  # one: two\n) -> int:\n    # why\n    return {1: 2}[a]\n",
        'async def f(\n    a: int,  # one: two\n) -> int:\n    """Do it."""\n'
        "    # why\n    return {1: 2}[a]\n",
    ),
    "no newline at the end": ("def f(): pass", 'def f():\n    """Do it."""'),
    "a decorated function in it": (
        "def f():\n    @d\n    def g(): pass\n",
        'def f():\n    """Do it."""\n    @d\n    def g(): pass\n',
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    before, after = LAYOUTS[name]
    assert with_text(before, "Do it.", "A.f" if "class A" in before else "f") == after


def test_a_repeated_name_is_another_node() -> None:
    source = "if x:\n    def f(): pass\nelse:\n    def f(): return 1\n"
    made = with_text(source, "Do it.", "f#2")
    assert made == source.replace(": return 1", ':\n        """Do it."""\n        return 1')


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        (r"Match `\d`.", 'r"""Match `\\d`."""'),
        ('Say "so"', '"""Say "so"\n    """'),
        ("End with \\", 'r"""End with \\\n    """'),
    ],
)
def test_backslashes_and_quotes(text: str, literal: str) -> None:
    assert with_text("def f(): pass\n", text) == f"def f():\n    {literal}\n"


CORRECTED = {
    "google: one is gone": '''
          def f(a, c):
              """Do it.

              Long story.

              Args:
                  a (int): First, which
                      goes on.
        -         gone: Was here.
        -
                  c: Last.

              Note:
                  Stays.
              """
        ''',
    "blank lines before the closing quotes stay": '''
          def f(a):
              """Do.

              Args:
                  a: One.
        -         b: Two.

              """
              print(a)
        ''',
    "numpy: two share a line": '''
          def f(x):
              """Do it.

              Parameters
              ----------
        -     x, y : int
        +     x : int
                Both.

              See Also
              --------
              g
              """
        ''',
    "rest": '''
          def f(a):
              """Do it.

              :param int a: First.
        -     :param gone: Was here
        -         for long.
        -     :type gone: str
              :returns: What is there.
              :rtype: int
              :raises ValueError: Never.
              """
              print(a)
        ''',
    "a renamed parameter keeps its words": '''
          def f(a, new):
        -     """Do it with `new_one`.
        +     """Do it with `new`.

              :param int a: First.
        -     :param new_one: Was here
        +     :param new: Was here
                  for long.
        -     :type new_one: str
        +     :type new: str
              """
              return a
        ''',
}  # fmt: skip


@pytest.mark.parametrize("diff", CORRECTED.values(), ids=CORRECTED)
def test_corrections(diff: str) -> None:
    before, after = versions(diff)
    assert corrected(before) == after


@pytest.mark.parametrize(
    "docstring",
    [
        '"Do it.\\n\\n:param gone: Was."',
        '"""Do it.\\\n\n    :param gone: Was."""',
        '"""Do it.\n\n    """ ":param gone: Was."',
    ],
)
def test_a_literal_whose_lines_are_not_lines_is_left_alone(docstring: str) -> None:
    with pytest.raises(HostError, match="not a plain string literal"):
        corrected(f"def f(a):\n    {docstring}\n")


def test_habits() -> None:
    sources = [GOOGLE, NUMPY, NUMPY.replace('"""Move', '"""\n    Move')]
    seen = StyleCounts()
    for text in sources:
        read = read_source("a.py", f"def f():{text}".encode())
        assert not isinstance(read, str)
        seen.see(read)  # type: ignore[arg-type]
    found = docstring_format([seen], style=None, width=79)
    assert found == DocstringFormat(style="numpy", width=79)
    assert docstring_format([StyleCounts(), seen], style="rest", width=79).style == "rest"
    assert docstring_format([], style=None, width=79) == DocstringFormat(style="google", width=79)


@pytest.mark.parametrize(
    ("written", "fitted"),
    [
        ("The `load` function converts a text to a number.", "Converts a text to a number."),
        ("This method adds an item.", "Adds an item."),
        (
            "Check if an object is a named tuple by looking at its fields.",
            "Check if an object is a named tuple.",
        ),
        ("Return the newest entry. It may be None if there is none.", "Return the newest entry."),
        ("Return a name never shortened because it has no clause", None),
        ("Class representing a cart of a customer, including its items.", "A cart of a customer."),
        (
            "Shop is a class that handles all orders of customers.",
            "Handles all orders of customers.",
        ),
        ("Check whether the given text is not in the list of names.", None),
        ("Collect all names, values, and types of an object that has them", None),
        ("Return the first entry. If the list is empty, a defau", "Return the first entry."),
        ("Add an item.\n\nIt may be the same as one before.", None),
    ],
)
def test_a_summary_fits_if_clauses_at_its_end_can_go(written: str, fitted: str | None) -> None:
    assert fitted_summary(written, 40) == (fitted or written)


def test_verbs_of_a_summary_have_the_mood_of_the_project() -> None:
    given = "Iterates over all items and yield each."
    assert fitted_summary(given, 60, "imperative") == "Iterate over all items and yield each."
    assert fitted_summary(given, 60, "indicative") == "Iterates over all items and yields each."
    assert fitted_summary("Names and addresses.", 60, "imperative") == "Names and addresses."
    three = "Connect to a host, loads a configuration, and prints it."
    assert fitted_summary(three, 60, "imperative").count("load ") == 1
