"""Decides a turn's call: by rule, by trials of the candidates, by models, or by falling back.

Each step is recorded before the next one. A resumed agent takes the recorded steps of its turn
first, so nothing is asked or tried twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from remora.agents.decision.candidates import is_complete
from remora.agents.decision.model_query import Question, Recorder, query_model
from remora.agents.decision.policy import (
    Decision,
    Escalated,
    Exchange,
    Step,
    Tried,
    decide_by_answer,
    decide_without_model,
    problem_of,
    sampled_candidates,
    truncation_of,
)
from remora.agents.decision.query_settings import Rung
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.state import AgentState
from remora.agents.loop.stop_rules import NO_ANSWER
from remora.agents.loop.trial import Trial
from remora.chat import ToolSchema
from remora.errors import ModelError, StreamDamaged
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentError, ContextUpdate, Escalation, Event, Payload, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket

Emit = Callable[[Payload, int, PacketDelta | None], Event]
Try = Callable[[Candidate | None], Awaitable[Trial]]
"""Plays the job to its end with a candidate, or by rules alone, and restores the workspace."""
_Kind = TypeVar("_Kind", Exchange, Tried, Escalated)


class Decider:
    """Decides one turn of an agent.

    `rungs` are the agent's model and, if it may escalate, a larger model.
    """

    def __init__(
        self,
        state: AgentState,
        dependencies: AgentDependencies,
        schemas: Sequence[ToolSchema],
        emit: Emit,
        try_candidate: Try,
    ) -> None:
        self._state = state
        self._tries = dependencies.agent.definition.trials
        self._rungs = dependencies.rungs
        self._redact = dependencies.redact
        self._flush = dependencies.emitter.flush
        self._schemas = schemas
        self._emit = emit
        self._try = try_candidate
        self._taken = 0

    async def decide(self) -> Decision:
        """Return the turn's call, or the error that prevents one.

        Once the model has failed, rules decide, and choices that it would have made are fallbacks.
        """
        offered = self._state.turn.offered
        is_open = not offered or not all(is_complete(one, self._schemas) for one in offered)
        main, is_lost = self._rungs[0].settings, self._state.lost_model is not None
        if is_open and main.may_write and not is_lost:
            written = (await self._by_rungs(self._written_by))[-1]
            is_call = isinstance(written, ToolCalled) and bool(offered)
            return replace(written, written=True) if is_call else written
        if is_open or len(offered) == 1 or not main.asks_model:
            return self._first()
        if is_lost:
            return replace(self._first(), decided_by="fallback")
        if self._tries:
            await self._try_all(offered, improves=False)
        if len(self._packet.candidate_actions) == 1:
            return self._first()
        return (await self._by_rungs(self._chosen_by))[0]

    @property
    def _packet(self) -> DecisionPacket:
        return self._state.context.packet

    def _first(self) -> ToolCalled:
        return decide_without_model(self._packet, self._schemas)

    # --- choosing and writing --------------------------------------------------------------

    async def _by_rungs(self, ask: Callable[[Rung], Awaitable[Decision]]) -> Sequence[Decision]:
        """Ask models, from the smallest on, until one answers. Return what each of them did."""
        made: list[AgentError] = []
        for rung in self._rungs:
            if made:
                await self._escalate(made[-1].message)
            decision = await ask(rung)
            if isinstance(decision, ToolCalled):
                return [replace(decision, decided_by="escalation") if made else decision]
            made.append(decision)
        return made

    async def _chosen_by(self, rung: Rung) -> Decision:
        """Ask one model to choose a candidate."""
        question = Question(strategy=rung.settings.strategy, history=self._state.history)
        answer = await self._ask(rung, question)
        if isinstance(answer, AgentError):
            return answer
        return decide_by_answer(answer, self._schemas, rung)

    async def _written_by(self, rung: Rung) -> Decision:
        """Ask one model, and return the first of its answers that passes, or an error."""
        samples = await self._samples(rung)
        if isinstance(samples, AgentError):
            return samples
        if (truncated := truncation_of(samples, rung)) is not None:
            return truncated
        if not self._tries:
            return decide_by_answer(samples[0], self._schemas, rung)
        tried = await self._try_all(sampled_candidates(samples, self._schemas), improves=True)
        if not tried.kept:
            return self._no_answer(tried.problem or problem_of(samples, self._schemas))
        return ToolCalled(
            tool=tried.kept[0].tool,
            args=tried.kept[0].args,
            decided_by="model",
            candidates=len(tried.kept),
            choice=0,
            packet_sha256=canonical_sha256(self._packet),
            trim=0,
        )

    async def _samples(self, rung: Rung) -> list[Exchange] | AgentError:
        """Ask the same question several times, or once if answers are not tried."""
        samples: list[Exchange] = []
        for number in range(rung.settings.samples if self._tries else 1):
            question = Question(
                strategy=rung.settings.strategy, sample=number, history=self._state.history
            )
            answer = await self._ask(rung, question)
            if isinstance(answer, AgentError):
                return answer
            samples.append(answer)
        return samples

    def _no_answer(self, problem: str) -> AgentError:
        message = "no answer passed the checks" + (f": {problem}" if problem else "")
        return self._error(NO_ANSWER, message)

    def _error(self, kind: str, message: str, hint: str = "") -> AgentError:
        return AgentError(
            kind=kind,
            message=message,
            hint=hint,
            packet_sha256=canonical_sha256(self._packet),
            trim=0,
        )

    # --- recorded steps --------------------------------------------------------------------

    async def _ask(self, rung: Rung, question: Question) -> Exchange | AgentError:
        if isinstance(self._next_recorded, Escalated):  # because this request failed
            return self._error("model_error", self._next_recorded.reason)
        recorded = self._recorded(Exchange)
        if recorded is not None:
            return recorded
        if rung.model is not self._rungs[0].model:
            question = replace(question, model=rung.model.name)
        try:
            unasked = await query_model(
                self._packet,
                self._schemas,
                rung.settings,
                rung.model,
                Recorder(
                    lambda payload, turn: self._emit(payload, turn, None),
                    self._flush,
                    self._redact.clean,
                ),
                question,
            )
        except ModelError as error:
            clean = self._redact.text
            return self._error("model_error", clean(error.message), clean(error.hint))
        return unasked or self._made(Exchange)

    async def _try_all(self, candidates: Sequence[Candidate], *, improves: bool) -> Tried:
        """Try candidates, and keep those that pass all checks and lead to different outcomes.

        With `improves`, they must also change or note more than rules do. Otherwise, the first
        candidate is kept if none passes.
        """
        recorded = self._recorded(Tried)
        if recorded is not None:
            return recorded
        rules = await self._try(None) if improves else None
        others = set() if rules is None else {rules.outcome}
        kept: list[Candidate] = []
        tried = []
        for one in candidates:
            trial = await self._try(one)
            passes = trial.passes(improves=improves)
            is_kept = passes and trial.outcome not in others
            others |= {trial.outcome} if passes else set()
            kept += [one] if is_kept else []
            tried.append(
                {
                    "tool": one.tool,
                    "args": one.args,
                    "status": trial.status,
                    "change_set_sha256": trial.changes_sha256,
                    "outcome": trial.outcome,
                    "detail": trial.detail,
                    "kept": is_kept,
                }
            )
        if not kept and not improves:
            kept = list(candidates[:1])
        delta = PacketDelta(candidate_actions=tuple(kept)) if kept else None
        value = {"rules": None if rules is None else rules.outcome, "candidates": tried}
        self._emit(ContextUpdate(source="trials", value=value), self._packet.turn, delta)
        return self._made(Tried)

    async def _escalate(self, reason: str) -> None:
        if self._recorded(Escalated) is None:
            larger = self._redact.clean(self._rungs[-1].model.describe())
            self._emit(Escalation(reason=reason, model=larger), self._packet.turn, None)
            self._made(Escalated)

    @property
    def _next_recorded(self) -> Step | None:
        """The next recorded step, or None if the turn has no more recorded steps."""
        return next(iter(self._state.turn.steps[self._taken :]), None)

    def _recorded(self, kind: type[_Kind]) -> _Kind | None:
        """Take the next recorded step. Return None if the turn has no more recorded steps."""
        return None if self._next_recorded is None else self._made(kind)

    def _made(self, kind: type[_Kind]) -> _Kind:
        step = self._state.turn.steps[self._taken]
        self._taken += 1
        if not isinstance(step, kind):
            raise StreamDamaged(
                f"turn {self._packet.turn} was recorded with other settings",
                hint="use the run's original settings, or retry the job",
            )
        return step
