"""The turn loop of one agent: append, then apply, then act."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from remora.agents.act import Acted, Scene, act, refused, run_part
from remora.agents.aside import aside
from remora.agents.beginning import first_context, first_event
from remora.agents.candidates import offered
from remora.agents.decide import Decision, NoDecision, decide, decided_by_record
from remora.agents.extension import checked_extensions
from remora.agents.job import AgentResult, Job
from remora.agents.outcome import Ending, submission_ending
from remora.agents.pull import hub_delta, wanted_nodes
from remora.agents.recall import BUILTIN, SUBMIT
from remora.agents.redacted import RedactedModel, brought_back, written
from remora.agents.stage import Stage
from remora.agents.standing import Standing
from remora.agents.target import located
from remora.agents.verify import Check, Submission, verify
from remora.chat import ToolCall, ToolSchema
from remora.errors import ModelError, RemoraError
from remora.ids import spell_path, unspell_path
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, candidate, error_text
from remora.memory.events import (
    AgentEnd,
    AgentError,
    Change,
    ContextUpdate,
    Event,
    Payload,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import packet_json
from remora.memory.unstorable import unstorable
from remora.workspaces import Change as FileChange
from remora.workspaces import FileState, changes_between


class AgentRunner:
    """Runs one job to its end, from its beginning or from where its recorded events leave off."""

    def __init__(self, job: Job, stage: Stage) -> None:
        self.job = job
        self.stage = stage
        self._redact = stage.redact
        self._model = RedactedModel(stage.model, stage.redact)
        self._at = Standing(first_context(job, stage), stage.blobs)
        self._schemas = stage.redact.clean(stage.agent.schemas)
        self._strategy = stage.asking.strategy
        self._target: dict[str, Any] | None = None
        self._snapshot: dict[str, FileState] = {}

    @property
    def context(self) -> ContextManager:
        """Holds the packet as it is now."""
        return self._at.context

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was said, for debugging; it is never sent."""
        return self._at.messages

    async def run(self) -> AgentResult:
        """Start, turns, end. A part that breaks ends the job, not the process."""
        await aside(self._stand)
        if self._at.start is None:
            await self._start()
        try:
            await aside(self._restore_files)
            ending = await self._turns()
        except ModelError as error:
            ending = self._broken("model_error", error)
        except RemoraError as error:
            ending = self._broken("tool_error", error)
        return await self._end(ending)

    async def give_up(self, why: RemoraError) -> AgentResult:
        """End a job that cannot go on, where it stands."""
        await aside(self._stand)
        if self._at.start is None:
            await self._start()
        await aside(self._restore_files)
        return await self._end(self._at.ending or self._broken("tool_error", why))

    def _stand(self) -> None:
        """Take in what is recorded."""
        for event in self.stage.ancestors:
            self._at.see(event)
        for event in self.stage.recorded:
            self._at.see(event)
            self.stage.on_event(event)
        if self._at.start is not None:
            self._schemas = self._at.start.tools

    def _restore_files(self) -> None:
        """The workspace as the last recorded result left it: what a call without a result did to
        another copy is not there, and the call is made again."""
        files: dict[str, tuple[bytes | None, int]] = {}
        for spelled, change in {change.path: change for change in self._at.changes}.items():
            content = None if change.after is None else self.stage.objects.get(change.after)
            files[unspell_path(spelled)] = content, change.mode
        self.stage.workspace.set_files(files)
        self._snapshot = self.stage.workspace.snapshot()
        self._target = self._last_target()

    def _last_target(self) -> dict[str, Any]:
        """Where the node stood last: a tool may have left a file that does not parse."""
        spelled = spell_path(self.job.path)
        found = located(self.job, self.stage.workspace.base_bytes(self.job.path), None)
        for change in self._at.changes:
            if change.path == spelled and change.after is not None:
                found = located(self.job, self.stage.objects.get(change.after), found)
        return found

    async def _turns(self) -> Ending:
        await self._look_around()
        most = self.stage.max_turns
        while (ending := self._at.ending) is None and self._at.next_turn <= most:
            ending = await self._turn(self._at.next_turn)
            if ending is not None:
                break
            await aside(self.stage.emitter.end_turn)
        told = f"not done after {most} turn{'s' if most > 1 else ''}"
        return ending or ("failed", "max_turns", told)

    async def _turn(self, number: int) -> Ending | None:
        """A turn, or what is left of it."""
        if self._at.turn.number != number:
            self._emit(TurnStart(), number, PacketDelta(turn=number))
        if not self._at.turn.decided_on:
            await self._prepare(number)
        if self._at.turn.call is None and self._at.ending is None:
            await self._decide(number)
        if self._at.turn.call is None or self._at.ending is not None:
            return self._at.ending
        return await self._carry_out(self._at.turn.call, number)

    async def _prepare(self, turn: int) -> None:
        """Bring facts and candidates into the packet, as far as they are not there yet."""
        if not self._at.turn.given:
            await self._pull(turn)
        if not self._at.turn.offered:
            await self._propose(turn)

    async def _decide(self, turn: int) -> None:
        """Append the turn's call, or why there is none."""
        decision = self._recorded_decision() or await decide(
            self.context.packet,
            self._schemas,
            self.stage.asking,
            self._model,
            self._emit,
            self._at.history,
        )
        if isinstance(decision, NoDecision):
            self._undecided(decision, turn)
            return
        self._emit(
            ToolCalled(
                tool=decision.call.tool,
                args=decision.call.args,
                decided_by=decision.decided_by,
                scores=decision.scores,
                choice=decision.choice,
                packet_sha256=decision.packet_sha256,
                trim=decision.trim,
            ),
            turn,
        )

    def _recorded_decision(self) -> Decision | NoDecision | None:
        """What the model answered before the agent was interrupted."""
        asked, answered = self._at.turn.request, self._at.turn.response
        if asked is None or answered is None:
            return None
        return decided_by_record(
            self.context.packet,
            self._schemas,
            self.stage.asking,
            asked,
            answered,
            exact=self._model.counter.exact,
        )

    def _undecided(self, why: NoDecision, turn: int) -> None:
        error = AgentError(
            kind=why.kind, message=why.message, packet_sha256=why.packet_sha256, trim=why.trim
        )
        self._emit(error, turn, PacketDelta(set_error=error_text(why.message)))

    def _broken(self, kind: Literal["model_error", "tool_error"], error: RemoraError) -> Ending:
        message = self._redact.text(error.message)
        self._emit(
            AgentError(kind=kind, message=message, hint=self._redact.text(error.hint)),
            self.context.packet.turn,
        )
        return self._at.ending or ("error", kind, message)

    # --- acting ----------------------------------------------------------------------------

    async def _carry_out(self, called: ToolCalled, turn: int) -> Ending | None:
        call = ToolCall(tool=called.tool, args=unstorable(called.args))
        if not self._at.turn.resulted:
            acted = await self._act(call)
            self._resulted(call, acted, await aside(self._keep_changes), turn)
        if call.tool != SUBMIT:
            return self._at.ending
        if self._at.turn.submitted is None:
            await self._submit(call, turn)
        return self._submission_ending()

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
        self._emit(
            ToolResulted(tool=call.tool, args=call.args, changes=changes, **acted.record),
            turn,
            self._checked(delta),
        )

    def _checked(self, delta: PacketDelta) -> PacketDelta:
        """What a script said, without what the agent may not be offered or hold."""
        if delta.candidate_actions is not msgspec.UNSET:
            actions, _ = offered(delta.candidate_actions, self._schemas, self._strategy)
            delta = msgspec.structs.replace(delta, candidate_actions=actions)
        schema = self.stage.agent.definition.packet_extension
        return checked_extensions(delta, self.context.packet.extensions, schema)

    async def _submit(self, call: ToolCall, turn: int) -> None:
        """Append what the checks say of the changes; there is nothing to check without any."""
        summary = str(call.args.get("summary") or "")
        checks = await self._checks() if self._snapshot else []
        self._emit(
            SubmitResult(
                summary=summary,
                checks=[msgspec.to_builtins(check) for check in checks],
                verified=all(check.ok for check in checks),
            ),
            turn,
        )

    async def _checks(self) -> list[Check]:
        submission = self._submission()
        refusal = written(submission.files.values())
        if refusal is not None:
            return [Check(name="no_placeholders", ok=False, detail=refusal)]
        names = self.stage.agent.definition.verify
        return self._redact.clean(await aside(verify, names, submission))

    def _submission_ending(self) -> Ending:
        submitted = self._at.turn.submitted
        assert submitted is not None
        return submission_ending(submitted, self.context.packet, changed=bool(self._snapshot))

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
        """Turn 0: the agent's context scripts, each once; none where the packet came with what
        they found."""
        start = self._at.start
        if start is None or start.first_turn or self._at.turn.number:
            return
        for part in self.stage.agent.context[self._at.looked :]:
            acted = await self._cleanly(run_part, part, {}, self._scene())
            delta = self.context.delta_for({"tool": part.script.name, **acted.result})
            delta = msgspec.structs.replace(self._checked(delta), add_action=msgspec.UNSET)
            self._emit(_update("context", acted), 0, delta)

    async def _propose(self, turn: int) -> None:
        """Ask the candidates script, where the agent has one."""
        part = self.stage.agent.candidates
        if part is None:
            return
        acted = await self._cleanly(run_part, part, {}, self._scene())
        base = self.stage.workspace.base_bytes(self.job.path)
        delta = _proposal(acted, base, self._schemas, self._strategy)
        self._emit(_update("candidates", acted), turn, delta)

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
            outputs=self._at.outputs,
            clock=self.stage.clock(),
            seed=self.stage.asking.seed or 0,
        )

    # --- the stream ------------------------------------------------------------------------

    def _emit(self, payload: Payload, turn: int, delta: PacketDelta | None = None) -> Event:
        """Append, then apply what was written."""
        event = self.stage.emitter.emit(payload, turn=turn, delta=delta)
        self._at.see(event)
        self.stage.on_event(event)
        return event

    async def _start(self) -> None:
        self._emit(first_event(self.job, self.stage, self.context), 0)
        await aside(self.stage.emitter.end_turn)

    async def _end(self, ending: Ending) -> AgentResult:
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
        await aside(self.stage.emitter.end_turn)
        tally = self._at.tally
        return AgentResult(
            status=status,
            stop_reason=stop_reason,
            turns=tally.turns,
            decided_by=tally.decided_by,
            asked=tally.asked,
            differed=tally.differed,
            max_packet_tokens=tally.max_packet_tokens,
            raw_bytes=tally.raw_bytes,
            change_set=change_set,
            error=error,
            head=self.stage.emitter.head,
        )


