"""The reference page of a node: its signature, location, callers, callees and tests."""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from remora.cli.app.output import indented, terminal_width, wrap_text
from remora.code.links import Edge, Related, Tier
from remora.hub.node import AnsweredNode
from remora.ids import STUB, file_of_key, module_path
from remora.text import count, escape_line, plural, some_of

Link = Edge | Related
_INDENT = "    "
_MAX_LINES = 6
_MAX_LINKS = (12, 8, 5, 3)
"""Links of a kind that a page shows: as many as fit on a screen."""
_SCREEN = 40  # lines of a page (decision)
_MIN_WIDTH = 24
_TIERS: dict[Tier, str] = {
    "exact": "green",
    "inferred": "cyan",
    "unique": "yellow",
    "possible": "yellow",
    "covered": "magenta",
}
_LEGEND = {
    "exact": "explicit in the source",
    "inferred": "follows from assignments, returns or callbacks",
    "unique": "the only definition of that name",
    "possible": "one of several alternatives",
    "covered": "seen by coverage of {day}",
}
NOT_ALL_TESTS = "the search was stopped: there may be more tests; try again later"
CONSTRUCTOR_NOTE = "creating an instance calls {0}; see `remora hub callers {0}`"
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\S*")


class NodeNotes(NamedTuple):
    """Additional notes about a node."""

    unknown: str = ""
    """The reason why links are unknown, or an empty string."""
    constructor: str | None = None
    """The key of a class's `__init__`."""


def node_page(
    node: AnsweredNode, width: int | None, notes: NodeNotes, *, verbose: bool
) -> Iterator[str]:
    """Yield the lines of a page that is `width` columns wide, and fits a screen if it can.

    If `verbose` is true, all links, line numbers and hashes are included.
    """
    lines: list[str] = []
    for most in (None,) if verbose else _MAX_LINKS:
        lines = list(_page(node, width, notes, most))
        if len(lines) <= _SCREEN:
            break
    yield from lines


def _page(
    node: AnsweredNode, width: int | None, notes: NodeNotes, many: int | None
) -> Iterator[str]:
    """Yield the lines of a page with at most `many` links of each kind, or all of them."""
    yield from _head(node, width, many)
    yield from _facts(node, width, many)
    if node.node_type != "module" or node.callers:  # modules have no callers
        yield from _section("CALLED BY", node.callers, many)
    if node.references:
        yield from _section("REFERRED TO BY", node.references, many)
    if notes.constructor is not None:
        text = CONSTRUCTOR_NOTE.format(notes.constructor.removeprefix("node:"))
        yield from wrap_text(_INDENT + escape_line(text), width, _INDENT)
    place = lines_of(node.key) if node.callees else ""
    yield from _section(f"CALLS{place}", node.callees, many)
    yield from _section("TESTS", node.related_tests, many)
    if not node.tests_complete:
        yield f"{_INDENT}{NOT_ALL_TESTS}"
    if notes.unknown:
        yield ""
        yield from wrap_text(f"unknown: {notes.unknown}", width)
    yield from _footer(node, width, verbose=many is None)


