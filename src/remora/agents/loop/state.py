"""The state of an agent, folded from its event stream.

The turn loop adds each event after writing it, and a resumed agent adds each recorded event. Both
reach the same state.
"""

from collections.abc import Callable, Mapping
from itertools import chain, takewhile
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from remora.agents.builtin_tools import SUBMIT, UNDO, RawOutputs
from remora.agents.decision.policy import Exchange
from remora.agents.decision.query_settings import QuerySettings
from remora.agents.loop.change_tracker import net_changes
from remora.agents.loop.refused_suggestions import RefusedSuggestions
from remora.agents.loop.stop_rules import (
    MAX_BAD_CALLS,
    Ending,
    StopRules,
    TurnCounts,
    error_ending,
    failed_check,
)
from remora.agents.loop.turn_state import TurnState
from remora.chat import ToolSchema
from remora.errors import StreamDamaged
from remora.ids import unescape_path
from remora.memory.budget import trim
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
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
from remora.memory.packet import DecisionPacket, Fact
from remora.memory.prompt.history import History
from remora.memory.prompt.render import reads_history
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import decode_part, update_source

_Kind = TypeVar("_Kind", bound=Payload)
NOTHING_OFFERED = "the candidates script offers no action"
FLOOR = "floor"
"""Source of the update after which only what the opening did can be submitted."""


