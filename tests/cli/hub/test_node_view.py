"""How links are shown at any width of a terminal."""

import click
import pytest

from remora.cli.hub import node_view
from remora.cli.hub.node_view import link_lines
from remora.code.links import Edge

LINKS = (
    Edge(key="node:src/a.py:f", tier="exact", lines=(3,)),
    Edge(key="node:src/cart/prices.py:Cart.total_with_tax", tier="inferred", lines=(12, 345)),
)


def shown(monkeypatch: pytest.MonkeyPatch, width: int | None) -> list[str]:
    monkeypatch.setattr(node_view, "terminal_width", lambda: width)
    monkeypatch.setattr("remora.cli.app.output.terminal_width", lambda: width)
    return [click.unstyle(line).rstrip() for line in link_lines(LINKS, verbose=False)]


@pytest.mark.parametrize("width", [None, 80])
def test_links_are_aligned_where_there_is_space(
    monkeypatch: pytest.MonkeyPatch, width: int | None
) -> None:
    assert shown(monkeypatch, width) == [
        "    exact     src/a.py:f                              line 3",
        "    inferred  src/cart/prices.py:Cart.total_with_tax  lines 12, 345",
    ]


def test_on_a_narrow_terminal_line_numbers_that_do_not_fit_are_below_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown(monkeypatch, 60) == [
        "    exact     src/a.py:f  line 3",
        "    inferred  src/cart/prices.py:Cart.total_with_tax",
        "        lines 12, 345",
    ]


def test_a_name_that_does_not_fit_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 46) == [
        "    exact     src/a.py:f  line 3",
        "    inferred",
        "    src/cart/prices.py:Cart.total_with_tax",
        "        lines 12, 345",
    ]