FunctionGemmaRunner = AgentRunner
"""The mission's own name for it."""


def _recorded(changes: Sequence[FileChange]) -> tuple[Change, ...]:
    """Changes of a workspace in the words of the Long Track, paths spelled as in node keys."""
    return tuple(
        Change(path=spell_path(c.path), before=c.before, after=c.after, mode=c.mode)
        for c in changes
    )


def _proposal(
    acted: Acted, base: bytes | None, tools: Sequence[ToolSchema], strategy: str
) -> PacketDelta:
    """What a candidates script offers, as far as it can be chosen, and what is wrong with the
    rest. A placeholder that `base` does not hold is offered to nobody."""
    found = acted.result.get("candidate_actions") or []
    made = [
        candidate(action["tool"], action.get("args") or {}, action.get("reason") or "")
        for action in found
        if not brought_back(action.get("args") or {}, base)
    ]
    actions, problem = offered(made, tools, strategy)
    problem = acted.record["error"] or problem
    delta = PacketDelta(candidate_actions=actions)
    return msgspec.structs.replace(delta, set_error=error_text(problem)) if problem else delta


def _update(source: str, acted: Acted) -> ContextUpdate:
    return ContextUpdate(
        source=source,
        value=acted.record["parsed_output"],
        host_calls=acted.record["host_calls"],
        error=acted.record["error"],
    )
