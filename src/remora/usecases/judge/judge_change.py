"""Judges a change that a person, an agent or a bot has made: the use case of `remora judge`."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.code.edit.text_lines import split_lines
from remora.code.syntax.nodes import Module
from remora.code.syntax.source import parse_error
from remora.config.user_folders import make_private
from remora.errors import HostError
from remora.files.file_lock import try_lock
from remora.ids import file_of_key, split_node_key, unescape_path
from remora.judges.judged_change import Change, Late, ReportedFinding, Unjudged, Unreached, Untested
from remora.operations.base import Report
from remora.runs.execution.run import RunRequest, options_for
from remora.runs.project import Project
from remora.runs.report.problems import Problem, problem_order, reported_problem
from remora.text import count, some_of
from remora.tools.host.ruff.newer_syntax import newer_syntax
from remora.tools.kept_answers import KeptAnswers
from remora.tools.tree import ToolTree
from remora.usecases.check.baseline import Baseline, without_known
from remora.usecases.judge.change_impact import unfit_calls
from remora.usecases.judge.change_trees import ChangeRequest, change_trees, last_commit
from remora.version import __version__
from remora.workspaces.rooted_files import RootedFiles

LEAST_S = 20.0
"""With less time, a busy machine does not start the tests often enough (decision)."""
_MOST_FILES = 300
"""Changed Python files that are judged (decision: more are not read by a person either)."""
_STATIC_GATES_S = 60.0
"""Time for linters and type checkers if no code runs (decision: a minute on a busy machine; with 20 s,
a type checker was left 0.3 s)."""
_STATIC_CPU_S = 2
"""Processor time of a type checker then (decision). A busy machine does not shorten it.

