"""The ContextManager, which maintains an agent's packet."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from remora.errors import UsageError
from remora.memory import delta as make
from remora.memory import tool_results
from remora.memory.budget import SHORTEST, fit, trim, with_short_texts
from remora.memory.canonical import canonical, parts_of, to_packet_value
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentStart, Event
from remora.memory.excerpts import code_lines, cut
from remora.memory.foreign_events import (
    check_event,
    check_result,
    delta_of_plain_event,
    hub_delta_of,
    read_event,
)
from remora.memory.packet import (
    GOAL_LIMIT,
    PACKET_VERSION,
    Constraints,
    DecisionPacket,
    Excerpt,
    NewAction,
)
from remora.memory.packet_draft import deltas_of, draft_of
from remora.memory.projection import apply, first_packet
from remora.memory.prompt.base import prompt_context
from remora.memory.summarizers import DefaultSummarizer, Summarizer
from remora.text import did_you_mean

Hook = Callable[[DecisionPacket], PacketDelta | DecisionPacket | None]
_TEXTS = ("agent_id", "run_id", "operation", "node_id", "node_type")
_CAPPED = ("goal", "node_summary", "state_summary")
_RECENT = ("recent_actions", "recent_results", "recent_history")
_FRESHNESS = ("hub_freshness", "hub_context_freshness")
_LISTS = ("diagnostics", "candidate_actions", "excerpt")
_AS_GIVEN = ("constraints", "turn", "last_error", "error_count")
_MAPPINGS = ("extensions", "knowledge", "hub_context", "hub_context_freshness")
_CONTEXT_KEYS = frozenset(
    {*_TEXTS, *_CAPPED, *_RECENT, *_LISTS, *_FRESHNESS, *_AS_GIVEN, *_MAPPINGS}
    | {"node", "session_id", "packet_version"}
)
_PARTS: dict[str, Collection[str]] = {
    "": _CONTEXT_KEYS,
    "constraints": Constraints.__struct_fields__,
    "excerpt": Excerpt.__struct_fields__,
    "node": ("id", "type"),
    **dict.fromkeys(_MAPPINGS, ()),
}
"""The keys of a context and of its mappings. Those of `_MAPPINGS` are the caller's."""


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens as half the number of UTF-8 bytes, rounded up.

    This is a conservative estimate that does not need a tokenizer.
    """
    return (len(text.encode()) + 1) // 2


def initial_packet(context: Mapping[str, Any]) -> DecisionPacket:
    """Build the first packet from plain values, applying size limits.

    `constraints` has the form `{max_turns, safety}`, and `knowledge` the form `{key: value}`. The
    rest of a goal that is too long is the first fact, `goal`. Raises UsageError for an unknown key
    and for a value of the wrong type.
    """
    _check_context(context)
    node = tool_results.to_dict(context.get("node"))
    named = {"node_id": node.get("id"), "node_type": node.get("type")}
    named["agent_id"] = context.get("session_id")
    given = {**named, **{key: value for key, value in context.items() if value is not None}}
    fields: dict[str, Any] = {key: to_packet_value(str(given.get(key) or "")) for key in _TEXTS}
    fields |= {key: make.one_line(str(given.get(key) or ""), GOAL_LIMIT) for key in _CAPPED}
    fields |= {key: given[key] for key in _AS_GIVEN if given.get(key)}
    fields.setdefault("error_count", int("last_error" in fields))
    fields["extensions"] = to_packet_value(given.get("extensions") or {})
    try:
        packet = msgspec.convert(fields, DecisionPacket)
    except msgspec.ValidationError as error:
        raise UsageError(f"an initial context is invalid: {error}") from error
    for action in tool_results.actions_of(next(filter(None, map(given.get, _RECENT)), ())):
        packet = apply(packet, PacketDelta(add_action=action))
    facts = {**_rest_of_goal(given), **(given.get("knowledge") or {})}
    packet = apply(packet, PacketDelta(update_knowledge=make.knowledge(facts)))
    freshness = next(filter(None, map(given.get, _FRESHNESS)), None)
    hub = {"hub_context": given.get("hub_context") or {}, "hub_freshness": freshness}
    packet = replace(packet, last_error=make.error_text(packet.last_error))
    return apply(packet, hub_delta_of(hub, strict=False))


def _check_context(context: Mapping[str, Any]) -> None:
    for key, known in _PARTS.items():
        what = f"{key} of an initial context".removeprefix(" of ")
        if not isinstance(part := context.get(key) or {} if key else context, Mapping):
            raise UsageError(f"{what} must be a mapping")
        if known and (unknown := next((name for name in part if name not in known), None)):
            named = f"{str(unknown)[:80]!r} in {what}{did_you_mean(str(unknown), known)}"
            raise UsageError(f"no key {named}", hint="a key of your own belongs into extensions")
    if (version := context.get("packet_version") or PACKET_VERSION) != PACKET_VERSION:
        raise UsageError(f"packet_version {version!r} in an initial context is unknown")
    for names in (_RECENT, _FRESHNESS):
        if len(both := [key for key in names if context.get(key)]) > 1:
            raise UsageError(
                f"an initial context has {' and '.join(both)}", hint="give one of them"
            )


def _rest_of_goal(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the words of a long goal that the packet's `goal` cuts off, as a fact."""
    goal = make.one_line(str(context.get("goal") or ""), sys.maxsize)
    if len(goal) <= GOAL_LIMIT:
        return {}
    return {"goal": goal[goal.rfind(" ", 0, GOAL_LIMIT - 1) + 1 :]}


