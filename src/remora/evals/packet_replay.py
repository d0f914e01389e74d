"""Replay of a recorded stream under another setting, to recompute the packet of each call."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from remora.agents.builtin_tools import RECALL, SUBMIT
from remora.agents.decision.model_query import Question, request_tokens
from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ANSWER_FORMS
from remora.errors import StreamDamaged
from remora.evals.eval_setting import EvalSetting
from remora.memory.budget import FittedPacket, fit, trim
from remora.memory.caller_events import CARRIED
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta, error_text
from remora.memory.events import AgentStart, Event, Payload, ToolCalled, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply, first_packet
from remora.memory.prompt.render import HISTORY_TYPES, RENDERER_STRATEGIES, RENDERERS, reads_history
from remora.memory.summarizers import Summarizer
from remora.models.protocol import Strategy, TokenCounter
from remora.tools.result_contract import ToolResult, as_result, is_contract

_WRITTEN = "grammar"
_NO_LIMIT = 2**53


class PacketReplay:
    """Replays one stream under one setting and computes the packet of each decision."""

    def __init__(
        self,
        first: Event,
        start: AgentStart,
        setting: EvalSetting,
        counter: TokenCounter,
        summarizers: Mapping[str, Summarizer] | None,
    ) -> None:
        """Start a replay with the packet of the stream's first event.

        `summarizers` maps tools to summarizers. If it is None, the recorded summaries are kept.
        """
        self.packet = first_packet(first)
        self._history: list[Event] = []
        self._renderer = setting.renderer or start.renderer
        self._tools = start.tools
        self._instructions = str(start.definition.get("instructions", ""))
        self._strategy = _strategy(start, self._renderer)
        self._limit = setting.limit or start.limit or _NO_LIMIT
        self._fits_rules = setting.limit is not None
        self._as_recorded = setting == EvalSetting()
        self._summarizers = summarizers
        self._cuts_excerpts = setting.limit not in (None, start.limit)
        self._counter = counter

    @property
    def shown_history(self) -> list[Event] | None:
        return self._history if reads_history(self._renderer) else None

    def packet_for_call(self, call: ToolCalled) -> FittedPacket:
        """Return the trimmed packet that would have been the basis of a recorded call.

        A rule reads the whole packet unless the setting has a limit. Raises StreamDamaged if the
        recorded setting does not reproduce the recorded packet.
        """
        if self._as_recorded:
            shown = trim(self.packet, call.trim)
            if call.packet_sha256 and canonical_sha256(shown) != call.packet_sha256:
                raise StreamDamaged(
                    f"the packet of turn {self.packet.turn} differs from the recorded one",
                    hint="run `remora trace verify` for details",
                )
            tokens = self._measure(shown)
            return FittedPacket(
                packet=shown, trim=call.trim, tokens=tokens, fits=tokens <= self._limit
            )
        limited = call.decided_by != "rule" or self._fits_rules
        limit = self._limit if limited else _NO_LIMIT
        return fit(self.packet, limit, self._measure)

    def apply_event(self, event: Event, payload: Payload | None) -> None:
        """Apply an event's delta to the packet.

        The delta of a tool result is recomputed if the setting requires it.
        """
        if event.type in HISTORY_TYPES and reads_history(self._renderer):
            self._history.append(event)
        delta = event.packet_delta
        if isinstance(payload, ToolResulted) and delta is not None:
            delta = self._remade_delta(delta, payload)
        self.packet = apply(self.packet, delta)

    def _remade_delta(self, recorded: PacketDelta, result: ToolResulted) -> PacketDelta:
        if self._summarizers is None and not self._cuts_excerpts:
            return recorded
        made = self._context(self._summarizers or {}).delta_for(
            recorded_result(result), strict=False
        )
        changes: dict[str, Any] = {}
        if recorded.excerpt is not UNSET and made.excerpt is not UNSET:
            changes["excerpt"] = made.excerpt
        if self._summarizers is not None and recorded.add_action is not UNSET:
            changes |= _summarizer_changes(recorded, made, recorded.add_action.summary)
        return msgspec.structs.replace(recorded, **changes)

    def _context(self, summarizers: Mapping[str, Summarizer]) -> ContextManager:
        context = ContextManager(
            {}, packet_size_limit=self._limit, token_counter=self._counter.count_text
        )
        context.packet = self.packet
        for tool, summarizer in summarizers.items():
            context.register_summarizer(tool, summarizer)
        return context

    def _measure(self, shown: DecisionPacket) -> int:
        question = Question(
            strategy=self._strategy, instructions=self._instructions, history=self._history
        )
        return request_tokens(self._counter, shown, self._tools, self._renderer, question)


def recorded_result(result: ToolResulted) -> dict[str, Any]:
    """Return a recorded tool result in the form that was passed to the ContextManager."""
    raw = decode_value(result.raw_output)
    if result.tool in (RECALL, SUBMIT) and isinstance(raw, dict):
        return {"tool": result.tool, "args": result.args, **raw, "raw_output": raw.get("result")}
    contract = _contract(result, raw)
    speaks = contract.outcome == "error" or is_contract(raw)
    given = {
        "raw_output": raw,
        "summary": contract.summary,
        "knowledge_delta": contract.knowledge_delta if speaks else None,
        "outcome": result.outcome,
        "error": result.error,
        **{key: getattr(contract, key) for key in CARRIED},
    }
    stated = {key: value for key, value in given.items() if value is not None}
    return {"tool": result.tool, "args": result.args, **stated}


def _contract(result: ToolResulted, raw: Any) -> ToolResult:
    if result.error_kind in (None, "contract"):
        return as_result(raw)
    return ToolResult(summary=f"{result.tool} failed", outcome="error", error=result.error)


def _summarizer_changes(recorded: PacketDelta, made: PacketDelta, summary: str) -> dict[str, Any]:
    """Return the parts of a recomputed delta that depend on a summarizer.

    These are the summary, the facts and, if the recorded error was a copy of the summary, the
    error.
    """
    changes: dict[str, Any] = {"update_knowledge": made.update_knowledge}
    if recorded.add_action is not UNSET and made.add_action is not UNSET:
        words = made.add_action.summary
        changes["add_action"] = msgspec.structs.replace(recorded.add_action, summary=words)
    if recorded.set_error == error_text(summary) and isinstance(made.set_error, str):
        changes["set_error"] = made.set_error
    return changes


def _strategy(start: AgentStart, renderer: str) -> Strategy:
    """Return the decoding strategy to use with `renderer`.

    If the renderer supports only one strategy, return it. Otherwise, return the recorded strategy,
    or a default if the recorded strategy cannot be used with this renderer or renders nothing.
    """
    recorded = str(start.model.get("strategy"))
    own = RENDERERS[renderer].strategy
    # a run without a model has a strategy that renders nothing
    is_rendered = recorded in ANSWER_FORMS and recorded not in RENDERER_STRATEGIES
    wanted = own or (recorded if is_rendered else _WRITTEN)
    return next(name for name in STRATEGIES if name == wanted)
