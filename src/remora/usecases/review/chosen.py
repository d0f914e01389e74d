"""Acceptance and rejection of the changes of a run that match a choice."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from remora.runs.judgement.judge_parts import Announce, announce_nothing, judge_parts
from remora.runs.project import Project
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_record import read_own_record
from remora.runs.review import accept_and_reject
from remora.runs.review.accept_and_reject import TrackProgress, Verdicts
from remora.runs.review.filters import ReviewFilter, parse_filter
from remora.runs.review.git_branch import accept_onto_branch
from remora.usecases.api_arguments import as_run, as_texts


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which change sets to accept or reject, as `api.accept` describes it."""

    every: bool = False
    rules: Iterable[str] = ()
    only_if: Iterable[str] = ()
    trust_run: bool = False

    def __bool__(self) -> bool:
        """Return True if change sets are selected without naming nodes."""
        return bool(self.every or self.rules or self.only_if)

    @property
    def filter(self) -> ReviewFilter:
        """The filter. Raises UsageError if it is invalid."""
        return parse_filter(as_texts(self.rules), as_texts(self.only_if))


def chosen_changes(
    project: Project, run_id: str, nodes: Sequence[str], chosen: Chosen
) -> accept_and_reject.SelectedChanges:
    """Return what `accept` would write of a run, even if another installation started the run.

    Raises the errors of `accept` about a run, a node or a rule.
    """
    view = read_run(project, read_own_record(project, run_id, trusted=True))
    return accept_and_reject.select_changes(
        project, view, nodes, every=chosen.every, narrow=chosen.filter
    )


def accept_chosen(  # noqa: PLR0913 (the options of the command)
    project: Project,
    run: str | RunView,
    nodes: Sequence[str],
    chosen: Chosen,
    git_branch: str | None = None,
    progress: TrackProgress = iter,
    announce: Announce = announce_nothing,
) -> Verdicts:
    """Write change sets to the project's files, or commit them to a branch."""
    accept: Callable[..., Verdicts] = accept_and_reject.accept
    if git_branch is not None:
        accept = partial(accept_onto_branch, name=git_branch)
    return accept(
        project,
        as_run(project, run),
        nodes,
        every=chosen.every,
        narrow=chosen.filter,
        trusted=chosen.trust_run,
        progress=progress,
        judge=partial(judge_parts, project, announce),
    )


def reject_chosen(
    project: Project,
    run: str | RunView,
    nodes: Sequence[str],
    chosen: Chosen,
    feedback: str | None = None,
) -> Verdicts:
    """Record that change sets are rejected."""
    return accept_and_reject.reject(
        project,
        as_run(project, run),
        nodes,
        every=chosen.every,
        narrow=chosen.filter,
        feedback=feedback,
        trusted=chosen.trust_run,
    )
