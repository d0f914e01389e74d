"""The turn loop of one agent: append, then apply, then act."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from remora.agents.act import Acted, Scene, act, refused, run_part
from remora.agents.agent import definition_record
from remora.agents.aside import aside
from remora.agents.candidates import offered
from remora.agents.decide import Decision, NoDecision, decide
from remora.agents.extension import checked_extensions
from remora.agents.job import AgentResult, Job
from remora.agents.outcome import Ending, Tally, Watch, raw_size
from remora.agents.pull import hub_delta, wanted_nodes
from remora.agents.recall import BUILTIN, SUBMIT, raw_text
from remora.agents.redacted import RedactedModel, brought_back, written
from remora.agents.stage import Stage
from remora.agents.target import located
from remora.agents.verify import Check, Submission, verify
from remora.chat import ToolCall
from remora.errors import ModelError, RemoraError
from remora.ids import spell_path
from remora.memory.canonical import canonical_sha256, storable
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, candidate, error_text
from remora.memory.events import (
    AgentEnd,
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
from remora.memory.packet import packet_json
from remora.memory.prompt import HISTORY, HISTORY_TYPES
from remora.workspaces import Change as FileChange
from remora.workspaces import changes_between


class AgentRunner:
    """Runs one job to its end. `messages` keeps what was said, for debugging; it is never sent."""

    def __init__(self, job: Job, stage: Stage) -> None:
        self.job = job
        self.stage = stage
        self.messages: list[dict[str, Any]] = []
        self._redact = stage.redact
        self._model = RedactedModel(stage.model, stage.redact)
        self.context = _context(job, stage)
        self._schemas = stage.redact.clean(stage.agent.schemas)
        self._strategy = stage.asking.strategy
        self._outputs: dict[int, str] = {}
        self._history: list[Event] = []
        self._target: dict[str, Any] | None = None
        self._snapshot = stage.workspace.snapshot()
        self._tally = Tally()
        self._watch = Watch()

    async def run(self) -> AgentResult:
        """Start, turns, end. A part that breaks ends the job, not the process."""
        self._start()
        try:
            ending = await self._turns()
        except ModelError as error:
            ending = self._broken("model_error", error)
        except RemoraError as error:
            ending = self._broken("tool_error", error)
        return self._end(ending)

    async def _turns(self) -> Ending:
        await self._look_around()
        for turn in range(1, self.stage.max_turns + 1):
            ending = await self._turn(turn)
            if ending is not None:
                return ending
            self.stage.emitter.end_turn()
        most = self.stage.max_turns
        return "failed", "max_turns", f"not done after {most} turn{'s' if most > 1 else ''}"

    async def _turn(self, turn: int) -> Ending | None:
        self._tally.turns = turn
        self._emit(TurnStart(), turn, PacketDelta(turn=turn))
        await self._pull(turn)
        if self.stage.agent.candidates is not None:
            without = await self._propose(turn)
            if not self.context.packet.candidate_actions:
                return "failed", "no_progress", without
        decision = await decide(
            self.context.packet,
            self._schemas,
            self.stage.asking,
            self._model,
            self._emit,
            self._history,
        )
        if isinstance(decision, NoDecision):
            return self._undecided(decision, turn)
        self._watch.good_call()
        self._tally.count(decision)
        return await self._carry_out(decision, turn)

    def _undecided(self, why: NoDecision, turn: int) -> Ending | None:
        error = AgentError(
            kind=why.kind, message=why.message, packet_sha256=why.packet_sha256, trim=why.trim
        )
        self._emit(error, turn, PacketDelta(set_error=error_text(why.message)))
        if why.kind == "packet_too_large":
            return "error", "packet_too_large", why.message
        if why.kind == "context_truncated":
            return "error", "model_error", why.message
        if self._watch.bad_call():
            return "failed", "model_error", f"two bad calls in a row: {why.message}"
        return None

    def _broken(self, kind: Literal["model_error", "tool_error"], error: RemoraError) -> Ending:
        message = self._redact.text(error.message)
        self._emit(AgentError(kind=kind, message=message), self.context.packet.turn)
        reason = f"{message}; {error.hint}" if error.hint else message
        return "error", kind, reason

    # --- acting ----------------------------------------------------------------------------

    async def _carry_out(self, decision: Decision, turn: int) -> Ending | None:
        call, before = decision.call, self.context.packet
        self._emit(
            ToolCalled(
                tool=call.tool,
                args=call.args,
                decided_by=decision.decided_by,
                scores=decision.scores,
                choice=decision.choice,
                packet_sha256=decision.packet_sha256,
                trim=decision.trim,
            ),
            turn,
        )
        acted = await self._act(call)
        changes = await aside(self._keep_changes)
        self._resulted(call, acted, changes, turn)
        if call.tool == SUBMIT:
            return await self._submit(call, turn)
        return self._watch.after(before, self.context.packet, changed=bool(changes))

    async def _act(self, call: ToolCall) -> Acted:
        """The call's result without secrets. One that would write a placeholder is refused."""
        base = self.stage.workspace.base_bytes(self.job.path)
        why = None if call.tool in BUILTIN else brought_back(call.args, base)
        if why is not None:
            return refused(why)
        return await self._cleanly(act, call, self.stage.agent, self._scene())

    async def _cleanly(self, work: Callable[..., Acted], *args: object) -> Acted:
        """What a script came to, without secrets; both take their time, and a thread."""
        return await aside(lambda: self._redact.clean(work(*args)))

    def _keep_changes(self) -> tuple[Change, ...]:
        """What the call changed; both contents are in `objects/` before the event names them."""
        workspace = self.stage.workspace
        now = workspace.snapshot()
        found = changes_between(self._snapshot, now, workspace.base)
        for change in found:
            for content in (workspace.base_bytes(change.path), workspace.read(change.path)):
                if content is not None:
                    self.stage.objects.put(content)
        self._snapshot = now
        return _recorded(found)

    def _resulted(
        self, call: ToolCall, acted: Acted, changes: tuple[Change, ...], turn: int
    ) -> None:
        delta = self.context.delta_for({"tool": call.tool, "args": call.args, **acted.result})
        event = self._emit(
            ToolResulted(tool=call.tool, args=call.args, changes=changes, **acted.record),
            turn,
            self._checked(delta),
        )
        self._outputs[turn] = raw_text(storable(acted.record["raw_output"]))
        self._tally.raw_bytes += raw_size(event)

    def _checked(self, delta: PacketDelta) -> PacketDelta:
        """What a script said, without what the agent may not be offered or hold."""
        if delta.candidate_actions is not msgspec.UNSET:
            actions, _ = offered(delta.candidate_actions, self._schemas, self._strategy)
            delta = msgspec.structs.replace(delta, candidate_actions=actions)
        schema = self.stage.agent.definition.packet_extension
        return checked_extensions(delta, self.context.packet.extensions, schema)

    async def _submit(self, call: ToolCall, turn: int) -> Ending:
        summary = str(call.args.get("summary") or "")
        if not self._snapshot:
            self._emit(SubmitResult(summary=summary, verified=True), turn)
            # a tool that failed may be why nothing changed
            return "no_change", "no_change", self.context.packet.last_error
        submission = self._submission()
        names = self.stage.agent.definition.verify
        refusal = written(submission.files.values())
        if refusal is not None:
            checks = [Check(name="no_placeholders", ok=False, detail=refusal)]
        else:
            checks = self._redact.clean(await aside(verify, names, submission))
        failed = next((check for check in checks if not check.ok), None)
        self._emit(
            SubmitResult(
                summary=summary,
                checks=[msgspec.to_builtins(check) for check in checks],
                verified=failed is None,
            ),
            turn,
        )
        if failed is not None:
            return "failed", "verification", f"{failed.name}: {failed.detail}"
        return "submitted", "submitted", None

    def _submission(self) -> Submission:
        workspace = self.stage.workspace
        return Submission(
            job=self.job,
            files={
                path: (workspace.base_bytes(path), workspace.read(path)) for path in self._snapshot
            },
            findings_before=self.stage.findings_before,
            findings_after=self.stage.findings_after,
        )

    # --- what enters the packet ------------------------------------------------------------

    async def _look_around(self) -> None:
        """Turn 0: the agent's context scripts, once."""
        for part in self.stage.agent.context:
            acted = await self._cleanly(run_part, part, {}, self._scene())
            delta = self.context.delta_for({"tool": part.script.name, **acted.result})
            delta = msgspec.structs.replace(self._checked(delta), add_action=msgspec.UNSET)
            self._emit(_update("context", acted), 0, delta)

    async def _propose(self, turn: int) -> str:
        """Ask the candidates script; returns why it offers nothing, where it does not."""
        part = self.stage.agent.candidates
        if part is None:
            return ""
        acted = await self._cleanly(run_part, part, {}, self._scene())
        base = self.stage.workspace.base_bytes(self.job.path)
        found = acted.result.get("candidate_actions") or []
        found = [action for action in found if not brought_back(action.get("args") or {}, base)]
        made = [candidate(a["tool"], a.get("args") or {}, a.get("reason") or "") for a in found]
        actions, problem = offered(made, self._schemas, self._strategy)
        problem = acted.record["error"] or problem
        delta = PacketDelta(candidate_actions=actions)
        if problem:
            delta = msgspec.structs.replace(delta, set_error=error_text(problem))
        self._emit(_update("candidates", acted), turn, delta)
        return problem or "the candidates script offers no action"

    async def _pull(self, turn: int) -> None:
        asked = wanted_nodes(self.context.packet)
        facts = self._redact.clean(await self.stage.facts.refresh_context(asked))
        if facts:
            self._emit(ContextUpdate(source="hub", value=dict(facts)), turn, hub_delta(facts))

    def _scene(self) -> Scene:
        workspace = self.stage.workspace
        self._target = located(self.job, workspace.read(self.job.path), self._target)
        return Scene(
            tree=workspace.tree,
            target=self._target,
            packet=packet_json(self.context.packet),
            options={**self.stage.options, "open": self.stage.asking.strategy != "rank"},
            outputs=self._outputs,
            clock=self.stage.clock(),
            seed=self.stage.asking.seed or 0,
        )

    # --- the stream ------------------------------------------------------------------------

    def _emit(self, payload: Payload, turn: int, delta: PacketDelta | None = None) -> Event:
        """Append, then apply what was written."""
        event = self.stage.emitter.emit(payload, turn=turn, delta=delta)
        self.context.apply_event(event)
        if self.stage.asking.renderer == HISTORY and event.type in HISTORY_TYPES:
            self._history.append(event)
        if isinstance(payload, ModelRequest):
            self._tally.max_packet_tokens = max(
                self._tally.max_packet_tokens, payload.prompt_tokens
            )
            self.messages += payload.messages or [{"role": "user", "content": payload.prompt}]
        elif isinstance(payload, ModelResponse):
            self.messages.append({"role": "assistant", "content": payload.text})
        self.stage.on_event(event)
        return event

    def _start(self) -> None:
        stage = self.stage
        self._emit(
            AgentStart(
                packet=self.context.packet,
                definition=self._redact.clean(definition_record(stage.agent)),
                tools=self._schemas,
                model={**self._model.describe(), **msgspec.to_builtins(stage.asking)},
                counter=stage.model.counter.name,
                limit=stage.asking.limit,
                renderer=stage.asking.renderer,
                redaction=self._redact.version,
                attempt=self.job.attempt,
                parent=dict(stage.parent) if stage.parent is not None else None,
            ),
            0,
        )
        self.stage.emitter.end_turn()

    def _end(self, ending: Ending) -> AgentResult:
        status, stop_reason, said = ending
        error = said and self._redact.text(said)
        change_set = _recorded(changes_between({}, self._snapshot, self.stage.workspace.base))
        self._emit(
            AgentEnd(
                status=status,
                stop_reason=stop_reason,
                change_set=change_set,
                change_set_sha256=canonical_sha256(change_set),
                error=error,
            ),
            self.context.packet.turn,
        )
        self.stage.emitter.end_turn()
        return AgentResult(
            status=status,
            stop_reason=stop_reason,
            turns=self._tally.turns,
            decided_by=self._tally.decided_by,
            asked=self._tally.asked,
            differed=self._tally.differed,
            max_packet_tokens=self._tally.max_packet_tokens,
            raw_bytes=self._tally.raw_bytes,
            change_set=change_set,
            error=error,
            head=self.stage.emitter.head,
        )


