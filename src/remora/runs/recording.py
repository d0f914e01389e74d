"""Recording of another program's agent, whose model is shown packets instead of its history."""

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from remora.agents.job import Job
from remora.chat import ToolCall, ToolSchema
from remora.errors import UsageError
from remora.memory.budget import FittedPacket, fit
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, error_text, one_line
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Head,
    ModelRequest,
    ModelResponse,
    Payload,
    RunEnd,
    RunStart,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import GOAL_LIMIT, DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.render import INSTRUCTIONS, PACKET_ONLY, render
from remora.memory.tool_results import arguments_of, to_text
from remora.models.token_counters import UpperBound
from remora.runs.project import Project
from remora.runs.provenance import sign_run_start
from remora.runs.records.agent_stream import agent_emitter, job_end, job_start
from remora.runs.records.run_record import OTHER_PROGRAM
from remora.runs.records.run_stream import RunStream, open_run
from remora.statuses import ERROR, NO_CHANGE
from remora.text import escape_surrogates
from remora.trace.redact.redactor import Redactor
from remora.trace.stream.emitters import EventEmitter

_STRATEGY = "tool_call"
_COUNTER = UpperBound()
_NOT_RUN = "the tool was not run: the call was refused, or its result was not recorded"


class RecordedTask(msgspec.Struct, frozen=True, kw_only=True):
    """Job of another program's agent, and its tools."""

    goal: str
    instructions: str = ""
    tools: tuple[ToolSchema, ...] = ()
    model: str = ""
    """The model's name."""
    max_turns: int
    limit: int
    """The most tokens of a request with the tools. A byte counts as a token, so no tokenizer exceeds it."""


class Recording:
    """An open recording. Use `remora.record` to create it.

    In each turn, call `model_request`, then `model_response`, then `tool_result` for each requested
    call. Each event is written before its effect is shown. Thread-safe.
    """

    def __init__(
        self, job: Job, task: RecordedTask, emitter: EventEmitter, redact: Redactor
    ) -> None:
        self.run_id = job.run_id
        self.agent_id = job.agent_id
        self._task = task
        self._emitter = emitter
        self._redact = redact
        self._context = first_context(job, task, redact)
        self._request: ModelRequest | None = None
        self._calls: list[tuple[str, ToolCall]] = []
        self._called_s = 0.0
        self._answer = ""
        self._lock = threading.RLock()
        self._emit(
            AgentStart(
                packet=self.packet,
                definition={"name": "recorded by another program"},
                tools=redact.clean(task.tools),
                model={"provider": "external", "name": task.model, "strategy": _STRATEGY},
                counter=_COUNTER.name,
                limit=task.limit,
                renderer=PACKET_ONLY,
                redaction=redact.version,
            )
        )
        emitter.end_turn()

    @property
    def packet(self) -> DecisionPacket:
        """The current packet, before it is trimmed for a request."""
        return self._context.packet

    def model_request(self) -> list[dict[str, str]]:
        """Start a turn, and return the chat messages to send in place of the history.

        They are in the stream when this returns. A call of the last response that has no result
        gets an error as its result. Raises UsageError if even the smallest packet exceeds the
        limit.
        """
        with self._lock:
            for call_id, _ in [*self._calls]:
                self.tool_result(call_id, error=_NOT_RUN)
            self._emitter.end_turn()
            turn = self.packet.turn + 1
            self._emit(TurnStart(), PacketDelta(turn=turn))
            fitted = fit(self.packet, self._task.limit, self._tokens)
            self._check_fits(fitted)
            messages = msgspec.to_builtins(self._render(fitted.packet).messages)
            self._request = ModelRequest(
                messages=messages,
                renderer=PACKET_ONLY,
                decoding={"strategy": _STRATEGY},
                packet_sha256=canonical_sha256(fitted.packet),
                trim=fitted.trim,
                prompt_tokens=fitted.tokens,
            )
            self._emit(self._request)
            self._emitter.flush()
            return list(messages)

    def model_response(
        self,
        text: str | None = None,
        calls: Iterable[tuple[str, str, Mapping[str, Any] | str | None]] | None = (),
        raw: Any = None,
    ) -> None:
        """Record the answer to the last request, and the decision for each requested call.

        A call has the form `(id, tool, args)`, in which `args` is a mapping, the model's JSON, or
        None without arguments. `raw` is the whole answer. Raises UsageError if there is no open
        request.
        """
        with self._lock:
            if (request := self._request) is None:
                raise UsageError("there is no open request", hint="call model_request first")
            requested = [
                (call_id, self._redact.clean(ToolCall(tool=to_text(tool), args=_mapping(args))))
                for call_id, tool, args in calls or ()
            ]
            self._request, self._calls, self._called_s = None, requested, time.monotonic()
            shown = self._redact.text(escape_surrogates(text or ""))
            self._answer = "" if requested else shown
            self._emit(
                ModelResponse(
                    text=shown,
                    call=next((call for _, call in requested), None),
                    raw=self._redact.clean(raw),
                )
            )
            for _, call in requested:
                self._emit(
                    ToolCalled(
                        tool=call.tool,
                        args=call.args,
                        decided_by="model",
                        packet_sha256=request.packet_sha256,
                        trim=request.trim,
                    )
                )

    def tool_result(
        self,
        call_id: str,
        raw_output: Any = None,
        *,
        error: str | None = None,
        view: Mapping[str, Any] | None = None,
    ) -> None:
        """Record the result of a requested call, and put it into the packet.

        If several calls have this ID, the result is that of the first one that waits for it.
        The recorded duration is the time since the response, which includes earlier calls.

        `view` says what the output means, with the optional keys `summary`, `knowledge_delta`,
        `diagnostics`, `excerpt` and `state_summary`. Without a summary or knowledge, the default
        summarizer extracts them from the output. Raises UsageError if no call with this ID waits
        for a result, and InvalidEvent if a key of `view` is misspelled.
        """
        with self._lock:
            waiting = next((asked for asked in self._calls if asked[0] == call_id), None)
            if waiting is None:
                raise UsageError(
                    f"no call {call_id!r} waits for a result",
                    hint="pass the call's ID to model_response first, and record one result per call",
                )
            call = waiting[1]
            shown = self._redact.clean(
                {**(view or {}), "raw_output": raw_output, "error": error or None}
            )
            outcome = "error" if error else "success"
            delta = self._context.delta_for(
                {**shown, "tool": call.tool, "args": call.args, "outcome": outcome}
            )
            self._calls.remove(waiting)
            self._emit(
                ToolResulted(
                    tool=call.tool,
                    args=call.args,
                    raw_output=shown["raw_output"],
                    outcome=outcome,
                    error=shown["error"],
                    duration_ms=round((time.monotonic() - self._called_s) * 1000),
                ),
                delta,
            )

    def end(self, error: BaseException | None = None) -> str:
        """Record the end, and return the status. The last answer without a call is the summary."""
        with self._lock:
            if error is None:
                end = AgentEnd(status=NO_CHANGE, stop_reason="no_change")
                delta = PacketDelta(state_summary=one_line(self._answer, GOAL_LIMIT))
                self._emit(SubmitResult(summary=self._answer), delta)
            else:
                message = self._redact.text(escape_surrogates(f"{type(error).__name__}: {error}"))
                end = AgentEnd(status=ERROR, stop_reason="caller_error", error=message)
                failure = AgentError(kind="caller_error", message=message)
                self._emit(failure, PacketDelta(set_error=error_text(message)))
            self._emit(end)
            self._emitter.end_turn()
            return end.status

    def _emit(self, payload: Payload, delta: PacketDelta | None = None) -> None:
        turn = self.packet.turn
        if isinstance(payload, TurnStart):
            turn += 1
        self._context.apply_recorded(self._emitter.emit(payload, turn=turn, delta=delta))

    def _render(self, shown: DecisionPacket) -> RenderedRequest:
        return render(PACKET_ONLY, shown, self._task.tools, _STRATEGY)

    def _tokens(self, shown: DecisionPacket) -> int:
        messages = self._render(shown).messages or ()
        return _COUNTER.count_messages(messages, self._task.tools)

    def _check_fits(self, fitted: FittedPacket) -> None:
        lost = self._task.instructions and INSTRUCTIONS not in fitted.packet.extensions
        if lost or not fitted.fits:
            raise UsageError(
                f"the goal, the instructions and the tools exceed the limit of {self._task.limit} tokens",
                hint="pass a larger limit; each byte counts as a token",
            )


