"""Plan and run the jobs of `analyze`, and print the results."""

from pathlib import Path
from typing import Any

from remora.bootstrap.api import execute
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import model_flags, open_project
from remora.bootstrap.prepare_run import prepare, too_many
from remora.bootstrap.run_limits import planned_within
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import complete_journals_of, outside_git
from remora.cli.run.foreground_run import print_isolation, print_run_results
from remora.cli.run.resume import resume
from remora.cli.views.plan_view import jobs_by_file, plan_lines, plan_size, time_estimate
from remora.cli.views.progress import run_progress
from remora.errors import UsageError
from remora.models.no_model import NoModel
from remora.models.protocol import Model
from remora.models.provider import used_provider
from remora.runs.execution.run import Run
from remora.runs.planning.run_request import RunRequest
from remora.runs.records.json_documents import plan_document


def start_run(options: Options, asked: dict[str, Any]) -> int:
    """Resume or start a run with the options of `analyze`; return the exit code."""
    if asked["resume"] is not None:
        return resume(options, asked, _flags(asked))
    if asked["trust_run"]:
        raise UsageError("--trust-run requires --resume", hint="a new run is always trusted")
    request, invocation = _request(asked), invocation_of(options, _flags(asked))
    _refuse_other_files(request.paths)
    project = open_project(invocation, request.paths)
    complete_journals_of(options, project)
    with planned_within(asked["max_time"]):
        prepared = prepare(invocation, request, project)
    try:
        return _analyze(options, invocation, prepared, request, asked)
    finally:
        prepared.close()


def _analyze(
    options: Options,
    invocation: Invocation,
    prepared: Run,
    request: RunRequest,
    asked: dict[str, Any],
) -> int:
    plan = prepared.plan
    if asked["dry_run"] or not plan.jobs:
        return _only_plan(options, prepared, request, asked["model"])
    if too_many(plan, request):
        for line in jobs_by_file(plan):
            note(options, line)
        raise UsageError(
            f"{plan_size(plan)}, {_estimate(invocation, prepared)}: exceeds the limit of 200 jobs",
            hint="use --max-nodes N for the first N nodes, or --yes for all; --dry-run lists them",
        )
    done = execute(
        invocation,
        prepared,
        watching=lambda: run_progress(options),
        connected=lambda model: _announce(options, invocation, prepared, model),
        max_time=asked["max_time"],
    )
    return print_run_results(options, done.project, done.run_id, done.stopped, announced=True)


def _announce(options: Options, invocation: Invocation, prepared: Run, model: Model) -> None:
    """Print the size of the run, its name and its model."""
    note(options, f"{plan_size(prepared.plan)}: {_estimate(invocation, prepared)}")
    note(options, f"run {prepared.run_id}, model {model.name}")
    if isinstance(model, NoModel):
        why = f"no model is installed: using rules only; {model.hint}"
        note(options, why if model.hint else "no model is configured: using rules only")
    root = prepared.project.root
    if outside_git(root):
        note(
            options,
            f"no git repository found: using {root} as the project, with records in .agentfs/",
        )
    print_isolation(options)


def _estimate(invocation: Invocation, prepared: Run) -> str:
    provider = used_provider(prepared.project.config.model, cache=invocation.folders.cache)
    return time_estimate(prepared.plan, provider)


def _only_plan(options: Options, prepared: Run, request: RunRequest, model: str | None) -> int:
    project, plan = prepared.project, prepared.plan
    named = model or project.config.model.base_url or project.config.model.name
    document = plan_document(project, prepared.run_id, plan, named)
    lines = plan_lines(prepared, document, request.paths, verbose=options.verbose)
    emit(options, document, lines)
    return 0


def _refuse_other_files(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if path.is_file() and path.suffix != ".py":
            raise UsageError(
                f"{path} is not a Python file", hint="use .py files, or folders with .py files"
            )


def _request(asked: dict[str, Any]) -> RunRequest:
    names = ("node", "changed", "max_nodes", "yes", "concurrency", "unsafe_fixes", "max_turns")
    paths: tuple[Path, ...] = asked["paths"]
    return RunRequest(
        paths=paths,
        operations=asked["operations"],
        seed=asked["seed"],
        **{name: asked[name] for name in names},
    )


def _flags(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options that override the configuration."""
    return {
        "model.max_concurrency": asked["concurrency"],
        "workspace.allow_unsandboxed": True if asked["allow_unsandboxed"] else None,
        **model_flags(asked["model"]),
    }
