"""The desk where jobs wait for a client: each has a question, and the client's call is the answer.

A client takes a job and gets a lease. The client with the newest lease of a job answers its
questions. A lease ends when its client makes no call for a while. Then the open question is there
for another client.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from typing import Any, Literal, NamedTuple

import anyio.from_thread
import msgspec

from remora.agents.job import AgentResult, Job
from remora.agents.loop.state import FLOOR
from remora.chat import Answer, Message, ToolCall
from remora.errors import ModelError, NotFound, UsageError
from remora.memory.delta import PacketDelta
from remora.memory.events import Event, ToolCalled
from remora.models.protocol import MCP, Capabilities, Request, TokenCounter
from remora.models.token_counters import TokenRatio, UsageCounter
from remora.runs.execution.run import NoObserver
from remora.runs.planning.plan import Plan
from remora.trace.read.reader import decode_part, update_source

LEASE_S = 900.0
"""Seconds without a call of its client after which a job may be taken by another one (decision)."""
CONTEXT = 64_000
"""Tokens that a client's model is assumed to read beside its own work."""
_PATIENCE_S = 120.0
"""Seconds that a client waits for a job to be free (decision: clients give up after minutes)."""
_LOOK_S = 1.0
"""Seconds after which a waiting thread looks if the server ends."""
_INTERRUPTED = AgentResult(
    status="error", stop_reason="tool_error", error="its run was interrupted"
)
_TYPICAL = TokenRatio(0.2, 0.28)
"""Tokens per byte of packets: code and English with the tokenizers of large models."""


class Asked(NamedTuple):
    """A question of a job."""

    messages: tuple[Message, ...]
    """The messages that the job's stream has."""
    tools: tuple[str, ...]
    """The names of the tools."""
    answer: "Future[Answer]"


class Taken(msgspec.Struct):
    """A job that has begun, with its question, or how it has ended."""

    job: Job
    question: Asked | None = None
    result: AgentResult | None = None
    lease: str = ""
    """The ID by which its client calls, or an empty string if no client has it."""
    called: float = 0.0
    """The time of its client's last call."""
    said: str = ""
    """What the last call resulted in."""
    lost: str = ""
    """Why nothing that the client did is part of the result, or an empty string."""
    decided_by: str = ""
    """What chose the last call."""


