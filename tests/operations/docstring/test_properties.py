"""Whatever the function: a docstring is added or mended, and nothing else of the file changes."""

import ast
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remora.code.syntax.docstring_sections import Style
from remora.errors import HostError
from remora.operations.docstring.docstring_verification import tree_without_docstring
from remora.operations.docstring.docstring_writer import mended, written
from remora.operations.docstring.documented_node import find_documented
from remora.operations.docstring.mend import mend_of
from remora.operations.docstring.parts import STYLES, DocstringFormat

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
    after = written(found, given, DocstringFormat(style=style))
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
    again = find_documented("a.py", written(now, "Another.", DocstringFormat()), node)
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
            mended(found)
        return
    after = mended(found)
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
        mended(now)
