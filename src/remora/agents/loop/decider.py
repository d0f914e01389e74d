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
    decide_by_answer,
    decide_by_rule,
    decide_without_model,
    problem_of,
    sampled_candidates,
    truncation_of,
)
from remora.agents.decision.query_settings import Rung
from remora.agents.decision.steps import Escalated, Exchange, Step, Tried
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
            written = await self._write()
            is_call = isinstance(written, ToolCalled) and bool(offered)
            return replace(written, written=True) if is_call else written
        if len(offered) == 1 and not is_open:
            return self._ruled(self._packet)
        if is_open or not main.asks_model:
            return decide_without_model(self._packet, self._schemas)
        if is_lost:
            call = decide_without_model(self._packet, self._schemas)
            return replace(call, decided_by="fallback")
        if self._tries:
            await self._try_all(offered, improves=False)
        if len(self._packet.candidate_actions) == 1:
            return self._ruled(self._packet)
        return await self._choose()

    @property
    def _packet(self) -> DecisionPacket:
        return self._state.context.packet

    def _ruled(self, packet: DecisionPacket) -> Decision:
        ruled = decide_by_rule(packet, self._schemas)
        return ruled or decide_without_model(packet, self._schemas)

    # --- choosing --------------------------------------------------------------------------

    async def _choose(self) -> Decision:
        """Ask models, from the smallest on, until one answers with a valid call."""
        failed: AgentError | None = None
        for number, rung in enumerate(self._rungs):
            if failed is not None:
                await self._escalate(failed.message)
            question = Question(strategy=rung.settings.strategy, history=self._state.history)
            answer = await self._ask(rung, question)
            decision = (
                answer
                if isinstance(answer, AgentError)
                else decide_by_answer(answer, self._schemas, rung)
            )
            if isinstance(decision, ToolCalled):
                return replace(decision, decided_by="escalation") if number else decision
            failed = failed or decision
        assert failed is not None  # there is at least one rung
        return failed

    # --- writing ---------------------------------------------------------------------------

    async def _write(self) -> Decision:
        """Ask for the missing arguments, from the smallest model on, until an answer passes."""
        failed: AgentError | None = None
        for number, rung in enumerate(self._rungs):
            if failed is not None:
                await self._escalate(failed.message)
            decision = await self._written_by(rung)
            if isinstance(decision, ToolCalled):
                return replace(decision, decided_by="escalation") if number else decision
            failed = decision
        assert failed is not None  # there is at least one rung
        return failed

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
            larger = self._rungs[-1].model.describe()
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
