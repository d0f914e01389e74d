"""Reverse links equal those of the linker, after any number of queries."""

import textwrap

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.code.pytest_model import reverse_links
from remora.code.pytest_model.reverse_links import ReverseLinks
from remora.hub.query.snapshots import MemorySnapshot

SOURCE = """
def used():
    return 1


def one():
    return used()


def other():
    return used() + one()
"""
NAMES = ("used", "one", "other", "nobody")


def view() -> MemorySnapshot:
    sources = {"app.py": SOURCE, "more.py": "from app import used\n\nused()\n"}
    facts = [read_facts(path, textwrap.dedent(text).encode()) for path, text in sources.items()]
    return MemorySnapshot({one.path: one for one in facts})


@pytest.mark.parametrize(("queries", "nodes"), [(0, 10), (2, 10), (2, 0)])
def test_callers_equal_those_of_the_linker(
    queries: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reverse_links, "_REVERSE_AFTER_QUERIES", queries)
    monkeypatch.setattr(reverse_links, "_MAX_REVERSED_NODES", nodes)
    code = view()
    links = ReverseLinks(Linker(code), code)
    for name in (*NAMES, *NAMES):
        found = sorted(links.callers(f"node:app.py:{name}"), key=lambda edge: edge.key)
        expected = Linker(code).callers(f"node:app.py:{name}")
        assert found == sorted(expected, key=lambda edge: edge.key)
    assert len(links.callers("node:app.py:used")) == 3


def test_importers_equal_those_of_the_linker() -> None:
    code = view()
    links = ReverseLinks(Linker(code), code)
    for _ in range(2):
        (edge,) = links.importers("node:app.py:used")
        assert edge.key == "node:more.py:__module__"
    assert links.importers("node:app.py:one") == ()