class ContextManager:
    """Applies events to the packet of one agent.

    `initial_context` is the goal, or a mapping with the fields of a packet: the texts, `turn`,
    `constraints`, `knowledge` as `{key: value}`, `last_error`, `hub_context`, `hub_freshness`,
    `diagnostics`, `candidate_actions`, `excerpt`, `extensions`, and as the first actions
    `recent_results` (or `recent_actions`, `recent_history`), a list of texts or of
    `{tool, args, summary, outcome}`. `packet_size_limit` is the maximum number of tokens.
    `token_counter` counts the tokens in a string, and defaults to `estimate_tokens`.
    """

    def __init__(
        self,
        initial_context: Mapping[str, Any] | str,
        *,
        packet_size_limit: int = 3000,
        token_counter: Callable[[str], int] | None = None,
    ) -> None:
        if isinstance(initial_context, str):
            initial_context = {"goal": initial_context}
        self.packet_size_limit = packet_size_limit
        self._count = token_counter or estimate_tokens
        self._summarizers: dict[str, Summarizer] = {}
        lists = {key: initial_context.get(key) for key in _LISTS}
        if problem := tool_results.problem_of(lists):
            raise UsageError(f"{problem} in an initial context")
        self.packet = apply(initial_packet(initial_context), PacketDelta(**self._optional(lists)))

    def register_summarizer(self, tool: str, summarizer: Summarizer) -> None:
        """Use `summarizer` for results of `tool` that have no summary or no knowledge."""
        self._summarizers[tool] = summarizer

    def apply_event(
        self, event: Event | Mapping[str, Any] | str | bytes, *, strict: bool = True
    ) -> PacketDelta:
        """Apply an event to the packet and return its delta.

        `event` is a recorded event, its line or its dict, or a plain dict in one of the forms of
        `foreign_events`. A recorded `agent_start` sets the packet. Raises InvalidEvent if the event
        type is unknown, or if a tool result has no tool name or a misspelled key. With
        `strict=False`, the delta of such a recorded event is still applied, a plain dict of an
        unknown type changes nothing, and an unknown key of a delta becomes a fact.
        """
        event = read_event(event)
        if isinstance(event, Event):
            if strict:
                check_event(event)
            self.apply_recorded(event)
            return event.packet_delta or PacketDelta()
        delta_for = partial(self.delta_for, strict=False)
        delta = delta_of_plain_event(event, delta_for, strict=strict)
        self.packet = apply(self.packet, delta)
        return delta

    def apply_recorded(self, event: Event) -> None:
        """Apply the delta of a recorded event of any type. An `agent_start` sets the packet."""
        is_start = event.type == AgentStart.type
        self.packet = first_packet(event) if is_start else apply(self.packet, event.packet_delta)

    def delta_for(self, tool_result: Mapping[str, Any], *, strict: bool = True) -> PacketDelta:
        """Return the delta for a tool result, without applying it.

        The keys of `tool_result` are `tool`, `args`, `raw_output`, `summary`, `knowledge_delta`,
        `outcome`, `error`, and the optional `diagnostics`, `candidate_actions`, `state_summary`,
        `excerpt` and `extensions`.

        If the summary or the knowledge is missing, it is created by the tool's summarizer, or by
        the default summarizer if the tool has none. Values of the wrong type are ignored, so every
        tool output has a delta: `last_error` says what is wrong. Raises InvalidEvent if `tool` is
        missing or a key is misspelled, unless `strict` is false.
        """
        if strict:
            known = tool_results.RESULT_KEYS if "raw_output" in tool_result else tool_result
            check_result(tool_result, known, "tool")
        tool_result = tool_results.with_stated(tool_result)
        tool = tool_results.to_text(tool_result.get("tool"))
        action = make.new_action(
            tool,
            tool_results.arguments_of(tool_result),
            self._summary(tool, tool_result),
            tool_results.outcome_of(tool_result),
        )
        facts = self._knowledge(action, tool_result)
        return PacketDelta(
            add_action=action,
            update_knowledge=make.knowledge(facts) if facts else UNSET,
            set_error=_error_set(self.packet, action, tool_result),
            **self._optional(tool_result),
        )

    def get_prompt_context(self) -> dict[str, Any]:
        """Return the trimmed packet as JSON values, without identifiers.

        The packet is trimmed until its canonical JSON fits within `packet_size_limit`. If it still
        does not fit, its longest texts are cut, with the mark `…`. `knowledge` has the form `{key:
        value}`. Raises UsageError if the packet would be too large without any text.
        """
        packet, limit = self.packet, self.packet_size_limit
        if self._context_tokens(packet) <= limit:
            return prompt_context(packet)
        longest = limit
        while self._context_tokens(trim(packet, sys.maxsize)) > limit and longest >= 2 * SHORTEST:
            longest //= 2
            packet = with_short_texts(self.packet, longest)
        fitted = fit(packet, limit, self._context_tokens)
        if not fitted.fits:
            raise UsageError(
                f"the smallest packet has {fitted.tokens} tokens, more than the limit of {limit}",
                hint="raise packet_size_limit",
            )
        return prompt_context(fitted.packet)

    def run_middleware(self, hooks: Iterable[Hook]) -> list[PacketDelta]:
        """Call each hook with a copy of the packet, and apply what it changes or returns.

        Return all deltas, so that the caller can record them. Raises UsageError if a hook changes
        what no delta can change, or to a value of the wrong type; then no hook has an effect.
        """
        packet, deltas = self.packet, []
        for hook in hooks:
            draft = draft_of(packet)
            for delta in deltas_of(packet, draft, hook(draft)):
                packet = apply(packet, delta)
                deltas.append(delta)
        self.packet = packet
        return deltas

    def _context_tokens(self, packet: DecisionPacket) -> int:
        return self._count(canonical(prompt_context(packet)).decode())

    def _summarizer(self, tool: str, tool_result: Mapping[str, Any]) -> Summarizer:
        named = self._summarizers.get(tool)
        return named or DefaultSummarizer(tool, tool_results.arguments_of(tool_result))

    def _summary(self, tool: str, tool_result: Mapping[str, Any]) -> str:
        stated = tool_results.stated_summary(tool_result)
        return stated or tool_results.to_text(
            self._summarizer(tool, tool_result).summarize(tool_results.raw_output_of(tool_result))
        )

    def _knowledge(self, action: NewAction, tool_result: Mapping[str, Any]) -> dict[str, Any]:
        facts = parts_of(tool_result.get("knowledge_delta"))
        if isinstance(facts, Mapping):
            return dict(facts)
        if action.outcome == "error" and action.tool not in self._summarizers:
            return {}
        summarizer = self._summarizer(action.tool, tool_result)
        raw = tool_results.raw_output_of(tool_result)
        return tool_results.to_dict(summarizer.extract_knowledge(raw))

    def _optional(self, tool_result: Mapping[str, Any]) -> dict[str, Any]:
        optional: dict[str, Any] = {}
        if (found := tool_result.get("diagnostics")) is not None:
            optional["diagnostics"] = make.diagnostics(tool_results.to_list(found))
        if (actions := tool_result.get("candidate_actions")) is not None:
            optional["candidate_actions"] = tool_results.candidates_of(actions)
        if (text := tool_result.get("state_summary")) is not None:
            optional["state_summary"] = make.one_line(tool_results.to_text(text), GOAL_LIMIT)
        if isinstance(excerpt := tool_result.get("excerpt"), Mapping):
            optional["excerpt"] = self.excerpt(excerpt)
        if isinstance(extensions := tool_result.get("extensions"), Mapping):
            optional["extensions"] = to_packet_value(extensions)
        return optional

    def excerpt(self, found: Mapping[str, Any]) -> Excerpt:
        """Return an excerpt, cut to a third of the packet size limit."""
        limit = self.packet_size_limit // 3
        whole = make.excerpt(
            tool_results.to_text(found.get("ref")),
            tool_results.to_text(found.get("path")),
            tool_results.first_line_of(found),
            tool_results.to_text(found.get("text")),
            tool_results.line_number(found.get("focus")),
        )
        lines = range(1, len(code_lines(whole)) + 1)
        if not lines or self._count(whole.text) <= limit:
            return whole
        fitting = bisect_right(lines, limit, key=lambda n: self._count(cut(whole, n).text))
        first, *rest = cut(whole, max(fitting, 1)).text.split("\n")
        while len(first) > 1 and self._count("\n".join([first, *rest])) > limit:
            first = first[: len(first) // 2]
        return replace(whole, text="\n".join([first, *rest]))


def _error_set(
    packet: DecisionPacket, action: NewAction, tool_result: Mapping[str, Any]
) -> str | UnsetType | None:
    """Return the new value of the packet's `last_error`.

    If the result failed or contains an `error`, this is the error message. Otherwise, it is what
    the result says wrongly, None to clear the last error, or UNSET if there is no error to clear.
    """
    if action.outcome == "error" or tool_results.stated_error(tool_result):
        untold = action.summary.removeprefix(f"Executed {action.tool}")  # of a default summary
        is_told = tool_results.stated_summary(tool_result) or untold == action.summary != ""
        failed = tool_results.failure_text(tool_result)
        failed = failed or f"{action.tool or 'the tool'} failed{untold}"
        said = action.summary if is_told else failed
        return make.error_text(tool_results.error_of(tool_result) or said)
    if problem := tool_results.problem_of(tool_result):
        return make.error_text(problem)
    return None if packet.last_error is not None else UNSET


PacketBuilder = ContextManager
"""The name in the concept of two-track memory."""
