"""Answers of the tools of jobs. The first call starts a run, whose jobs ask the clients."""

import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from hashlib import sha256
from os.path import realpath
from pathlib import Path
from typing import Any

from msgspec import structs

from remora.agents.builtin_tools import SUBMIT
from remora.agents.definition.agent import Agent, load_agents
from remora.agents.job import AgentResult, Job
from remora.agents.loop.stop_rules import MAX_BAD_CALLS
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.chat import ToolSchema
from remora.config.user_folders import make_private
from remora.errors import DiskError, ModelError, RemoraError, UsageError
from remora.mcp.answer_page import Page
from remora.mcp.jobs.desk import ClientModel, DeskObserver, JobDesk, Taken, answer_of
from remora.mcp.tool_list import ToolSpec
from remora.runs.execution.run import PreparedRun, RunRequest
from remora.runs.planning.plan import Plan
from remora.text import REPORT, bug_report_line
from remora.usecases.analyze.run_limits import RunBudget
from remora.usecases.analyze.session import open_session

MAX_CALL = 1_000_000
"""Maximum characters of the arguments of a call, as JSON."""
_AT_ONCE = 4
"""Jobs of a run, which all wait for clients (decision: others are left for other servers)."""
_STOP_S = 2.5
"""Seconds that interrupted runs have to complete their records before the process ends."""
_SETTINGS = {
    "runner.decisions": "model",
    "runner.memory.mode": "packets",
    "model.decoding": "auto",
    "model.renderer": "auto",
    "escalation.enabled": False,
}
_log = logging.getLogger("remora.mcp")


class JobAnswers:
    """Gives jobs to clients, and their calls to the jobs."""

    def __init__(self, invocation: Invocation) -> None:
        """Load the agents. Raises ConfigError if one of the project is invalid."""
        flags = {**invocation.flags, **_SETTINGS}
        self._invocation = Invocation(**{**vars(invocation), "flags": flags})
        project = open_project(self._invocation)
        self._root = project.root
        agents = load_agents(project.root, project.operations)
        tools = agent_tools(agents.values())
        self._next = next_job_tool(agents)
        self.tools: Mapping[str, ToolSpec] = {
            self._next.name: self._next,
            **tools,
            GIVE_UP.name: GIVE_UP,
        }
        self._desk = JobDesk()
        self._runs = list[_RunThread]()
        self._given = _GivenJobs(project.cache)
        self._starting = threading.Lock()

    def answer(self, tool: str, arguments: Mapping[str, Any], client: str) -> Page:
        """Answer a call of one of `tools`, by a client with a name."""
        if tool == self._next.name:
            return self._take(arguments, client)
        own = {name: value for name, value in arguments.items() if name != JOB}
        lease = arguments[JOB]
        if len(json.dumps(own)) > MAX_CALL:
            raise UsageError(f"the call has more than {MAX_CALL:,} characters", hint="write less")
        if tool == GIVE_UP.name:
            gone = ModelError(f"{client} gave up: {own['because']}")
            return self._page(self._desk.answer(lease, gone), is_new=False)
        return self._page(self._desk.answer(lease, answer_of(tool, own, client)), is_new=False)

    def close(self) -> None:
        """Interrupt all runs, and wait until their records are complete."""
        self._desk.close()
        for run in self._runs:
            run.stop()
        until = time.monotonic() + _STOP_S
        for run in self._runs:
            run.wait(until - time.monotonic())

    def _take(self, arguments: Mapping[str, Any], client: str) -> Page:
        if (lease := arguments.get(JOB)) is not None:
            return self._page(self._desk.show(lease), is_new=True)
        operation, path = arguments.get("operation"), arguments.get("path")
        fits = partial(_fits, operation, None if path is None else self._relative(path))
        taken, is_all_given = self._desk.take(fits), False
        while taken is None and not is_all_given:
            run = self._start(operation, path, client)
            taken = self._desk.take(fits)
            if taken is None and run is not None:
                run.raise_error()
                is_all_given = run.is_empty
        if taken is None:
            with_clients, ended = self._desk.counts(fits)
            said = f"No job is left here: {with_clients} with clients, {ended} ended"
            if self._given.elsewhere:
                said += f", {self._given.elsewhere} taken by other servers"
            return Page("", f"{said}.")
        return self._page(taken, is_new=True)

    def _relative(self, path: str) -> str:
        whole = Path(realpath(self._root / path))
        if not whole.is_relative_to(self._root) or not whole.exists():
            raise UsageError(f"{path} does not exist in the project", hint="use a file or folder")
        return whole.relative_to(self._root).as_posix()

    def _start(self, operation: str | None, path: str | None, client: str) -> "_RunThread | None":
        """Start a run, unless another client has just started one, which may have such jobs."""
        request = RunRequest(
            by_client=True,
            paths=() if path is None else (self._root / path,),
            operations=() if operation is None else (operation,),
            concurrency=_AT_ONCE,
        )
        model = ClientModel(client, self._desk)
        with self._starting:
            if self._desk.is_planning:
                return None
            run = _RunThread(self._invocation, request, model, self._desk, self._given)
            self._runs.append(run)
            return run

    def _page(self, taken: Taken, *, is_new: bool) -> Page:
        if taken.question is None:
            assert taken.result is not None
            return Page(taken.result.error or taken.lost, _end_text(taken, taken.result))
        messages = taken.question.messages
        words = f"{JOB} {taken.lease}"
        if is_new:
            system = "\n".join(message.content for message in messages if message.role == "system")
            words = f"{words}: call one of {', '.join(taken.question.tools)}\n{system}"
        shown = [message.content for message in messages if message.role != "system"]
        result = [] if is_new or not taken.said else [f"Result: {taken.said}"]
        return Page("\n".join([*result, *shown]), words)


