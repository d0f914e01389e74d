"""The parts of an agent's state: frozen values that the fold replaces."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from remora.agents.decision.policy import Exchange
from remora.agents.loop.change_tracker import net_changes
from remora.agents.loop.stop_rules import Ending
from remora.memory.canonical import canonical
from remora.memory.delta import PacketDelta
from remora.memory.events import Change, ModelRequest, SubmitResult, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket, Fact

_VIEW = ("diagnostics", "excerpt", "state_summary")
"""Fields of a packet that show files."""
MAX_ATTEMPTS = 3
"""Times that a suggestion may be refused before it is no longer made. Decision: to be measured."""


class TurnState(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded state of a turn."""

    number: int = 0
    """The number of the turn, or 0 before the first turn."""
    has_facts: bool = False
    """True if the turn's Hub facts are recorded."""
    has_candidates: bool = False
    """True if the turn's suggestions are recorded."""
    is_asked: bool = False
    """True if a model was asked."""
    request: ModelRequest | None = None
    """The request that has no answer yet."""
    steps: tuple[Exchange, ...] = ()
    """The recorded answers of the model that decides now."""
    call: ToolCalled | None = None
    """The decision, if it is a call."""
    has_result: bool = False
    """True if the result of the call is recorded."""
    submitted: SubmitResult | None = None
    """The result of the checks, if the call is a submission."""
    is_over: bool = False
    """True if the next event belongs to another turn, or ends the agent."""

    @property
    def is_decided(self) -> bool:
        """Return True if nothing can be added to the packet before this turn's decision."""
        return bool(self.is_asked or self.call or self.is_over)


class ContextScripts(msgspec.Struct, frozen=True, kw_only=True):
    """The context scripts that ran, by their numbers."""

    run: int = 0
    """Number of them that ran at turn 0."""
    diagnosing: tuple[int, ...] = ()
    """Those that reported findings."""
    outdated: tuple[int, ...] = ()
    """Those whose findings a change of files has outdated."""


class PacketChange(NamedTuple):
    """The packets before and after a result."""

    before: DecisionPacket
    after: DecisionPacket


class FileHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded file changes."""

    changes: Mapping[int, tuple[Change, ...]] = {}
    """The changes of each turn with a result."""
    packets: Mapping[int, PacketChange] = {}
    """How each result that changed files has changed the packet, by turn."""

    @property
    def all(self) -> tuple[Change, ...]:
        """All recorded changes, in order."""
        return tuple(chain.from_iterable(self.changes.values()))

    @property
    def net(self) -> tuple[Change, ...]:
        """One change per changed file."""
        return net_changes(self.all)

    def before(self, turn: int) -> tuple[Change, ...]:
        """Return the changes recorded before a turn, in order."""
        earlier = (changes for number, changes in self.changes.items() if number < turn)
        return tuple(chain.from_iterable(earlier))

    def with_view_before(self, turn: int, now: DecisionPacket, delta: PacketDelta) -> PacketDelta:
        """Return a delta of `now` that also restores what results since a turn have set.

        Only results with changed files count, because others, such as code that was read, stay
        true.
        """
        undone = [change for number, change in self.packets.items() if number >= turn]
        earlier = _facts_before(undone)
        view = {
            name: getattr(undone[0].before, name)
            for name in _VIEW
            if getattr(now, name) in [getattr(change.after, name) for change in undone]
        }
        facts = {
            key: fact.value
            for key, fact in earlier.items()
            if fact and fact != now.knowledge.get(key)
        }
        gone = tuple(key for key, fact in earlier.items() if fact is None)
        return replace(
            delta, **view, update_knowledge=facts or UNSET, forget_knowledge=gone or UNSET
        )


def _facts_before(changes: Sequence[PacketChange]) -> dict[str, Fact | None]:
    """Return the facts that results have set, as they were before, or None for new ones."""
    earlier: dict[str, Fact | None] = {}
    for before, after in changes:
        keys = {**before.knowledge, **after.knowledge}
        changed = (key for key in keys if after.knowledge.get(key) != before.knowledge.get(key))
        earlier = {key: before.knowledge.get(key) for key in changed} | earlier
    return earlier


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Work of rules before the first turn of a model that drives."""

    is_running: bool = False
    """True until the model's first turn."""
    floor: tuple[Change, ...] = ()
    """The changes of the opening that the model did not take back."""
    next_turn: int = 0
    """The first turn after the floor. Undoing it restores the floor."""
    submission: dict[str, Any] = {}
    """The arguments with which rules would have submitted the floor."""


class ModelPart(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of the model's part."""

    is_escalated: bool = False
    """True if the larger model decides."""
    refused: tuple[str, ...] = ()
    """The failed check of each submission that went back to the model."""
    refused_changes: tuple[Change, ...] | None = None
    """The changes of the last submission that failed a check."""
    lost: Ending | None = None
    """Set when the model's part has stopped, so that rules submit the files as they are, or else
    the floor. It is the ending if neither passes the checks."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Last failure."""

    message: str | None = None
    """The error of the last turn before a submission, or None if it succeeded."""
    hint: str = ""
    """The hint of the last turn without a call."""


class RefusedSuggestions(msgspec.Struct, frozen=True):
    """The refusals of each suggestion, whatever its reason says."""

    times: Mapping[bytes, int] = {}
    """Number of times that tools refused each suggestion, so that none is made without end."""

    def with_refusal(
        self, offered: Sequence[Candidate], choice: int | None
    ) -> "RefusedSuggestions":
        """Count a refused call that followed the suggestion at `choice`, if there was one."""
        if choice is None or choice not in range(len(offered)):
            return self
        key = _key(offered[choice])
        return RefusedSuggestions({**self.times, key: self.times.get(key, 0) + 1})

    def may_try(self, candidate: Candidate) -> bool:
        """Return True if a suggestion has not been refused too often."""
        return self.times.get(_key(candidate), 0) < MAX_ATTEMPTS


def _key(candidate: Candidate) -> bytes:
    return canonical([candidate.tool, candidate.args])
