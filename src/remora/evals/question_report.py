"""What the questions of a recorded run to models were worth.

A question is everything that was asked in a turn to decide one thing: a choice, or all samples of
a text. It could have mattered if its answers lead to different changes, which the recorded trials
say.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from remora.agents.decision.candidates import is_complete
from remora.chat import ToolSchema
from remora.memory.events import (
    AgentStart,
    ContextUpdate,
    Event,
    ModelRequest,
    ModelResponse,
    ToolCalled,
    TurnStart,
)
from remora.memory.packet import Candidate
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import list_streams, read_events
from remora.trace.trace_folder import TraceFolder

_READ = frozenset(
    each.type for each in (AgentStart, ContextUpdate, ModelRequest, ModelResponse, ToolCalled)
)


class Question(msgspec.Struct, kw_only=True):
    """A question to a model.

    `kind` is `choice` or `text`. `outcomes` is the number of different change sets that its answers
    lead to, including the one that rules lead to, or None if they were not tried. `choice` is the
    index of the candidate that was chosen; rules choose the first. `requests` includes those that
    failed, and `tokens` are those of the requests.
    """

    agent_id: str
    node_id: str
    turn: int
    kind: str
    strategy: str
    model: str
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    candidates: int = 0
    outcomes: int | None = None
    choice: int | None = None
    decided_by: str = ""
    changed: bool = False

    @property
    def could_matter(self) -> bool | None:
        """Return True if its answers lead to different changes, or None if that is unknown."""
        return None if self.outcomes is None else self.outcomes > 1

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.structs.asdict(self), "could_matter": self.could_matter}


class QuestionReport(msgspec.Struct, frozen=True):
    """All questions of a run, in the order of its agents."""

    run_id: str
    questions: tuple[Question, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the document of `remora eval decisions --json`."""
        known = [one for one in self.questions if one.could_matter is not None]
        return {
            "kind": "decisions",
            "run_id": self.run_id,
            "questions": [one.as_json() for one in self.questions],
            "totals": {
                "questions": len(self.questions),
                "tried": len(known),
                "could_matter": sum(bool(one.could_matter) for one in known),
                "changed": sum(one.changed for one in self.questions),
                "requests": sum(one.requests for one in self.questions),
                "tokens": sum(one.tokens for one in self.questions),
                "seconds": round(sum(one.seconds for one in self.questions), 3),
            },
        }


def questions_of_run(folder: TraceFolder, run_id: str) -> QuestionReport:
    """Return the questions of all agents of a run. Raises StreamDamaged if a stream is damaged."""
    found: list[Question] = []
    for agent_id in agents_of_run(folder, run_id):
        found += questions_of_agent(folder, agent_id)
    return QuestionReport(run_id, tuple(found))


def agents_of_run(folder: TraceFolder, run_id: str) -> list[str]:
    """Return the agents of a run."""
    streams = list_streams(folder)
    return [each.agent_id for each in streams if each.run_id == run_id and each.agent_id]


def questions_of_agent(folder: TraceFolder, agent_id: str) -> list[Question]:
    """Return the questions of an agent. Raises StreamDamaged if its stream is damaged."""
    return list(questions_of(read_events(folder.existing_agent(agent_id)), folder.blobs))


def questions_of(events: Iterable[Event], blobs: ObjectStore) -> Iterator[Question]:
    """Yield the questions of an agent's stream."""
    turn, model = _Turn(), ""
    offered, tools = tuple[Candidate, ...](), tuple[ToolSchema, ...]()
    for event in events:
        delta = event.packet_delta
        if delta is not None and isinstance(delta.candidate_actions, tuple):
            offered = delta.candidate_actions
        if event.type == TurnStart.type:
            yield from turn.questions
            turn = _Turn()
        if event.type not in _READ:
            continue
        payload = resolved_payload(event, blobs)
        if isinstance(payload, AgentStart):
            model, tools = str(payload.model.get("name", "")), payload.tools
            offered = payload.packet.candidate_actions
        is_choice = bool(offered) and all(is_complete(one, tools) for one in offered)
        turn.candidates = len(offered) if is_choice else 0
        turn.add(event, payload, model)
    yield from turn.questions


class _Turn:
    """The questions of a turn, collected from its events."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.candidates = 0
        """Number of the candidates in the packet, or 0 if one has to be completed."""
        self._kept: int | None = None
        self._asked: Event | None = None

    def add(self, event: Event, payload: Any, model: str) -> None:
        match payload:
            case ModelRequest():
                self._asked = event
                self._begin(event, payload, payload.model or model)
            case ModelResponse() if self._asked is not None:
                self.questions[-1].seconds += _seconds(self._asked, event)
                self._asked = None
            case ContextUpdate(source="trials"):
                self._tried(payload.value)
            case ToolCalled() if self.questions:
                last = self.questions[-1]
                last.decided_by = payload.decided_by
                last.changed = last.kind == "text" or payload.choice not in (None, 0)
                if last.kind == "choice":
                    last.choice = payload.choice

    def _begin(self, event: Event, request: ModelRequest, model: str) -> None:
        strategy = str(request.decoding.get("strategy", ""))
        kind = "choice" if self.candidates else "text"
        last = self.questions[-1] if self.questions else None
        if last is None or (last.kind, last.strategy, last.model) != (kind, strategy, model):
            last = Question(
                agent_id=event.agent_id,
                node_id=event.node_id,
                turn=event.turn,
                kind=kind,
                strategy=strategy,
                model=model,
                candidates=self.candidates,
                outcomes=self._kept if kind == "choice" else None,
            )
            self.questions.append(last)
        last.requests += 1
        last.tokens += request.prompt_tokens

    def _tried(self, value: Any) -> None:
        tried = value["candidates"]
        outcomes = {one["outcome"] for one in tried} | {value["rules"]} - {None}
        if self.questions and self.questions[-1].kind == "text":
            self.questions[-1].outcomes = len(outcomes)
            self.questions[-1].candidates = len(tried)
        self._kept = sum(one["kept"] for one in tried)


def _seconds(asked: Event, answered: Event) -> float:
    start, end = (datetime.fromisoformat(event.timestamp) for event in (asked, answered))
    return round((end - start).total_seconds(), 3)