class JobDesk:
    """Jobs of runs, with their questions and leases. Its methods may be called in any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._jobs = dict[str, Taken]()
        self._planning = 0
        self._old_leases = set[str]()
        self._is_closed = False

    # --- the side of the runs ------------------------------------------------------------------

    def begin_planning(self) -> None:
        """Let clients wait for the jobs of a run, until `plan` or `end_run` is called."""
        with self._changed:
            self._planning += 1

    def plan(self, jobs: Sequence[Job]) -> None:
        """Note the jobs of a run, which will ask."""
        with self._changed:
            self._jobs |= {job.agent_id: Taken(job) for job in jobs}
            self._end_planning()

    def end_run(self, run_id: str) -> None:
        """End the jobs of a run that have not ended, or planning if there is no ID yet."""
        with self._changed:
            if not run_id:
                self._end_planning()
            for waiting in self._jobs.values():
                if waiting.job.run_id == run_id and waiting.result is None:
                    waiting.question, waiting.result = None, _INTERRUPTED
            self._changed.notify_all()

    def _end_planning(self) -> None:
        self._planning -= 1
        self._changed.notify_all()

    def ask(self, job: Job, request: Request) -> "Future[Answer]":
        """Show a question of a job to its client, and return the answer to come."""
        tools = tuple(tool.name for tool in request.decoding.tools)
        asked = Asked(request.messages or (), tools, Future())
        with self._changed:
            waiting = self._jobs[job.agent_id]
            waiting.question, waiting.called = asked, self._clock()
            self._changed.notify_all()
        return asked.answer

    def note(self, job: Job, what: Literal["said", "lost", "decided_by"], text: str) -> None:
        """Note one of these attributes of a job, as `Taken` describes them."""
        with self._changed:
            setattr(self._jobs[job.agent_id], what, text)

    def end(self, job: Job, result: AgentResult) -> None:
        """Note that a job has ended."""
        with self._changed:
            waiting = self._jobs[job.agent_id]
            waiting.question, waiting.result = None, result
            self._changed.notify_all()

    # --- the side of the clients ---------------------------------------------------------------

    @property
    def is_planning(self) -> bool:
        return self._planning > 0

    def take(self, fits: Callable[[Job], bool]) -> Taken | None:
        """Give a client the next job that fits, or None if no such job waits or will wait.

        Raises UsageError if no job is free for a while.
        """
        until = self._clock() + _PATIENCE_S
        with self._changed:
            while True:
                self._refuse_closed()
                fitting = [waiting for waiting in self._jobs.values() if fits(waiting.job)]
                if free := next(filter(self._is_free, fitting), None):
                    if free.lease:
                        self._old_leases.add(free.lease)
                    free.lease, free.called = secrets.token_hex(4), self._clock()
                    return copy(free)
                is_coming = any(not waiting.lease and waiting.result is None for waiting in fitting)
                if not (is_coming or self._planning):
                    return None
                if self._clock() > until:
                    raise UsageError(
                        "no job is free yet: other clients have those that wait",
                        hint="call next_job again later",
                    )
                self._changed.wait(_LOOK_S)

    def counts(self, fits: Callable[[Job], bool]) -> tuple[int, int]:
        """Return the number of jobs that fit and that clients have, and of those that have ended."""
        with self._changed:
            fitting = [waiting for waiting in self._jobs.values() if fits(waiting.job)]
            ended = [waiting for waiting in fitting if waiting.result is not None]
            return len(fitting) - len(ended), len(ended)

    def show(self, lease: str) -> Taken:
        """Return the question of a client's job again, or how the job has ended."""
        with self._changed:
            return self._next_of(self._leased(lease))

    def answer(self, lease: str, made: Answer | ModelError) -> Taken:
        """Answer the question of a client's job, and return the next one, or how the job ended.

        With a ModelError, the job ends with what rules have done. Raises UsageError if the job is
        another client's by now, and NotFound if the lease is none.
        """
        with self._changed:
            waiting = self._leased(lease)
            question = waiting.question
            if waiting.result is not None:
                raise UsageError("this job has ended", hint="call next_job")
            if question is None:
                raise UsageError("the last call of this job has not ended", hint="wait for it")
            waiting.question = None
            if not question.answer.set_running_or_notify_cancel():
                raise UsageError("the run of this job ends", hint="call next_job")
            if isinstance(made, ModelError):
                question.answer.set_exception(made)
            else:
                question.answer.set_result(made)
            return self._next_of(waiting)

    def close(self) -> None:
        """Answer all clients that wait with an error."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _next_of(self, waiting: Taken) -> Taken:
        lease = waiting.lease
        while waiting.question is None and waiting.result is None:
            self._refuse_closed()
            self._changed.wait(_LOOK_S)
        return copy(self._leased(lease))

    def _leased(self, lease: str) -> Taken:
        if lease in self._old_leases:
            raise UsageError(
                "another client has this job, because you made no call for too long",
                hint="call next_job",
            )
        for waiting in self._jobs.values():
            if waiting.lease == lease and lease:
                waiting.called = self._clock()
                return waiting
        raise NotFound(f"no job {lease!r}", hint="call next_job, which gives the ID of a job")

    def _is_free(self, waiting: Taken) -> bool:
        is_late = self._clock() - waiting.called > LEASE_S
        return waiting.question is not None and (not waiting.lease or is_late)

    def _refuse_closed(self) -> None:
        """Stop to wait if the server ends, or if the client has cancelled its call."""
        with suppress(RuntimeError):  # not a thread of the server
            anyio.from_thread.check_cancelled()
        if self._is_closed:
            raise UsageError("the server ends", hint="start it again")


_job_of_task: ContextVar[Job] = ContextVar("job")


def _said(delta: PacketDelta) -> str:
    """Return what an event adds to a packet that a client reads first: an error, or a result."""
    if delta.set_error:
        return delta.set_error
    return delta.action.summary if delta.action else ""


class _Lost(msgspec.Struct, frozen=True):
    """A context update after the client's part was lost. Its `value` ends with the reason."""

    value: tuple[str, ...]


class _Decision(msgspec.Struct, frozen=True):
    decided_by: str


class DeskObserver(NoObserver):
    """Gives a desk the jobs of a run, and says which one asks and which has ended."""

    def __init__(self, desk: JobDesk, begun: Callable[[str], None]) -> None:
        """Create the observer. `begun` is called with the run's ID when it begins."""
        self._desk = desk
        self._begun = begun

    def planned(self, run_id: str, plan: Plan) -> None:
        self._begun(run_id)
        self._desk.plan(plan.jobs)

    def event(self, job: Job, event: Event) -> None:
        _job_of_task.set(job)
        if update_source(event) == FLOOR:
            self._desk.note(job, "lost", decode_part(event, _Lost).value[-1])
        elif event.type == ToolCalled.type:
            self._desk.note(job, "decided_by", decode_part(event, _Decision).decided_by)
        elif event.packet_delta is not None and (said := _said(event.packet_delta)):
            self._desk.note(job, "said", said)

    def ended(self, job: Job, result: AgentResult) -> None:
        self._desk.end(job, result)


class ClientModel:
    """A `Model` whose answers are the calls of MCP clients. Its name is the first client's."""

    context: int | None = CONTEXT
    capabilities = Capabilities(tools=True)

    def __init__(self, name: str, desk: JobDesk) -> None:
        self.name = name
        self.counter: TokenCounter = UsageCounter(_TYPICAL)
        self._desk = desk

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the client in a stream."""
        return {"provider": MCP, "name": self.name, "counter": self.counter.name}

    async def ask(self, request: Request) -> Answer:
        """Wait for the call of the client that has the job which asks in this task."""
        return await asyncio.wrap_future(self._desk.ask(_job_of_task.get(), request))

    async def aclose(self) -> None:
        """Do nothing, because the desk outlives the run."""


def answer_of(tool: str, arguments: dict[str, Any], client: str) -> Answer:
    """Return the answer of a client that calls a tool."""
    raw = {"client": client, "name": tool, "arguments": arguments}
    return Answer(call=ToolCall(tool=tool, args=arguments), raw=raw)
