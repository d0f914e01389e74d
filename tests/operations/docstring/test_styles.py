"""New and corrected docstrings in each style."""

from typing import Any

import pytest

from remora.code.syntax.docstring_sections import parse_docstring
from remora.code.syntax.source import Source, read_source
from remora.errors import HostError
from remora.operations.docstring.docstring_writer import write
from remora.operations.docstring.documented_node import find_documented
from remora.operations.docstring.layout import new_raises_section
from remora.operations.docstring.parts import DocstringFormat, DocstringTexts, Parameter
from remora.operations.docstring.style import StyleCounts, docstring_format
from tests.operations.lint.test_recipes import versions

FUNCTION = """
def move(shelf: str, count: int = 1, *, by: Person | None = None) -> bool:
    if count < 1:
        raise ValueError(count)
    return shelf.take(count)
"""
TEXTS = DocstringTexts(
    summary="Move books from a shelf.",
    parameters={
        "shelf": "The shelf's name.",
        "count": "Number of books.",
        "by": "Person who carries the books; if None, the person who has waited for the longest time.",
    },
    outcome="True if the shelf had enough books.",
    raises={"ValueError": "If `count < 1`."},
)
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


def written(source: str, node: str = "f", texts: DocstringTexts = TEXTS, **said: Any) -> str:
    """The file after the docstring of `node` was written."""
    return write(
        find_documented("a.py", source.encode(), node), texts, DocstringFormat(**said)
    ).decode()


@pytest.mark.parametrize(
    ("style", "expected"), [("google", GOOGLE), ("numpy", NUMPY), ("rest", REST)]
)
def test_a_new_docstring(style: Any, expected: str) -> None:
    header, body = FUNCTION.split("    if count", 1)
    made = written(FUNCTION, "move", style=style)
    assert made == f"{header}{expected.removeprefix(chr(10))}    if count{body}"
    assert written(FUNCTION, "move", style=style, below=True) == made.replace(
        '"""Move', '"""\n    Move'
    )


def test_a_list_that_would_not_be_whole_is_left_out() -> None:
    texts = DocstringTexts(
        summary="Move.", parameters={"shelf": "Where."}, raises={"OSError": "Never."}
    )
    made = written(FUNCTION, "move", texts)
    assert '    """Move."""\n    if count' in made


