"""Decides a turn's call: by rule, by models, or by falling back to a rule.

Each step is recorded before the next one. A resumed agent takes the recorded steps of its turn
first, so nothing is asked twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from remora.agents.builtin_tools import SUBMIT, UNDO
from remora.agents.decision.model_query import Question, Recorder, query_model
from remora.agents.decision.policy import (
    Decision,
    Exchange,
    decide_by_answer,
    decide_without_model,
    ignores_shape,
)
from remora.agents.decision.query_settings import Rung
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.state import AgentState
from remora.agents.loop.stop_rules import INVALID_CALLS, MAX_BAD_CALLS
from remora.chat import ToolSchema
from remora.errors import ModelError
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, Escalation, Payload, ToolCalled
from remora.memory.packet import DecisionPacket

Emit = Callable[[Payload, int], object]
_FAILURES = frozenset({"model_error", "context_truncated", "packet_too_large"})
"""Kinds of errors after which the same model would fail again."""


@dataclass
class Decider:
    """Decides one turn of an agent.

    The rungs of `own` are the agent's model and, if it may escalate, a larger model.
    """

    state: AgentState
    own: AgentDependencies
    schemas: Sequence[ToolSchema]
    emit: Emit
    _taken: int = 0

    async def decide(self) -> Decision:
        """Return the turn's call, or the error that prevents one."""
        if self.state.model.lost is not None:
            return self._submit_what_passes()
        if not self.state.asks_model(self.own.rungs[0].settings) or self._can_only_submit():
            return self._first()
        is_last = len(self.own.rungs) == 1 or self.state.model.is_escalated
        if is_last and self.state.invalid_calls >= MAX_BAD_CALLS:
            return self._fallback()
        return await self._by_models()

    @property
    def _packet(self) -> DecisionPacket:
        return self.state.context.packet

    def _first(self) -> ToolCalled:
        return decide_without_model(self._packet, self.schemas)

    def _fallback(self) -> Decision:
        """Take the first complete suggestion.

        Return an error if there is none, or if the model has not made a call in the whole job.
        """
        first, decided = self._first(), self.state.tally.total.decided_by
        if first.choice is not None and decided["model"] + decided["escalation"]:
            return replace(first, decided_by="fallback")
        message = f"{MAX_BAD_CALLS} invalid calls in a row: {self._packet.last_error}"
        return self._error(INVALID_CALLS, message, self.state.failure.hint)

    def _can_only_submit(self) -> bool:
        """Return True if nothing but a submission is suggested, so that there is no choice."""
        offered = self._packet.candidate_actions
        return len(offered) == 1 and offered[0].tool == SUBMIT

    def _submit_what_passes(self) -> ToolCalled:
        """Submit the files as they are. If they were refused, restore what the opening did."""
        tool, args = SUBMIT, self.state.opening.submission
        if self.state.is_past_floor and self.state.is_refused:
            args = {"turn": self.state.opening.next_turn, "because": "the model's part failed"}
            tool = UNDO
        return ToolCalled(
            tool=tool, args=args, packet_sha256=canonical_sha256(self._packet), trim=0
        )

    def _error(self, kind: str, message: str, hint: str = "") -> AgentError:
        return AgentError(
            kind=kind,
            message=message,
            hint=hint,
            packet_sha256=canonical_sha256(self._packet),
            trim=0,
        )

    # --- asking models ---------------------------------------------------------------------

    async def _by_models(self) -> Decision:
        """Ask the model, and the larger one if it fails or if the job has passed on to that."""
        main, larger = self.own.rungs[0], self.own.rungs[-1]
        if not self.state.model.is_escalated:
            reason = self.state.needs_larger if larger is not main else ""
            if not reason:
                decision = await self._by_model(main)
                if larger is main or not isinstance(decision, AgentError):
                    return decision
                if decision.kind not in _FAILURES:
                    return decision
                reason = decision.message
            self._escalate(reason)
        decision = await self._by_model(larger)
        if larger is main or isinstance(decision, AgentError):
            return decision
        return replace(decision, decided_by="escalation")

    async def _by_model(self, rung: Rung) -> Decision:
        answer = await self._ask(rung)
        if isinstance(answer, AgentError):
            return answer
        decision = decide_by_answer(answer, self.schemas)
        if not isinstance(decision, AgentError) or not ignores_shape(answer, decision):
            return decision
        ignored = f"{rung.model.describe().get('base_url')} ignores the {rung.settings.strategy}"
        hint = f"the server at {ignored}; set model.asks to free, and model.decoding to text"
        return replace(decision, hint=self.own.redact.text(hint))

    def _escalate(self, reason: str) -> None:
        larger = self.own.redact.clean(self.own.rungs[-1].model.describe())
        self.emit(Escalation(reason=reason, model=larger), self._packet.turn)
        self._taken = 0

    # --- recorded steps --------------------------------------------------------------------

    async def _ask(self, rung: Rung) -> Exchange | AgentError:
        if len(self.state.turn.steps) > self._taken:
            return self._take()
        if self.own.lost_jobs.reason and rung is self.own.rungs[0]:
            return self._error("model_error", self.own.lost_jobs.reason)
        question = Question(
            strategy=rung.settings.strategy,
            instructions=self.state.instructions,
            history=[] if self.state.history is None else self.state.history.steps,
            model="" if rung is self.own.rungs[0] else rung.model.name,
            attempt=self.state.refusals,
        )
        recorder = Recorder(self.emit, self.own.emitter.flush, self.own.redact.clean)
        try:
            unasked = await query_model(self._packet, self.schemas, rung, recorder, question)
        except ModelError as error:
            clean = self.own.redact.text
            return self._error("model_error", clean(error.message), clean(error.hint))
        return unasked or self._take()

    def _take(self) -> Exchange:
        """Take the next recorded answer of the turn."""
        self._taken += 1
        return self.state.turn.steps[self._taken - 1]
