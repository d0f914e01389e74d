"""The reference page of a node: its signature, location, callers, callees and tests."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import click

from remora.cli.app.output import (
    clip_start,
    wrap_text,
)
from remora.hub.node import Tier
from remora.hub.protocol import AnsweredNode, Edge, Related
from remora.text import count, escape_line

Link = Edge | Related
_INDENT = "    "
_MAX_LINES = 6
_MAX_LINKS = 12
_MIN_WIDTH = 24
_LINES_WIDTH = 16
"""Columns reserved for line numbers, such as `line 1234 and 9 more`."""
_TIERS: dict[Tier, str] = {
    "exact": "green",
    "inferred": "cyan",
    "unique": "yellow",
    "possible": "yellow",
    "observed": "magenta",
}
_LEGEND = {
    "exact": "explicit in the source",
    "inferred": "follows from assignments, returns or callbacks",
    "unique": "the only definition of that name",
    "possible": "one of several alternatives",
    "observed": "seen while tests ran",
}
NOT_ALL_TESTS = "the search was stopped: there may be more tests; try again later"
CONSTRUCTOR_NOTE = "creating an instance calls {0}; see `remora hub callers {0}`"
_MARK = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[()\[\]{},]")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\S*")


class NodeNotes(NamedTuple):
    """Additional notes about a node.

    `unknown` is the reason why links are unknown. `constructor` is the key of a class's `__init__`.
    `summary` is the first paragraph of the docstring.
    """

    unknown: str = ""
    constructor: str | None = None
    summary: str = ""


def node_page(
    node: AnsweredNode, width: int | None, notes: NodeNotes, *, verbose: bool
) -> Iterator[str]:
    """Yield the lines of a page that is `width` columns wide.

    If `verbose` is true, all links, line numbers and hashes are included.
    """
    yield from _head(node, notes.summary or node.docstring, width)
    yield from _facts(node, width)
    many = None if verbose else _MAX_LINKS
    if node.node_type != "module" or node.callers:  # modules have no callers
        yield from _section("CALLED BY", node.callers, width, many)
    if notes.constructor is not None:
        text = CONSTRUCTOR_NOTE.format(notes.constructor.removeprefix("node:"))
        yield from wrap_text(_INDENT + escape_line(text), width, _INDENT)
    yield from _section("CALLS", node.callees, width, many)
    yield from _section("TESTS", node.related_tests, width, many)
    if not node.tests_complete:
        yield f"{_INDENT}{NOT_ALL_TESTS}"
    if notes.unknown:
        yield ""
        yield from wrap_text(f"unknown: {notes.unknown}", width)
    yield from _footer(node, width, verbose=verbose)


def link_lines(
    links: Sequence[Link], width: int | None, most: int | None = None, *, verbose: bool = False
) -> list[str]:
    """Return lines that list links, each with its tier, its name and the line numbers of its calls.

    At most `most` links are listed. Names are never shortened to make room for line numbers. If
    `verbose` is true, all line numbers are shown.
    """
    shown = links[:most]
    names = [
        escape_line(link.id if isinstance(link, Related) else link.key.removeprefix("node:"))
        for link in shown
    ]
    tiers = max((len(link.tier) for link in shown), default=0)
    room = None if width is None else max(_MIN_WIDTH, width - len(_INDENT) - tiers - 2)
    column = max(map(len, names), default=0)
    if room is not None:
        column = min(column, max(_MIN_WIDTH, room - _LINES_WIDTH))
    lines = []
    for link, name in zip(shown, names, strict=True):
        tier = click.style(link.tier.ljust(tiers), fg=_TIERS[link.tier])
        first, *more = _name_and_lines(link, name, column, room, verbose=verbose)
        lines.append(f"{_INDENT}{tier}  {first}")
        lines += [f"{_INDENT}{'':{tiers}}  {line}" for line in more]
    if len(links) > len(shown):
        lines.append(f"{_INDENT}and {len(links) - len(shown):,} more; -v shows all")
    return lines


def legend(links: Sequence[Link]) -> str:
    seen = {link.tier for link in links}
    return "; ".join(f"{tier}: {_LEGEND[tier]}" for tier in _TIERS if tier in seen)


def signature_lines(signature: str, width: int | None) -> list[str]:
    """Return a signature on one line, or with one parameter per line if it is too long."""
    if width is None or len(signature) <= width:
        return [signature]
    cuts = _parameter_breaks(signature)
    if len(cuts) < 2:
        return [signature]
    inside = [_INDENT + signature[start:end].strip() for start, end in pairwise(cuts)]
    return [signature[: cuts[0]], *inside, signature[cuts[-1] :]]


def _parameter_breaks(signature: str) -> list[int]:
    """Return the positions at which a signature can be broken.

    These are the positions after `(`, after each top-level comma and before `)`. Strings and nested
    brackets are skipped.
    """
    cuts: list[int] = []
    depth = 0
    for found in _MARK.finditer(signature):
        mark = found[0]
        depth += (mark in "([{") - (mark in ")]}")
        if (mark == "(" and depth == 1 and not cuts) or (mark == "," and depth == 1 and cuts):
            cuts.append(found.end())
        elif mark == ")" and depth == 0 and cuts:
            return [*cuts, found.start()]
    return []


def _head(node: AnsweredNode, summary: str | None, width: int | None) -> Iterator[str]:
    for decorator in node.decorators:
        yield from (click.style(escape_line(line), fg="cyan") for line in decorator.split("\n"))
    for line in signature_lines(escape_line(node.signature or f"module {node.file_path}"), width):
        yield click.style(line, bold=True)
    if summary:
        yield ""
        room = None if width is None else max(_MIN_WIDTH, width - len(_INDENT))
        for line in wrap_text(escape_line(summary), room):
            yield _INDENT + line
    yield ""


def _facts(node: AnsweredNode, width: int | None) -> Iterator[str]:
    rows = {
        "node": escape_line(node.key.removeprefix("node:")),
        "where": escape_line(f"{node.file_path}:{node.line_start}")
        + f", {count(node.line_count, 'line')}",
        "bases": escape_line(", ".join(node.bases)) if node.signature is None else "",
        "imports": escape_line(", ".join(node.imports or ())),
        "measures": ", ".join(_measures(node)),
        "attention": "; ".join(_warnings(node)),
        "seen": escape_line("; ".join(_observed(node))),
        **{escape_line(name): escape_line(json.dumps(found)) for name, found in node.extra.items()},
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


def _observed(node: AnsweredNode) -> Iterator[str]:
    """Yield the types that were seen while tests ran."""
    if (seen := node.observed) is None:
        return
    for name, types in seen.parameters.items():
        yield f"{name}: {' | '.join(types)}"
    for verb, types in (("returns", seen.returns), ("yields", seen.yields)):
        if types:
            yield f"{verb} {' | '.join(types)}"


def _warnings(node: AnsweredNode) -> Iterator[str]:
    if node.docstring_outdated:
        yield "the docstring is out of date"
    if node.partial:
        yield (
            "the file has a syntax error or undecodable bytes, so facts are incomplete "
            "(see `remora hub index`)"
        )
    if not node.fresh:
        yield "not up to date: some changed files have not been read yet"


def _section(
    title: str, links: Sequence[Link] | None, width: int | None, most: int | None
) -> Iterator[str]:
    yield ""
    if links is None:
        yield click.style(title, bold=True) + "  unknown"
    else:
        yield click.style(title, bold=True) + (f"  {len(links):,}" if links else "  none known")
        yield from link_lines(links, width, most, verbose=most is None)


def _footer(node: AnsweredNode, width: int | None, *, verbose: bool) -> Iterator[str]:
    yield ""
    known = [_fresh(node)]
    if node.last_updated:
        when = _ISO.sub(r"\1 \2", node.last_updated)
        known.append(f"changed {when} ({node.update_source})")
    links: list[Link] = [*(node.callers or ()), *(node.callees or ())]
    links += node.related_tests or ()
    for text in (" · ".join(known), legend(links)):
        yield from (click.style(line, fg="bright_black") for line in wrap_text(text, width) if line)
    if verbose:
        for name in ("uid", "source_hash", "body_hash", "file_hash"):
            yield click.style(f"{name:<11}  {getattr(node, name) or ''}", fg="bright_black")


def _fresh(node: AnsweredNode) -> str:
    if not node.fresh:
        return "not up to date"
    lacks = None in (node.callers, node.callees, node.related_tests)
    lacks = lacks or not node.tests_complete
    return "up to date, but incomplete" if lacks else "up to date"


def _shorten(name: str, width: int) -> str:
    """Return the end of a name, cut at a folder boundary if one is near."""
    if len(name) <= width:
        return name
    cut = clip_start(name, width)
    folder = cut.find("/")
    return "…" + cut[folder:] if 0 < folder < width // 2 else cut


def _name_and_lines(
    link: Link, name: str, column: int, room: int | None, *, verbose: bool
) -> Iterator[str]:
    """Yield a name with its line numbers next to it, or below it if they do not fit."""
    lines = () if isinstance(link, Related) else link.lines
    taken = max(column, len(name)) + 2
    left = None if room is None else room - taken
    variants = [_first_lines(lines, most) for most in _line_limits(lines, verbose=verbose)]
    fits = [text for text in variants if left is None or len(text) <= left]
    shown = name if room is None else _shorten(name, room)
    if fits:
        yield f"{shown.ljust(column)}  {fits[0]}".rstrip()
        return
    yield shown
    if verbose:
        below = None if room is None else room - len(_INDENT)
        yield from (_INDENT + line for line in wrap_text(variants[0], below))
    elif room is not None:
        short = [text for text in variants if len(text) <= room - len(_INDENT)]
        yield _INDENT + (short or variants)[0]


def _line_limits(lines: Sequence[int], *, verbose: bool) -> Sequence[int]:
    """Return how many line numbers to show, as values to try in descending order."""
    return [len(lines)] if verbose else range(min(_MAX_LINES, max(1, len(lines))), 0, -1)


def _first_lines(lines: Sequence[int], most: int) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:most]))
    more = len(lines) - most
    return f"line{'s' * (len(lines) > 1)} {shown}" + (f" and {more} more" if more > 0 else "")
