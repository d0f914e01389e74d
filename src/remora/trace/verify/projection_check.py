"""Replay check, which reconstructs the packet and the prompt of every decision."""

from collections.abc import Sequence

import msgspec

from remora.chat import ANSWER_FORMS, ToolSchema
from remora.memory.budget import trim
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, AgentStart, Event, ModelRequest, Payload, ToolCalled
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply, version_problem
from remora.memory.prompt.history import History
from remora.memory.prompt.history_messages import later_steps
from remora.memory.prompt.render import RENDERERS, reads_history, render
from remora.trace.verify.verify_report import Problems

Decision = ModelRequest | ToolCalled | AgentError


class ProjectionCheck:
    """Reconstructs the packet from its deltas, and compares it with each event that refers to a
    packet.

    Any exception is reported as a problem.
    """

    def __init__(self, found: Problems) -> None:
        self._found = found
        self._packet: DecisionPacket | None = None
        self._tools: Sequence[ToolSchema] = ()
        self._instructions = ""
        self._history: History | None = None
        self._last_trimmed: tuple[DecisionPacket, int, DecisionPacket, str] | None = None

    def see(self, line: int, event: Event, payload: Payload | None) -> None:
        """Compare the current packet with the event, then apply the event's delta."""
        try:
            if isinstance(payload, AgentStart) and self._packet is None:
                self._start(line, payload)
            if self._packet is None:
                return
            self._compare(line, payload, self._packet)
            self._packet = apply(self._packet, event.packet_delta)
            if isinstance(payload, AgentStart) and (
                reads_history(payload.renderer) or payload.larger
            ):
                self._history = History(self._packet)
            if self._history is not None:
                self._history.add(event, self._packet)
        except Exception as error:  # noqa: BLE001 - see the class
            self._found.add(line, "projection", f"cannot be folded: {_error_text(error)}")

    def _start(self, line: int, start: AgentStart) -> None:
        unknown = version_problem(start.fold, start.trim)
        if unknown is not None:  # nothing is folded: the result would be a guess
            self._found.add(line, "projection", unknown)
            return
        self._packet, self._tools = start.packet, start.tools
        self._instructions = start.definition.get("instructions", "")

    def _compare(self, line: int, payload: Payload | None, packet: DecisionPacket) -> None:
        if not isinstance(payload, Decision) or not payload.packet_sha256:
            return
        digest, steps = payload.packet_sha256, payload.trim or 0
        trimmed, found = self._trim_packet(packet, steps)
        if found != digest:
            self._found.add(
                line,
                "projection",
                f"the packet's hash after {steps} trims is {found[:12]}…, not {digest}",
            )
        elif isinstance(payload, ModelRequest):
            self._compare_prompt(line, payload, trimmed)

    def _trim_packet(self, packet: DecisionPacket, steps: int) -> tuple[DecisionPacket, str]:
        """Return the trimmed packet and its hash.

        The last result is cached, because a turn's request and decision use the same packet.
        """
        last = self._last_trimmed
        if last is None or last[0] is not packet or last[1] != steps:
            trimmed = trim(packet, steps)
            self._last_trimmed = last = packet, steps, trimmed, canonical_sha256(trimmed)
        return last[2:]

    def _compare_prompt(self, line: int, request: ModelRequest, trimmed: DecisionPacket) -> None:
        if request.renderer not in RENDERERS:
            self._found.add(line, "prompt", f"unknown renderer {request.renderer!r}")
            return
        own = RENDERERS[request.renderer].strategy
        strategy = own or str(request.decoding.get("strategy", ""))
        if strategy not in ANSWER_FORMS:
            detail = f"unknown form of answers {strategy[:40]!r}; the prompt is not compared"
            self._found.add(line, "prompt", detail)
            return
        try:
            steps = [] if self._history is None else self._history.steps
            history = later_steps(steps, request.omitted_events)
            rendered = render(
                request.renderer, trimmed, self._tools, strategy, history, self._instructions
            )
            messages = msgspec.json.decode(msgspec.json.encode(rendered.messages))
            same = (messages, rendered.prompt) == (request.messages, request.prompt)
        except Exception as error:  # noqa: BLE001 - see the class
            self._found.add(line, "prompt", f"cannot be rendered: {_error_text(error)}")
            return
        if not same:
            self._found.add(
                line, "prompt", "the recorded prompt differs from the one rendered from the stream"
            )


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