ONE = DocstringTexts(summary="Do it.")
LAYOUTS = {
    "a body behind the colon": (
        "def f(): return 1  # why\n",
        'def f():\n    """Do it."""\n    return 1  # why\n',
    ),
    "a class of dots": ("class f: ...\n", 'class f:\n    """Do it."""\n    ...\n'),
    "a class with a body": (
        "class f:\n    x = 1\n",
        'class f:\n    """Do it."""\n\n    x = 1\n',
    ),
    "tabs": ("def f():\n\treturn 1\n", 'def f():\n\t"""Do it."""\n\treturn 1\n'),
    "tabs, behind the colon": (
        "class A:\n\tx = 1\n\tdef f(self): pass\n",
        'class A:\n\tx = 1\n\tdef f(self):\n\t\t"""Do it."""\n\t\tpass\n',
    ),
    "Windows": ("def f():\r\n    pass\r\n", 'def f():\r\n    """Do it."""\r\n    pass\r\n'),
    "a byte order mark": (
        "\ufeffdef f(): pass\n",
        '\ufeffdef f():\n    """Do it."""\n    pass\n',
    ),
    "a comment first": (
        "async def f(\n    a: int,  # one: two\n) -> int:\n    # why\n    return {1: 2}[a]\n",
        'async def f(\n    a: int,  # one: two\n) -> int:\n    """Do it."""\n'
        "    # why\n    return {1: 2}[a]\n",
    ),
    "no newline at the end": ("def f(): pass", 'def f():\n    """Do it."""\n    pass'),
    "a decorated function in it": (
        "def f():\n    @d\n    def g(): pass\n",
        'def f():\n    """Do it."""\n    @d\n    def g(): pass\n',
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    before, after = LAYOUTS[name]
    assert written(before, "A.f" if "class A" in before else "f", ONE) == after


def test_a_repeated_name_is_another_node() -> None:
    source = "if x:\n    def f(): pass\nelse:\n    def f(): return 1\n"
    made = written(source, "f#2", ONE)
    assert made == source.replace(": return 1", ':\n        """Do it."""\n        return 1')


def test_a_backslash_makes_it_raw() -> None:
    made = written("def f(): pass\n", texts=DocstringTexts(summary=r"Match `\d`."))
    assert 'r"""Match `\\d`."""' in made


def test_quotes_that_would_end_it_are_refused() -> None:
    with pytest.raises(HostError, match="quotes"):
        written("def f(): pass\n", texts=DocstringTexts(summary='Do """ it.'))


NEW = DocstringTexts(parameters={"new": "New one."})
CORRECTED = {
    "google: one is new, one is gone": (NEW, '''
          def f(a, new, c):
              """Do it.

              Long story.

              Args:
                  a (int): First, which
                      goes on.
        -         gone: Was here.
        -
        +         new: New one.
                  c: Last.

              Note:
                  Stays.
              """
        '''),
    "blank lines before the closing quotes stay": (NEW, '''
          def f(a):
              """Do.

              Args:
                  a: One.
        -         b: Two.

              """
              print(a)
        '''),
    "numpy: two share a line, and descriptions are indented as the others": (NEW, '''
          def f(x, new):
              """Do it.

              Parameters
              ----------
        -     x, y : int
        +     x : int
                Both.
        +     new
        +       New one.

              See Also
              --------
              g
              """
        '''),
    "rest": (NEW, '''
          def f(a, new):
              """Do it.

              :param int a: First.
        -     :param gone: Was here
        -         for long.
        -     :type gone: str
        +     :param new: New one.
              :returns: What is there.
              :rtype: int
              :raises ValueError: Never.
              """
              print(a)
        '''),
    "a renamed parameter keeps its words": (DocstringTexts(), '''
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
        '''),
    "what is raised is added where others are listed": (
        DocstringTexts(raises={"KeyError": "If `a`."}), '''
          def f(a):
              """Do it.

              Raises:
                  TypeError: If odd.
        +         KeyError: If `a`.
              """
              if check(a):
                  raise KeyError(a)
        '''),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "diff"), CORRECTED.values(), ids=CORRECTED)
def test_corrections(texts: DocstringTexts, diff: str) -> None:
    before, after = versions(diff)
    assert written(before, "f", texts) == after


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
        written(f"def f(a):\n    {docstring}\n", texts=DocstringTexts())


def test_habits() -> None:
    sources = [GOOGLE, NUMPY, NUMPY.replace('"""Move', '"""\n    Move').replace("`", "``")]
    seen = StyleCounts()
    for text in sources:
        read = read_source("a.py", f"def f():{text}".encode())
        assert not isinstance(read, str)
        seen.see(read)  # type: ignore[arg-type]
    found = docstring_format([seen], style=None, width=79)
    assert found == DocstringFormat(style="numpy", width=79)
    assert docstring_format([StyleCounts(), seen], style="rest", width=79).style == "rest"
    assert docstring_format([], style=None, width=79) == DocstringFormat(style="google", width=79)


def test_roles_are_not_code_in_single_backticks() -> None:
    seen = StyleCounts()
    roles = "A :class:`A`, :class:`B` or :py:class:`C`, and ``d``, see `Docs`_."
    read = read_source("a.py", f'def f():\n    """{roles}"""'.encode())
    assert not isinstance(read, str)
    seen.see(read)  # type: ignore[arg-type]
    assert docstring_format([seen], style=None, width=79).tick == "``"


NEIGHBOURS = '''
def one():
    """One.

    Examples:
        one()

    Raises:
        :class:`Gone`
            If it is gone

    Tip:
        Do not.
    """
'''


def test_a_list_of_exceptions_is_written_as_in_the_other_docstrings() -> None:
    seen = StyleCounts()
    read = read_source("a.py", NEIGHBOURS.encode())
    assert isinstance(read, Source)
    seen.see(read)
    form = docstring_format([StyleCounts(), seen], style=None, width=79)
    lines = NEIGHBOURS.split('"""')[1].rstrip().split("\n")
    before = parse_docstring("\n".join([*lines[:5], *lines[9:]]))
    entry = (Parameter("Late"), f"If `it` is late{form.period}")
    first, end, made = new_raises_section(before, [entry], form, "    ")
    after = [*before.lines[:first], *made, *before.lines[end:]]
    assert "\n".join(after) == "\n".join(lines).replace("Gone", "Late").replace(
        "it is gone", "`it` is late"
    )
