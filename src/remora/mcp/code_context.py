"""Facts that a coding agent needs of a symbol before it changes it, in few tokens.

shop/cart.py:10-12 function many, complexity 1
10| def many(prices):
11|     return [round_up(price) for price in prices]
Calls
shop/round.py:4 def round_up(price: int) -> int (exact)
Called by
shop/bill.py:20 total (exact)
19|     for bill in bills:
20|         many(bill.prices)
21|         print(bill)
Tests
tests/test_cart.py::test_many (exact)
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remora.code.edit.text_lines import decode, split_lines
from remora.code.links import LISTS, Tier
from remora.code.syntax.definitions import find_definitions
from remora.code.syntax.source import Source, shared_source
from remora.code.syntax.used_definitions import lines_used_by
from remora.errors import HostError
from remora.hub.node import AnsweredNode
from remora.ids import display_name, split_node_key
from remora.text import BYTES_PER_TOKEN, fill_in_turn

_SHARE = 0.6
"""Part of the budget that the source of the symbol may take (decision)."""
_LONGEST_LINE = 300
_EVIDENCE = ("tier", "kind")
ReadFile = Callable[[str], bytes | None]


class CodeContext(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A symbol with what surrounds it. Names are `path:qualname`, and places `path:line`."""

    name: str
    place: str
    kind: str
    complexity: int | None = None
    source: str
    uses: str = ""
    callees: list[dict[str, Any]] = []
    callers: list[dict[str, Any]] = []
    overrides: list[dict[str, Any]] = []
    """Overrides and subclasses."""
    references: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    unknown: str = ""
    """Why links are not known, or not all, or an empty string."""
    left_out: dict[str, int] = {}
    """Numbers of callees, callers and tests that did not fit."""
    fresh: bool
    """That of the Hub's answer."""

    def text(self) -> str:
        """Return the context as lines."""
        head = f"{self.place} {self.kind} {self.name.rpartition(':')[2]}"
        shown = [head if self.complexity is None else f"{head}, complexity {self.complexity}"]
        if not self.fresh:
            shown.append("files changed while this was read")
        shown.append(self.source)
        if self.uses:
            shown += ["Uses", self.uses]
        shown += [*_titled("Calls", self.callees), *_titled("Called by", self.callers)]
        shown += _titled("Overridden or inherited by", self.overrides)
        shown += _titled("Referred to by", self.references)
        if self.tests:
            shown += ["Tests", *(f"{test['id']} ({test['tier']})" for test in self.tests)]
        if self.unknown:
            shown.append(f"Not all links are known: {self.unknown}")
        if self.left_out:
            counts = ", ".join(f"{count} {what}" for what, count in self.left_out.items())
            shown.append(f"Left out: {counts} (a larger budget shows them)")
        return "\n".join(shown)


def _titled(title: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if entries:
        yield title
    for entry in entries:
        place, name = entry["place"], entry["name"].rpartition(":")[2]
        is_there = name in (place, place.rpartition(":")[0])
        what = entry.get("signature") or ("" if is_there else name)
        evidence = ", ".join(filter(None, map(entry.get, _EVIDENCE)))
        yield " ".join(filter(None, (place, what, f"({evidence})")))
        if "code" in entry:
            yield entry["code"]


def code_context(
    node: AnsweredNode,
    callees: Mapping[str, AnsweredNode],
    read: ReadFile,
    budget: int,
    unknown: str,
) -> CodeContext:
    """Return the context of a node in at most about `budget` tokens.

    `callees` are the facts about what it calls, by key, and `unknown` says why its links are not
    known, if they are not. The source comes first, then the surest of each kind in turn.
    """
    numbered = functools.cache(functools.partial(_numbered, read))
    lines = numbered(node.file_path)
    last = node.line_start + node.line_count - 1
    room = budget * BYTES_PER_TOKEN
    found = CodeContext(
        name=display_name(node.key),
        place=f"{node.file_path}:{node.line_start}-{last}",
        kind=node.node_type,
        complexity=node.complexity,
        source=_cut(lines[node.line_start - 1 : last], int(room * _SHARE)),
        unknown=unknown or ", ".join(f"those in {path}" for path in node.incomplete),
        fresh=node.fresh,
    )
    shown: dict[str, list[Any]] = {what: [] for what in ("callers", "overrides", "references")}
    used = re.split("[/.:]", found.name.removesuffix(".py").removesuffix("/__init__"))[-1]
    for edge in (*(node.callers or ()), *(node.references or ())):
        shown[LISTS.get(edge.kind, "callers")].append(_user(edge, numbered, used))
    called = [edge for edge in node.callees or () if edge.key in callees]
    shown["tests"] = msgspec.to_builtins(node.related_tests or ())
    shown["callees"] = [_callee(callees[edge.key], edge.tier) for edge in called]
    lists: dict[str, list[dict[str, Any]]] = {what: getattr(found, what) for what in shown}
    found.left_out |= fill_in_turn(lists, shown, lambda: len(found.text().encode()) <= room)
    found.uses = _used(node, read, lines)
    if len(found.text().encode()) > room:
        found.uses = ""
    return found


def _numbered(read: ReadFile, path: str) -> list[str]:
    content = read(path)
    try:
        text = decode(path, content or b"").body
    except HostError:
        return []
    return [f"{at}| {line[:_LONGEST_LINE]}" for at, line in enumerate(split_lines(text), 1)]


def _cut(lines: Sequence[str], room: int) -> str:
    """Return lines, without some in the middle if they do not fit."""
    kept = len(lines)
    while kept > 1 and sum(len(line.encode()) + 1 for line in (*lines[:kept],)) > room:
        kept -= max(1, kept // 10)
    if kept == len(lines):
        return "\n".join(lines)
    return "\n".join([*lines[:kept], f"... {len(lines) - kept} lines ..."])


def _user(edge: Any, numbered: Callable[[str], list[str]], used: str) -> dict[str, Any]:
    """Return a user with the lines of its calls, and the lines around the first of them."""
    path = split_node_key(edge.key)[0]
    entry = {"name": display_name(edge.key), "place": path, "tier": edge.tier}
    if edge.kind not in ("call", "reference"):
        entry["kind"] = edge.kind
    named = (at for at, line in enumerate(numbered(path), 1) if re.search(rf"\b{used}\b", line))
    if not (lines := edge.lines or [*named][:1]):
        return entry
    entry["place"] = f"{path}:{', '.join(map(str, lines))}"
    if LISTS.get(edge.kind) != "overrides":
        entry["code"] = "\n".join(numbered(path)[max(0, lines[0] - 2) : lines[0] + 1])
    return entry


def _callee(node: AnsweredNode, tier: Tier) -> dict[str, Any]:
    return {
        "name": display_name(node.key),
        "place": f"{node.file_path}:{node.line_start}",
        "signature": node.signature or node.node_name,
        "tier": tier,
    }


def _used(node: AnsweredNode, read: ReadFile, lines: Sequence[str]) -> str:
    """Return the beginnings of what the node uses in its own file, and of its class."""
    source = shared_source(node.file_path, read(node.file_path) or b"")
    if not isinstance(source, Source):
        return ""
    name = split_node_key(node.key)[1]
    for definition in find_definitions(source.tree, ""):
        if definition.qualname == name:
            spans = lines_used_by(source.tree, definition.node)
            own = range(node.line_start, node.line_start + node.line_count)
            used = {at for first, last in spans for at in range(first, last + 1)}
            return "\n".join(lines[at - 1] for at in sorted(used.difference(own)))
    return ""
