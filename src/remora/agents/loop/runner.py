"""The turn loop of an agent. Each event is appended and applied before the agent acts on it."""

import logging
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from msgspec.structs import replace

from remora.agents.builtin_tools import BUILTIN, SUBMIT, UNDO, left_items, undone
from remora.agents.decision.policy import Decision
from remora.agents.inputs.target_location import last_known_target, locate_target
from remora.agents.job import AgentResult, Job
from remora.agents.loop.agent_start import first_context, first_event
from remora.agents.loop.change_tracker import ChangeTracker
from remora.agents.loop.decider import Decider
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.packet_updates import PacketUpdates, error_delta
from remora.agents.loop.state import FLOOR, AgentState
from remora.agents.loop.stop_rules import Ending, refusal, submission_ending
from remora.agents.loop.tool_execution import (
    ScriptInputs,
    ToolExecution,
    builtin_result,
    execute_call,
    refused_result,
    run_script_tool,
    tool_result,
)
from remora.agents.named_summarizers import summarizer_record
from remora.agents.redaction import placeholder_in_args
from remora.agents.verification import CheckResult, verify
from remora.chat import ToolCall
from remora.errors import DiskError, RemoraError
from remora.ids import escape_path
from remora.judges.submission import Files, Submission
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta
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
from remora.memory.prompt.render import GUIDED
from remora.text import REPORT, bug_report_line
from remora.threads import run_in_thread
from remora.tools.tool import Tool
from remora.tools.tree import ToolTree

_log = logging.getLogger("remora.bugs")
_log.addHandler(logging.NullHandler())  # tracebacks are shown only on request


