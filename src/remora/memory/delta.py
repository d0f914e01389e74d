"""PacketDelta, the changes that an event makes to the packet."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from remora.errors import UsageError
from remora.memory.canonical import canonical, to_packet_key, to_packet_value
from remora.memory.excerpts import left_out, numbered_lines
from remora.memory.packet import (
    GOAL_LIMIT,
    MAX_ARGUMENTS,
    MAX_DIAGNOSTICS,
    REFUSED_LIMIT,
    SUMMARY_LIMIT,
    Candidate,
    Excerpt,
    NewAction,
    Outcome,
    shortened,
)
from remora.memory.terminal_text import shown_text
from remora.text import clip

REPLACED = ("turn", "state_summary", "excerpt", "candidate_actions", "diagnostics")
"""Fields whose new value takes the place of the packet's."""
VALUE_LIMIT = 500
"""Maximum characters of a knowledge value in canonical JSON."""


class PacketDelta(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a packet. Fields that are `UNSET` are not changed, whereas None is a new value.

    `add_history` is for callers: the text of an action without a tool. It is recorded as
    `add_action`.
    """

    turn: int | UnsetType = UNSET
    state_summary: str | UnsetType = UNSET
    excerpt: Excerpt | UnsetType | None = UNSET
    candidate_actions: tuple[Candidate, ...] | UnsetType = UNSET
    diagnostics: tuple[Any, ...] | UnsetType = UNSET
    add_action: NewAction | UnsetType = UNSET
    update_knowledge: dict[str, Any] | UnsetType = UNSET
    forget_knowledge: tuple[str, ...] | UnsetType = UNSET
    set_error: str | UnsetType | None = UNSET
    hub_context: dict[str, Any] | UnsetType = UNSET
    hub_freshness: dict[str, Any] | UnsetType = UNSET
    extensions: dict[str, Any] | UnsetType = UNSET
    add_history: str | UnsetType = UNSET

    @property
    def action(self) -> NewAction | UnsetType:
        """The action that the delta adds."""
        if self.add_action is UNSET and self.add_history is not UNSET:
            return new_action("", {}, self.add_history, "success")
        return self.add_action


def key_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Any:
    """Return the values that are new or changed, and None for keys that are gone. UNSET if none."""
    changes = {key: None for key in before if key not in now}
    known = {key: canonical(value) for key, value in before.items()}  # in Python, 1 == True
    changes |= {key: value for key, value in now.items() if known.get(key) != canonical(value)}
    return changes or UNSET


def one_line(text: str, limit: int) -> str:
    """Return what a terminal shows of `text`, on one line of at most `limit` characters.

    Whitespace is collapsed, and lone surrogates are escaped.
    """
    return clip(to_packet_value(" ".join(shown_text(text).split())), limit)


def new_action(tool: str, args: dict[str, Any], summary: str, outcome: Outcome) -> NewAction:
    """Return an action with all size limits applied. Texts are longer if the call failed."""
    plain = [*to_packet_value(args).items()]
    capped = {
        knowledge_key(name): value if isinstance(value, str) else knowledge_value(value)
        for name, value in plain[:MAX_ARGUMENTS]
    }
    capped |= {"…": f"{more} more"} if (more := len(plain) - MAX_ARGUMENTS) > 0 else {}
    return NewAction(
        tool=to_packet_value(tool),
        args=shortened(capped, REFUSED_LIMIT if outcome == "error" else SUMMARY_LIMIT),
        summary=one_line(summary, SUMMARY_LIMIT),
        outcome=outcome,
    )


def candidate(
    tool: str, args: dict[str, Any], reason: str, slots: dict[str, Any] | UnsetType | None = None
) -> Candidate:
    """Return a candidate action. Its arguments are not cut, because the call uses them."""
    return Candidate(
        tool=to_packet_value(tool),
        args=to_packet_value(args),
        reason=one_line(reason, SUMMARY_LIMIT),
        slots=to_packet_value(slots) if slots else UNSET,
    )


def diagnostics(items: list[Any] | tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the first 20 items, each cut to 200 characters.

    For an item that is not a string, the limit applies to its canonical JSON.
    """
    return tuple(
        one_line(item, SUMMARY_LIMIT)
        if isinstance(item, str)
        else cut_value(to_packet_value(item), SUMMARY_LIMIT)
        for item in items[:MAX_DIAGNOSTICS]
    )


def knowledge(facts: dict[str, Any]) -> dict[str, Any]:
    """Convert facts to packet values, each cut to 500 characters of canonical JSON."""
    return {knowledge_key(key): knowledge_value(value) for key, value in facts.items()}


def knowledge_key(key: Any) -> str:
    """Convert `key` to a key of the knowledge, of at most 200 characters."""
    return clip(to_packet_key(key), SUMMARY_LIMIT)


def knowledge_value(value: Any) -> Any:
    """Convert `value` to a packet value, cut to VALUE_LIMIT characters of canonical JSON."""
    value = shown_text(value) if isinstance(value, str) else value
    return cut_value(to_packet_value(value), VALUE_LIMIT)


def excerpt(ref: str, path: str, first: int, text: str, focus: int = 0) -> Excerpt:
    """Return an excerpt of `text`. `first` is the number of its first line, counted from 1."""
    text = to_packet_value(text.removesuffix("\n"))
    *_, (last, line) = numbered_lines(first, text)
    return Excerpt(
        ref=to_packet_value(ref),
        path=to_packet_value(path),
        lines=(first, last + max(left_out(line) - 1, 0)),
        text=text,
        focus=focus,
    )


def error_text(text: str | None) -> str | None:
    """Format an error for `last_error`, as one line of at most 300 characters."""
    return None if text is None else one_line(text, GOAL_LIMIT)


def with_caps(delta: PacketDelta) -> PacketDelta:
    """Return `delta` with its values converted to packet values and all size limits applied."""
    if delta.add_action is not UNSET and delta.add_history is not UNSET:
        raise UsageError("a delta has add_action and add_history, and an event adds one action")
    delta = replace(delta, add_action=delta.action, add_history=UNSET)
    fields = {key: value for key, value in asdict(delta).items() if value is not UNSET}
    return replace(delta, **{key: _CAPS[key](v) for key, v in fields.items() if key in _CAPS})


def _capped_excerpt(value: Excerpt | None) -> Excerpt | None:
    return value and replace(
        value,
        ref=to_packet_value(value.ref),
        path=to_packet_value(value.path),
        text=to_packet_value(value.text),
    )


def cut_value(value: Any, limit: int) -> Any:
    """Return a packet value, or the start of it or of its canonical JSON if that is too long."""
    text = canonical(value).decode()
    if len(text) <= limit:
        return value
    cut = clip(value if isinstance(value, str) else text, limit - 2)
    while (excess := len(canonical(cut).decode()) - limit) > 0:
        cut = clip(cut, len(cut) - (excess + 5) // 6)  # an escape takes at most 6 characters
    return cut


_CAPS: dict[str, Callable[[Any], Any]] = {
    "state_summary": error_text,
    "excerpt": _capped_excerpt,
    "candidate_actions": lambda given: tuple(
        candidate(c.tool, c.args, c.reason, c.slots) for c in given
    ),
    "diagnostics": diagnostics,
    "add_action": lambda new: new_action(new.tool, new.args, new.summary, new.outcome),
    "update_knowledge": knowledge,
    "forget_knowledge": lambda keys: tuple(map(knowledge_key, keys)),  # in the form of stored keys
    "set_error": error_text,
    "hub_context": to_packet_value,
    "hub_freshness": to_packet_value,
    "extensions": to_packet_value,
}
