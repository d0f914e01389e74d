"""Summaries and lines of nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module, node_summary, own_lines
from remora.errors import NotFound
from remora.ids import node_key


def parsed(text: str) -> Module:
    found = parse_module("pkg/a.py", text.encode())
    assert isinstance(found, Module)
    return found


def test_summaries() -> None:
    module = parsed('"""All of it."""\ndef f(x: int) -> str:\n    """Say x.\n\n    More."""\n')
    assert [node_summary(node) for node in module.nodes] == [
        "module pkg/a.py: All of it. (5 lines)",
        "def f(x: int) -> str: Say x. (4 lines)",
    ]
    assert node_summary(parsed("class A: pass").nodes[1]) == "class A (1 line)"


@given(name=st.integers(1, 400), doc=st.integers(1, 400))
def test_a_summary_keeps_its_limit_and_its_line_count(name: int, doc: int) -> None:
    node = parsed(f"def {'f' * name}():\n    '{'d' * doc}'").nodes[1]
    summary = node_summary(node)
    assert len(summary) <= 300
    assert summary.endswith(" (2 lines)")
    assert ("…" in summary) == (len(f"def {'f' * name}(): {'d' * doc} (2 lines)") > 300)


def test_lines_of_an_unknown_node() -> None:
    with pytest.raises(NotFound, match=r"node:pkg/a\.py:gone"):
        own_lines(parsed("x = 1"), node_key("pkg/a.py", "gone"))
