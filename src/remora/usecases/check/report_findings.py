"""Findings of operations, beside those of a run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copyfile, copytree
from tempfile import TemporaryDirectory

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.ids import escape_path, split_node_key
from remora.judges.judged_change import ReportedFinding
from remora.runs.planning.plan import selected_keys
from remora.runs.planning.run_request import RunRequest, options_for
from remora.runs.project import Project
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.job_view import JobView
from remora.runs.report.problems import FindingKey, finding_key
from remora.statuses import UNDECIDED
from remora.tools.tree import ToolTree
from remora.usecases.analyze.prepare_run import select_source
from remora.workspaces.copy.snapshot import BaseSnapshot


class FindingsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Findings by operation, ordered by file and line, and the numbers of selected nodes and files."""

    findings: dict[str, tuple[ReportedFinding, ...]]
    nodes: int
    files: int


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
            every = report(place, source.modules, options_for(project.config, name, request))
            own = (each for each in every if each.node_id in wanted)
            found[name] = tuple(sorted(own, key=lambda each: (each.path, each.line)))
    files = len({split_node_key(key)[0] for key in wanted})
    return FindingsReport(findings=found, nodes=len(wanted), files=files)


def findings_left(
    request: RunRequest, project: Project, base: BaseSnapshot, jobs: Sequence[JobView]
) -> set[FindingKey]:
    """Return the findings that remain on the nodes of jobs after their undecided change sets.

    Each change set is looked at alone. A change set may fix only some findings of a function.
    """
    left: set[FindingKey] = set()
    undecided = [job for job in jobs if job.review in UNDECIDED]
    reports = {
        name: report
        for name in {job.operation for job in undecided}
        if (report := project.operations.report(name)) is not None
    }
    looked_at = [job for job in undecided if job.operation in reports]
    if not looked_at:
        return left
    with TemporaryDirectory(prefix="remora-check-") as folder:
        tree = Path(folder) / "tree"
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
                own = (each for each in found if each.node_id in (job.node_id, *(job.nodes or ())))
                left.update(finding_key(job.operation, each) for each in own)
                (tree / path).write_bytes(before)
    return left


def _contents_after(project: Project, job: JobView) -> Iterator[tuple[str, bytes]]:
    """Yield the paths and new contents of the files that a job modifies."""
    for patch in patches_of(project, job):
        if patch.base is not None and patch.theirs is not None:
            yield patch.path, patch.theirs
