"""`analyze`: plan, run, say what became of it."""

from math import isnan
from pathlib import Path
from typing import Any

import click

from remora.bootstrap.invocation import Caller
from remora.bootstrap.open_project import connect_model, model_flags, open_project
from remora.bootstrap.prepare_run import prepare, too_many
from remora.bootstrap.run_factory import carry_out, connect_own_models
from remora.bootstrap.test_interpreter import require_tests
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import complete, outside_git
from remora.cli.run.resume import resume
from remora.cli.run.running import planned_within, report, tell_isolation, to_its_end
from remora.cli.views.plan_view import by_file, estimate, plan_lines, shape
from remora.cli.views.progress import watching
from remora.errors import DiskError, UsageError
from remora.models.no_model import NoModel
from remora.runs.execution.run import Run
from remora.runs.planning.request import RunRequest
from remora.runs.records.documents import plan_document
from remora.trace.stream.line_builder import utc_now

_POSITIVE = click.IntRange(min=1, max=1_000_000)
_SEED = click.IntRange(min=0, max=2**32 - 2)  # llama.cpp's range; its last number means "any"


def _number(_context: click.Context, _parameter: click.Parameter, value: float | None) -> Any:
    if value is not None and isnan(value):
        raise click.BadParameter("not a number")
    return value


@command(
    "analyze",
    examples=(
        "remora analyze src/ -o lint",
        "remora analyze --changed=main --unsafe-fixes",
        "remora analyze --node 'shop/*:load_*' --model http://127.0.0.1:8080/v1",
        "remora analyze --dry-run --json",
        "remora analyze --resume last",
    ),
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PATH)
@click.option(
    "-o", "--operation", "operations", metavar="OP", multiple=True,
    help="What to do; may be repeated. lint and docstring if left out; `remora agents list` names "
    "all.",
)  # fmt: skip
@click.option("--node", metavar="GLOB", help="Only nodes whose path:qualname or qualname fits.")
@click.option(
    "--changed", is_flag=False, flag_value="", metavar="[REV]",
    help="Only nodes that differ from a git revision (HEAD if none is given: put it last, or "
    "write --changed=REV).",
)  # fmt: skip
@click.option("--max-nodes", type=_POSITIVE, metavar="N", help="Work on the first N at most.")
@click.option("--yes", is_flag=True, help="Go on even with more than 200 jobs.")
@click.option("--model", "model", metavar="M", help="A model's name, or a server's address.")
@click.option("--concurrency", type=_POSITIVE, metavar="N", help="Jobs at one time.")
@click.option(
    "--engine", type=click.Choice(["local"]), default="local", show_default=True,
    help="Where the jobs run.",
)  # fmt: skip
@click.option("--unsafe-fixes", is_flag=True, help="Let the model choose unsafe fixes too.")
@click.option(
    "--allow-unsandboxed", is_flag=True,
    help="Consent to run the project's code where its isolation is below level 2.",
)  # fmt: skip
@click.option("--max-turns", type=_POSITIVE, metavar="N", help="Turns of one job at most.")
@click.option(
    "--max-time", type=click.FloatRange(min=0, min_open=True), callback=_number, metavar="S",
    help="Stop after S seconds; jobs under way are then interrupted.",
)  # fmt: skip
@click.option("--seed", type=_SEED, metavar="N", help="For sampling and for tools.")
@click.option("--dry-run", is_flag=True, help="Only plan; no model is needed.")
@click.option(
    "--resume", metavar="RUN",
    help="Go on with a run that was interrupted: what is done stays done. With --model, "
    "--concurrency and --max-time only.",
)  # fmt: skip
@click.option(
    "--trust-run", is_flag=True,
    help="With --resume: even if this installation did not start the run.",
)  # fmt: skip
def analyze(options: Options, **asked: Any) -> int:
    """Plan the jobs, run them, and show what they would change.

    Each function, class and module under PATH (default: the whole project) that needs work
    becomes a job with an agent of its own, on a private copy. Nothing of yours is touched:
    `remora accept` does that. Ctrl-C is safe at any time: --resume does the rest.
    """
    if asked["resume"] is not None:
        return resume(options, asked, _flags(asked))
    if asked["trust_run"]:
        raise UsageError("--trust-run goes with --resume", hint="a new run is yours")
    wish, caller = _wish(asked), caller_of(options, _flags(asked))
    _refuse_other_files(wish.paths)
    project = open_project(caller, wish.paths)
    complete(options, project)
    with planned_within(asked["max_time"]):
        prepared = prepare(caller, wish, project)
    try:
        return _analyze(options, caller, prepared, wish, asked)
    finally:
        prepared.close()


def _analyze(
    options: Options, caller: Caller, prepared: Run, wish: RunRequest, asked: dict[str, Any]
) -> int:
    plan = prepared.plan
    if asked["dry_run"] or not plan.jobs:
        return _only_plan(options, prepared, wish, asked["model"])
    if too_many(plan, wish):
        for line in by_file(plan):
            note(options, line)
        raise UsageError(
            f"{shape(plan)}, {estimate(plan)}: more than are run unasked",
            hint="--max-nodes N takes the first N nodes, --yes all; --dry-run lists them",
        )
    require_tests(prepared.python)
    model = connect_model(caller, prepared.project.config)
    own = connect_own_models(caller, prepared, model)
    _make_records(prepared)
    note(options, f"{shape(plan)}: {estimate(plan)}")
    note(options, f"run {prepared.run_id}, model {model.name}")
    if isinstance(model, NoModel):
        note(options, f"no model is installed: rules decide alone; {model.hint}".rstrip("; "))
    if outside_git(prepared.project.root):
        note(
            options,
            f"no git here: the project is {prepared.project.root}, records go to .agentfs/",
        )
    tell_isolation(options)
    with watching(options) as watcher:
        stopped = to_its_end(
            lambda: carry_out(prepared, model, wish, watcher, utc_now, own),
            (model, *own.values()),
            asked["max_time"],
        )
    return report(options, prepared.project, prepared.run_id, stopped, announced=True)


def _only_plan(options: Options, prepared: Run, wish: RunRequest, model: str | None) -> int:
    project, plan = prepared.project, prepared.plan
    named = model or project.config.model.base_url or project.config.model.name
    document = plan_document(project, prepared.run_id, plan, named)
    lines = plan_lines(prepared, document, wish.paths, verbose=options.verbose)
    emit(options, document, lines)
    return 0


def _make_records(prepared: Run) -> None:
    """The folder for the streams, before anything else is begun."""
    try:
        prepared.project.trace.create()
    except DiskError as error:
        raise DiskError(
            error.message,
            hint="runs are recorded in the project's root: make it writable, or work on a copy",
        ) from error


def _refuse_other_files(paths: tuple[Path, ...]) -> None:
    for path in paths:
        if path.is_file() and path.suffix != ".py":
            raise UsageError(
                f"{path} is no Python file", hint="name .py files, or folders that hold some"
            )


def _wish(asked: dict[str, Any]) -> RunRequest:
    names = ("node", "changed", "max_nodes", "yes", "concurrency", "unsafe_fixes", "max_turns")
    paths: tuple[Path, ...] = asked["paths"]
    return RunRequest(
        paths=paths,
        operations=asked["operations"],
        seed=asked["seed"],
        **{name: asked[name] for name in names},
    )


def _flags(asked: dict[str, Any]) -> dict[str, Any]:
    """What overrides the configuration."""
    return {
        "model.max_concurrency": asked["concurrency"],
        "workspace.allow_unsandboxed": True if asked["allow_unsandboxed"] else None,
        **model_flags(asked["model"]),
    }
