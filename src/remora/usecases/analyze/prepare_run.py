"""Prepares a run: copies the project's files, loads the agents and plans the jobs."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from os.path import realpath
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from remora.agents.definition.agent import Agent, agent_named, load_agents
from remora.bootstrap.invocation import Invocation, path_hint
from remora.bootstrap.open_project import open_project
from remora.bootstrap.project_interpreter import python_for_some
from remora.config.schema import Config
from remora.errors import UsageError
from remora.files.patterns import IgnoreRules
from remora.files.project_files import ProjectFiles, project_files
from remora.files.project_root import is_project
from remora.hub.coverage_file import read_coverage
from remora.ids import stamp_of
from remora.models.protocol import MCP
from remora.models.provider import used_provider
from remora.operations.base import Operations
from remora.python_text import is_notebook
from remora.rmtree import try_remove_tree
from remora.runs.execution.agent_settings import driven_operations, is_guided, selected_rules_of
from remora.runs.execution.run import PreparedRun, RunRequest, options_for
from remora.runs.planning.changed_nodes import changed_nodes
from remora.runs.planning.plan import (
    MAX_JOBS,
    AgentWithOptions,
    Plan,
    Selection,
    make_plan,
    without_operations,
)
from remora.runs.planning.source_files import Source, read_modules, with_reasons
from remora.runs.project import Project, ProjectRecords
from remora.runs.retention.unused_copies import record_project_path, remove_idle_bases
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree
from remora.trace.stream.line_builder import utc_now
from remora.trace.trace_folder import stream_id
from remora.usecases.analyze.remote_workers import workers_for
from remora.usecases.hub.fact_source import fact_source
from remora.workspaces.copy.scan import is_in_tool_cache
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base

_STAMP = "%Y%m%d-%H%M%S"
"""The time in the ID of a run."""
_BY_RULES = 0.2
"""Seconds for a job of a project's own agent, on two idle cores with two jobs at a time."""
_START = 1.0
"""Seconds until the first job works."""
_NO_ENVIRONMENT = "without an environment; activate the project's, or set `python` in remora.yaml"


def prepare(
    invocation: Invocation,
    request: RunRequest,
    project: Project | None = None,
    *,
    plan_only: bool = False,
) -> PreparedRun:
    """Copy the project's files and plan a run.

    No model is needed, and no code of the project runs. `project` is the result of
    `open_project(invocation, request.paths)`, if the caller has already opened the project. With
    `plan_only`, the project's interpreter may be missing. If it is missing otherwise, the jobs of
    the agents that need it are left out, unless all agents need it.
    """
    project = project or open_project(invocation, request.paths)
    refuse_whole_disk(project.root)
    workers = workers_for(project, request.engine)
    by_operation = agents_for(project, request.operations or project.operations.defaults)
    agents = tuple(by_operation.values())
    run_id, config = next_run_id(project), project.config
    python, left_out = python_for_some(invocation, project, agents, plan_only=plan_only)
    used = used_provider(config.model, cache=invocation.folders.cache)
    provider = MCP if request.by_client else used
    driven = driven_operations(agents, config, provider)
    facts = fact_source(invocation, project, is_read=bool(driven) and not plan_only)
    files, base = copy_project(project, run_id)
    ruff = RuffBase(base.folder, selected_rules_of(config))
    try:
        source, selection = _select_copied(invocation, request, project, base, files)
        options = {
            **_reached_by_tests(project, source),
            "python": python,
            "guided": is_guided(config, provider),
            "named": _is_named(invocation, request),
        }
        work = [_with_options(agent, config, request, driven, options) for agent in agents]
        place = ToolTree(base.folder, ruff=partial(Ruff, base=ruff))
        plan = make_plan(run_id, place, source, work, project.operations.needs, selection)
        plan = without_operations(plan, left_out, _NO_ENVIRONMENT)
        plan = replace(plan, seconds=expected_seconds(plan, project.operations, driven))
    except BaseException:
        ruff.close()
        try_remove_tree(base.folder)
        raise
    return PreparedRun(
        run_id=run_id,
        project=project,
        request=request,
        plan=plan,
        agents=by_operation,
        source=facts,
        base=base,
        ruff=ruff,
        python=python,
        workers=workers,
    )


def copy_project(project: Project, name: str) -> tuple[ProjectFiles, BaseSnapshot]:
    """Copy a project's files to a folder in the cache, and return their list and the copy.

    Copies that commands left there are removed.
    """
    remove_idle_bases(project, utc_now())
    record_project_path(project)
    # the copy is of the whole project: `exclude` only limits what agents work on
    files = project_files(project.root, include=project.config.workspace.include)
    return files, take_base(project.root, files, project.cache / "bases" / name)


def _reached_by_tests(project: Project, source: Source) -> dict[str, Any]:
    """Return the option that names what tests run, as far as coverage was measured."""
    coverage = read_coverage(project.root, [module.path for module in source.modules])
    return {"reached_by_tests": frozenset(coverage.tests if coverage else ())}


def _is_named(invocation: Invocation, request: RunRequest) -> bool:
    """Return True if the user named a node or a file to work on."""
    files = (Path(invocation.folder, path).is_file() for path in request.paths)
    return request.node is not None or any(files)