The first change of a project has the whole time, because it fills mypy's cache for the others.
"""
_GRACE_S = 1.0
"""Seconds to end what runs when the time is over (decision)."""
_KEPT, _LAST = "answers/judge", f"last judgement {__version__}".encode()
"""The folder and the name of the last judgement in a project's cache."""
_AROUND, _MOST_SHOWN = 3, 50
"""Lines that are kept before and after the one of a problem, and problems that have them."""
_NAMED = 5
"""Places with one reason that are named (decision)."""
_RUNNING = "what needs code to run: tests, lines that no test notices, the project's own checks"


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The remarks on a change."""

    root: str
    """The root of the project."""
    files: int
    """The number of changed Python files."""
    unread: int
    """The number of those that could not be read, which are also in `unjudged`."""
    problems: tuple[Problem, ...]
    """The problems, ordered by file and line; with a baseline, only new ones."""
    unjudged: tuple[Unjudged, ...]
    """What could not be judged, and why."""
    untested: str
    """Why no test could be run, although it was allowed, or an empty string."""
    late: bool = False
    """True if code was allowed to run, and the time was over before all was judged."""
    since: str
    """What your files were compared with, if nothing was named and they are as in HEAD."""
    seconds: float
    """How long it took."""
    known: int | None = None
    """The number of problems that a baseline left out, or None without one."""
    commit: str = ""
    """The commit with which the change ends, or HEAD: its ID, subject and author."""
    held: tuple[str, ...] = ()
    """The checks of the project that ran and are not worse."""
    missed: Mapping[str, Mapping[str, Sequence[int]]] = {}
    """The changed lines of functions whose tests miss a fault, by operation and node key."""
    around: Mapping[str, Mapping[int, str]] = {}
    """The lines around the first problems, by path and number."""

    @property
    def sentence(self) -> str:
        """How many remarks there are, and on what."""
        since = f" since {self.since}" if self.since else ""
        if not self.files:
            return f"no Python file is changed{since}"
        remarks = count(len(self.problems), "remark") if self.problems else "no remarks"
        known = f", {self.known:,} known left out" if self.known else ""
        known += f"; {count(self.unread, 'file')} could not be read" if self.unread else ""
        files = count(self.files, "changed Python file")
        return f"{remarks}{' so far' * self.late} on {files}{since}{known}"

    @property
    def shown_unjudged(self) -> list[str]:
        """What could not be judged, and why: places with equal reasons together, some of them named."""
        places = dict[tuple[str, str], list[str]]()
        for part in self.unjudged:
            begin, blank, place = part.what.rpartition(" ")
            places.setdefault((begin + blank, part.why), []).append(place)
        return [f"{begin}{some_of(some, _NAMED)}: {why}" for (begin, why), some in places.items()]


class LastJudgement(NamedTuple):
    """A judgement, the revisions or True for what was staged, and the time of its end in UTC."""

    judgement: Judgement
    asked: tuple[str, bool]
    when: str

    @property
    def of(self) -> str:
        """The change, in words."""
        since = f"your change since {self.judgement.since or 'HEAD'}"
        return self.asked[0] or ("the staged change" if self.asked[1] else since)


class _Remarks:
    """The remarks on a change so far, each of which is shown when it is found."""

    def __init__(self, show: Callable[[Problem], object]) -> None:
        self._show = show
        self.problems: list[Problem] = []
        self.unjudged: list[Unjudged] = []
        self.missed: dict[str, Mapping[str, Sequence[int]]] = {}
        self.held: list[str] = []
        self.ran = False

    def add(self, remarks: Iterable[Problem | Unjudged | str]) -> None:
        """Add gates that hold, and problems and what could not be judged unless they are known."""
        for remark in remarks:
            if isinstance(remark, str):
                self.held.append(remark)
            elif isinstance(remark, Unjudged) and remark not in self.unjudged:
                self.unjudged.append(remark)
            elif isinstance(remark, Problem) and remark not in self.problems:
                self.problems.append(remark)
                self._show(remark)


class JudgeObserver(NamedTuple):
    """Functions that show progress: what is done now, and each remark when it is found."""

    tell: Callable[[str], None] = lambda _: None
    show: Callable[[Problem], None] = lambda _: None


def judge_change(
    invocation: Invocation,
    request: ChangeRequest,
    observer: JudgeObserver = JudgeObserver(),  # noqa: B008 (frozen)
    *,
    seconds: float = LEAST_S,
    static: bool = False,
    baseline: Baseline | None = None,
) -> Judgement:
    """Judge a change. With `static`, no code of the project runs.

    First comes what needs no run, then the tests that the change makes fail, and then planted
    faults, until `seconds` or a third of the time so far are over. With a baseline, the observer
    sees remarks only at the end.

    Nothing of the project is changed or recorded. If code may run, and the request is not a diff,
    the judgement is kept. Raises UsageError if there is no such change.
    """
    begun, project = time.monotonic(), open_project(invocation)
    clean = project.redact.clean
    observer.tell("copying the project before and after the change")
    with change_trees(project.root, request, project.config.workspace.include) as trees:
        files = {path: file for path, file in trees.files.items() if path.endswith(".py")}
        chosen = dict(sorted(files.items())[:_MOST_FILES])
        change = Change(
            before=ToolTree(trees.before),
            after=ToolTree(trees.after),
            files=chosen,
            environ=invocation.environ,
        )
        remarks = _Remarks(lambda problem: baseline or observer.show(clean(problem)))
        remarks.add(unread := _find_unread(change, trees.unread))
        if chosen:
            remarks.add(unfit_calls(change))
            _ask_operations(project, change, observer.tell, remarks)
        python, why = (None, "") if static else project.find_python()
        if chosen or (python is not None and trees.files):
            after, ends = ToolTree(trees.after, python), begun + max(seconds, LEAST_S)
            left = _STATIC_GATES_S if python is None else ends - time.monotonic()
            change = msgspec.structs.replace(change, after=after, seconds=left)
            _run(project, change, observer.tell, remarks)
            remarks.add([Untested(what=_RUNNING, why=why)] if why else [])
        more, limit = len(files) - len(chosen), f"at most {_MOST_FILES} are judged"
        remarks.add([Unjudged(what=count(more, "changed file"), why=limit)] if more else [])
        untested = [
            part.why
            for part in remarks.unjudged
            if isinstance(part, Untested if python is None else Untested | Late)
        ]
        found = clean(sorted(remarks.problems, key=problem_order))
        problems, known = without_known(baseline, found, trees.after)
        for problem in problems if baseline else ():
            observer.show(problem)
        judgement = Judgement(
            root=str(project.root),
            files=len(files),
            unread=len(unread),
            problems=problems,
            unjudged=tuple(clean(remarks.unjudged)),
            late=python is not None and any(isinstance(part, Late) for part in remarks.unjudged),
            untested=clean("".join(untested[:1] if chosen and not remarks.ran else ())),
            since=trees.since,
            seconds=round(time.monotonic() - begun, 1),
            known=known,
            held=tuple(clean(remarks.held)),
            commit=clean(last_commit(project.root, request.revisions)),
            missed=_with_problem(remarks.missed, problems),
            around=clean(_around(RootedFiles(trees.after), problems)),
        )
        if not static and request.diff is None:
            last = LastJudgement(judgement, request[:2], datetime.now(UTC).isoformat())
            KeptAnswers(project.cache / _KEPT).keep(_LAST, msgspec.json.encode(last))
    return judgement


def _around(files: RootedFiles, problems: Sequence[Problem]) -> dict[str, dict[int, str]]:
    found = dict[str, dict[int, str]]()
    for path, line in {(problem.path, problem.line) for problem in problems[:_MOST_SHOWN]}:
        with suppress(HostError):
            lines = split_lines(files.read_bytes(unescape_path(path)).decode("utf-8", "replace"))
            shown = enumerate(
                lines[max(0, line - 1 - _AROUND) : line + _AROUND], max(1, line - _AROUND)
            )
            found.setdefault(path, {}).update(shown)
    return found


def last_judgement(project: Project) -> LastJudgement | None:
    """Return the last judgement of a project by this version of Remora, if it is still kept."""
    return KeptAnswers(project.cache / _KEPT).decoded(_LAST, LastJudgement)


def _run(project: Project, change: Change, tell: Callable[[str], None], remarks: _Remarks) -> None:
    """Add what the project's checks say and, if its code may run, what planted faults show."""
    begun = time.monotonic()
    remarks.add(_worse_gates(project, change, tell))
    if change.after.python is not None and change.files:
        left = change.left(begun)
        narrowed = (part for part in remarks.unjudged if isinstance(part, Unreached))
        reaching = [test for part in narrowed for test in part.reaching]
        change = msgspec.structs.replace(change, seconds=left, reaching=reaching)
        with change.after.within(left + _GRACE_S):
            _ask_operations(project, change, tell, remarks)