class AgentRunner:
    """Runs one job to completion, either from the start or from recorded events."""

    def __init__(self, job: Job, dependencies: AgentDependencies) -> None:
        self.job = job
        self.dependencies = dependencies
        self._redact = dependencies.redact
        self._secret_lines = lru_cache(maxsize=1)(dependencies.redact.lines_with_secrets)
        self._state = AgentState(first_context(job, dependencies), dependencies.blobs)
        self._changes = ChangeTracker(dependencies.workspace, dependencies.objects)
        self._updates = PacketUpdates(
            job, self.dependencies, self._state, self._run_script, self._emit
        )
        self._target: dict[str, Any] | None = None

    @property
    def context(self) -> ContextManager:
        return self._state.context

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the chat messages, for debugging only. They are never sent to a model."""
        return self._state.messages

    async def run(self) -> AgentResult:
        """Run all turns. An error ends the job, but not the process."""
        await self._start()
        try:
            await run_in_thread(self._restore_files)
            ending = await self._turns()
        except RemoraError as error:
            ending = self._record_error(error)
        except OSError as error:
            ending = self._record_error(DiskError(str(error)))
        except Exception as error:  # noqa: BLE001 - a bug in Remora fails this job, not the run
            _log.exception("%s", self.job.node_id)
            ending = self._record_error(
                RemoraError(bug_report_line(error), hint=f"{REPORT}; -v shows the traceback")
            )
        return await self._end(ending)

    async def give_up(self, why: RemoraError) -> AgentResult:
        """End a job that cannot continue, and keep the changes made so far."""
        await self._start()
        await run_in_thread(self._restore_files)
        return await self._end(self._state.ending or self._record_error(why))

    # --- start and end ---------------------------------------------------------------------

    async def _start(self) -> None:
        await run_in_thread(self._read_recorded)
        if self._state.start is None:
            self._emit(first_event(self.job, self.dependencies, self.context), 0)
            await run_in_thread(self.dependencies.emitter.end_turn)

    def _read_recorded(self) -> None:
        """Apply the recorded events, and store all scripts for replays, which load them by hashes."""
        for event in self.dependencies.ancestors:
            self._state.add(event)
        for event in self.dependencies.recorded:
            self._state.add(event)
            self.dependencies.on_event(event)
        for script in self.dependencies.agent.scripts.values():
            self.dependencies.objects.put(script.raw)

    def _restore_files(self) -> None:
        """Restore the files and the node's location as the last recorded result left them."""
        changes = self._state.files.all
        if changes:  # the slot was reset
            self._changes.restore(changes)
        spelled = escape_path(self.job.path)
        written = [c.after for c in changes if c.path == spelled and c.after]
        contents = map(self.dependencies.objects.get, written)
        self._target = last_known_target(self.job, [self._base(), *contents])

    def _record_error(self, error: RemoraError) -> Ending:
        message = self._redact.text(error.message)
        self._emit(
            AgentError(kind="tool_error", message=message, hint=self._redact.text(error.hint)),
            self.context.packet.turn,
        )
        return self._state.ending or ("error", "tool_error", message)

    async def _end(self, ending: Ending) -> AgentResult:
        status, stop_reason, detail = ending
        error = detail and self._redact.text(detail)
        change_set = self._changes.change_set()
        end = AgentEnd(
            status=status,
            stop_reason=stop_reason,
            change_set=change_set,
            change_set_sha256=canonical_sha256(change_set),
            error=error,
        )
        self._emit(end, self.context.packet.turn)
        await run_in_thread(self.dependencies.emitter.end_turn)
        return AgentResult(
            status=status,
            stop_reason=stop_reason,
            counts=self._state.tally.total,
            change_set=change_set,
            error=error,
            head=self.dependencies.emitter.head,
        )

    # --- turns -----------------------------------------------------------------------------

    async def _turns(self) -> Ending:
        await self._updates.run_context_scripts()
        while True:
            ending = self._state.ending or self._out_of_turns()
            if ending is None:
                ending = await self._turn(self._state.next_turn)
            if ending is not None:
                if not self._state.can_fall_back(ending):
                    return ending
                fall = ContextUpdate(source=FLOOR, value=list(ending))
                self._emit(fall, self.context.packet.turn)
            await run_in_thread(self.dependencies.emitter.end_turn)

    def _out_of_turns(self) -> Ending | None:
        most, state = self.dependencies.max_turns, self._state
        if state.model.lost is not None or state.next_turn <= most:
            return None
        return "failed", "max_turns", f"not done after {most} turn{'s' if most > 1 else ''}"

    async def _turn(self, number: int) -> Ending | None:
        if self._state.turn.number != number:
            self._emit(TurnStart(), number, PacketDelta(turn=number))
        if not self._state.turn.is_decided:
            await self._updates.prepare_turn(number)
        if self._state.turn.call is None and self._state.ending is None:
            decision = await self._decision(number)
            delta = error_delta(decision) if isinstance(decision, AgentError) else None
            self._emit(decision, number, delta)
        if self._state.turn.call is None or self._state.ending is not None:
            return self._state.ending
        return await self._execute(self._state.turn.call, number)

    # --- deciding --------------------------------------------------------------------------

    async def _decision(self, turn: int) -> Decision:
        """Decide the turn. If rules have nothing left to do, the model's turns begin."""
        decision = await self._decide()
        if (
            self._state.opening.is_running
            and not isinstance(decision, AgentError)
            and decision.tool == SUBMIT
        ):
            self._emit(ContextUpdate(source="opening", value=decision.args), turn)
            await self._updates.prepare_turn(turn)
            decision = await self._decide()
        return decision

    async def _decide(self) -> Decision:
        """Decide by rule, or by asking models."""
        own = self._state, self.dependencies, self._state.tools
        return await Decider(*own, self._emit).decide()

    # --- acting ----------------------------------------------------------------------------

    async def _execute(self, called: ToolCalled, turn: int) -> Ending | None:
        call = ToolCall(tool=called.tool, args=decode_value(called.args))
        if not self._state.turn.has_result:
            execution = await self._execute_tool(call)
            await self._record_result(call, execution, turn)
        if call.tool != SUBMIT:
            return self._state.ending
        submitted = self._state.turn.submitted or await self._submit(call, turn)
        state, changed = self._state, bool(self._changes)
        if state.turn.is_over:
            return None  # a check failed, and the model may mend that
        return submission_ending(
            submitted, state.failure.message, state.model.lost, changed=changed
        )

    async def _execute_tool(self, call: ToolCall) -> ToolExecution:
        """Execute a call and return its redacted result.

        A call that would write a placeholder for a secret is refused.
        """
        if call.tool == UNDO:
            return await run_in_thread(self._undo, call)
        why = None if call.tool in BUILTIN else placeholder_in_args(call.args, self._base())
        if why is not None:
            return refused_result(why)
        return await self._run_redacted(
            execute_call, call, self.dependencies.agent, self._script_inputs()
        )

    def _undo(self, call: ToolCall) -> ToolExecution:
        turn, because = call.args["turn"], call.args["because"]
        kept = self._state.files.before(turn)
        if len(kept) == len(self._state.files.all):
            return refused_result(f"no file was changed in turn {turn} or later")
        self.dependencies.workspace.reset()
        self._changes.write(kept)
        return builtin_result(undone(turn, because))

    async def _record_result(self, call: ToolCall, execution: ToolExecution, turn: int) -> None:
        is_read_only = call.tool in BUILTIN and call.tool != UNDO
        changes = () if is_read_only else await run_in_thread(self._changes.keep)
        delta = self.context.delta_for({"tool": call.tool, "args": call.args, **execution.result})
        if call.tool == UNDO and execution.record["outcome"] == "success":
            delta = self._state.files.with_view_before(
                call.args["turn"], self.context.packet, delta
            )
        summarizer = self.dependencies.agent.summarizers.get(call.tool)
        summarized = summarizer_record(summarizer, execution.result)
        permitted = self._updates.permitted(delta)
        self._emit(tool_result(call, execution, changes, summarized), turn, permitted)

    async def _submit(self, call: ToolCall, turn: int) -> SubmitResult:
        """Run the checks if any file has changed, and record the result."""
        submission = self._submission(self._changes)
        checks = await run_in_thread(self._checks, submission) if self._changes else []
        submitted = SubmitResult(
            summary=str(call.args.get("summary") or ""),
            checks=[check.recorded() for check in checks],
            verified=all(check.ok for check in checks),
        )
        delta = None
        if not submitted.verified:
            why = refusal(submitted)
            delta = PacketDelta(set_error=why, state_summary=f"the submission was refused: {why}")
        self._emit(submitted, turn, delta)
        return submitted

    def _submission(self, changes: ChangeTracker) -> Submission:
        ruff, files = self._place().ruff, changes.contents()
        return Submission(
            path=self.job.path,
            node_id=self.job.node_id,
            node_name=self.job.node_name,
            qualname=self.job.qualname,
            nodes=self.job.nodes,
            files=files,
            edits=self._model_edits(files),
            findings_before=self.dependencies.findings_before,
            findings_after=cache(ruff.check_file),  # no check changes a file
            names=ruff.check_names,
            target=self._locate(self.dependencies.workspace.read(self.job.path)),
            in_tree=lambda work: work(self._place()),
            results=self.dependencies.check_results.setdefault(
                canonical_sha256(changes.change_set()), {}
            ),
        )

    def _model_edits(self, files: Files) -> Files:
        """Return the files that differ from what the opening left, with both contents."""
        if (opened := self._state.opened) is None:
            return {}
        get = self.dependencies.objects.get
        left = {path: None if digest is None else get(digest) for path, digest in opened.items()}
        pairs = {path: (left.get(path, base), now) for path, (base, now) in files.items()}
        return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}

    def _checks(self, submission: Submission) -> list[CheckResult]:
        agent, checks = self.dependencies.agent, self.dependencies.checks
        found = verify(agent.definition.verify, submission, checks, agent.scripts)
        return self._redact.clean(found)

    def _judge(self) -> list[str]:
        """Return what the checks say against the files as a tool has just changed them."""
        changes = ChangeTracker(self.dependencies.workspace, self.dependencies.objects)
        changes.restore(())
        found = self._checks(self._submission(changes)) if changes else []
        return [check.detail for check in found if not check.ok]

    def _place(self) -> ToolTree:
        own = self.dependencies
        tree = own.workspace.tree
        return ToolTree(tree, own.python, own.answers, own.ruff, self._judge)

    def _locate(self, content: bytes | None) -> dict[str, Any]:
        """Return the node's current location in its file."""
        self._target = locate_target(self.job, content, self._target)
        return self._target

    # --- scripts and the stream ------------------------------------------------------------

    async def _run_script(self, script: Tool) -> ToolExecution:
        """Run a context or candidates script."""
        left, has_changed = left_items(self.context.packet), bool(self._state.files.net)
        progress = {"left": left, "changed": has_changed}
        inputs = replace(self._script_inputs(), progress=progress)
        return await self._run_redacted(run_script_tool, script, {}, inputs)

    async def _run_redacted(
        self, work: Callable[..., ToolExecution], *args: object
    ) -> ToolExecution:
        """Run a script and redact its result in a thread, because both can be slow."""
        return await run_in_thread(lambda: self._redact.clean(work(*args)))

    def _script_inputs(self) -> ScriptInputs:
        content = self.dependencies.workspace.read(self.job.path)
        return ScriptInputs(
            tree=self._place(),
            target=self._locate(content),
            packet=packet_json(self.context.packet),
            options=self._options(content),
            outputs=self._state.outputs,
            clock=self.dependencies.clock(),
            seed=self.dependencies.settings.seed or 0,
        )

    def _options(self, content: bytes | None) -> dict[str, Any]:
        """Return the options of scripts. A model that writes is not asked for lines with secrets."""
        asks = self._state.asks_model(self.dependencies.settings)
        options = {**self.dependencies.options, "open": asks}
        if asks and self.dependencies.settings.renderer == GUIDED:
            options["guided"] = True
        if asks and (lines := self._secret_lines((content or b"").decode("utf-8", "replace"))):
            options["secret_lines"] = lines
        return options

    def _base(self) -> bytes | None:
        return self.dependencies.workspace.base_bytes(self.job.path)

    def _emit(self, payload: Payload, turn: int, delta: PacketDelta | None = None) -> Event:
        """Write an event, then apply it."""
        event = self.dependencies.emitter.emit(payload, turn=turn, delta=delta)
        self._state.add(event)
        self.dependencies.on_event(event)
        return event


FunctionGemmaRunner = AgentRunner
"""The mission's name for AgentRunner."""
