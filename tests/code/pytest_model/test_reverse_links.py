"""Links followed backwards are the linker's, however many were asked for before."""

import textwrap

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.code.pytest_model import reverse_links
from remora.code.pytest_model.reverse_links import Backlinks
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


@pytest.mark.parametrize(("many", "moderate"), [(0, 10), (2, 10), (2, 0)])
def test_callers_are_those_of_the_linker_turned_around_or_not(
    many: int, moderate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reverse_links, "_MANY", many)
    monkeypatch.setattr(reverse_links, "_MODERATE", moderate)
    code = view()
    asked = Backlinks(Linker(code), code)
    for name in (*NAMES, *NAMES):
        found = sorted(asked.callers(f"node:app.py:{name}"), key=lambda edge: edge.key)
        told = Linker(code).callers(f"node:app.py:{name}")
        assert found == sorted(told, key=lambda edge: edge.key)
    assert len(asked.callers("node:app.py:used")) == 3


def test_importers_are_those_of_the_linker() -> None:
    code = view()
    asked = Backlinks(Linker(code), code)
    for _ in range(2):
        (edge,) = asked.importers("node:app.py:used")
        assert edge.key == "node:more.py:__module__"
    assert asked.importers("node:app.py:one") == ()
