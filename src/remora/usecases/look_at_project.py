"""A look at a project, for the command that has a result in it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.errors import OutsideError, RemoraError
from remora.files.git import git_output
from remora.files.project_files import project_files
from remora.ids import NodeKey, display_name
from remora.models.provider import used_provider
from remora.operations.base import NEEDS_NAME, NEEDS_WRITER
from remora.runs.execution.agent_settings import is_guided, selected_rules_of
from remora.runs.execution.run import RunRequest, options_for
from remora.runs.planning.plan import AgentWithOptions, Plan, make_plan
from remora.runs.project import Project
from remora.runs.records.run_listing import list_run_lines
from remora.runs.report.next_step import NextStep, model_step
from remora.text import count
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree
from remora.usecases.analyze.prepare_run import agents_for, select_source
from remora.usecases.judge.change_trees import unnamed_change

_MOST_FILES, _MOST_BYTES = 50, 300_000
"""Python files, and bytes of them, that are planned to find a command (measured: 1 to 3 seconds of
processor time in projects of 17 to 1,500 files, on a busy machine)."""

_FEW = 3
"""Jobs that are named instead of counted."""


def next_step(invocation: Invocation, project: Project, plan: Plan | None = None) -> NextStep:
    """Return the command that has a result.

    That is `review` for pending changes of the newest run, `judge` for new work, `analyze` for what
    rules can fix, `analyze` with an installed model for what they cannot write, or else `judge` for
    the last commit with Python. Without a plan, some files are planned, or the step says why not.
    """
    pending = sum(run.undecided for run in list_run_lines(project.trace, slice(-1, None)))
    if pending:
        return NextStep(("review",), f"{count(pending, 'change')} to review")
    change = unnamed_change(project.root)
    files = count(change.files, "changed Python file")
    judge = NextStep(("judge",), f"{files} since {change.since or 'the last commit'}")
    if change.files and not change.is_last_commit:
        return judge
    free = judge if change.files else _last_change(project.root)
    left: dict[str, Mapping[str, Iterable[NodeKey]]] = {}
    try:
        for known in [plan] if plan else plans_of_some(invocation, project):
            if known.jobs:
                unit = "finding" if known.findings else known.jobs[0].operation
                names = [display_name(job.node_id) for job in known.jobs]
                files = count(len({job.path for job in known.jobs}), "file")
                where = ", ".join(names) if len(names) <= _FEW else files
                number = count(known.findings or len(known.jobs), unit)
                return NextStep(("analyze",), f"{number} to fix in {where}")
            left |= known.left_nodes
            if not (known.files or known.unreadable):
                free = NextStep((), "no Python file is here", "name another with `--root DIR`")
    except RemoraError as error:
        return NextStep(("analyze",), error.message, error.hint)
    if unwritten := [name for name in left if {NEEDS_NAME, NEEDS_WRITER} & {*left[name]}]:
        cache = invocation.folders.cache
        step = model_step(project.root, invocation.folder, cache, unwritten, left)
        return free._replace(costly=f"{step.why}: {step.missing}") if step.missing else step
    return free


def _last_change(root: Path) -> NextStep:
    words = "log -1 --min-parents=1 --max-parents=1 --format=%p..%h -- *.py"
    why, changed = "`judge` needs commits of git, and there are none", b""
    with suppress(OutsideError):
        why, changed = "", git_output(root, *words.split()).strip()
    named = NextStep(("judge", changed.decode()), "the last commit that changed Python")
    return named if changed else NextStep(("hub", "index"), why)


def plans_of_some(invocation: Invocation, project: Project) -> Iterator[Plan]:
    """Yield what rules would do in some files, by operation; later ones take longer, and get fewer."""
    listed = project_files(project.root, include=project.config.workspace.include)
    sources = [
        path for path in listed.paths if path.endswith(".py") and (project.root / path).is_file()
    ]
    some, size, config = list[str](), 0, project.config
    for path in sources[:: len(sources) // _MOST_FILES + 1]:
        own = (project.root / path).stat().st_size
        if size + own <= _MOST_BYTES or not some:
            size, some = size + own, [*some, path]
    guided = is_guided(config, used_provider(config.model, cache=invocation.folders.cache))
    agents = agents_for(project, project.operations.defaults)
    with closing(RuffBase(project.root, selected_rules_of(config))) as ruff:
        place = ToolTree(project.root, ruff=partial(Ruff, base=ruff))
        for number, (name, agent) in enumerate(agents.items(), 1):
            request, files = RunRequest(operations=(name,)), some[: _MOST_FILES // number**2]
            source, selection = select_source(invocation, request, project, project.root, files)
            work = AgentWithOptions(agent, {**options_for(config, name, request), "guided": guided})
            yield make_plan("", place, source, [work], project.operations.needs, selection)
