"""Checks files as `analyze` would, without a record of it: the use case of `remora check`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from shutil import copyfile, copytree

import msgspec
from msgspec.structs import replace as replaced

from remora.bootstrap.invocation import Invocation, run_flags
from remora.bootstrap.open_project import invocation_for, open_project
from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.errors import NotFound
from remora.ids import escape_path, split_node_key, unescape_path
from remora.judges.judged_change import ReportedFinding
from remora.operations.base import Operations
from remora.python_text import is_only_counted
from remora.rmtree import temporary_folder
from remora.runs.execution.run import PreparedRun, RunObserver, RunRequest, options_for
from remora.runs.planning.changed_nodes import changed_lines
from remora.runs.planning.plan import Plan, selected_keys
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.report.check_document import Failure, failures_of, unchecked_of
from remora.runs.report.github_annotations import ChangedLines
from remora.runs.report.patch import combined_patch
from remora.runs.report.problems import (
    FindingKey,
    Problem,
    find_problems,
    finding_key,
    fixes_problem,
)
from remora.runs.report.report_builder import make_report
from remora.runs.report.report_model import JobReport, Report
from remora.statuses import INTERRUPTED, UNDECIDED
from remora.text import as_texts
from remora.tools.tree import ToolTree
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.trace_folder import TraceFolder
from remora.usecases.analyze.prepare_run import select_source
from remora.usecases.analyze.run_limits import RunBudget
from remora.usecases.analyze.session import NO_OBSERVER, Watching, open_session
from remora.usecases.check.baseline import Baseline, read_baseline, without_known
from remora.workspaces.copy.snapshot import BaseSnapshot

_SETTINGS = {"runner.memory.trace_store": "kv", "runner.memory.durability": "none"}
"""Settings of a run whose records are removed at its end."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What the agents would change, and what operations report."""

    root: Path
    plan: Plan
    nodes: int
    """The number of selected nodes."""
    files: int
    """The number of their files."""
    problems: tuple[Problem, ...]
    """The problems, ordered by file and line; with a baseline, only new ones."""
    report: Report
    """The report of the run, with a baseline only with the changes that fix new problems."""
    view: RunView
    """The run, whose records no longer exist."""
    patch: str
    """The changes for `git apply`."""
    unpatched: str
    """What the patch leaves out."""
    changed: ChangedLines | None
    """With a revision, the changed lines of files with problems, or that cannot be parsed."""
    stopped: str
    """The reason if the check was stopped early."""
    known: int | None = None
    """The number of problems that a baseline left out."""


def check(  # noqa: PLR0913 (one keyword for each option of the command)
    *paths: str | Path,
    root: str | Path | Project | None = None,
    operations: Sequence[str] = (),
    changed: str | None = None,
    model: str | None = None,
    unsafe_fixes: bool = False,
    select: Sequence[str] = (),
    max_time: float | None = None,
    gates: bool = False,
    allow_unsandboxed: bool = False,
    baseline: str | Path | None = None,
    update_baseline: bool = False,
    known: Operations | None = None,
    observer: RunObserver = NO_OBSERVER,
) -> CheckResult:
    """Return what `analyze` would change in `paths` (default: the whole project).

    Nothing is changed or recorded in the project. Files that are not Python files, or that the
    configuration excludes, are skipped. A notebook raises UsageError. With `gates`, the project's
    own tests and checkers judge the changes, too. The problems in the file `baseline` are left out;
    with `update_baseline`, it is replaced by all problems. The other arguments have the same
    meaning as in `analyze`.
    """
    request = RunRequest(
        paths=tuple(map(Path, paths)),
        operations=as_texts(operations),
        changed=changed,
        unsafe_fixes=unsafe_fixes,
    )
    flags = run_flags(model, allow_unsandboxed, as_texts(select), gates=None if gates else "none")
    invocation = invocation_for(root, flags, known)
    file = None if baseline is None else invocation.folder / baseline
    compared = read_baseline(file, request, update=update_baseline)
    return check_files(
        invocation, request, lambda: nullcontext(observer), max_time=max_time, baseline=compared
    )


def check_files(
    invocation: Invocation,
    request: RunRequest,
    watching: Watching,
    *,
    max_time: float | None,
    baseline: Baseline | None = None,
) -> CheckResult:
    """Run the jobs of a request with records in a private folder, and remove the folder.

    The project chooses no model, because hooks and CI check code before it is reviewed.
    Raises KeyboardInterrupt if the user stops it.
    """
    request = _python_files(request)
    with temporary_folder("check-") as folder:
        flags = {**invocation.flags, **_SETTINGS}
        invocation = replace(invocation, flags=flags, takes_model=False)
        project = _private_project(invocation, request, folder)
        budget = RunBudget(seconds=max_time)
        with open_session(invocation, request, project, budget=budget) as session:
            prepared = _prepare_for_check(session.run)
            done = replace(session, run=prepared).execute(watching)
            if done.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            return _make_result(invocation, request, prepared, done.stopped, baseline)


def _python_files(request: RunRequest) -> RunRequest:
    """Return the request without files that are not Python files.

    Hooks name all files of a commit. If none of them is a Python file, no node is selected.
    Notebooks are not left out, because they are refused, nor stubs, which are counted.
    """
    paths = tuple(
        path
        for path in request.paths
        if path.suffix == ".py" or is_only_counted(str(path)) or not path.is_file()
    )
    if request.paths and not paths:
        return replace(request, paths=(), keys=frozenset())
    return replace(request, paths=paths)


