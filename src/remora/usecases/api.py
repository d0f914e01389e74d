"""Remora's commands as Python functions, except verdicts. They print nothing.

`root` is the project's folder, or an open Project such as `RunResult.project`, whose operations are
then used. The default is the project that contains the current directory. `run` is a run ID, a
unique prefix of an ID, or `last`. Errors are raised as RemoraError with a message and a hint.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from remora.bootstrap.invocation import model_flags, run_flags
from remora.bootstrap.open_project import invocation_for, open_with
from remora.errors import UsageError
from remora.ids import LAST
from remora.operations.base import Operations
from remora.runs.continuation.fork import ForkResult
from remora.runs.execution.run import RunObserver, RunRequest
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.records.name_lookup import run_named, stream_named
from remora.runs.records.results import own_run, read_run
from remora.runs.records.run_record import read_own_record
from remora.runs.report.report_builder import make_report
from remora.runs.report.report_formats import FORMATS
from remora.runs.report.report_model import Report
from remora.text import as_texts
from remora.usecases.analyze.resume_run import continue_run, resume_recorded
from remora.usecases.analyze.run_limits import RunBudget
from remora.usecases.analyze.session import (
    NO_OBSERVER,
    RunResult,
    open_session,
    require_model,
)
from remora.usecases.analyze.start_fork import ForkRequest, fork_with_model
from remora.usecases.analyze.start_retry import start_retry


def plan(
    *paths: str | Path,
    root: str | Path | Project | None = None,
    operations: Sequence[str] = (),
    node: str | None = None,
    changed: str | None = None,
    max_nodes: int | None = None,
    known: Operations | None = None,
) -> Plan:
    """Return the jobs that `analyze` would run with the same arguments.

    No model is needed, and nothing is recorded.
    """
    request = RunRequest(
        paths=tuple(map(Path, paths)),
        operations=as_texts(operations),
        node=node,
        changed=changed,
        max_nodes=max_nodes,
    )
    with open_session(invocation_for(root, known=known), request, plan_only=True) as session:
        return session.run.plan


def analyze(  # noqa: PLR0913 (one keyword for each option of the command)
    *paths: str | Path,
    root: str | Path | Project | None = None,
    operations: Sequence[str] = (),
    node: str | None = None,
    changed: str | None = None,
    max_nodes: int | None = None,
    model: str | None = None,
    concurrency: int | None = None,
    unsafe_fixes: bool = False,
    select: Sequence[str] = (),
    decisions: Literal["rules", "model"] | None = None,
    opening: bool = True,
    gates: Literal["all", "static", "none"] = "all",
    max_turns: int | None = None,
    max_time: float | None = None,
    max_requests: int | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    allow_unsandboxed: bool = False,
    allow_addresses: Sequence[str] = (),
    known: Operations | None = None,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Plan jobs for `paths` (default: the whole project) and run them on private copies.

    The project's files do not change until `accept` is called.

    - `node` is a glob for `path:qualname`.
    - `changed` is a revision. An empty string means HEAD.
    - `model` is the name of a model or the address of a server, and decides unless told otherwise.
    - `select` contains the ruff rules to check instead of the project's, such as `F` or `default`.
    - `decisions` is who chooses the tool calls, and with `opening`, rules first do what they are
      sure of.
    - `max_time` is in seconds. `max_requests` and `max_tokens` limit the requests of the run to
      models, and the tokens of their prompts. A run that reaches a limit can be resumed.
    - `allow_addresses` contains addresses of model servers that the project's file may choose.
    - `known` contains all available operations, for example `BUILT_IN | MINE`. By default, only the
      built-in operations are available.
    """
    request = RunRequest(
        paths=tuple(map(Path, paths)),
        operations=as_texts(operations),
        node=node,
        changed=changed,
        max_nodes=max_nodes,
        concurrency=concurrency,
        unsafe_fixes=unsafe_fixes,
        max_turns=max_turns,
        seed=seed,
    )
    named = as_texts(allow_addresses)
    flags = run_flags(model, allow_unsandboxed, as_texts(select), named, decisions, opening, gates)
    budget = RunBudget(seconds=max_time, requests=max_requests, tokens=max_tokens)
    invocation, project = open_with(root, flags, known, request.paths)
    require_model(invocation, project.config)
    with open_session(invocation, request, project, budget=budget) as session:
        return session.execute(lambda: nullcontext(observer))


def resume(  # noqa: PLR0913 (one keyword for each option of the command)
    run: str = LAST,
    *,
    root: str | Path | Project | None = None,
    model: str | None = None,
    concurrency: int | None = None,
    max_time: float | None = None,
    max_requests: int | None = None,
    max_tokens: int | None = None,
    allow_unsandboxed: bool = False,
    allow_addresses: Sequence[str] = (),
    trust_run: bool = False,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Run the remaining jobs of an interrupted run. Finished jobs are not repeated.

    `model` is the address of a server that serves the run's model.
    """
    flags = run_flags(model, allow_unsandboxed, allow_addresses=as_texts(allow_addresses))
    invocation, project = open_with(root, flags)
    record = read_own_record(project, run_named(project.trace, run), trusted=trust_run)
    return resume_recorded(
        invocation,
        project,
        record,
        model=model,
        concurrency=concurrency,
        budget=RunBudget(seconds=max_time, requests=max_requests, tokens=max_tokens),
        watching=lambda: nullcontext(observer),
    )


def retry(  # noqa: PLR0913 (one keyword for each option of the command)
    run: str,
    node: str,
    *,
    feedback: str | None = None,
    root: str | Path | Project | None = None,
    model: str | None = None,
    max_time: float | None = None,
    allow_unsandboxed: bool = False,
    trust_run: bool = False,
    observer: RunObserver = NO_OBSERVER,
) -> RunResult:
    """Run the jobs of a node again on the current version of its file, with optional feedback.

    `model` has the same meaning as in `resume`.
    """
    invocation, project = open_with(root, run_flags(model, allow_unsandboxed))
    view = own_run(project, run, trusted=trust_run)
    wanted, models = start_retry(invocation, project, view, node, feedback=feedback)
    budget = RunBudget(seconds=max_time)
    return continue_run(wanted, models, lambda: nullcontext(observer), budget)


def fork(
    agent: str,
    turn: int,
    *,
    model: str | None = None,
    root: str | Path | Project | None = None,
    trust_run: bool = False,
) -> ForkResult:
    """Create another attempt that starts at a turn of an agent. Use `resume` to run it.

    `agent` is an agent ID, a unique prefix of an ID, or the function that the agent worked on.
    """
    invocation, project = open_with(root, model_flags(model))
    request = ForkRequest(
        agent_id=stream_named(project.trace, agent),
        turn=turn,
        trusted=trust_run,
    )
    return fork_with_model(invocation, project, request, configured=model is not None)


def report(
    run: str = LAST, *, root: str | Path | Project | None = None, raw: bool = False
) -> Report:
    """Return the report of a run. Use `render` to format it.

    The report is redacted unless `raw` is true.
    """
    _, project = open_with(root)
    return make_report(project, read_run(project, run_named(project.trace, run)), raw=raw)


def render(found: Report, form: Literal["md", "sarif", "json"] = "md") -> str:
    """Return a report as a string in the given format."""
    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}", hint=f"use one of: {', '.join(FORMATS)}")
    return FORMATS[form](found)
