"""The pictures of a run's report: its timeline, and the map of its project."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from markupsafe import Markup

from remora.bootstrap.invocation import Invocation
from remora.code.file_facts import NodeFacts
from remora.code.folders import is_vendored
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.errors import RemoraError
from remora.hub.file_limits import FileRules
from remora.hub.process.hub_paths import hub_paths
from remora.ids import MODULE, split_node_key
from remora.operations.base import is_lint_code
from remora.pictures.node_tree import Debt, MapNode
from remora.pictures.project_map import project_map
from remora.pictures.timeline import timeline
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.results import RunView
from remora.runs.records.run_times import read_job_times
from remora.runs.report.remaining_findings import findings_left
from remora.text import count

_UNDOCUMENTED = re.compile(r"@(?:[\w.]*\.)?(?:overload|override|setter|deleter|getter)\b")
_HIDDEN = re.compile(r"(?:^|\.)_")
_SPECIAL = re.compile(r"(?:^|\.)__\w+__(?:#\d+)?$")


def report_pictures(invocation: Invocation, project: Project, view: RunView) -> tuple[Markup, ...]:
    """Return the timeline of a run, and the map of the project as it is now.

    There is no map if the Hub is disabled or has no index. No daemon is started.
    """
    return (
        timeline(read_job_times(project.trace, view.run_id)),
        map_of_project(invocation, project, view),
    )


def map_of_project(
    invocation: Invocation,
    project: Project,
    view: RunView,
    *,
    href: Callable[[str], str] | None = None,
) -> Markup:
    """Return the map of the project, with the findings that the run left.

    `href` returns the address of the page of a node's key.
    """
    if project.config.hub.enabled is False:
        return Markup("")
    from remora.hub.sources.current_nodes import CurrentNodes  # imports the analysis

    rules = FileRules(project.config.exclude, project.config.hub.file_limit)
    db = hub_paths(invocation.folders, project.root).db
    try:
        found = CurrentNodes(project.root, db, rules).project_facts()
    except (RemoraError, OSError):  # the report is about the run; `hub status` shows the problem
        return Markup("")
    if found is None:
        return Markup("")
    own = [node for node in found.nodes if _is_own(split_node_key(node.key)[0])]
    with_findings = _nodes_with_findings(own, view) if _has_linted(project, view) else None
    nodes = [
        MapNode(
            path=split_node_key(node.key)[0],
            qualname=node.qualname,
            lines=node.line_count,
            debts=frozenset(debts),
        )
        for node, debts in _with_debts(own, with_findings, found.reached)
    ]
    return project_map(
        nodes,
        unknown=(
            *(() if with_findings is not None else ("findings",)),
            *(() if found.reached is not None else ("untested",)),
        ),
        note=_note(len(found.nodes) - len(own), with_findings, found.reached),
        href=href,
    )


def _note(left_out: int, findings: object, reached: object) -> str:
    parts = []
    if findings is not None:
        parts.append("Findings are those left by this run.")
    if reached is None:
        parts.append("remora hub index --links finds what tests reach in the whole project.")
    if left_out:
        parts.append(f"{count(left_out, 'symbol')} of tests and copied code are not shown.")
    return " ".join(parts)


def _is_own(path: str) -> bool:
    return not is_of_tests(path) and not is_vendored(path)


def _has_linted(project: ProjectRecords, view: RunView) -> bool:
    counting = {
        each.name for each in project.operations.all if each.totals and each.totals.counts_findings
    }
    is_planned = not counting.isdisjoint(view.start.plan.get("operations", ()))
    return is_planned or any(is_lint_code(code) for job in view.jobs for code in job.before or ())


def _nodes_with_findings(nodes: Sequence[NodeFacts], view: RunView) -> set[str]:
    """Return the keys of the nodes with findings that the run left."""
    files: dict[str, list[NodeFacts]] = {}
    for node in nodes:
        files.setdefault(split_node_key(node.key)[0], []).append(node)
    found: set[str] = set()
    for job in view.jobs:
        inside = files.get(split_node_key(job.node_id)[0], [])
        for finding in findings_left(job):
            if is_lint_code(finding.code):
                found.add(_innermost(inside, finding.line) or job.node_id)
    return found


def _innermost(nodes: Iterable[NodeFacts], line: int | None) -> str | None:
    """Return the key of the smallest node that contains the line."""
    around = [
        node
        for node in nodes
        if line is not None and node.line_start <= line < node.line_start + node.line_count
    ]
    return min(around, key=lambda node: node.line_count).key if around else None


def _with_debts(
    nodes: Sequence[NodeFacts], findings: set[str] | None, reached: frozenset[str] | None
) -> Iterator[tuple[NodeFacts, list[Debt]]]:
    functions = {node.key for node in nodes if node.node_type == "function"}
    with_public = {
        split_node_key(n.key)[0] for n in nodes if n.qualname != MODULE and _is_public(n)
    }
    for node in nodes:
        path, qualname = split_node_key(node.key)
        is_function = node.node_type == "function"
        is_nested = f"node:{path}:{qualname.rpartition('.')[0]}" in functions
        lacks: dict[Debt, bool] = {
            "findings": findings is not None and node.key in findings,
            "unannotated": is_function and not node.has_type_hints,
            "undocumented": node.docstring is None
            and (path in with_public if qualname == MODULE else _is_public(node) and not is_nested),
            "untested": is_function
            and reached is not None
            and node.key not in reached
            and not is_nested
            and not _SPECIAL.search(qualname),
        }
        yield node, [debt for debt, is_lacking in lacks.items() if is_lacking]


def _is_public(node: NodeFacts) -> bool:
    """Return True if people expect a docstring. Those of overloads and setters are elsewhere."""
    is_elsewhere = any(_UNDOCUMENTED.match(each) for each in node.decorators)
    return not is_elsewhere and not _HIDDEN.search(node.qualname)
