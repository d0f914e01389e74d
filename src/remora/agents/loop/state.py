"""The state of an agent, folded from its event stream.

The turn loop adds each event after writing it, and a resumed agent adds each recorded event. Both
reach the same state.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from remora.agents.builtin_tools import SUBMIT, RawOutputs
from remora.agents.decision.policy import Escalated, Exchange, Step, Tried
from remora.agents.loop.stop_rules import (
    NO_ANSWER,
    Ending,
    StopRules,
    TurnCounts,
    error_ending,
)
from remora.chat import ToolSchema
from remora.errors import StreamDamaged
from remora.memory.budget import trim
from remora.memory.context import ContextManager
from remora.memory.events import (
    AgentError,
    AgentStart,
    Change,
    ContextUpdate,
    Escalation,
    Event,
    ModelRequest,
    ModelResponse,
    Payload,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.render import HISTORY_TYPES, reads_history
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import decode_part, update_source

_Kind = TypeVar("_Kind", bound=Payload)
NOTHING_OFFERED = "the candidates script offers no action"


class TurnState(msgspec.Struct, kw_only=True):
    """The recorded state of a turn.

    `has_facts` is true if the turn's Hub facts are recorded, and `has_candidates` is true if its
    candidates are. `offered` are the candidates before any were tried, `request` is a request that
    has no answer yet, and `steps` are the recorded steps towards the decision.
    """

    number: int = 0
    has_facts: bool = False
    has_candidates: bool = False
    offered: tuple[Candidate, ...] = ()
    request: ModelRequest | None = None
    steps: list[Step] = []
    call: ToolCalled | None = None
    has_result: bool = False
    submitted: SubmitResult | None = None
    is_over: bool = False

    @property
    def is_decided(self) -> bool:
        """Return True if nothing can be added to the packet before this turn's decision."""
        return bool(self.request or self.steps or self.call or self.is_over)