def _with_problem(
    missed: Mapping[str, Mapping[str, Sequence[int]]], problems: Sequence[Problem]
) -> dict[str, dict[str, Sequence[int]]]:
    """Return the functions of which a problem is shown."""
    shown = {(problem.operation, problem.path, problem.name) for problem in problems}
    found = {
        name: {key: lines for key, lines in nodes.items() if (name, *split_node_key(key)) in shown}
        for name, nodes in missed.items()
    }
    return {name: nodes for name, nodes in found.items() if nodes}


def _worse_gates(
    project: Project, change: Change, tell: Callable[[str], None]
) -> Iterator[Problem | Unjudged | str]:
    """Yield what the project's checks say, or those of them that run no code of the project."""
    from remora.usecases.judge.worse_gates import worse_gates

    limit, runs_code = project.config.gates.time_s, change.after.python is not None
    cpu = None
    with _kept_folder(project) as kept:
        if not runs_code:
            is_first = kept is not None and not any(kept.iterdir())
            limit, cpu = min(limit, _STATIC_GATES_S), None if is_first else _STATIC_CPU_S
        yield from worse_gates(change, limit, tell, kept, cpu)


@contextmanager
def _kept_folder(project: Project) -> Iterator[Path | None]:
    """Yield the folder in the user's cache for the type checker, or None while it is in use."""
    folder = project.cache / "judge"
    with ExitStack() as stack:
        is_free = False
        with suppress(OSError):  # no space, or no rights
            make_private(folder)
            is_free = stack.enter_context(try_lock(folder))
        yield folder if is_free else None


def _ask_operations(
    project: Project, change: Change, tell: Callable[[str], None], remarks: _Remarks
) -> None:
    """Add what operations say against a change, and what they could not judge.

    Findings that need no run are not looked for again when code may run.
    """
    for operation in project.operations.all:
        report = project.operations.report(operation.name)
        if report is not None and change.after.python is None:
            tell(f"comparing {operation.name} findings before and after the change")
            options = options_for(project.config, operation.name, RunRequest())
            found = _new_findings(report, change, options)
            remarks.add(reported_problem(operation.name, item, fixable=False) for item in found)
    for name, judge in project.operations.judges.items():
        for judged in judge(change, tell):
            remarks.add(reported_problem(name, item, fixable=False) for item in judged.findings)
            remarks.add(judged.unjudged)
            remarks.ran |= judged.ran
            remarks.missed |= {name: judged.missed} if judged.missed else {}


def _new_findings(
    report: Report, change: Change, options: dict[str, object]
) -> list[ReportedFinding]:
    """Return the findings that a change has caused: those that were not there before."""
    before = report(change.before, _modules(change, after=False), options)
    after = report(change.after, _modules(change, after=True), options)
    known = {_key(finding) for finding in before}
    return [finding for finding in after if _key(finding) not in known]


def _key(finding: ReportedFinding) -> tuple[str, str, str]:
    """Return what stays the same about a finding if its file is renamed."""
    return split_node_key(finding.node_id)[1], finding.code, finding.message


def _modules(change: Change, *, after: bool) -> Sequence[Module]:
    found = (file.module if after else file.earlier for file in change.files.values())
    return [module for module in found if module is not None]


def _find_unread(change: Change, unread: Mapping[str, str]) -> list[Unjudged]:
    reasons = dict[str, str]()
    for path, file in change.files.items():
        is_there = path in unread or (change.after.tree / path).exists()
        if file.after is None and (file.before is None or is_there):
            reasons[path] = unread.get(path, "it is too large, or a symbolic link")
        elif file.after is not None and (error := parse_error(file.after)) is not None:
            reasons[path] = error
    reasons |= newer_syntax(change.after.tree, [*reasons])
    return [Unjudged(what=path, why=why) for path, why in reasons.items()]


def added_tests(judgement: Judgement) -> RunRequest:
    """Return the request for the functions whose tests miss a fault on a changed line.

    The judged change must end with the files of the project.
    """
    missed = dict[str, dict[str, tuple[int, ...]]]()
    for nodes in judgement.missed.values():
        for key, lines in nodes.items():
            missed.setdefault(file_of_key(key), {})[split_node_key(key)[1]] = tuple(lines)
    return RunRequest(
        operations=tuple(judgement.missed),
        keys=frozenset(key for nodes in judgement.missed.values() for key in nodes),
        missed=missed,
    )