def _with_options(
    agent: Agent,
    config: Config,
    request: RunRequest,
    driven: Collection[str],
    options: Mapping[str, Any],
) -> AgentWithOptions:
    """Return an agent with the options that its scripts receive."""
    operation = agent.definition.operation
    own = options_for(config, operation, request)
    return AgentWithOptions(agent, {**own, **options, "open": operation in driven})


def select_source(
    invocation: Invocation, request: RunRequest, project: Project, tree: Path, files: Sequence[str]
) -> tuple[Source, Selection]:
    """Parse the requested files of a tree, and return them with the selection of nodes."""
    paths = tuple(path_in_project(project.root, path, invocation.folder) for path in request.paths)
    for path in _without_excluded(paths, project.config.exclude):
        if is_notebook(path) and (project.root / path).is_file():
            raise UsageError(
                f"{path} is a notebook, which Remora does not read",
                hint="use .py files, or folders",
            )
    selection = Selection(node=request.node, keys=request.keys, max_nodes=request.max_nodes)
    searched = files if request.keys is None or request.keys else ()
    source = read_modules(tree, _without_excluded(searched, project.config.exclude), paths)
    if request.changed is not None:
        changed = changed_nodes(project.root, tree, request.changed or "HEAD", source)
        selection = replace(selection, changed=changed)
    return source, selection


def _select_copied(
    invocation: Invocation,
    request: RunRequest,
    project: Project,
    base: BaseSnapshot,
    files: ProjectFiles,
) -> tuple[Source, Selection]:
    """Return the result of `select_source` for a base, with the files that could not be copied."""
    copied = base.files.keys() & files.paths  # the base also has small ignored files
    looked_for = sorted(copied.union(_existing_files(project.root, files.paths)))
    source, selection = select_source(invocation, request, project, base.folder, looked_for)
    return with_reasons(source, base.left_out), selection


def refuse_whole_disk(root: Path) -> None:
    """Raise UsageError if `root` is the root of the file system and does not contain a project."""
    if root == Path(root.anchor) and not is_project(root):
        raise UsageError(
            f"{root} is the root of the file system, not a project",
            hint="run this in your project, or select its root with --root",
        )


def agents_for(project: ProjectRecords, names: Sequence[str]) -> dict[str, Agent]:
    """Return the agents with the given names or operations, by operation.

    Raises UsageError if any is unknown.
    """
    known = load_agents(project.root, project.operations, names)
    named = [agent_named(known, name) for name in names]
    return {agent.definition.operation: agent for agent in named}


def too_many(plan: Plan, request: RunRequest) -> bool:
    return len(plan.jobs) > MAX_JOBS and request.max_nodes is None and not request.yes


def expected_seconds(plan: Plan, operations: Operations, driven: Collection[str]) -> float | None:
    """Return the expected seconds of all jobs, of which two run at a time.

    Returns None if a model decides in some of them, which are those of the operations in `driven`.
    """
    known = {operation.name: operation for operation in operations.all}
    jobs, amounts = Counter[str](), Counter[str]()
    for job in plan.jobs:
        jobs[job.operation] += 1
        amounts[job.operation] += plan.amounts[job.agent_id]
    total = _START if plan.jobs else 0.0
    for name, number in jobs.items():
        operation = known.get(name)
        if name in driven:
            return None
        if operation is None:
            total += number * _BY_RULES
        else:
            total += number * operation.job_seconds + amounts[name] * operation.unit_seconds
            total += operation.shared_seconds
    return round(total, 1)


def next_run_id(project: ProjectRecords) -> str:
    """Return a unique run ID, such as `20260131-093000-1f2e3d`, that comes after the known ones.

    If the clock has gone back, the ID has the time of the newest run, and a second more.
    """
    stamp = f"{datetime.now(UTC):{_STAMP}}"
    newest = max((stamp_of(stream_id(path)) for path in project.trace.run_streams()), default="")
    if newest >= stamp:
        with suppress(ValueError, OverflowError):  # it is no time, or the last one
            stamp = f"{datetime.strptime(newest, _STAMP) + timedelta(seconds=1):{_STAMP}}"  # noqa: DTZ007
    return f"{stamp}-{secrets.token_hex(3)}"


def path_in_project(root: Path, path: Path, folder: Path) -> str:
    """Return a typed path relative to the root. Raises UsageError if it is not in the project."""
    absolute = Path(realpath(folder / path))
    if not absolute.is_relative_to(root):
        raise UsageError(
            f"{path} is outside the project {root}", hint="use --root to select another project"
        )
    if not absolute.exists():
        raise UsageError(f"{path} does not exist", hint=path_hint(path, folder))
    return absolute.relative_to(root).as_posix()


def _existing_files(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the files that still exist, except symbolic links and cache files of tools."""
    return [
        path
        for path in paths
        if (root / path).is_file() and not (root / path).is_symlink() and not is_in_tool_cache(path)
    ]


def _without_excluded(paths: Iterable[str], exclude: Sequence[str]) -> list[str]:
    rules = IgnoreRules()
    rules.add("", "\n".join(exclude))
    return [path for path in paths if not rules.ignores(path)]