FunctionGemmaRunner = AgentRunner
"""The mission's own name for it."""


def _context(job: Job, stage: Stage) -> ContextManager:
    definition = stage.agent.definition
    context = ContextManager(
        {
            "agent_id": job.agent_id,
            "run_id": job.run_id,
            "goal": stage.redact.text(
                definition.goal.format(
                    node_name=job.node_name,
                    node_id=job.node_id,
                    node_type=job.node_type,
                    path=job.path,
                    operation=job.operation,
                )
            ),
            "operation": job.operation,
            "node_id": job.node_id,
            "node_type": job.node_type,
            "node_summary": stage.redact.text(job.node_summary),
            "constraints": {"max_turns": stage.max_turns, "safety": definition.verify},
            "knowledge": stage.redact.clean(stage.knowledge),
        },
        packet_size_limit=stage.asking.limit,
        token_counter=stage.model.counter.count_text,
    )
    for tool, summarizer in stage.agent.summarizers.items():
        context.register_summarizer(tool, summarizer)
    return context


def _recorded(changes: Sequence[FileChange]) -> tuple[Change, ...]:
    """Changes of a workspace in the words of the Long Track, paths spelled as in node keys."""
    return tuple(
        Change(path=spell_path(c.path), before=c.before, after=c.after, mode=c.mode)
        for c in changes
    )


def _update(source: str, acted: Acted) -> ContextUpdate:
    return ContextUpdate(
        source=source,
        value=acted.record["parsed_output"],
        host_calls=acted.record["host_calls"],
        error=acted.record["error"],
    )
