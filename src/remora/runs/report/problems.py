"""Problems in the user's files: what a run would change, and what operations report."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from remora.code.extract import parse_module
from remora.code.syntax.nodes import Module, Node, find_node, node_at_line
from remora.errors import HostError
from remora.ids import MODULE, split_node_key, unescape_path
from remora.judges.judged_change import ReportedFinding
from remora.operations.base import is_lint_code
from remora.runs.records.findings import codes_text
from remora.runs.report.report_model import JobReport, Report
from remora.statuses import UNDECIDED
from remora.text import escape_line
from remora.workspaces.rooted_files import RootedFiles

FindingKey = tuple[str, str, str, str]
"""Operation, node, code and message of a finding."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a file that needs work.

    `path` is escaped as in a node key. Lines count from 1, and include `end_line`. `code` is the
    rule, or a code such as `missing test`. `name` is the qualname of the function or class, or an
    empty string for a module. If `fixable` is true, a verified change fixes the problem.
    """

    path: str
    line: int
    end_line: int
    operation: str
    code: str
    name: str
    message: str
    fixable: bool

    @property
    def text(self) -> str:
        """The problem in a line, without its place, e.g. ``lint F401: `os` imported but unused``."""
        rule = f" {self.code}" if self.code and is_lint_code(self.code) else ""
        return escape_line(f"{self.operation}{rule}: {self.message}")


def find_problems(
    report: Report,
    tree: Path,
    reported: Mapping[str, Sequence[ReportedFinding]] | None = None,
    left: Collection[FindingKey] = (),
) -> tuple[Problem, ...]:
    """Return the problems that a run found, ordered by file and line.

    These are the places that its undecided change sets fix, and the findings that operations
    `reported` without a run, by operation. `left` has those that remain after the change sets of
    their nodes. `tree` contains the files of the start of the run.
    """
    files = ParsedFiles(tree)
    jobs = [job for job in report.jobs if job.review in UNDECIDED and job.files]
    changed = {(job.operation, job.node_id) for job in jobs}
    found = [
        reported_problem(
            operation,
            finding,
            fixable=(operation, finding.node_id) in changed
            and finding_key(operation, finding) not in left,
        )
        for operation, findings in (reported or {}).items()
        for finding in findings
    ]
    known = {(problem.operation, problem.path, problem.name) for problem in found}
    found += [
        problem
        for job in jobs
        for problem in _problems_of(job, files)
        if (problem.operation, problem.path, problem.name) not in known
    ]
    return tuple(sorted(found, key=problem_order))


def problem_order(problem: Problem) -> tuple[str, int, str, str]:
    """Return the key by which problems are sorted."""
    return problem.path, problem.line, problem.operation, problem.code


def finding_key(operation: str, finding: ReportedFinding) -> FindingKey:
    """Return what stays the same about a finding when lines move."""
    return operation, finding.node_id, finding.code, finding.message


def fixes_problem(job: JobReport, problem: Problem) -> bool:
    """Return True if a problem belongs to the change set of a job, which may be on a whole file."""
    is_same = (job.operation, job.path) == (problem.operation, problem.path)
    return is_same and problem.fixable and job.qualname in ("", problem.name)


def marked_texts(problems: Sequence[Problem]) -> Iterator[tuple[str, str]]:
    """Yield the place of each problem, and its text, such as ``lint F401: `os` imported ...``.

    If only some are fixable, their texts end with ` [*]`.
    """
    is_mixed = not all(problem.fixable for problem in problems)
    for problem in problems:
        mark = " [*]" if is_mixed and problem.fixable else ""
        yield f"{problem.path}:{problem.line}", f"{problem.text}{mark}"


def fixes_text(problems: Sequence[Problem], mark: str, *, judged: bool) -> str:
    """Return how many problems are fixed, such as `checked changes fix 1 (marked [*]) of them`."""
    fixable = sum(problem.fixable for problem in problems)
    share = "all" if fixable == len(problems) else f"{fixable:,}{mark}"
    fixes = "checked changes fix" if judged else "unless your tests object, this fixes"
    return f"{fixes} {share} of them"


def reported_problem(operation: str, finding: ReportedFinding, *, fixable: bool) -> Problem:
    """Return a finding of an operation as a problem."""
    path, name = split_node_key(finding.node_id)
    return Problem(
        path=path,
        line=finding.line,
        end_line=finding.line,
        operation=operation,
        code=finding.code,
        name="" if name == MODULE else name,
        message=f"{name}: {finding.message}" if name != MODULE else finding.message,
        fixable=fixable,
    )


def _problems_of(job: JobReport, files: "ParsedFiles") -> Iterator[Problem]:
    """Yield the findings that a change set fixes, or else the functions that it changes."""
    first, last = files.span(job.path, job.node_id)
    edited = [edit for file in job.files if file.path == job.path for edit in file.edits or ()]
    whole = Problem(
        path=job.path,
        line=first,
        end_line=last,
        operation=job.operation,
        code=", ".join(sorted(job.fixed)),
        name=job.qualname,
        message="",
        fixable=True,
    )
    start = edited[0].start if edited and job.name != MODULE else first
    for finding in job.fixes:
        line = finding.line or start
        yield msgspec.structs.replace(
            whole,
            line=line,
            end_line=line,
            name=whole.name or files.node_at(job.path, line),
            code=finding.code or whole.code,
            message=finding.message or finding.code,
        )
    if job.fixes:
        return
    what = codes_text(job.fixed) or "a change"
    if not edited:  # such as tests in a file of their own
        paths = ", ".join(escape_line(file.path) for file in job.files)
        yield msgspec.structs.replace(whole, end_line=first, message=f"{what}, in {paths}")
        return
    names = {files.node_at(job.path, edit.start): edit for edit in reversed(edited)}
    for name, edit in names.items():
        yield msgspec.structs.replace(
            whole,
            line=edit.start,
            end_line=max(edit.start, edit.end - 1),
            name=name,
            message=f"{whole.code or what}: {name or 'the module'}",
        )


class ParsedFiles:
    """Parsed files of a tree, by escaped path."""

    def __init__(self, tree: Path) -> None:
        self._tree = RootedFiles(tree)
        self._known: dict[str, Module | None] = {}

    def span(self, path: str, key: str) -> tuple[int, int]:
        """Return the first and the last line of a node. A module is its first line."""
        node = self.node(path, key)
        if node is None or node.node_type == "module":
            return 1, 1
        return node.line_start, node.line_end

    def node(self, path: str, key: str) -> Node | None:
        module = self._module(path)
        return find_node(module, key) if module is not None else None

    def node_at(self, path: str, line: int) -> str:
        """Return the qualname of the node at a line, or an empty string for the module."""
        module = self._module(path)
        name = split_node_key(node_at_line(module, line))[1] if module is not None else MODULE
        return "" if name == MODULE else name

    def _module(self, path: str) -> Module | None:
        if path not in self._known:
            self._known[path] = self._parse(unescape_path(path))
        return self._known[path]

    def _parse(self, path: str) -> Module | None:
        try:
            found = parse_module(path, self._tree.read_bytes(path))
        except HostError:
            return None
        return found if isinstance(found, Module) else None