def first_context(job: Job, task: RecordedTask, redact: Redactor) -> ContextManager:
    """Return the context of a new recording."""
    instructions = {INSTRUCTIONS: redact.text(task.instructions)} if task.instructions else {}
    return ContextManager(
        {
            "agent_id": job.agent_id,
            "run_id": job.run_id,
            "goal": redact.text(task.goal),
            "operation": job.operation,
            "node_id": job.node_id,
            "constraints": {"max_turns": task.max_turns},
            "extensions": instructions,
        },
        packet_size_limit=task.limit,
        token_counter=_COUNTER.count_text,
    )


@contextmanager
def open_recording(project: Project, job: Job, task: RecordedTask) -> Iterator[Recording]:
    """Record a run with one agent. Its end is recorded when the context ends.

    An error that leaves the context is recorded and raised again. If the program is interrupted,
    the streams have no end.
    """
    with open_run(project, job.run_id) as stream:
        stream.append(sign_run_start(_run_start(project, job, task), project.install_key))
        stream.append(job_start(job))
        with agent_emitter(project, job) as emitter:
            recording = Recording(job, task, emitter, project.redact)
            try:
                yield recording
            except Exception as error:
                _record_end(stream, job, recording.end(error), emitter.head)
                raise
            _record_end(stream, job, recording.end(), emitter.head)


def _record_end(stream: RunStream, job: Job, status: str, head: Head) -> None:
    stream.append(job_end(job, status, head))
    stream.append(RunEnd(totals={"jobs": 1, status: 1}))


def _run_start(project: Project, job: Job, task: RecordedTask) -> RunStart:
    return RunStart(
        plan={"jobs": [msgspec.to_builtins(job)], "operations": [job.operation], "nodes": 0},
        config={"model_name": project.redact.text(task.model), **OTHER_PROGRAM},
    )


def _mapping(args: Any) -> dict[str, Any]:
    """Return the arguments of a call. What is not a mapping or a JSON object is kept as `args`."""
    if isinstance(args, str):
        with suppress(ValueError, RecursionError):
            args = json.loads(args or "{}")
    return arguments_of({"args": args})


def tool_schemas(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolSchema, ...]:
    """Return the schemas of tools given as `{"name", "description", "parameters"}`.

    Raises UsageError if one is not valid.
    """
    try:
        return msgspec.convert([dict(tool) for tool in tools], tuple[ToolSchema, ...])
    except msgspec.ValidationError as error:
        raise UsageError(
            f"tools: {error}", hint='a tool is {"name", "description", "parameters"}'
        ) from None
