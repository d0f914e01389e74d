"""Filters that select change sets to review by the rules they fix and by conditions."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remora.code.syntax.docstring_change import only_docstrings_changed
from remora.errors import NotFound, StreamDamaged, UsageError
from remora.runs.project import Project
from remora.runs.records.change_set_files import patches_of
from remora.runs.records.current_attempt import PENDING
from remora.runs.records.findings import fixed
from remora.runs.records.job_view import JobView

_CODE = re.compile(r"[A-Z]+[0-9]*")


@dataclass(frozen=True, kw_only=True)
class ReviewFilter:
    """Filter of change sets.

    If there are `rules`, a change set must fix findings, and only findings of these rules.
    `conditions` are names in CONDITIONS, all of which must be true.
    """

    rules: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rules or self.conditions)


ALL = ReviewFilter()


def parse_filter(rules: Iterable[str], conditions: Iterable[str]) -> ReviewFilter:
    """Parse command-line values. A value may contain several conditions, separated by commas.

    Raises UsageError for an invalid rule code or an unknown condition.
    """
    codes = {rule.strip().upper() for rule in rules}
    wrong = sorted(code for code in codes if not _CODE.fullmatch(code))
    if wrong:
        raise UsageError(f"{wrong[0]!r} is not a rule code", hint="use e.g. F401")
    names = {name.strip() for words in conditions for name in words.split(",")}
    unknown = sorted(names - CONDITIONS.keys())
    if unknown:
        known = ", ".join(CONDITIONS)
        raise UsageError(f"unknown condition {unknown[0]!r}", hint=f"use one of: {known}")
    return ReviewFilter(rules=frozenset(codes), conditions=frozenset(names))


def apply_filter(
    project: Project, jobs: Iterable[JobView], narrow: ReviewFilter
) -> tuple[list[JobView], list[str]]:
    """Return the jobs that pass, and a line with the reason for each job that does not pass."""
    kept: list[JobView] = []
    left: list[str] = []
    for job in jobs:
        why = _objection(project, job, narrow)
        if why:
            left.append(f"{job.node_id.removeprefix('node:')}: skipped because {why}")
        else:
            kept.append(job)
    return kept, left


def _objection(project: Project, job: JobView, narrow: ReviewFilter) -> str:
    codes = set(fixed(job.before or {}, job.after or {}))
    if narrow.rules and not codes:
        return "it does not fix any findings"
    if narrow.rules and not codes <= narrow.rules:
        others = ", ".join(sorted(codes - narrow.rules))
        return f"it fixes {others}{' too' if codes & narrow.rules else ''}"
    for name in sorted(narrow.conditions):
        if not CONDITIONS[name](project, job):
            return f"it is not {name}"
    return ""


def _is_verified(_: Project, job: JobView) -> bool:
    """Return True if all checks passed, the node is unedited, and there is no conflict."""
    return job.review == PENDING


def _is_docstring_only(project: Project, job: JobView) -> bool:
    try:
        patches = patches_of(project, job)
    except (NotFound, StreamDamaged):
        return False
    return all(
        patch.path.endswith((".py", ".pyi"))
        and patch.base is not None
        and patch.theirs is not None
        and only_docstrings_changed(patch.base, patch.theirs)
        for patch in patches
    )


CONDITIONS: dict[str, Callable[[Project, JobView], bool]] = {
    "verified": _is_verified,
    "docstring-only": _is_docstring_only,
}
"""Conditions of `--if`."""