def _private_project(invocation: Invocation, request: RunRequest, folder: Path) -> Project:
    """Return the project with its records in `folder`. An interrupted `accept` is left as it is."""
    project = open_project(invocation, request.paths)
    trace = TraceFolder(project.root, folder / "records")
    state = folder / "state" / "roots" / project.state.name
    return replace(
        project, trace=trace, open_store=cache(lambda: JsonlTraceStore(trace.path)), state=state
    )


def _prepare_for_check(prepared: PreparedRun) -> PreparedRun:
    """Return the run without the commit of its base, for which git would get a ref, and without
    the models that the project's agents choose.
    """
    assert prepared.base is not None, "a new run has a base"
    agents = {
        name: replace(agent, definition=agent.definition.model_copy(update={"model": None}))
        for name, agent in prepared.agents.items()
    }
    base = replaced(prepared.base, commit=None, differing={})
    return replace(prepared, base=base, agents=agents)


def _make_result(
    invocation: Invocation,
    request: RunRequest,
    prepared: PreparedRun,
    stopped: str,
    baseline: Baseline | None,
) -> CheckResult:
    project, base = prepared.project, prepared.base
    assert base is not None, "a new run has a base"
    try:
        view = read_run(project, prepared.run_id)
    except NotFound:  # stopped before the run started
        raise KeyboardInterrupt from None
    report = make_report(project, view, grouped=True)
    reported = findings_in_base(invocation, request, project, base)
    left = (
        findings_left(request, project, base, view.jobs) if any(reported.findings.values()) else ()
    )
    problems = find_problems(
        report,
        base.folder,
        project.redact.clean(reported.findings),
        project.redact.clean(frozenset(left)),
    )
    is_complete = not (stopped or failures_of(report))
    problems, known = without_known(baseline, problems, base.folder, may_update=is_complete)
    if known is not None:
        report = replaced(report, jobs=tuple(_jobs_that_fix(report.jobs, problems)))
    patch, unpatched = combined_patch(report, base.folder, project.redact)
    return CheckResult(
        root=project.root,
        plan=prepared.plan,
        nodes=reported.nodes,
        files=reported.files,
        problems=problems,
        report=report,
        view=view,
        patch=patch,
        unpatched=unpatched,
        changed=_changed_lines(project, base.folder, request, (*problems, *unchecked_of(report))),
        stopped=stopped,
        known=known,
    )


def _jobs_that_fix(jobs: Sequence[JobReport], problems: Sequence[Problem]) -> Iterator[JobReport]:
    """Yield the jobs without those that are undecided and fix none of the problems."""
    for job in jobs:
        if job.review not in UNDECIDED or any(fixes_problem(job, problem) for problem in problems):
            yield job


def _changed_lines(
    project: ProjectRecords, tree: Path, request: RunRequest, places: Sequence[Problem | Failure]
) -> Mapping[str, frozenset[int]] | None:
    if request.changed is None:
        return None
    paths = sorted({unescape_path(place.path) for place in places})
    return changed_lines(project.root, tree, request.changed or "HEAD", paths)


class FindingsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of operations."""

    findings: dict[str, tuple[ReportedFinding, ...]]
    """The findings by operation, ordered by file and line."""
    nodes: int
    """The number of selected nodes."""
    files: int
    """The number of their files."""


def findings_in_base(
    invocation: Invocation, request: RunRequest, project: Project, base: BaseSnapshot
) -> FindingsReport:
    """Return the findings in a frozen copy of the project's files.

    Operations that cannot report findings are left out.
    """
    paths, tree = sorted(base.files), base.folder
    source, selection = select_source(invocation, request, project, tree, paths)
    nodes = [node for module in source.modules for node in module.nodes]
    wanted, place = selected_keys(nodes, selection), ToolTree(tree)
    found: dict[str, tuple[ReportedFinding, ...]] = {}
    for name in request.operations or project.operations.defaults:
        if report := project.operations.report(name):
            reported = report(place, source.modules, options_for(project.config, name, request))
            own = (finding for finding in reported if finding.node_id in wanted)
            found[name] = tuple(sorted(own, key=attrgetter("path", "line")))
    files = len({split_node_key(key)[0] for key in wanted})
    return FindingsReport(findings=found, nodes=len(wanted), files=files)


def findings_left(
    request: RunRequest, project: Project, base: BaseSnapshot, jobs: Sequence[JobView]
) -> set[FindingKey]:
    """Return the findings that remain on the nodes of jobs after their undecided change sets.

    Each change set is looked at alone. A change set may fix only some findings of a function.
    """
    left: set[FindingKey] = set()
    undecided = [job for job in jobs if job.review.state in UNDECIDED]
    reports = {
        name: report
        for name in {job.operation for job in undecided}
        if (report := project.operations.report(name)) is not None
    }
    looked_at = [job for job in undecided if job.operation in reports]
    if not looked_at:
        return left
    with temporary_folder("check-") as folder:
        tree = folder / "tree"
        copytree(base.folder, tree, symlinks=True, copy_function=copyfile)
        for job in looked_at:
            report = reports[job.operation]
            options = options_for(project.config, job.operation, request)
            for path, after in _contents_after(project, job):
                before = (tree / path).read_bytes()
                (tree / path).write_bytes(after)
                module = parse_module(escape_path(path), after)
                modules = (module,) if isinstance(module, Module) else ()
                found = report(ToolTree(tree), modules, options)
                nodes = {job.node_id, *(job.nodes or ())}
                left.update(
                    finding_key(job.operation, finding)
                    for finding in found
                    if finding.node_id in nodes
                )
                (tree / path).write_bytes(before)
    return left


def _contents_after(project: Project, job: JobView) -> Iterator[tuple[str, bytes]]:
    """Yield the paths and new contents of the files that a job modifies."""
    for patch in patches_of(project, job):
        if patch.base is not None and patch.theirs is not None:
            yield patch.path, patch.theirs