def _fits(operation: str | None, path: str | None, job: Job) -> bool:
    is_there = path in (None, ".", job.path) or job.path.startswith(f"{path}/")
    return is_there and operation in (None, job.operation)


def _end_text(taken: Taken, result: AgentResult) -> str:
    how = "given up" if result.stop_reason == "model_error" else result.status
    said = f"This job has ended ({how})."
    if taken.lost and result.status == "verified":
        said = "This job has ended without your part; what rules did is verified."
    elif taken.decided_by == "fallback":
        said = f"After {MAX_BAD_CALLS} invalid calls in a row, this job was ended for you ({how})."
    return f"{said} Call next_job for another one; a person reviews {taken.job.run_id}."


class _GivenJobs:
    """The jobs that clients were given, each with the digest of its file.

    Another server of the project has jobs of its own: each job is a byte of a file that is locked
    until the server ends.
    """

    def __init__(self, folder: Path) -> None:
        self._digests = dict[tuple[str, str], str]()
        self.elsewhere = 0
        """The number of jobs of the last plan that other servers have taken."""
        try:
            make_private(folder)
            self._file = os.open(folder / "jobs.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DiskError(f"{folder}: {error.strerror}") from error

    def next_plan(self, run: PreparedRun) -> Plan:
        """Return a run's plan with the next jobs that no client was given for an unchanged file."""
        new, self.elsewhere = list[Job](), 0
        for job, digest in _digests(run):
            if self._digests.get((job.operation, job.node_id)) == digest:
                continue
            if not self._lock(job):
                self.elsewhere += 1
            else:
                new.append(job)
            if len(new) == _AT_ONCE:
                break
        return structs.replace(run.plan, jobs=new)

    def _lock(self, job: Job) -> bool:
        """Return True if the job is this server's from now on, as long as it runs."""
        name = sha256(f"{job.operation} {job.node_id}".encode()).digest()
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int.from_bytes(name[:7]))
        except (BlockingIOError, PermissionError):  # which of them depends on the system
            return False
        return True

    def add(self, run: PreparedRun) -> None:
        """Add the jobs of a run that has begun."""
        self._digests |= {(job.operation, job.node_id): digest for job, digest in _digests(run)}


