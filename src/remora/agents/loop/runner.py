"""The turn loop of one agent: append, then apply, then act."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import msgspec

from remora.agents.builtin_tools import BUILTIN, SUBMIT
from remora.agents.decision.candidates import as_candidates, offered
from remora.agents.decision.model_query import ask
from remora.agents.decision.policy import Decision, by_answer, by_rule, without_model
from remora.agents.inputs.hub_pull import PullHook
from remora.agents.inputs.node_versions import Sides
from remora.agents.inputs.packet_extensions import checked_extensions
from remora.agents.inputs.target_location import followed, located
from remora.agents.job import AgentResult, Job
from remora.agents.loop.agent_start import first_context, first_event
from remora.agents.loop.change_tracker import Changes
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.state import AgentState
from remora.agents.loop.stop_rules import Ending, submission_ending
from remora.agents.loop.tool_execution import (
    Scene,
    ToolExecution,
    act,
    context_update,
    refused,
    run_part,
    tool_result,
)
from remora.agents.redaction import RedactedModel, brought_back
from remora.agents.summarizers import summarized
from remora.agents.threads import aside
from remora.agents.verification import Check, verify
from remora.chat import ToolCall
from remora.errors import DiskError, ModelError, RemoraError
from remora.ids import spell_path
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta, error_text
from remora.memory.events import (
    AgentEnd,
    AgentError,
    ContextUpdate,
    Event,
    Payload,
    SubmitResult,
    ToolCalled,
    TurnStart,
)
from remora.memory.packet import packet_json
from remora.operations.submission import Result, Submission
from remora.text import REPORT, bug_report_line
from remora.tools.tree import Place

_log = logging.getLogger("remora.text")
_log.addHandler(logging.NullHandler())  # only who asks is shown tracebacks


class AgentRunner:
    """Runs one job to its end, from its beginning or from where its recorded events leave off."""

    def __init__(self, job: Job, stage: AgentDependencies) -> None:
        self.job = job
        self.stage = stage
        self._redact = stage.redact
        self._model = RedactedModel(stage.model, stage.redact)
        self._at = AgentState(first_context(job, stage), stage.blobs)
        self._changes = Changes(stage.workspace, stage.objects)
        self._schemas = stage.redact.clean(stage.agent.schemas)
        self._strategy = stage.asking.strategy
        self._target: dict[str, Any] | None = None
        sides = Sides(job, stage.workspace, stage.user_file)
        room = stage.asking.hub_room(exact=stage.model.counter.exact)
        self._hook = PullHook(stage.facts, sides, stage.redact, room)

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
        await self._start()
        try:
            await aside(self._restore_files)
            ending = await self._turns()
        except ModelError as error:
            ending = self._broken("model_error", error)
        except RemoraError as error:
            ending = self._broken("tool_error", error)
        except OSError as error:
            ending = self._broken("tool_error", DiskError(str(error)))
        except Exception as error:  # noqa: BLE001 - a bug of ours costs this job, not the run
            _log.exception("%s", self.job.node_id)
            ending = self._broken(
                "tool_error",
                RemoraError(bug_report_line(error), hint=f"{REPORT}; -v shows the traceback"),
            )
        return await self._end(ending)

    async def give_up(self, why: RemoraError) -> AgentResult:
        """End a job that cannot go on, where it stands."""
        await self._start()
        await aside(self._restore_files)
        return await self._end(self._at.ending or self._broken("tool_error", why))

    # --- beginning and end -----------------------------------------------------------------

    async def _start(self) -> None:
        """Take in what is recorded, or begin the record."""
        await aside(self._stand)
        await aside(self._keep_scripts)
        if self._at.start is None:
            self._emit(first_event(self.job, self.stage, self.context), 0)
            await aside(self.stage.emitter.end_turn)

    def _stand(self) -> None:
        for event in self.stage.ancestors:
            self._at.see(event)
        for event in self.stage.recorded:
            self._at.see(event)
            self.stage.on_event(event)
        if self._at.start is not None:
            self._schemas = self._at.start.tools

    def _keep_scripts(self) -> None:
        """What the stream names by hash is there when somebody runs it again."""
        for script in self.stage.agent.scripts.values():
            self.stage.objects.put(script.raw)

    def _restore_files(self) -> None:
        """The workspace, and where the node stands in it, as the last recorded result left them."""
        self._changes.restore(self._at.changes)
        spelled = spell_path(self.job.path)
        written = [change.after for change in self._at.changes if change.path == spelled]
        contents = (self.stage.objects.get(digest) for digest in written if digest is not None)
        self._target = followed(self.job, [self._base(), *contents])

    def _broken(self, kind: Literal["model_error", "tool_error"], error: RemoraError) -> Ending:
        message = self._redact.text(error.message)
        self._emit(
            AgentError(kind=kind, message=message, hint=self._redact.text(error.hint)),
            self.context.packet.turn,
        )
        return self._at.ending or ("error", kind, message)

    async def _end(self, ending: Ending) -> AgentResult:
        status, stop_reason, said = ending
        error = said and self._redact.text(said)
        change_set = self._changes.change_set()
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

    # --- turns -----------------------------------------------------------------------------

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
            self._decided(await self._decide(), number)
        if self._at.turn.call is None or self._at.ending is not None:
            return self._at.ending
        return await self._carry_out(self._at.turn.call, number)

    async def _prepare(self, turn: int) -> None:
        """Bring facts and candidates into the packet, as far as they are not there yet."""
        if not self._at.turn.given:
            await self._pull(turn)
        if not self._at.turn.offered:
            await self._propose(turn)

    # --- deciding --------------------------------------------------------------------------

    async def _decide(self) -> Decision:
        """By a rule or by the model; one that answered already is not asked twice."""
        packet, asking = self.context.packet, self.stage.asking
        ruled = by_rule(packet, self._schemas)
        if ruled is not None:
            return ruled
        if asking.strategy == "rules":
            return without_model(packet, self._schemas)
        if self._at.turn.response is None:
            unasked = await ask(
                packet, self._schemas, asking, self._model, self._emit, self._at.history
            )
            if unasked is not None:
                return unasked
        request, response = self._at.turn.request, self._at.turn.response
        assert request is not None  # both were taken in as they were appended
        assert response is not None
        exact = self._model.counter.exact
        return by_answer(request, response, packet, self._schemas, asking, exact=exact)

    def _decided(self, decision: Decision, turn: int) -> None:
        """Append the turn's call, or why there is none, which the next packet tells."""
        delta = None
        if isinstance(decision, AgentError):
            delta = PacketDelta(set_error=error_text(decision.message))
        self._emit(decision, turn, delta)

    # --- acting ----------------------------------------------------------------------------

    async def _carry_out(self, called: ToolCalled, turn: int) -> Ending | None:
        call = ToolCall(tool=called.tool, args=decode_value(called.args))
        if not self._at.turn.resulted:
            acted = await self._act(call)
            await self._resulted(call, acted, turn)
        if call.tool != SUBMIT:
            return self._at.ending
        submitted = self._at.turn.submitted or await self._submit(call, turn)
        return submission_ending(submitted, self.context.packet, changed=bool(self._changes))

    async def _act(self, call: ToolCall) -> ToolExecution:
        """The call's result without secrets. One that would write a placeholder is refused."""
        why = None if call.tool in BUILTIN else brought_back(call.args, self._base())
        if why is not None:
            return refused(why)
        return await self._cleanly(act, call, self.stage.agent, self._scene())

    async def _resulted(self, call: ToolCall, acted: ToolExecution, turn: int) -> None:
        """Append what the call came to and what it changed."""
        changes = await aside(self._changes.keep)
        delta = self.context.delta_for({"tool": call.tool, "args": call.args, **acted.result})
        told = summarized(self.stage.agent.summarizers.get(call.tool), acted.result)
        self._emit(tool_result(call, acted, changes, told), turn, self._permitted(delta))

    async def _submit(self, call: ToolCall, turn: int) -> SubmitResult:
        """Append what the checks say of the changes; there is nothing to check without any."""
        submission = self._submission()
        checks = await aside(self._checks, submission) if self._changes else []
        submitted = SubmitResult(
            summary=str(call.args.get("summary") or ""),
            checks=[check.recorded() for check in checks],
            verified=all(check.ok for check in checks),
            observed=self._redact.clean(submission.observed),
        )
        self._emit(submitted, turn)
        return submitted

    def _submission(self) -> Submission:
        return Submission(
            path=self.job.path,
            node_id=self.job.node_id,
            node_name=self.job.node_name,
            qualname=self.job.qualname,
            files=self._changes.contents(),
            findings_before=self.stage.findings_before,
            findings_after=cache(self.stage.findings_after),  # no check changes a file
            target=self._scene().target,
            in_tree=self._in_workspace,
        )

    def _checks(self, submission: Submission) -> list[Check]:
        agent, checks = self.stage.agent, self.stage.checks
        return self._redact.clean(
            verify(agent.definition.verify, submission, checks, agent.scripts)
        )

    def _in_workspace(self, work: Callable[[Place], Result], /) -> Result:
        return work(Place(self.stage.workspace.tree, self.stage.python))

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
            delta = msgspec.structs.replace(self._permitted(delta), add_action=msgspec.UNSET)
            self._emit(context_update("context", acted), 0, delta)

    async def _pull(self, turn: int) -> None:
        """Ask the Hub for facts of the nodes that matter now."""
        pulled = await self._hook.pull(self.context.packet)
        if pulled is not None:
            update = ContextUpdate(source="hub", value=pulled.value, error=pulled.error)
            self._emit(update, turn, pulled.delta)

    async def _propose(self, turn: int) -> None:
        """Ask the candidates script, where the agent has one."""
        part = self.stage.agent.candidates
        if part is None:
            return
        acted = await self._cleanly(run_part, part, {}, self._scene())
        found = as_candidates(acted.result.get("candidate_actions") or (), self._base())
        actions, problem = offered(found, self._schemas, self._strategy)
        problem = acted.record["error"] or problem
        delta = PacketDelta(candidate_actions=actions)
        if problem:
            delta = msgspec.structs.replace(delta, set_error=error_text(problem))
        self._emit(context_update("candidates", acted), turn, delta)

    def _permitted(self, delta: PacketDelta) -> PacketDelta:
        """What a script said, without what the agent may not be offered or hold."""
        if delta.candidate_actions is not msgspec.UNSET:
            actions, _ = offered(delta.candidate_actions, self._schemas, self._strategy)
            delta = msgspec.structs.replace(delta, candidate_actions=actions)
        schema = self.stage.agent.definition.packet_extension
        return checked_extensions(delta, self.context.packet.extensions, schema)

    # --- scripts and the stream ------------------------------------------------------------

    async def _cleanly(self, work: Callable[..., ToolExecution], *args: object) -> ToolExecution:
        """What a script came to, without secrets; both take their time, and a thread."""
        return await aside(lambda: self._redact.clean(work(*args)))

    def _scene(self) -> Scene:
        workspace = self.stage.workspace
        self._target = located(self.job, workspace.read(self.job.path), self._target)
        return Scene(
            tree=workspace.tree,
            target=self._target,
            packet=packet_json(self.context.packet),
            options={**self.stage.options, "open": self._strategy != "rank"},
            outputs=self._at.outputs,
            clock=self.stage.clock(),
            seed=self.stage.asking.seed or 0,
            python=self.stage.python,
        )

    def _base(self) -> bytes | None:
        """The job's file as the agent's work began with it."""
        return self.stage.workspace.base_bytes(self.job.path)

    def _emit(self, payload: Payload, turn: int, delta: PacketDelta | None = None) -> Event:
        """Append, then apply what was written."""
        event = self.stage.emitter.emit(payload, turn=turn, delta=delta)
        self._at.see(event)
        self.stage.on_event(event)
        return event


FunctionGemmaRunner = AgentRunner
"""The mission's own name for it."""
