"""From what is asked for to a planned run: its base, its agents, its jobs."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from os.path import realpath
from pathlib import Path

from remora.agents.definition.agent import Agent, agent_named, load_agents
from remora.bootstrap.hub_facts import fact_source
from remora.bootstrap.invocation import Caller, instead_of
from remora.bootstrap.open_project import open_project
from remora.bootstrap.run_factory import listeners_for
from remora.bootstrap.test_interpreter import python_for
from remora.errors import UsageError
from remora.files.patterns import IgnoreRules
from remora.files.project_files import project_files
from remora.runs.execution.run import Run
from remora.runs.planning.changed_nodes import changed_nodes
from remora.runs.planning.plan import MAX_JOBS, Plan, Selection, make_plan, read_modules
from remora.runs.planning.request import RunRequest
from remora.runs.project import Project
from remora.runs.retention.orphaned_bases import remove_leftovers
from remora.runs.retention.orphaned_copies import note_root
from remora.sandbox.child.rmtree import try_remove_tree
from remora.trace.stream.line_builder import utc_now
from remora.workspaces.copy.driver_choice import require_driver
from remora.workspaces.copy.scan import is_in_tool_cache
from remora.workspaces.copy.snapshot import take_base


def prepare(caller: Caller, wish: RunRequest, project: Project | None = None) -> Run:
    """Take the base and plan the run; no model is needed, nothing of the project is run.

    `project` is what `open_project(caller, wish.paths)` gave, where that was called before.
    """
    project = project or open_project(caller, wish.paths)
    _refuse_whole_disk(project.root)
    require_driver(project.config.workspace.driver, project.cache)
    agents = agents_for(project, wish.operations or project.operations.defaults)
    run_id = new_run_id()
    config = project.config
    python = python_for(caller, project, agents)
    remove_leftovers(project, utc_now())
    note_root(project)
    # the base is all of the project: `exclude` only says what agents leave alone
    files = project_files(project.root, include=config.workspace.include)
    base = take_base(project.root, files, project.cache / "bases" / run_id)
    try:
        paths = tuple(_relative(project.root, path, caller.folder) for path in wish.paths)
        selection = Selection(paths=paths, node=wish.node, max_nodes=wish.max_nodes)
        # a file that could not be copied is looked for all the same, so that it is told of
        looked_for = sorted({*base.files, *_still_there(project.root, files.paths)})
        source = read_modules(base.folder, _included(looked_for, config.exclude), selection)
        if wish.changed is not None:
            changed = changed_nodes(project.root, base.folder, wish.changed or "HEAD", source)
            selection = Selection(
                paths=paths, node=wish.node, max_nodes=wish.max_nodes, changed=changed
            )
        plan = make_plan(run_id, base.folder, source, agents, project.operations.needs, selection)
    except BaseException:
        try_remove_tree(base.folder)
        raise
    return Run(
        run_id=run_id,
        project=project,
        request=wish,
        plan=plan,
        agents={agent.definition.operation: agent for agent in agents},
        source=fact_source(caller, project),
        base=base,
        python=python,
        listeners=listeners_for(caller, config),
    )


def _refuse_whole_disk(root: Path) -> None:
    """Raise UsageError for the root of the file system, unless something says it is a project."""
    marks = (".git", "remora.yaml", "pyproject.toml")
    if root == Path(root.anchor) and not any((root / mark).exists() for mark in marks):
        raise UsageError(
            f"{root} is the whole file system, not a project",
            hint="name a folder of your project, or its root with --root",
        )


def agents_for(project: Project, names: Sequence[str]) -> tuple[Agent, ...]:
    """Return the agents of these operations. Raises NotFound for an unknown one."""
    known = load_agents(project.root, project.operations, names)
    named = [agent_named(known, name) for name in names]
    return tuple({agent.definition.operation: agent for agent in named}.values())


def too_many(plan: Plan, wish: RunRequest) -> bool:
    """Whether somebody should say so before this many jobs are run."""
    return len(plan.jobs) > MAX_JOBS and wish.max_nodes is None and not wish.yes


def new_run_id() -> str:
    """Sorts by time, and is unlike any other: `20260131-093000-1f2e3d`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _relative(root: Path, path: Path, folder: Path) -> str:
    absolute = Path(realpath(folder / path))
    if not absolute.is_relative_to(root):
        raise UsageError(
            f"{path} lies outside the project {root}", hint="--root names another project"
        )
    if not absolute.exists():
        raise UsageError(f"{path} does not exist", hint=instead_of(path, folder))
    return absolute.relative_to(root).as_posix()


def _still_there(root: Path, paths: Iterable[str]) -> list[str]:
    """Files that are there; links and what tools leave behind have no place in a base."""
    return [
        path
        for path in paths
        if (root / path).is_file() and not (root / path).is_symlink() and not is_in_tool_cache(path)
    ]


def _included(paths: Iterable[str], exclude: Sequence[str]) -> list[str]:
    rules = IgnoreRules()
    rules.add("", "\n".join(exclude))
    return [path for path in paths if not rules.ignores(path)]