class AgentState:
    """The state of an agent, folded from its events.

    `ending` is set when an event ends the agent. `changes` contains all recorded file changes.
    `outputs` contains the raw outputs so far, for `recall`. `unanswered` contains the arguments of
    the candidates that no model could complete. `failure` is the error of the last turn before a
    submission, or None if it succeeded. `lost_model` is set when the model has failed and rules make
    the remaining decisions: it is the ending if they change nothing.
    """

    def __init__(self, context: ContextManager, blobs: ObjectStore) -> None:
        self.context = context
        self.start: AgentStart | None = None
        self.turn = TurnState()
        self.context_scripts_run = 0
        self.ending: Ending | None = None
        self.changes: list[Change] = []
        self.outputs = RawOutputs(blobs)
        self.unanswered: list[dict[str, Any]] = []
        self.failure: str | None = None
        self.lost_model: Ending | None = None
        self.history: list[Event] = []
        self.messages: list[dict[str, Any]] = []
        self.tally = TurnCounts()
        self._blobs = blobs
        self._stop_rules = StopRules()
        self._before: DecisionPacket = context.packet
        self._handlers: dict[str, Callable[[Event], None]] = {
            AgentStart.type: self._started,
            TurnStart.type: self._began,
            ContextUpdate.type: self._updated,
            ModelRequest.type: self._asked,
            ModelResponse.type: self._answered,
            Escalation.type: self._escalated,
            ToolCalled.type: self._called,
            ToolResulted.type: self._resulted,
            SubmitResult.type: self._submitted,
            AgentError.type: self._failed,
        }

    @property
    def next_turn(self) -> int:
        """Return the number of the current turn, or of the next turn if no turn is in progress."""
        if self.turn.number and not self.turn.is_over:
            return self.turn.number
        first = self.start.first_turn if self.start is not None else 1
        return max(self.turn.number + 1, first)

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """The schemas of the agent's tools."""
        assert self.start is not None  # every agent begins with it
        return self.start.tools

    def add(self, event: Event) -> None:
        if event.type != AgentStart.type:  # its packet is the one before its own delta
            self.context.apply_event(event, strict=False)
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event)
        self.tally.add(event)
        if event.type in HISTORY_TYPES and self.start and _shows_history(self.start):
            self.history.append(event)

    def _started(self, event: Event) -> None:
        start = self._whole(event, AgentStart)
        self.start = start
        self.context.packet = start.packet
        self.context.apply_event(event, strict=False)
        self.turn, self.context_scripts_run, self.ending, self.tally = (
            TurnState(),
            0,
            None,
            TurnCounts(),
        )
        self.changes = list(start.changes)
        self.history, self.messages, self.unanswered = [], [], []
        self.failure = self.lost_model = None

    def _began(self, event: Event) -> None:
        start = self.start
        ready = start is not None and start.decides and event.turn == start.first_turn
        self.turn = TurnState(
            number=event.turn,
            has_facts=ready,
            has_candidates=ready,
            offered=self.context.packet.candidate_actions,
        )

    def _updated(self, event: Event) -> None:
        source = update_source(event)
        if source == "context":
            self.context_scripts_run += 1
        elif source == "hub":
            self.turn.has_facts = True
        elif source == "candidates":
            self.turn.has_facts = self.turn.has_candidates = True
            self.turn.offered = self.context.packet.candidate_actions
            if not self.context.packet.candidate_actions:
                self.ending = "failed", "no_progress", _set_error_of(event) or NOTHING_OFFERED
                self.turn.is_over = True
        elif source == "trials":
            changed = event.packet_delta is not None
            kept = self.context.packet.candidate_actions if changed else ()
            trials = self._whole(event, ContextUpdate).value["candidates"]
            self.turn.steps.append(Tried(kept, trials))

    def _asked(self, event: Event) -> None:
        request = self._whole(event, ModelRequest)
        self.turn.request = request
        self.messages += request.messages or [{"role": "user", "content": request.prompt}]

    def _answered(self, event: Event) -> None:
        response = self._whole(event, ModelResponse)
        request, self.turn.request = self.turn.request, None
        if request is not None and self.start is not None:
            shown = trim(self.context.packet, request.trim).candidate_actions
            self.turn.steps.append(Exchange(request, response, shown))
        self.messages.append({"role": "assistant", "content": response.text})

    def _escalated(self, event: Event) -> None:
        self.turn.steps.append(Escalated(self._whole(event, Escalation).reason))

    def _called(self, event: Event) -> None:
        self.turn.call = self._whole(event, ToolCalled)
        self._stop_rules.good_call()
        self._before = self.context.packet

    def _resulted(self, event: Event) -> None:
        result = decode_part(event, _Result)
        self.changes += result.changes
        self.outputs.add(event.turn, event)
        self.turn.has_result = True
        if result.tool != SUBMIT:
            self.turn.is_over = True
            self.failure = self.context.packet.last_error
            changed = bool(result.changes)
            self.ending = self._stop_rules.after(self._before, self.context.packet, changed=changed)

    def _submitted(self, event: Event) -> None:
        self.turn.submitted = self._whole(event, SubmitResult)

    def _failed(self, event: Event) -> None:
        error = self._whole(event, AgentError)
        if error.kind == NO_ANSWER:
            self.unanswered += [one.args for one in self.turn.offered]
            self.failure = self.context.packet.last_error
        self.turn.is_over = True
        ending = error_ending(error, self._stop_rules)
        if self.turn.offered and error.kind != "tool_error":
            self.lost_model = ending
        else:
            self.ending = ending

    def _whole(self, event: Event, kind: type[_Kind]) -> _Kind:
        """Return the event's payload with its blobs resolved."""
        try:
            found = resolved_payload(event, self._blobs)
        except (ValueError, RecursionError) as error:
            raise _wrong_event(event, kind) from error
        if not isinstance(found, kind):
            raise _wrong_event(event, kind)
        return found


def _wrong_event(event: Event, kind: type[Payload]) -> StreamDamaged:
    return StreamDamaged(
        f"{event.agent_id}: event {event.seq} is not a {kind.type}",
        hint="run `remora trace verify`",
    )


# only the needed fields: events may be large
class _Result(msgspec.Struct):
    tool: str
    changes: tuple[Change, ...] = ()


def _shows_history(start: AgentStart) -> bool:
    return reads_history(start.renderer) or bool(start.larger)


def _set_error_of(event: Event) -> str | None:
    error = event.packet_delta.set_error if event.packet_delta is not None else None
    return error if isinstance(error, str) else None
