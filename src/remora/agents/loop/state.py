"""The state of an agent, folded from its event stream.

The turn loop adds each event after writing it, and a resumed agent adds each recorded event. Both
reach the same state.
"""

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from remora.agents.builtin_tools import SUBMIT, UNDO, RawOutputs
from remora.agents.decision.policy import Exchange
from remora.agents.decision.query_settings import QuerySettings
from remora.agents.loop.state_parts import (
    ContextScripts,
    Failure,
    FileHistory,
    ModelPart,
    Opening,
    PacketChange,
    RefusedSuggestions,
    TurnState,
)
from remora.agents.loop.stop_rules import MAX_BAD_CALLS, Ending, StopRules, failed_check
from remora.agents.loop.turn_counts import TurnCounts
from remora.chat import ToolSchema
from remora.ids import unescape_path
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
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.history import History
from remora.memory.prompt.render import reads_history
from remora.trace.content.objects import ObjectStore
from remora.trace.read.blobs import whole_payload
from remora.trace.read.reader import decode_part, update_source

_Kind = TypeVar("_Kind", bound=Payload)
NOTHING_OFFERED = "the candidates script offers no action"
FLOOR = "floor"
"""Source of the update after which only what the opening did can be submitted."""


class AgentState:
    """The state of an agent, folded from its events.

    If the model drives, rules make the decisions of the opening.
    """

    def __init__(self, context: ContextManager, blobs: ObjectStore) -> None:
        self.context = context
        """The packet."""
        self.start: AgentStart | None = None
        """The event that the agent began with."""
        self.turn = TurnState()
        self.scripts = ContextScripts()
        self.files = FileHistory()
        self.opening = Opening()
        self.model = ModelPart()
        self.failure = Failure()
        self.suggestions = RefusedSuggestions()
        self.ending: Ending | None = None
        """Set when an event ends the agent."""
        self.outputs = RawOutputs(blobs)
        """The raw outputs so far, for `recall`."""
        self.history: History | None = None
        """The steps so far, if requests show them."""
        self.messages: list[dict[str, Any]] = []
        """The chat messages, for debugging."""
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
    def is_past_floor(self) -> bool:
        """True if files differ from those that the opening left."""
        return self.files.net != self.opening.floor

    @property
    def opened(self) -> Mapping[str, str | None] | None:
        """The hashes of the files that the opening changed, by path. None if rules decide all."""
        if not self._is_driven or self.opening.is_running:
            return None
        return {unescape_path(change.path): change.after for change in self.opening.floor}

    def asks_model(self, settings: QuerySettings) -> bool:
        """Return True if the model decides this turn, and may still be asked."""
        is_over = not self.turn.is_asked and (
            self.tally.total.requests >= settings.max_requests
            or self.tally.total.sent_tokens >= settings.max_tokens
        )
        return settings.decisions == "model" and not (
            self.opening.is_running or self.model.lost or is_over
        )

    def can_fall_back(self, ending: Ending) -> bool:
        """Return True if rules can submit the files as they are, or what the opening did."""
        return (
            self._is_driven
            and self.model.lost is None
            and not self.opening.is_running
            and ending[0] in ("failed", "error")
            and bool(self.opening.floor or (self.files.net and not self.is_refused))
        )

    @property
    def is_refused(self) -> bool:
        """True if a check has refused the files as they are."""
        return self.files.net == self.model.refused_changes

    @property
    def invalid_calls(self) -> int:
        """The number of invalid calls in a row, of the model that decides now."""
        return self._stop_rules.bad_calls

    @property
    def refusals(self) -> int:
        """The number of calls in a row that a tool refused, or of answers that were no call."""
        refused = takewhile(
            lambda action: action.outcome == "error",
            reversed(self.context.packet.recent_actions),
        )
        return max(self.invalid_calls, sum(action.count for action in refused))

    @property
    def needs_larger(self) -> str:
        """Why a larger model should decide from now on, or an empty string."""
        if self.invalid_calls >= MAX_BAD_CALLS:
            return f"{MAX_BAD_CALLS} invalid calls in a row: {self.context.packet.last_error}"
        return self.model.refused[0] if self.model.refused else ""

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """The schemas of the agent's tools."""
        assert self.start is not None  # every agent begins with it
        return self.start.tools

    @property
    def instructions(self) -> str:
        """The agent's own instructions for models."""
        assert self.start is not None  # every agent begins with it
        return str(self.start.definition.get("instructions", ""))

    def add(self, event: Event) -> None:
        if event.type != AgentStart.type:  # its packet is the one before its own delta
            self.context.apply_recorded(event)
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event)
        self.tally.add(event)
        if self.history is not None:
            self.history.add(event, self.context.packet)

    def _started(self, event: Event) -> None:
        start = self._whole(event, AgentStart)
        self.start = start
        self.context.apply_recorded(event)
        self.turn, self.tally, self.ending = TurnState(), TurnCounts(), None
        self.scripts = replace(self.scripts, run=0)
        shows_history = reads_history(start.renderer) or start.larger
        self.history = History(self.context.packet) if shows_history else None
        self.messages = []
        self.failure = replace(self.failure, message=None)
        is_fork = bool(start.first_turn)  # which continues where its ancestors were
        self.model = replace(
            self.model, refused=(), lost=None, is_escalated=is_fork and self.model.is_escalated
        )
        has_opening = start.model.get("opening") and start.definition.get("candidates")
        may_open = (self.opening.is_running or not is_fork) and self._is_driven
        self.opening = replace(self.opening, is_running=may_open and bool(has_opening))
        if not is_fork:
            self.opening = replace(self.opening, floor=(), next_turn=0)
        if self.files.net != start.changes:  # its ancestors cannot be read
            self.files = replace(self.files, changes={0: start.changes})
            self.opening = replace(self.opening, floor=())

    def _began(self, event: Event) -> None:
        start = self.start
        ready = start is not None and start.decides and event.turn == start.first_turn
        self.turn = TurnState(number=event.turn, has_facts=ready, has_candidates=ready)

    def _updated(self, event: Event) -> None:
        source = update_source(event)
        if source == "context":
            self._looked(event)
        elif source == "hub":
            self.turn = replace(self.turn, has_facts=True)
        elif source == "candidates":
            self.turn = replace(self.turn, has_candidates=True)
            if not self.context.packet.candidate_actions and not self._is_driven:
                self.ending = "failed", "no_progress", _set_error_of(event) or NOTHING_OFFERED
                self.turn = replace(self.turn, is_over=True)
        elif source == "opening":
            self.turn = replace(self.turn, has_facts=False, has_candidates=False)
            self.opening = Opening(
                floor=self.files.net,
                next_turn=event.turn,
                submission=self._whole(event, ContextUpdate).value,
            )
        elif source == FLOOR:
            lost = msgspec.convert(self._whole(event, ContextUpdate).value, Ending)
            self.model = replace(self.model, lost=lost)
            self.ending, self.turn = None, replace(self.turn, is_over=True)
            self._stop_rules = StopRules()

    def _looked(self, event: Event) -> None:
        """Count a context script, or one that ran again."""
        scripts = self.scripts
        if event.turn:
            self.scripts = replace(scripts, outdated=scripts.outdated[1:])
            return
        found = (scripts.run,) if _sets_findings(event) else ()
        self.scripts = replace(
            scripts, run=scripts.run + 1, diagnosing=(*scripts.diagnosing, *found)
        )

    def _asked(self, event: Event) -> None:
        request = self._whole(event, ModelRequest)
        self.turn = replace(self.turn, request=request, is_asked=True)
        self.messages += request.messages or [{"role": "user", "content": request.prompt}]

    def _answered(self, event: Event) -> None:
        response = self._whole(event, ModelResponse)
        request, steps = self.turn.request, self.turn.steps
        if request is not None and self.start is not None:
            shown = trim(self.context.packet, request.trim)
            steps = (*steps, Exchange(request, response, shown))
            self.outputs.add_answer(event)
        self.turn = replace(self.turn, request=None, steps=steps)
        self.messages.append({"role": "assistant", "content": response.text})

    def _escalated(self, _event: Event) -> None:
        """Begin without invalid calls and without steps, because another model decides now."""
        self.model = replace(self.model, is_escalated=True)
        self.turn = replace(self.turn, is_asked=True, steps=())
        self._stop_rules.bad_calls = 0

    def _called(self, event: Event) -> None:
        self.turn = replace(self.turn, call=self._whole(event, ToolCalled))
        self._stop_rules.bad_calls = 0
        self._before = self.context.packet

    def _resulted(self, event: Event) -> None:
        result, turn, now = decode_part(event, _Result), event.turn, self.context.packet
        self.files = replace(self.files, changes={**self.files.changes, turn: result.changes})
        if result.outcome == "error" and self.turn.call is not None:
            offered = self._before.candidate_actions
            self.suggestions = self.suggestions.with_refusal(offered, self.turn.call.choice)
        if result.tool == UNDO and result.args.get("turn", 0) < self.opening.next_turn:
            self.opening = replace(self.opening, floor=self.files.net, next_turn=turn + 1)
        if result.changes:
            packets = {**self.files.packets, turn: PacketChange(self._before, now)}
            self.files = replace(self.files, packets=packets)
            outdated = () if _sets_findings(event) else self.scripts.diagnosing
            self.scripts = replace(self.scripts, outdated=outdated)
        self.outputs.add_result(event)
        self.turn = replace(self.turn, has_result=True, is_over=result.tool != SUBMIT)
        if result.tool != SUBMIT:
            self.failure = replace(self.failure, message=now.last_error)
            self.ending = self._stop_rules.after(self._before, now, changed=bool(result.changes))

    def _submitted(self, event: Event) -> None:
        submitted = self._whole(event, SubmitResult)
        self.turn = replace(self.turn, submitted=submitted)
        if submitted.verified:
            return
        self.model = replace(self.model, refused_changes=self.files.net)
        if self._goes_back():
            refused = (*self.model.refused, failed_check(submitted))
            self.model = replace(self.model, refused=refused)
            self.turn = replace(self.turn, is_over=True)
        elif self.model.lost is not None and self.opening.floor and self.is_past_floor:
            self.turn = replace(self.turn, is_over=True)  # the floor may pass

    def _goes_back(self) -> bool:
        """Return True if the model may correct a submission that failed a check."""
        assert self.start is not None
        most = self.start.definition.get("max_submissions", 1)
        drives = self._is_driven and not self.opening.is_running and self.model.lost is None
        return drives and len(self.model.refused) + 1 < most

    def _failed(self, event: Event) -> None:
        error = self._whole(event, AgentError)
        self.turn = replace(self.turn, is_over=True)
        self.failure = replace(self.failure, hint=error.hint)
        self.ending = self._stop_rules.after_error(error)

    @property
    def _is_driven(self) -> bool:
        return self.start is not None and self.start.model.get("decisions") == "model"

    def _whole(self, event: Event, kind: type[_Kind]) -> _Kind:
        return whole_payload(event, kind, self._blobs)


# only the needed fields: events may be large
class _Result(msgspec.Struct):
    tool: str
    args: dict[str, Any] = {}
    changes: tuple[Change, ...] = ()
    outcome: str = "success"


def _sets_findings(event: Event) -> bool:
    return event.packet_delta is not None and event.packet_delta.diagnostics is not UNSET


def _set_error_of(event: Event) -> str | None:
    error = event.packet_delta.set_error if event.packet_delta is not None else None
    return error if isinstance(error, str) else None
