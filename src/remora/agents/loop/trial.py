"""Trials: what becomes of the files if a call is made now and rules decide from then on."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from remora.agents.inputs.hub_pull import NoHub
from remora.agents.job import AgentResult
from remora.agents.loop.change_tracker import net_changes
from remora.agents.loop.state import AgentState
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentStart, Event
from remora.memory.packet import Candidate
from remora.models.protocol import NoModel
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

if TYPE_CHECKING:
    from remora.agents.job import Job
    from remora.agents.loop.dependencies import AgentDependencies


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a trial.

    `status` is that of the job, and `changes_sha256` the hash of its change set. `notes` are the
    packet's extensions that the tools set, without empty ones: they may change a file later,
    together with other notes. `detail` is the first error, which says the most about the candidate,
    or else the reason that the trial failed.
    """

    status: str
    changes_sha256: str
    notes: dict[str, Any] = {}
    detail: str = ""

    @property
    def outcome(self) -> str:
        """A hash that is equal for trials that lead to the same files and notes."""
        return canonical_sha256([self.changes_sha256, self.notes])

    @property
    def passes(self) -> bool:
        """True if all checks passed, or if nothing failed and the tools left notes."""
        is_neutral = self.status == "no_change" and not self.detail and bool(self.notes)
        return self.status == "submitted" or is_neutral


Play = Callable[["Job", "AgentDependencies"], Awaitable[AgentResult]]
"""Runs an agent to its end."""


async def try_candidate(
    candidate: Candidate | None,
    state: AgentState,
    job: "Job",
    dependencies: "AgentDependencies",
    play: Play,
) -> Trial:
    """Play a job to its end in the agent's own workspace, without a model and without a trace.

    The turn's call is `candidate`, or what rules choose if `candidate` is None. The caller must
    restore the workspace.
    """
    notes: dict[str, Any] = {}
    errors: list[str] = []

    def take_notes(event: Event) -> None:
        delta = event.packet_delta or PacketDelta()
        if delta.extensions is not UNSET:
            notes.update(delta.extensions)
        if isinstance(delta.set_error, str):
            errors.append(delta.set_error)

    emitter = NullEventEmitter(_identity(job), dependencies.clock)
    start = emitter.emit(_start(candidate, state), turn=0)
    result = await play(
        job,
        replace(
            dependencies,
            model=NoModel(),
            larger=None,
            settings=msgspec.structs.replace(dependencies.settings, decisions="rules"),
            emitter=emitter,
            facts=NoHub(),
            on_event=take_notes,
            recorded=(start,),
            ancestors=(),
        ),
    )
    return Trial(
        status=result.status,
        changes_sha256=canonical_sha256(result.change_set),
        notes={name: value for name, value in notes.items() if value},
        detail=next(iter(errors), result.error) or "",
    )


def _identity(job: "Job") -> Identity:
    return Identity(
        run_id=job.run_id, agent_id=job.agent_id, operation=job.operation, node_id=job.node_id
    )


def _start(candidate: Candidate | None, state: AgentState) -> AgentStart:
    assert state.start is not None  # every agent begins with it
    packet = state.context.packet
    if candidate is not None:
        packet = msgspec.structs.replace(packet, candidate_actions=(candidate,))
    return msgspec.structs.replace(
        state.start,
        model={},
        packet=packet,
        changes=net_changes(state.all_changes),
        first_turn=packet.turn,
        decides=candidate is not None,
    )