def _digests(run: PreparedRun) -> Iterator[tuple[Job, str]]:
    """Yield the jobs of a run, each with the digest of its file."""
    assert run.base is not None, "a new run has a base"
    for job in run.plan.jobs:
        yield job, sha256((run.base.folder / job.path).read_bytes()).hexdigest()


class _RunThread:
    """A run in a thread of its own, whose jobs are decided by clients."""

    def __init__(
        self,
        invocation: Invocation,
        request: RunRequest,
        model: ClientModel,
        desk: JobDesk,
        given: "_GivenJobs",
    ) -> None:
        self._work = invocation, request, model, desk
        self._given = given
        self._run_id = ""
        self.is_empty = False
        """True if there was no job for the run."""
        self._budget = RunBudget()
        self._error: RemoraError | None = None
        desk.begin_planning()
        self._thread = threading.Thread(target=self._run, name="remora-jobs", daemon=True)
        self._thread.start()

    def raise_error(self) -> None:
        """Raise the error that prevented the run from starting, if any."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Interrupt the run."""
        self._budget.stop("the server ended")

    def wait(self, seconds: float) -> None:
        """Wait for the end of the run."""
        self._thread.join(max(seconds, 0))

    def _run(self) -> None:
        invocation, request, model, desk = self._work
        try:
            with open_session(invocation, request, budget=self._budget) as session:
                run = replace(session.run, plan=self._given.next_plan(session.run))
                self.is_empty = not run.plan.jobs
                if run.plan.jobs and not self._budget.spent:
                    observer = DeskObserver(desk, partial(self._note, run))
                    replace(session, run=run).execute(lambda: nullcontext(observer), model=model)
        except RemoraError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001 (a bug ends the run, not the server)
            _log.exception("a run of jobs failed")
            self._error = RemoraError(bug_report_line(error), hint=REPORT)
        finally:
            desk.end_run(self._run_id)

    def _note(self, run: PreparedRun, run_id: str) -> None:
        self._run_id = run_id
        self._given.add(run)


JOB = "job"
"""The argument with the ID that `next_job` gives."""
_GIVEN = {"type": "string"}
GIVE_UP = ToolSpec(
    "give_up",
    "End a job that you cannot do. What rules have done is kept.",
    {JOB: _GIVEN, "because": {"type": "string"}},
    (JOB, "because"),
    is_read_only=False,
)


def next_job_tool(operations: Iterable[str]) -> ToolSpec:
    """Return the tool with which a client takes a job of one of some operations."""
    return ToolSpec(
        "next_job",
        "Take the next job: a function or file of this project that needs work, what is known of "
        "it, and the tools for it. Each of their answers shows the job again. It is done when you "
        f"call {SUBMIT}; checks then judge it, and a person accepts. With `{JOB}`, show a job again.",
        {
            "operation": {"enum": [*operations]},
            "path": {"type": "string", "description": "file or folder"},
            JOB: _GIVEN,
        },
        is_read_only=False,
    )


def agent_tools(agents: Iterable[Agent]) -> Mapping[str, ToolSpec]:
    """Return the tools of some agents by name. Those of the same name become one."""
    found = dict[str, ToolSpec]()
    for agent in agents:
        for schema in agent.schemas:
            made = _tool(schema)
            known = found.get(made.name, made)
            required = tuple(name for name in made.required if name in known.required)
            properties = {**made.properties, **known.properties}
            found[made.name] = known._replace(properties=properties, required=required)
    return found


def _tool(schema: ToolSchema) -> ToolSpec:
    properties: dict[str, Any] = schema.parameters.get("properties", {})
    required = schema.parameters.get("required", ())
    return ToolSpec(
        schema.name,
        schema.description or schema.name,
        {JOB: _GIVEN, **properties},
        (JOB, *required),
        is_read_only=False,
        checked=(JOB,),
    )
