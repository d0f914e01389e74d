"""Where an agent stands: all that its turn loop goes by, folded from its stream.

The loop feeds each event that it writes, a resume each event that was written: so an agent that
goes on from a stream stands where the one stood that wrote it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from remora.agents.builtin_tools import SUBMIT, Outputs
from remora.agents.loop.stop_rules import Ending, Tally, Watch, error_ending
from remora.errors import StreamDamaged
from remora.memory.context import ContextManager
from remora.memory.events import (
    AgentError,
    AgentStart,
    Change,
    ContextUpdate,
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
from remora.memory.prompt.history import HISTORY, HISTORY_TYPES
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import decode_part

_Kind = TypeVar("_Kind", bound=Payload)
NOTHING_OFFERED = "the candidates script offers no action"


class Turn(msgspec.Struct, kw_only=True):
    """What is on record of a turn. `given`: hub facts, `offered`: candidates are in the packet."""

    number: int = 0
    given: bool = False
    offered: bool = False
    request: ModelRequest | None = None
    response: ModelResponse | None = None
    call: ToolCalled | None = None
    resulted: bool = False
    submitted: SubmitResult | None = None
    over: bool = False

    @property
    def decided_on(self) -> bool:
        """Whether nothing more enters the packet before the decision."""
        return self.request is not None or self.call is not None or self.over


class AgentState:
    """The fold. `ending` is set once an event calls for one; `changes` are all that files
    went through, `outputs` the raw outputs so far, for `recall`."""

    def __init__(self, context: ContextManager, blobs: ObjectStore) -> None:
        self.context = context
        self.start: AgentStart | None = None
        self.turn = Turn()
        self.looked = 0
        self.ending: Ending | None = None
        self.changes: list[Change] = []
        self.outputs = Outputs(blobs)
        self.history: list[Event] = []
        self.messages: list[dict[str, Any]] = []
        self.tally = Tally()
        self._blobs = blobs
        self._watch = Watch()
        self._before: DecisionPacket = context.packet
        self._takes: dict[str, Callable[[Event], None]] = {
            AgentStart.type: self._started,
            TurnStart.type: self._began,
            ContextUpdate.type: self._updated,
            ModelRequest.type: self._asked,
            ModelResponse.type: self._answered,
            ToolCalled.type: self._called,
            ToolResulted.type: self._resulted,
            SubmitResult.type: self._submitted,
            AgentError.type: self._failed,
        }

    @property
    def next_turn(self) -> int:
        """The turn that is under way, else the one that comes next."""
        if self.turn.number and not self.turn.over:
            return self.turn.number
        first = self.start.first_turn if self.start is not None else 1
        return max(self.turn.number + 1, first)

    def see(self, event: Event) -> None:
        """Take an event, as written, into account."""
        if event.type != AgentStart.type:  # whose packet is what came before its own delta
            self.context.apply_event(event, strict=False)
        take = self._takes.get(event.type)
        if take is not None:
            take(event)
        self.tally.see(event)
        if event.type in HISTORY_TYPES and self.start and self.start.renderer == HISTORY:
            self.history.append(event)

    def _started(self, event: Event) -> None:
        start = self._whole(event, AgentStart)
        self.start = start
        self.context.packet = start.packet
        self.context.apply_event(event, strict=False)
        self.turn, self.looked, self.ending, self.tally = Turn(), 0, None, Tally()
        self.changes = list(start.changes)
        self.history, self.messages = [], []

    def _began(self, event: Event) -> None:
        start = self.start
        ready = start is not None and start.decides and event.turn == start.first_turn
        self.turn = Turn(number=event.turn, given=ready, offered=ready)

    def _updated(self, event: Event) -> None:
        source = decode_part(event, _Source).source
        if source == "context":
            self.looked += 1
        elif source == "hub":
            self.turn.given = True
        elif source == "candidates":
            self.turn.given = self.turn.offered = True
            if not self.context.packet.candidate_actions:
                self.ending = "failed", "no_progress", _said(event) or NOTHING_OFFERED
                self.turn.over = True

    def _asked(self, event: Event) -> None:
        request = self._whole(event, ModelRequest)
        self.turn.request, self.turn.response = request, None
        self.messages += request.messages or [{"role": "user", "content": request.prompt}]

    def _answered(self, event: Event) -> None:
        response = self._whole(event, ModelResponse)
        self.turn.response = response
        self.messages.append({"role": "assistant", "content": response.text})

    def _called(self, event: Event) -> None:
        self.turn.call = self._whole(event, ToolCalled)
        self._watch.good_call()
        self._before = self.context.packet

    def _resulted(self, event: Event) -> None:
        result = decode_part(event, _Result)
        self.changes += result.changes
        self.outputs.add(event.turn, event)
        self.turn.resulted = True
        if result.tool != SUBMIT:
            self.turn.over = True
            changed = bool(result.changes)
            self.ending = self._watch.after(self._before, self.context.packet, changed=changed)

    def _submitted(self, event: Event) -> None:
        self.turn.submitted = self._whole(event, SubmitResult)

    def _failed(self, event: Event) -> None:
        error = self._whole(event, AgentError)
        self.turn.over = True
        self.ending = error_ending(error, self._watch)

    def _whole(self, event: Event, kind: type[_Kind]) -> _Kind:
        """What the event says, with what was moved to blobs in its place."""
        try:
            found = resolved_payload(event, self._blobs)
        except (ValueError, RecursionError) as error:
            raise _none_of(event, kind) from error
        if not isinstance(found, kind):
            raise _none_of(event, kind)
        return found


def _none_of(event: Event, kind: type[Payload]) -> StreamDamaged:
    return StreamDamaged(
        f"{event.agent_id}: event {event.seq} is no {kind.type}",
        hint="`remora trace verify` tells what happened",
    )


# only what is needed of events that may be large
class _Source(msgspec.Struct):
    source: str = ""


class _Result(msgspec.Struct):
    tool: str
    changes: tuple[Change, ...] = ()


def _said(event: Event) -> str | None:
    said = event.packet_delta.set_error if event.packet_delta is not None else None
    return said if isinstance(said, str) else None
