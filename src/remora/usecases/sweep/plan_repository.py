"""Plans one repository of a sweep. A sweep starts this module as a process per repository."""

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.project_interpreter import (
    check_interpreter,
    check_tests_start,
    interpreter_for,
)
from remora.errors import OutsideError, RemoraError, UsageError
from remora.files.git import git_output
from remora.files.git_clone import is_bare, update_clone
from remora.memory.events import RunEnd
from remora.models.protocol import NoModel
from remora.models.provider import model_is_optional, used_provider
from remora.runs.execution.agent_settings import driven_operations
from remora.runs.execution.execute import keep_base, record_start
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.planning.plan import Plan
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.run_stream import open_run
from remora.runs.review.recovery import recover
from remora.usecases.analyze.execute_plan import (
    check_models,
    connect_own_models,
    create_records,
    model_for,
    settings_to_record,
)
from remora.usecases.analyze.prepare_run import NO_ENVIRONMENT, prepare
from remora.usecases.analyze.run_limits import close_models
from remora.usecases.sweep.earlier_sweep import (
    SWEEP,
    EarlierSweep,
    find_earlier_sweep,
    sweep_settings,
)
from remora.usecases.sweep.repository_plan import (
    FAILED,
    NOTHING,
    PLANNED,
    UNCHANGED,
    PlanTask,
    RepositoryPlan,
)
from remora.workspaces.copy.snapshot import BaseSnapshot


def plan_repository(task: PlanTask, environ: Mapping[str, str]) -> RepositoryPlan:
    """Update the clone, plan the jobs, and record the plan if the task asks for it."""
    repository = task.repository
    try:
        if repository.url:
            update_clone(repository.url, repository.ref, Path(repository.clone), environ)
        if not repository.root.is_dir():
            raise UsageError(
                f"{repository.root} is not a folder", hint="correct the list of repositories"
            )
        if is_bare(repository.root):
            raise UsageError(
                f"{repository.root} is a bare repository, which has no files",
                hint=f"list it by its address: file://{repository.root.resolve()}",
            )
        invocation = Invocation(
            environ=environ, folder=repository.root, root=repository.root, flags=task.flags
        )
        return _plan(task, invocation)
    except RemoraError as error:
        return RepositoryPlan(
            name=repository.name,
            root=str(repository.root),
            state=FAILED,
            error=error.message,
            hint=error.hint,
        )


def _plan(task: PlanTask, invocation: Invocation) -> RepositoryPlan:
    project = open_project(invocation)
    recover(project)
    names = task.request.operations or project.operations.defaults
    request = replace(task.request, operations=names)
    own = sweep_settings(task, request.operations)
    uncommitted = _uncommitted(project)
    commit = _commit(project) if uncommitted == 0 else None
    earlier = None if task.full else find_earlier_sweep(project, request, own, commit)
    if earlier is not None and earlier.left_out and _has_environment(invocation, project):
        earlier = None
    if earlier is not None and earlier.covers(commit):
        return _result(task, project, UNCHANGED, commit, earlier)
    if earlier is not None:
        request = replace(request, since=earlier.commit, also=earlier.unfinished)
    prepared = prepare(invocation, request, project, run_id=task.run_id, plan_only=not task.records)
    try:
        if task.records:
            _record(invocation, prepared, own)
        state = PLANNED if prepared.plan.jobs else NOTHING
        found = _result(task, project, state, commit, earlier, prepared)
        return msgspec.structs.replace(found, uncommitted=uncommitted or 0)
    finally:
        prepared.close()


def _has_environment(invocation: Invocation, project: Project) -> bool:
    try:
        interpreter_for(invocation, project.root, project.config)
    except RemoraError:
        return False
    return True


def _left_out(plan: Plan) -> dict[str, int]:
    """Return the number of nodes that are left for lack of an environment, by operation."""
    left = {name: reasons.get(NO_ENVIRONMENT, ()) for name, reasons in plan.left_nodes.items()}
    return {name: len(nodes) for name, nodes in left.items() if nodes}