class AgentState:
    """The state of an agent, folded from its events.

    `ending` is set when an event ends the agent. `outdated` has the numbers of the context scripts
    whose findings a change of files has outdated. `changes` contains the recorded file changes of
    each turn. `outputs` contains the raw outputs so far, for `recall`. `failure` is the error of
    the last turn before a submission, or None if it succeeded. `hint` is that of the last error.

    If the model drives, rules make the decisions of the opening. `floor` contains the changes of
    the opening that the model did not take back, which are restored by undoing `turn_after_floor`.
    `submission` contains the arguments with which rules would have submitted them. `lost_model` is
    set when the model's part has stopped, so that rules submit the files as they are, or else the
    floor: it is the ending if neither passes the checks. `suggestions` counts what tools refused.
    """

    def __init__(self, context: ContextManager, blobs: ObjectStore) -> None:
        self.context = context
        self.start: AgentStart | None = None
        self.turn = TurnState()
        self.context_scripts_run = 0
        self.ending: Ending | None = None
        self.changes: dict[int, tuple[Change, ...]] = {}
        self.outputs = RawOutputs(blobs)
        self.failure: str | None = None
        self.hint = ""
        self.is_opening = False
        self.floor: tuple[Change, ...] = ()
        self.turn_after_floor = 0
        self.submission: dict[str, Any] = {}
        self.lost_model: Ending | None = None
        self.refused: list[str] = []
        self.suggestions = RefusedSuggestions()
        self._refused_changes: tuple[Change, ...] | None = None
        self.is_escalated = False
        self.history: History | None = None
        self.outdated: list[int] = []
        self._diagnosing: list[int] = []
        self.messages: list[dict[str, Any]] = []
        self.tally = TurnCounts()
        self._blobs = blobs
        self._stop_rules = StopRules()
        self._before: DecisionPacket = context.packet
        self._edits: dict[int, tuple[DecisionPacket, DecisionPacket]] = {}
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
    def all_changes(self) -> tuple[Change, ...]:
        """All recorded changes, in order."""
        return tuple(chain.from_iterable(self.changes.values()))

    def changes_before(self, turn: int) -> tuple[Change, ...]:
        """Return the changes recorded before a turn, in order."""
        return tuple(chain.from_iterable(c for n, c in self.changes.items() if n < turn))

    @property
    def is_past_floor(self) -> bool:
        """True if files differ from those that the opening left."""
        return net_changes(self.all_changes) != self.floor

    @property
    def opened(self) -> Mapping[str, str | None] | None:
        """The hashes of the files that the opening changed, by path. None if rules decide all."""
        if not self._is_driven or self.is_opening:
            return None
        return {unescape_path(change.path): change.after for change in self.floor}

    def asks_model(self, settings: QuerySettings) -> bool:
        """Return True if the model decides this turn, and may still be asked."""
        is_over = not self.turn.is_asked and (
            self.tally.requests >= settings.max_requests
            or self.tally.sent_tokens >= settings.max_tokens
        )
        return settings.decisions == "model" and not (self.is_opening or self.lost_model or is_over)

    def can_fall_back(self, ending: Ending) -> bool:
        """Return True if rules can submit the files as they are, or what the opening did."""
        return (
            self._is_driven
            and self.lost_model is None
            and not self.is_opening
            and ending[0] in ("failed", "error")
            and bool(self.floor or (net_changes(self.all_changes) and not self.is_refused))
        )

    @property
    def is_refused(self) -> bool:
        """True if a check has refused the files as they are."""
        return net_changes(self.all_changes) == self._refused_changes

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
        return self.refused[0] if self.refused else ""

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

    def with_view_before(self, turn: int, delta: PacketDelta) -> PacketDelta:
        """Return a delta that also restores what results of a turn and of later ones have set.

        Only results with changed files count, because others, such as code that was read, stay
        true.
        """
        undone = [packets for number, packets in self._edits.items() if number >= turn]
        earlier: dict[str, Fact | None] = {}
        for before, after in undone:
            keys = {**before.knowledge, **after.knowledge}
            changed = (key for key in keys if after.knowledge.get(key) != before.knowledge.get(key))
            earlier = {key: before.knowledge.get(key) for key in changed} | earlier
        now = self.context.packet
        return msgspec.structs.replace(
            delta,
            **{
                name: getattr(undone[0][0], name)
                for name in ("diagnostics", "excerpt", "state_summary")
                if getattr(now, name) in [getattr(after, name) for _, after in undone]
            },
            update_knowledge={
                key: fact.value
                for key, fact in earlier.items()
                if fact and fact != now.knowledge.get(key)
            }
            or UNSET,
            forget_knowledge=tuple(key for key, fact in earlier.items() if fact is None) or UNSET,
        )

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
        self.turn, self.tally = TurnState(), TurnCounts()
        self.context_scripts_run, self.ending = 0, None
        shows_history = reads_history(start.renderer) or start.larger
        self.history = History(self.context.packet) if shows_history else None
        self.messages, self.refused = [], []
        self.failure = self.lost_model = None
        is_fork = bool(start.first_turn)  # which continues where its ancestors were
        has_opening = start.model.get("opening") and start.definition.get("candidates")
        self.is_opening = (self.is_opening or not is_fork) and self._is_driven and bool(has_opening)
        if not is_fork:
            self.floor, self.turn_after_floor, self.is_escalated = (), 0, False
        if net_changes(self.all_changes) != start.changes:  # its ancestors cannot be read
            self.changes, self.floor = {0: start.changes}, ()

    def _began(self, event: Event) -> None:
        start = self.start
        ready = start is not None and start.decides and event.turn == start.first_turn
        self.turn = TurnState(
            number=event.turn,
            has_facts=ready,
            has_candidates=ready,
        )

    def _updated(self, event: Event) -> None:
        source = update_source(event)
        if source == "context":
            self._looked(event)
        elif source == "hub":
            self.turn.has_facts = True
        elif source == "candidates":
            self.turn.has_candidates = True
            if not self.context.packet.candidate_actions and not self._is_driven:
                self.ending = "failed", "no_progress", _set_error_of(event) or NOTHING_OFFERED
                self.turn.is_over = True
        elif source == "opening":
            self.is_opening = self.turn.has_facts = self.turn.has_candidates = False
            self.floor, self.turn_after_floor = net_changes(self.all_changes), event.turn
            self.submission = self._whole(event, ContextUpdate).value
        elif source == FLOOR:
            self.lost_model = msgspec.convert(self._whole(event, ContextUpdate).value, Ending)
            self.ending, self.turn.is_over = None, True
            self._stop_rules = StopRules()

    def _looked(self, event: Event) -> None:
        """Count a context script, or one that ran again."""
        if event.turn:
            self.outdated = self.outdated[1:]
            return
        self._diagnosing += [self.context_scripts_run] if _sets_findings(event) else []
        self.context_scripts_run += 1

    def _asked(self, event: Event) -> None:
        request = self._whole(event, ModelRequest)
        self.turn.request, self.turn.is_asked = request, True
        self.messages += request.messages or [{"role": "user", "content": request.prompt}]

    def _answered(self, event: Event) -> None:
        response = self._whole(event, ModelResponse)
        request, self.turn.request = self.turn.request, None
        if request is not None and self.start is not None:
            shown = trim(self.context.packet, request.trim)
            self.turn.steps.append(Exchange(request, response, shown))
            self.outputs.add(event.turn, event)
        self.messages.append({"role": "assistant", "content": response.text})

    def _escalated(self, _event: Event) -> None:
        """Begin without invalid calls and without steps, because another model decides now."""
        self.is_escalated = self.turn.is_asked = True
        self._stop_rules.good_call()
        self.turn.steps.clear()

    def _called(self, event: Event) -> None:
        self.turn.call = self._whole(event, ToolCalled)
        self._stop_rules.good_call()
        self._before = self.context.packet

    def _resulted(self, event: Event) -> None:
        result = decode_part(event, _Result)
        self.changes[event.turn] = result.changes
        if result.outcome == "error" and self.turn.call is not None:
            self.suggestions.add(self._before.candidate_actions, self.turn.call.choice)
        if result.tool == UNDO and result.args.get("turn", 0) < self.turn_after_floor:
            self.floor, self.turn_after_floor = net_changes(self.all_changes), event.turn + 1
        if result.changes:
            self._edits[event.turn] = self._before, self.context.packet
            self.outdated = [] if _sets_findings(event) else [*self._diagnosing]
        self.outputs.add(event.turn, event)
        self.turn.has_result = True
        if result.tool != SUBMIT:
            self.turn.is_over = True
            self.failure = self.context.packet.last_error
            changed = bool(result.changes)
            self.ending = self._stop_rules.after(self._before, self.context.packet, changed=changed)

    def _submitted(self, event: Event) -> None:
        submitted = self._whole(event, SubmitResult)
        self.turn.submitted = submitted
        if submitted.verified:
            return
        self._refused_changes = net_changes(self.all_changes)
        if self._goes_back():
            self.refused.append(failed_check(submitted))
            self.turn.is_over = True
        elif self.lost_model is not None and self.floor and self.is_past_floor:
            self.turn.is_over = True  # the floor may pass

    def _goes_back(self) -> bool:
        """Return True if the model may mend a submission that failed a check, and submit again."""
        assert self.start is not None
        most = self.start.definition.get("max_submissions", 1)
        drives = self._is_driven and not self.is_opening and self.lost_model is None
        return drives and len(self.refused) + 1 < most

    def _failed(self, event: Event) -> None:
        error = self._whole(event, AgentError)
        self.turn.is_over, self.hint = True, error.hint
        self.ending = error_ending(error, self._stop_rules)

    @property
    def _is_driven(self) -> bool:
        return self.start is not None and self.start.model.get("decisions") == "model"

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
    args: dict[str, Any] = {}
    changes: tuple[Change, ...] = ()
    outcome: str = "success"


def _sets_findings(event: Event) -> bool:
    return event.packet_delta is not None and event.packet_delta.diagnostics is not UNSET


def _set_error_of(event: Event) -> str | None:
    error = event.packet_delta.set_error if event.packet_delta is not None else None
    return error if isinstance(error, str) else None