def link_lines(links: Sequence[Link], most: int | None = None, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each link, with its tier, its name and the line numbers of its calls.

    On a narrow terminal, the line numbers and then the name are on lines of their own.
    At most `most` links are listed. If `verbose` is true, all line numbers are shown.
    """
    shown = links[:most]
    names = [
        escape_line(link.id if isinstance(link, Related) else link.key.removeprefix("node:"))
        for link in shown
    ]
    places = [
        _place(link, len(link.lines) if verbose else _MAX_LINES) if isinstance(link, Edge) else ""
        for link in shown
    ]
    tiers = max((len(link.tier) for link in shown), default=0)
    column = max(map(len, names), default=0)
    room = (terminal_width() or sys.maxsize) - len(_INDENT) - tiers - 2
    if column + 2 + max(map(len, places), default=0) > room:
        column = 0
    for link, name, place in zip(shown, names, places, strict=True):
        tier = _INDENT + click.style(link.tier.ljust(tiers), fg=_TIERS[link.tier])
        text = f"{name.ljust(column)}  {place}".rstrip()
        if len(text) <= room:
            yield f"{tier}  {text}"
            continue
        yield from [f"{tier}  {name}"] if len(name) <= room else [tier, _INDENT + name]
        yield from indented(place, 2 * _INDENT) if place else ()
    if len(links) > len(shown):
        yield f"{_INDENT}and {len(links) - len(shown):,} more; -v shows all"


def lines_of(key: str) -> str:
    """Return a note of which file the call lines of a stub's node are, or an empty string."""
    path = file_of_key(key)
    return f" in {escape_line(module_path(path))}" if path.endswith(STUB) else ""


def legend(links: Sequence[Link], day: str = "") -> str:
    """Return what the tiers of some links mean. `day` is that of the coverage file."""
    seen = {link.tier for link in links}
    return "; ".join(f"{tier}: {_LEGEND[tier].format(day=day)}" for tier in _TIERS if tier in seen)


def _head(node: AnsweredNode, width: int | None, many: int | None) -> Iterator[str]:
    decorators = "\n".join(node.decorators).splitlines()
    yield from (click.style(escape_line(line), fg="cyan") for line in decorators[:many])
    if many is not None and len(decorators) > many:
        yield f"{_INDENT}and {count(len(decorators) - many, 'line')} more; -v shows all"
    yield click.style(escape_line(node.signature or f"module {node.file_path}"), bold=True)
    if node.docstring:
        yield ""
        room = None if width is None else max(_MIN_WIDTH, width - len(_INDENT))
        for line in wrap_text(escape_line(node.docstring), room):
            yield _INDENT + line
    yield ""


def _facts(node: AnsweredNode, width: int | None, many: int | None) -> Iterator[str]:
    rows = {
        "node": escape_line(node.key.removeprefix("node:")),
        "where": escape_line(f"{node.file_path}:{node.line_start}")
        + f", {count(node.line_count, 'line')}",
        "bases": escape_line(", ".join(node.bases)) if node.signature is None else "",
        "imports": escape_line(some_of(node.imports or (), 2 * many if many else sys.maxsize)),
        "measures": ", ".join(_measures(node)),
        "attention": escape_line("; ".join(_warnings(node))),
    }
    label = max(len(name) for name, text in rows.items() if text)
    for name, text in rows.items():
        if text:
            begin = f"{name:<{label}}  "
            room = None if width is None else max(_MIN_WIDTH, width - len(begin))
            first, *more = wrap_text(text, room)
            yield click.style(begin, fg="bright_black") + first
            yield from (" " * len(begin) + line for line in more)


def _measures(node: AnsweredNode) -> Iterator[str]:
    if node.complexity is not None:
        yield f"complexity {node.complexity}"
    if node.node_type == "function":
        yield "fully annotated" if node.has_type_hints else "not fully annotated"
    if node.docstring is None:
        yield "no docstring"


def _warnings(node: AnsweredNode) -> Iterator[str]:
    if node.docstring_outdated:
        yield "the docstring is out of date"
    if node.partial:
        yield (
            "the file cannot be read or parsed as a whole, so facts are incomplete "
            "(see `remora hub index`)"
        )
    if node.incomplete:
        yield f"there may be more in files that could not be read: {some_of(node.incomplete, 3)}"
    if not node.fresh:
        yield "not up to date: some changed files have not been read yet"


def _section(title: str, links: Sequence[Link] | None, most: int | None) -> Iterator[str]:
    yield ""
    if links is None:
        yield click.style(title, bold=True) + "  unknown"
    else:
        calls = sum(isinstance(link, Edge) and link.kind == "call" for link in links)
        others = f" and {count(len(links) - calls, 'other use')}" if 0 < calls < len(links) else ""
        number = f"{calls if others else len(links):,}{others}" if links else "none known"
        yield f"{click.style(title, bold=True)}  {number}"
        yield from link_lines(links, most, verbose=most is None)


def _footer(node: AnsweredNode, width: int | None, *, verbose: bool) -> Iterator[str]:
    yield ""
    known = [_fresh(node)]
    if node.last_updated:
        when = _ISO.sub(r"\1 \2", node.last_updated)
        known.append(f"changed {when} ({node.update_source})")
    links: list[Link] = [*(node.callers or ()), *(node.references or ()), *(node.callees or ())]
    links += node.related_tests or ()
    for text in (" · ".join(known), legend(links)):
        yield from (click.style(line, fg="bright_black") for line in wrap_text(text, width) if line)
    if verbose:
        for name in ("source_hash", "body_hash", "file_hash"):
            yield click.style(f"{name:<11}  {getattr(node, name) or ''}", fg="bright_black")


def _fresh(node: AnsweredNode) -> str:
    if not node.fresh:
        return "not up to date"
    lacks = None in (node.callers, node.callees, node.related_tests) or not node.tests_complete
    return "up to date, but incomplete" if lacks else "up to date"


def _place(link: Edge, most: int) -> str:
    kind = "" if link.kind in ("call", "reference") else link.kind
    lines = [*map(str, link.lines)]
    place = f"{plural('line', len(lines))} {some_of(lines, most)}" if lines else ""
    return ", ".join(filter(None, (kind, place)))
