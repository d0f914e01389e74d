"""Selection of the pending changes to review: by node, by the rules they fix, and by conditions."""

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.syntax.node_patterns import match_nodes
from remora.code.syntax.source import Source, read_source
from remora.errors import DiskError, NotFound, StreamDamaged, UsageError
from remora.ids import MODULE, NodeKey, display_name
from remora.operations.base import is_lint_code
from remora.runs.project import ProjectRecords
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.findings import fixed
from remora.runs.records.hunk_groups import HunkGroup, groups_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named
from remora.runs.records.run_record import model_words
from remora.runs.review.ready_changes import ReadyChange
from remora.statuses import PENDING, REVERTED, TESTED, UNDECIDED, status_text
from remora.text import count, did_you_mean, some_of
from remora.tools.host.ruff.rules import rule_codes
from remora.workspaces.copy.changes import hunks_text

_NAMED = 5
"""Maximum number of pending nodes listed in a hint."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_RULE = re.compile(r"[A-Z]+[0-9]*|[a-z]+(?: [a-z]+)+")
"""A code, or the name of what an operation other than lint corrects: `missing annotation`."""
_SHOWN_GROUPS = 5
"""Groups that a message names."""
_PYLINT = "PL"
"""Selects the rules of `PLC`, `PLE`, `PLR` and `PLW`.

All other rules have the letters of `--rule`.
"""


@dataclass(frozen=True, kw_only=True)
class ReviewFilter:
    """A filter for change sets."""

    rules: frozenset[str] = frozenset()
    """Codes, beginnings of codes such as `UP0`, or names such as `missing annotation`. Only groups of hunks
    pass that fix findings of these rules and of no others. All pass if it is empty."""
    conditions: frozenset[str] = frozenset()
    """Keys of CONDITIONS, all of which a change set must meet."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.conditions)


def choose_pending(view: RunView, nodes: Sequence[str], *, every: bool, verb: str) -> list[JobView]:
    """Return the jobs of `nodes` that have a pending change set.

    If `every` is True, return all jobs that have a pending change set. Raises UsageError if `nodes`
    is empty and `every` is False. Raises NotFound if a node is unknown or has no pending change
    set.
    """
    open_jobs = [job for job in view.jobs if job.review.state in UNDECIDED]
    if every:
        return open_jobs
    if not nodes:
        raise UsageError(
            f"no changes selected; specify nodes to {verb}, or use --all, --rule or --if",
            hint=_waiting(open_jobs) or "no change of this run is pending",
        )
    picked: list[JobView] = []
    for name in nodes:
        picked += [job for job in _find_named(view, name, open_jobs) if job not in picked]
    return picked


def named_nodes(job: JobView, names: Sequence[str]) -> set[NodeKey]:
    """Return the nodes of a job that are named, or nothing if the whole job is."""
    keys = [NodeKey(key) for key in job.nodes or ()]
    if job.agent_id in names:
        return set()
    named = {key for name in names for key in match_nodes([*keys, NodeKey(job.node_id)], name)}
    covers_all = all(any(is_in(key, outer) for outer in named) for key in keys)
    return set() if covers_all or (job.node_id in named and job.node_id not in keys) else named


def is_in(key: str, outer: NodeKey) -> bool:
    return key == outer or key.startswith(f"{outer}.")


def _waiting(jobs: Iterable[JobView]) -> str:
    names = [display_name(job.node_id) for job in jobs]
    return f"pending: {some_of(names, _NAMED)}" if names else ""


def _find_named(view: RunView, name: str, open_jobs: Sequence[JobView]) -> list[JobView]:
    named = jobs_named(view, name)
    found = [job for job in named if job in open_jobs]
    broken = next((job for job in named if job.stream.damaged), None)
    if not found and broken is not None:
        raise StreamDamaged(str(broken.outcome.error), hint=_waiting(open_jobs))
    if not found:
        states = {job.review.state or str(job.status) for job in named}
        words = shlex.join(["retry", view.run_id, name, *model_words(view.start)])
        again = f"`remora {words}` proposes it again"
        raise NotFound(
            f"{name} has no pending change ({', '.join(map(status_text, sorted(states)))})",
            hint=again if states == {REVERTED} else _waiting(open_jobs),
        )
    return found


def parse_filter(rules: Iterable[str], conditions: Iterable[str]) -> ReviewFilter:
    """Parse the values of command-line options.

    Each value in `conditions` may contain several conditions, separated by commas. Raises
    UsageError for an invalid rule code or an unknown condition.
    """
    given = {" ".join(rule.split()) for rule in rules}
    codes = {rule.upper() if is_lint_code(rule) else rule.lower() for rule in given}
    wrong = sorted(code for code in codes if not _RULE.fullmatch(code))
    if wrong:
        raise UsageError(
            f"{wrong[0]!r} is not a rule",
            hint="use e.g. F401, or a name such as 'missing annotation'",
        )
    names = {name.strip() for words in conditions for name in words.split(",")}
    unknown = sorted(names - CONDITIONS.keys())
    if unknown:
        known = ", ".join(CONDITIONS)
        raise UsageError(f"unknown condition {unknown[0]!r}", hint=f"use one of: {known}")
    return ReviewFilter(rules=frozenset(codes), conditions=frozenset(names))


def apply_filter(
    project: ProjectRecords, view: RunView, jobs: Iterable[JobView], narrow: ReviewFilter
) -> tuple[list[JobView], list[str]]:
    """Return the jobs of a run that pass the filter, and messages about the jobs that do not.

    Of a job that fixes findings of several rules, `choose_groups` chooses the hunks. Raises
    UsageError for a rule that does not exist.
    """
    _require_rules(view.jobs, narrow.rules)
    kept: list[JobView] = []
    left: list[str] = []
    for job in jobs:
        if why := _objection(project, job, narrow):
            left.append(f"{display_name(job.node_id)}: skipped because {why}")
        else:
            kept.append(job)
    return kept, left