def _uncommitted(project: ProjectRecords) -> int | None:
    """Return the number of changed and untracked files and folders, or None if git fails."""
    try:
        return len(git_output(project.root, "status", "--porcelain", "--", ".").splitlines())
    except OutsideError:
        return None


def _commit(project: ProjectRecords) -> str | None:
    """Return the commit of the work tree, or None without git."""
    try:
        return git_output(project.root, "rev-parse", "--verify", "HEAD").decode().strip()
    except OutsideError:
        return None


def _record(invocation: Invocation, prepared: PreparedRun, own: Mapping[str, Any]) -> None:
    """Record the plan as a run that has not begun any job, or has ended if it has none.

    Errors that would prevent its jobs from starting are raised before anything is recorded.
    """
    project, base, jobs = prepared.project, prepared.base, prepared.plan.jobs
    assert base is not None, "a new run has a base"
    own = {**own, "left_out": sorted(_left_out(prepared.plan))}
    settings = {**_checked_settings(invocation, prepared, base), SWEEP: own}
    create_records(project)
    keep_base(project, base)
    with open_run(project, prepared.run_id) as stream:
        if stream.head.count:
            raise UsageError(
                f"the run {prepared.run_id} is already recorded for this project",
                hint="with trace_store: postgres, clones of one repository share their records; "
                "list only one of them",
            )
        record_start(stream, project, prepared.plan, settings, base)
        if not jobs:
            stream.append(RunEnd(totals={"jobs": 0}))


def _checked_settings(
    invocation: Invocation, prepared: PreparedRun, base: BaseSnapshot
) -> dict[str, Any]:
    """Return the settings to record, after checking what the jobs need."""
    if not prepared.plan.jobs:
        return settings_to_record(prepared, NoModel())
    check_interpreter(prepared.project, prepared.python, prepared.agents.values())
    check_tests_start(prepared.project, base.folder, prepared.python, prepared.planned_agents)
    model = model_for(invocation, prepared)
    models = {model.name: model}
    try:
        models |= connect_own_models(invocation, prepared, model)
        check_models(prepared, models, model)
    finally:
        close_models(models.values())
    return settings_to_record(prepared, model)


def _result(
    task: PlanTask,
    project: Project,
    state: str,
    commit: str | None,
    earlier: EarlierSweep | None,
    prepared: PreparedRun | None = None,
) -> RepositoryPlan:
    plan = Plan() if prepared is None else prepared.plan
    driven = frozenset[str]() if prepared is None else _driven_operations(project, prepared)
    return RepositoryPlan(
        name=task.repository.name,
        root=str(project.root),
        state=state,
        commit=commit,
        nodes=plan.nodes,
        jobs=Counter(job.operation for job in plan.jobs),
        findings=plan.findings,
        left_out=_left_out(plan),
        unreadable=len(plan.unreadable),
        with_model=sum(job.operation in driven for job in plan.jobs),
        seconds=plan.seconds,
        since="" if earlier is None else earlier.run_id,
    )


def _driven_operations(project: Project, prepared: PreparedRun) -> frozenset[str]:
    """Return the operations in which a model chooses the tool calls, as `model_for` connects it."""
    config, proved = project.config, prepared.request.proved
    provider = used_provider(config.model, cache=project.cache.parents[1])
    agents = prepared.agents.values()
    driven = driven_operations(agents, config, provider, proved, config.model.name)
    if provider == "embedded" and model_is_optional(config.model):
        operations = project.operations
        driven -= {operation.name for operation in operations.all} - operations.replaced
    return driven


def main() -> None:
    """Read a PlanTask from stdin, and write its RepositoryPlan to stdout, both as JSON.

    SIGTERM, or the end of the driver, ends the process after it has removed its files.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=PlanTask)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    result = msgspec.json.encode(plan_repository(task, os.environ))
    sys.stdout.buffer.write(result)


def _end_with_driver() -> None:
    """End this process when its standard input closes, because its driver has ended."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
