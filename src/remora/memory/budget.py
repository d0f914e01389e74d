"""Trimming of packets to a token budget, step by step.

The least valuable parts are removed first. A packet with code keeps the code, the findings and what
the model did longest. A packet without code rests on facts, and keeps those longest. A stream names
these rules. The candidate that submits is never removed, and long knowledge texts are halved before
they are removed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.memory.canonical import canonical_size
from remora.memory.delta import cut_value
from remora.memory.excerpts import code_lines, cut
from remora.memory.packet import (
    PINNED,
    SUBMIT_TOOL,
    SUMMARY_LIMIT,
    Action,
    DecisionPacket,
    shortened,
)
from remora.text import clip

KEEP_CANDIDATES = 2
KEEP_LINES = 15
"""Lines that are kept as long as findings can be removed."""
LEAST_LINES = 5
KEEP_DIAGNOSTICS = 1
LONG_TEXT = 200
"""Characters from which a text in the knowledge is halved before it is removed."""
SHORTEST = 4
"""Characters to which texts are cut at most. Only packets of some 400 tokens are cut so far."""
TRIM = "trim/1"
"""Name of these rules in streams."""


class Balance(msgspec.Struct, frozen=True, kw_only=True):
    """Weight of facts against actions."""

    much_knowledge: int
    """Bytes of canonical JSON. Knowledge above it goes first."""
    actions: int
    """Actions that stay until the rest of the knowledge is gone."""


WITH_CODE = Balance(much_knowledge=2048, actions=3)
"""At turn 20, 3,000 tokens show 10 actions, all code and all findings, and 600 show 3 actions."""
WITHOUT_CODE = Balance(much_knowledge=6144, actions=1)
"""`bench/nested_results.py`: 1,500 tokens show 0.975 (seen tools) and 0.970 (unseen ones) of the
argument values of later calls, and 0.945 and 0.898 if actions are kept as with code."""


class FittedPacket(msgspec.Struct, frozen=True, kw_only=True):
    """A trimmed packet."""

    packet: DecisionPacket
    trim: int
    """The number of trim steps."""
    tokens: int
    """The number of tokens in the request."""
    fits: bool
    """False if even the smallest packet exceeds the limit, and the request must not be sent."""


def trim(packet: DecisionPacket, n: int) -> DecisionPacket:
    """Return the packet after the first `n` trim steps, or after all if there are fewer."""
    for step in islice(trim_steps(packet), n):
        packet = step
    return packet


def fit(
    packet: DecisionPacket, limit: int, measure: Callable[[DecisionPacket], int]
) -> FittedPacket:
    """Trim a packet until its request has at most `limit` tokens. Use as few steps as possible.

    `measure` counts the tokens of the whole rendered request.
    """
    steps, tokens = 0, measure(packet)
    for step in trim_steps(packet):
        if tokens <= limit:
            break
        packet, steps, tokens = step, steps + 1, measure(step)
    return FittedPacket(packet=packet, trim=steps, tokens=tokens, fits=tokens <= limit)


def trim_steps(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    """Yield the packet after each trim step, until nothing more can be removed."""
    balance = WITH_CODE if packet.excerpt else WITHOUT_CODE
    for kind in (
        _last_candidates,
        _other_nodes,
        partial(_old_knowledge, much=balance.much_knowledge),
        partial(_actions, keep=balance.actions),
        _knowledge,
        _hub_facts,
        _extensions,
        _refused_text,
        partial(_excerpt_lines, keep=KEEP_LINES),
        _diagnostics,
        partial(_excerpt_lines, keep=LEAST_LINES),
        partial(_actions, keep=1),
    ):
        for step in kind(packet):
            packet = step
            yield step


def with_short_texts(value: Any, limit: int) -> Any:
    """Return a packet, or a part of it, with texts of at most `limit` characters.

    Lists and mappings of the caller have fewer entries, too. What is cut has the mark `…`.
    """
    if isinstance(value, str):
        return clip(value, limit)
    if isinstance(value, msgspec.Struct):
        names = set(value.__struct_fields__) - {"outcome"}
        short = {name: with_short_texts(getattr(value, name), limit) for name in names}
        return replace(value, **short)
    if not isinstance(value, (dict, tuple)):
        return value
    entries = [*(value.items() if isinstance(value, dict) else enumerate(value))]
    of_packet = bool(entries) and isinstance(entries[0][1], msgspec.Struct)
    most = len(entries) if of_packet else max(limit // 8, 2)
    shorten = with_short_texts if of_packet else cut_value
    kept = {with_short_texts(key, limit): shorten(item, limit) for key, item in entries[:most]}
    kept |= {"…": f"{len(entries) - most} more"} if len(entries) > most else {}
    return kept if isinstance(value, dict) else (*kept.values(),)


def _reduced(packet: DecisionPacket, what: str, count: int = 1, /, **fields: Any) -> DecisionPacket:
    """Return the packet with smaller fields, and with the parts that they lost counted."""
    omitted = {**packet.omitted, what: packet.omitted.get(what, 0) + count}
    return replace(packet, omitted=omitted, **fields)


def _last_candidates(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    while len(packet.candidate_actions) > KEEP_CANDIDATES:
        others = list(packet.candidate_actions)
        places = [place for place, offer in enumerate(others) if offer.tool != SUBMIT_TOOL]
        del others[places[-1] if places else -1]
        yield (packet := _reduced(packet, "candidates", candidate_actions=tuple(others)))


def _excerpt_lines(packet: DecisionPacket, keep: int) -> Iterator[DecisionPacket]:
    while packet.excerpt is not None and (lines := len(code_lines(packet.excerpt))) > keep:
        excerpt = cut(packet.excerpt, max(lines - 2, keep))
        packet = _reduced(packet, "excerpt_lines", min(2, lines - keep), excerpt=excerpt)
        yield packet


def _other_nodes(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    for node in [*packet.hub_context, *packet.hub_freshness]:
        if node != packet.node_id and (node in packet.hub_context or node in packet.hub_freshness):
            packet = _without_node(packet, node, "hub_nodes")
            yield packet


def _without_node(packet: DecisionPacket, node: str, what: str) -> DecisionPacket:
    context, freshness = (
        {name: fact for name, fact in facts.items() if name != node}
        for facts in (packet.hub_context, packet.hub_freshness)
    )
    return _reduced(packet, what, hub_context=context, hub_freshness=freshness)


def _actions(packet: DecisionPacket, keep: int) -> Iterator[DecisionPacket]:
    while len(packet.recent_actions) > keep:
        yield (packet := _reduced(packet, "actions", recent_actions=packet.recent_actions[1:]))


def _refused_text(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    """Halve the texts of a call that failed until they are as short as those of other actions."""
    *earlier, last = packet.recent_actions or [None]
    while last is not None and (longest := _longest_text(last)) > SUMMARY_LIMIT:
        args = shortened(last.args, max(longest // 2, SUMMARY_LIMIT))
        last = replace(last, args=args)
        yield (packet := replace(packet, recent_actions=(*earlier, last)))


def _longest_text(action: Action) -> int:
    return max((len(text) for text in action.args.values() if isinstance(text, str)), default=0)


def _old_knowledge(packet: DecisionPacket, much: int) -> Iterator[DecisionPacket]:
    """Yield the first steps of `_knowledge`, while there is much of it."""
    steps = _knowledge(packet)
    while canonical_size(packet.knowledge) > much and (step := next(steps, None)):
        yield (packet := step)


def _knowledge(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    """Remove key by key from the front. A long text is halved first."""
    for key in [key for key in packet.knowledge if key not in PINNED]:
        if (halved := _halved(packet.knowledge[key].value)) is not None:
            fact = replace(packet.knowledge[key], value=halved)
            yield replace(packet, knowledge={**packet.knowledge, key: fact})
        left = {name: fact for name, fact in packet.knowledge.items() if name != key}
        yield (packet := _reduced(packet, "knowledge", knowledge=left))


def _halved(value: Any) -> str | None:
    """Return the first half of a long text, cut between two facts. None if it is not long."""
    if not isinstance(value, str) or len(value) < LONG_TEXT:
        return None
    half = value[: len(value) // 2]
    end = max(half.rfind(";"), half.rfind(","))
    return half[:end] + "…" if end > 0 else half + "…"


def _diagnostics(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    while len(packet.diagnostics) > KEEP_DIAGNOSTICS:
        yield (packet := _reduced(packet, "diagnostics", diagnostics=packet.diagnostics[:-1]))


def _extensions(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    for key in sorted(packet.extensions, reverse=True):
        left = {name: value for name, value in packet.extensions.items() if name != key}
        yield (packet := _reduced(packet, "extensions", extensions=left))


def _hub_facts(packet: DecisionPacket) -> Iterator[DecisionPacket]:
    if packet.node_id in packet.hub_context or packet.node_id in packet.hub_freshness:
        yield _without_node(packet, packet.node_id, "hub_facts")