def _require_rules(jobs: Iterable[JobView], rules: frozenset[str]) -> None:
    """Raise UsageError for the first rule that is neither in the run nor one of ruff's."""
    present = {
        code
        for job in jobs
        for code in {**(job.findings.before or {}), **(job.findings.after or {})}
    }
    for rule in sorted(rules):
        if any(_covers(rule, code) for code in present):
            continue
        known = rule_codes()
        if known and not any(_covers(rule, code) for code in known):
            meant = did_you_mean(rule, present) or did_you_mean(rule, known)
            hint = "`remora show RUN` lists the rules of a run"
            raise UsageError(f"no rule {rule}{meant}", hint=hint)


def choose_groups(
    change: ReadyChange, narrow: ReviewFilter, nodes: Sequence[str]
) -> tuple[ReadyChange | None, list[str]]:
    """Return a change with the groups that fix only the rules of the filter, in the nodes.

    It is None if there are none. Also return a message about the others.
    """
    job = change.job
    named = named_nodes(job, nodes)
    if not named and not narrow.rules:
        return change, []
    groups = groups_of(change.whole, job)
    pending = [group for group in groups if {*group.hunks} & {*change.hunks}]
    chosen = [
        group
        for group in pending
        if (not narrow.rules or all(_passes(rule, narrow.rules) for rule in group.rules))
        and (not named or all(any(is_in(key, outer) for outer in named) for key in _own(group)))
    ]
    others = (group for group in pending if group not in chosen)
    left = [f"{group.label} ({hunks_text(group.hunks)})" for group in others]
    kept = {number for group in chosen for number in group.hunks}
    some = f"{display_name(job.node_id)}: still pending: {some_of(left, _SHOWN_GROUPS)}"
    return change.only(kept) if kept else None, [some] if left else []


def tied_text(run_id: str, changes: Iterable[ReadyChange], narrow: ReviewFilter) -> list[str]:
    """Return a message about files with pending hunks of the filter's rules that need others."""
    tied: dict[str, set[str]] = {}
    for change in changes if narrow.rules else ():
        for group in groups_of(change.whole, change.job):
            others = {rule for rule in group.rules if not _passes(rule, narrow.rules)}
            if 0 < len(others) < len(group.rules) and {*group.hunks} & {*change.hunks}:
                tied.setdefault(change.job.node_id.rpartition(":")[0], set()).update(others)
    if not tied:
        return []
    rules = sorted(narrow.rules.union(*tied.values()))
    words = shlex.join(["remora", "accept", run_id, *(f"--rule={rule}" for rule in rules)])
    files, named = count(len(tied), "file"), ", ".join(sorted(narrow.rules))
    return [
        f"left in {files}: changes of {named} that are tied to other rules; `{words}` takes them"
    ]


def _own(group: HunkGroup) -> list[NodeKey]:
    """Return the functions and classes that a group changes, or the modules if it changes none."""
    return [key for key in group.nodes if not key.endswith(f":{MODULE}")] or list(group.nodes)


def _passes(code: str, rules: Iterable[str]) -> bool:
    return any(_covers(rule, code) for rule in rules)


def _covers(rule: str, code: str) -> bool:
    """Return True if ruff's configuration would select `code` by `rule`."""
    if rule == _PYLINT:
        return code.startswith(_PYLINT)
    letters = rule.rstrip("0123456789")
    return code.rstrip("0123456789") == letters and code.startswith(rule)


def _objection(project: ProjectRecords, job: JobView, narrow: ReviewFilter) -> str:
    codes = set(fixed(job.findings.before or {}, job.findings.after or {}))
    if narrow.rules and not any(_passes(code, narrow.rules) for code in codes):
        return f"it fixes {', '.join(sorted(codes)) or 'no findings'}"
    for name in sorted(narrow.conditions):
        if not CONDITIONS[name](project, job):
            return f"it is not {name}"
    return ""


def _is_verified(_: ProjectRecords, job: JobView) -> bool:
    """Return True if all checks passed and there is no conflict.

    Returns False if the user edited the node.
    """
    return job.review.state == PENDING


def _is_docstring_only(project: ProjectRecords, job: JobView) -> bool:
    try:
        patches = patches_of(project, job)
    except (DiskError, NotFound, StreamDamaged):
        return False
    return all(
        patch.path.endswith((".py", ".pyi"))
        and patch.base is not None
        and patch.theirs is not None
        and only_docstrings_changed(patch.base, patch.theirs)
        for patch in patches
    )


def is_tested(project: ProjectRecords, job: JobView) -> bool:
    """Return True if the project's tests ran with a change set, or can say nothing about it."""
    is_of_tests = all(is_test_file(change.path) for change in job.changes)
    return job.proposal.proof == TESTED or is_of_tests or _is_docstring_only(project, job)


CONDITIONS: dict[str, Callable[[ProjectRecords, JobView], bool]] = {
    "verified": _is_verified,
    "docstring-only": _is_docstring_only,
}
"""Conditions of `--if`.

The names are values of a command-line option. `docstring-only` compares files, so that it works for
every operation.
"""


def only_docstrings_changed(before: bytes, after: bytes) -> bool:
    """Return True if both sources parse and their syntax trees are the same except for
    docstrings.
    """
    old, new = _without_docstrings(before), _without_docstrings(after)
    return old is not None and old == new


def _without_docstrings(content: bytes) -> str | None:
    source = read_source("", content)
    if not isinstance(source, Source):
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            # a body of only a docstring equals a body of `pass`
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(source.tree)
