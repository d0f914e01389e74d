"""A node's facts as a packet shows them: what is worth most to a small model, in little room."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from remora.memory.canonical import canonical, to_packet_value
from remora.memory.packet import SUMMARY_LIMIT, clip

SURE = frozenset({"exact", "observed"})
"""Tiers of links that are there; what is shown of another one ends in `?`."""
_TEXT = 120


class _Links(NamedTuple):
    """A list of links: where it stands in a node's facts and in a packet, under which name all are
    counted where not all are shown, and how many are shown at most."""

    of: str
    name: str
    total: str
    most: int


_LINKS = (
    _Links("callers", "callers", "fan_in", 8),
    _Links("related_tests", "tests", "test_count", 4),
    _Links("callees", "callees", "fan_out", 5),
)
_ORDER = (
    "changed_by_user", "fresh", "signature", "docstring", "flags", "complexity", "callers",
    "fan_in", "callees", "fan_out", "tests", "test_count", "links", "extra",
)  # fmt: skip


def shown(facts: Mapping[str, Any], room: int, known: str = "") -> dict[str, Any]:
    """What a packet shows of a node, within `room` characters of canonical JSON.

    `known` is text of the packet that need not be said again. First comes what bears on whether to
    trust the rest (and is there in any case), then flags and counts, then links, the surest first,
    in turn from each list as long as there is room. Empty where there is room for nothing.
    """
    must = _must(facts)
    base = must | _own(facts, known)
    counts = {links.name: 0 for links in _LINKS}
    best = _with_links(base, facts, counts)
    if _size(best) > room:
        return must
    for number in range(max(links.most for links in _LINKS)):
        for links in _LINKS:
            if counts[links.name] < number or number >= min(links.most, len(_of(facts, links))):
                continue
            more = counts | {links.name: number + 1}
            tried = _with_links(base, facts, more)
            if _size(tried) <= room:
                counts, best = more, tried
    return _with_extra(best, facts, room)


def _must(facts: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if facts.get("changed_by_user"):
        told["changed_by_user"] = True
    if facts.get("fresh") is False:
        told["fresh"] = False
    return told


def _own(facts: Mapping[str, Any], known: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in ("signature", "docstring"):
        text = facts.get(name)
        if text and text not in known:
            told[name] = clip(to_packet_value(text), _TEXT)
    flags = [
        *(["docstring outdated"] if facts.get("docstring_outdated") else []),
        *(["type hints missing"] if _is_untyped(facts) else []),
        *(["syntax error in the file"] if facts.get("partial") else []),
    ]
    if flags:
        told["flags"] = flags
    if facts.get("complexity") is not None:
        told["complexity"] = facts["complexity"]
    return told


def _is_untyped(facts: Mapping[str, Any]) -> bool:
    return facts.get("has_type_hints") is False and facts.get("node_type") == "function"


def _with_links(
    base: dict[str, Any], facts: Mapping[str, Any], counts: Mapping[str, int]
) -> dict[str, Any]:
    told = dict(base)
    for links in _LINKS:
        found = _of(facts, links)
        number = counts[links.name]
        if facts.get(links.of) is not None and (number or not found):
            told[links.name] = found[:number]  # empty: it is known that there are none
        total = (facts.get("counts") or {}).get(links.of, len(found))
        if number < total:
            told[links.total] = total
    if facts.get("own_facts") == "workspace" and _has_links(told):
        told["links"] = "as before your edits"
    return {name: told[name] for name in _ORDER if name in told}


def _has_links(told: Mapping[str, Any]) -> bool:
    return any(links.name in told or links.total in told for links in _LINKS)


def _of(facts: Mapping[str, Any], links: _Links) -> list[str]:
    """The links as they are shown, those of the project first."""
    found = [_link(link) for link in facts.get(links.of) or ()]
    return sorted(found, key=lambda text: text.startswith("ext:"))


def _link(link: Mapping[str, Any]) -> str:
    name = str(link.get("key") or link.get("id") or "").removeprefix("node:")
    return clip(to_packet_value(name), SUMMARY_LIMIT) + ("" if link.get("tier") in SURE else "?")


def _with_extra(told: dict[str, Any], facts: Mapping[str, Any], room: int) -> dict[str, Any]:
    """What users' own scripts found, as far as there is room left."""
    extra: dict[str, Any] = {}
    for name, found in (facts.get("extra") or {}).items():
        more = extra | {name: to_packet_value(found)}
        if _size(told | {"extra": more}) <= room:
            extra = more
    return told | {"extra": extra} if extra else told


def _size(told: Mapping[str, Any]) -> int:
    return len(canonical(told).decode())
