"""Selects the node facts to show in a packet: the most useful ones for a small model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remora.memory.canonical import canonical, to_packet_value
from remora.memory.packet import SUMMARY_LIMIT
from remora.text import clip

SURE = frozenset({"exact"})
"""Tiers of links that are certain. Other links are shown with `?`."""
_TEXT = 120
"""Maximum characters of a text of a fact (decision)."""


class _Links(NamedTuple):
    """A kind of link."""

    of: str
    """Name of the list in the node's facts."""
    name: str
    """Name of the list in a packet."""
    total: str
    """Name of the total count."""
    most: int
    """Maximum number of links to show."""


_LINKS = (
    _Links("callers", "callers", "fan_in", 8),
    _Links("references", "references", "reference_count", 2),
    _Links("related_tests", "tests", "test_count", 4),
    _Links("callees", "callees", "fan_out", 5),
)
_ORDER = (
    "changed_by_user", "fresh", "signature", "docstring", "flags", "complexity", "call",
    "callers", "fan_in", "references", "reference_count", "callees", "fan_out", "tests", "test_count", "links",
)  # fmt: skip


def facts_view(facts: Mapping[str, Any], room: int, known: str) -> dict[str, Any]:
    """Return the facts about a node that fit in `room` characters of canonical JSON.

    Warnings are always included, even if nothing else fits. They are followed by the facts about
    the node itself, a call of it, and links taken in turn from each list. Facts that occur in
    `known`, a string already in the packet, are left out.
    """
    must = _warnings(facts)
    base = must | _own_facts(facts, known)
    counts = {links.name: 0 for links in _LINKS}
    best = _with_links(base, facts, counts)
    if _size(best) > room:
        return must
    if "call" in facts:
        called = base | {"call": clip(to_packet_value(facts["call"]), _TEXT)}
        if _size(with_call := _with_links(called, facts, counts)) <= room:
            base, best = called, with_call
    for number in range(max(links.most for links in _LINKS)):
        for links in _LINKS:
            if counts[links.name] < number or number >= min(
                links.most, len(_link_names(facts, links))
            ):
                continue
            more = counts | {links.name: number + 1}
            tried = _with_links(base, facts, more)
            if _size(tried) <= room:
                counts, best = more, tried
    return best


def _warnings(facts: Mapping[str, Any]) -> dict[str, Any]:
    changed = {"changed_by_user": True} if facts.get("changed_by_user") else {}
    return changed | ({"fresh": False} if facts.get("fresh") is False else {})


def _own_facts(facts: Mapping[str, Any], known: str) -> dict[str, Any]:
    view: dict[str, Any] = {}
    for name in ("signature", "docstring"):
        text = facts.get(name)
        if text and text not in known:
            view[name] = clip(to_packet_value(text), _TEXT)
    is_untyped = facts.get("has_type_hints") is False and facts.get("node_type") == "function"
    flags = [
        *(["docstring outdated"] if facts.get("docstring_outdated") else []),
        *(["type hints missing"] if is_untyped else []),
        *(["file read in part"] if facts.get("partial") else []),
        *(["links in unread files missing"] if facts.get("incomplete") else []),
    ]
    if flags:
        view["flags"] = flags
    if facts.get("complexity") is not None:
        view["complexity"] = facts["complexity"]
    return view


def _with_links(
    base: dict[str, Any], facts: Mapping[str, Any], counts: Mapping[str, int]
) -> dict[str, Any]:
    view = dict(base)
    for links in _LINKS:
        found = _link_names(facts, links)
        number = counts[links.name]
        if facts.get(links.of) is not None and (number or not found):
            view[links.name] = found[:number]  # an empty list: it is known that there are none
        total = (facts.get("counts") or {}).get(links.of, len(found))
        is_known = links.of != "related_tests" or facts.get("tests_complete", True)
        if number < total and is_known:
            view[links.total] = total
    if facts.get("own_facts") == "workspace" and any(
        links.name in view or links.total in view for links in _LINKS
    ):
        view["links"] = "as before your edits"
    return {name: view[name] for name in _ORDER if name in view}


def _link_names(facts: Mapping[str, Any], links: _Links) -> list[str]:
    """Return the links as shown in packets. Links within the project come first."""
    found = [_link(link) for link in facts.get(links.of) or ()]
    return sorted(found, key=lambda text: text.startswith("ext:"))


def _link(link: Mapping[str, Any]) -> str:
    name = str(link.get("key") or link.get("id") or "").removeprefix("node:")
    kind = link.get("kind", "reference")
    text = clip(to_packet_value(name), SUMMARY_LIMIT) + ("" if link.get("tier") in SURE else "?")
    return text if kind == "reference" else f"{text} ({kind})"


def _size(view: Mapping[str, Any]) -> int:
    return len(canonical(view).decode())
