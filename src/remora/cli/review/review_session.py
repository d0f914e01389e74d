"""An interactive review, with one change at a time and one key per verdict."""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note, print_failure, print_lines, wrapped
from remora.cli.app.project_context import ask_for_addresses, invocation_of
from remora.cli.app.working import accept_progress
from remora.cli.review.change_view import action_lines, change_set_lines
from remora.cli.review.edit_files import ask_whose, both_versions, edit_files, why_unfinished
from remora.cli.review.questions import QUIT, ask_key, choose_hunks, show_whole
from remora.cli.review.verdicts import written_text
from remora.cli.run.foreground_run import run_to_end
from remora.cli.views.job_view import SAME_CHANGE
from remora.errors import NotFound, RemoraError
from remora.ids import split_node_key
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_record import read_own_record
from remora.runs.report.job_texts import why_not_judged
from remora.runs.review.accepted_changes import Verdicts
from remora.runs.review.conflicts import conflicts_now
from remora.runs.review.pending import GroupBy, is_alike, pending_changes, rules_text
from remora.runs.review.ready_changes import ready_change
from remora.statuses import ACCEPTED, REJECTED, STALE
from remora.text import count, escape_line
from remora.usecases.analyze.start_retry import start_retry
from remora.usecases.review import accept_part, verdicts
from remora.usecases.review import revert as reverting
from remora.usecases.review.accept_part import AS_AGENT
from remora.workspaces.apply.merge_change_set import FilePatch

_SKIPPED = "skipped"
_EDIT_IS_KEPT = "  your edit is kept: [e] continues it"
_UNDO_BOTH = "This also undoes what was accepted of it before. [y]es [n]o "
_QUESTION = "[y]es [n]o [e]dit [s]plit s[k]ip [u]ndo [d]iff [q]uit [?] "


class _Step(NamedTuple):
    """A verdict or a skip that can be undone."""

    kind: str
    agents: list[str]
    """The IDs of its agents."""


@dataclass(eq=False)
class Review:
    """The state of the review of a run."""

    options: Options
    project: Project
    view: RunView
    """The run after the last verdict."""
    by: GroupBy
    trusted: bool
    done: Counter[str] = field(default_factory=Counter)
    """The number of verdicts of each kind."""
    passed: set[str] = field(default_factory=set)
    """The IDs of the agents that were skipped."""
    edits: dict[str, list[FilePatch]] = field(default_factory=dict)
    """The files of edits that were not accepted, by agent."""
    steps: list[_Step] = field(default_factory=list)
    conflicts: int = 0
    has_quit: bool = False
    """True if the user quit."""

    def __post_init__(self) -> None:
        # a part of each was accepted before this review
        self.partly = {job.agent_id for job in self.view.jobs if job.review.written is not None}

    def pending(self) -> list[tuple[str, JobView]]:
        """Return the pending change sets with their groups."""
        return pending_changes(self.view, self.by)

    def decide_all(self) -> None:
        """Review change sets until none is pending, or the user quits."""
        shown = None
        if why := why_not_judged(self.view):
            print_lines(wrapped(f"the project's own tests did not run: {why}"))
        try:
            while left := self._ahead():
                group, job = left[0]
                if group != shown:
                    shown = group
                    click.echo(click.style(escape_line(f"── {group} ──"), fg="cyan"))
                number = 1 + self.done.total() + len(self.passed)
                if not self._decide(job, f"{number}/{number + len(left) - 1}"):
                    self.has_quit = True
                    return
        except click.Abort:
            click.echo()
            raise

    def _ahead(self) -> list[tuple[str, JobView]]:
        """Return the pending change sets that were not skipped."""
        return [pair for pair in self.pending() if pair[1].agent_id not in self.passed]

    def _decide(self, job: JobView, place: str) -> bool:
        """Show a change set, and ask until it is decided or skipped. Return False to quit."""
        try:
            most = shutil.get_terminal_size().lines - 1  # the question is below it
            print_lines(change_set_lines(self.project, job, place, most=most))
        except RemoraError as error:
            print_failure(error)
        while True:
            key = ask_key(_QUESTION)
            key = key if key in _KEYS else key.lower()
            word, action = _KEYS.get(key, ("", Review.help))
            click.echo(word)
            if key == QUIT:
                return False
            try:
                if action(self, job):
                    return True
            except RemoraError as error:
                print_failure(error)
                self._refresh()  # part of it may be recorded, or another process decided
                if all(job.agent_id != other.agent_id for _, other in self.pending()):
                    return True
                if job.agent_id in self.edits:
                    click.echo(_EDIT_IS_KEPT)

    def _refresh(self) -> None:
        record = read_own_record(self.project, self.view.run_id, trusted=self.trusted)
        self.view = read_run(self.project, record, self.view.jobs)

    def undo(self, _: JobView) -> bool:
        """Withdraw the last verdict. Return True if a change set is pending again."""
        if not self.steps:
            click.echo("  nothing to undo: this review has not decided anything yet")
        return bool(self.steps) and self.take_back()

    def take_back(self) -> bool:
        """Withdraw the last verdict, of which there is one."""
        step = self.steps[-1]
        if step.kind == _SKIPPED:
            self.passed.difference_update(step.agents)
        else:
            if not self.partly.isdisjoint(step.agents) and ask_key(_UNDO_BOTH) != "y":
                return False
            try:
                done = reverting.undo(self.view, *step.agents, **self._where)
            except NotFound:  # another process has undone it
                self.steps.pop()
                raise
            self.view = done.view
            self.done[step.kind] -= len(done.reopened)
            self._show_conflicts(done.conflicts)
            if done.error is not None:
                print_failure(done.error)
            if done.conflicts or done.error is not None:
                return False
        self.steps.pop()
        self.partly.difference_update(step.agents)
        return True

    def _show_notes(self, done: Verdicts) -> None:
        for text in done.notes:
            print_lines(wrapped(f"  {text}", "  "))

    def _show_conflicts(
        self, conflicts: Iterable[Mapping[str, Any]], what: str = "conflict; nothing was written"
    ) -> None:
        for conflict in conflicts:
            print_lines(wrapped(f"  {what}: {conflict['path']}: {conflict['detail']}", "  "))

    def accept(self, job: JobView) -> bool:
        key = ""
        if self._collides(job):
            where = {**self._where, "choose": both_versions}
            both = accept_part.proposed_files(self.view, job.agent_id, **where)
            key = ask_whose(both)
        if key == "e":
            return self.edit(job)
        if key == "a":
            where = {**self._where, "choose": AS_AGENT}
            files = accept_part.proposed_files(self.view, job.agent_id, **where)
            return self._accept_edited(job, files)
        done = verdicts.accept(self.view, job.agent_id, **self._where)
        self.view = done.view
        self._show_notes(done)
        if key == "m" and done.unwritten:  # what is left of it are the agent's lines
            self.view = verdicts.reject(self.view, job.agent_id, **self._where).view
            self._decided(ACCEPTED if done.accepted else REJECTED, [job.agent_id])
            return True
        self._show_conflicts(done.unwritten)
        if done.unwritten:  # still pending: the file may change
            self.passed.add(job.agent_id)
            self.conflicts += 1
        else:
            self._decided(ACCEPTED, [job.agent_id])
        return True

    def _collides(self, job: JobView) -> bool:
        """Return True if the user and the agent changed the same lines, and nothing else conflicts."""
        conflicts = conflicts_now(self.project, ready_change(self.project, job).patches)
        are_of_lines = all(conflict.places for conflict in conflicts)
        return bool(conflicts) and are_of_lines and job.review.state != STALE

    def _decided(self, kind: str, agents: list[str]) -> None:
        if agents:
            self.done[kind] += len(agents)
            self.steps.append(_Step(kind, agents))

    def reject(self, job: JobView) -> bool:
        why = click.prompt("  reason (press Enter for none)", default="", show_default=False)
        done = verdicts.reject(self.view, job.agent_id, feedback=why or None, **self._where)
        self.view = done.view
        self._decided(REJECTED, [job.agent_id])
        return True

    def retry(self, job: JobView) -> bool:
        advice = click.prompt("  what to do differently", default="", show_default=False)
        invocation = invocation_of(self.options)
        self.project = ask_for_addresses(self.options, self.project, invocation)
        wanted, models = start_retry(
            invocation, self.project, self.view, job.agent_id, feedback=advice or None
        )
        stopped = run_to_end(self.options, wanted, models)
        self._refresh()
        if stopped:
            raise KeyboardInterrupt
        self.done["tried again"] += 1
        for after in self.view.jobs:
            if after.agent_id in (wanted.only or ()):
                print_lines(wrapped(_retry_text(after), "  "))
        return True

    def split(self, job: JobView) -> bool:
        """Ask which groups of hunks to accept, and accept them."""
        hunks = accept_part.hunks(self.view, job.agent_id, **self._where)
        if len(hunks) < 2:
            click.echo("  this change has one hunk: [y] accepts it, [n] rejects it")
            return False
        chosen = choose_hunks(hunks)
        if not chosen:
            click.echo("  no hunk was chosen, so nothing is decided: [n] rejects the change")
            return False
        announce = partial(note, self.options)
        where = {**self._where, "announce": announce}
        done = accept_part.accept_hunks(self.view, job.agent_id, chosen, **where)
        if not self._written(job, done):
            return False
        if len(chosen) < len(hunks):
            self.view = verdicts.reject(self.view, job.agent_id, **self._where).view
            click.echo("  the others are rejected")
        return True

    def edit(self, job: JobView) -> bool:
        """Open the proposed files in the editor, and accept the edited version."""
        where = {**self._where, "choose": both_versions}
        proposed = accept_part.proposed_files(self.view, job.agent_id, **where)
        before = self.edits.get(job.agent_id, proposed)
        edited = edit_files(before, invocation_of(self.options).environ)
        if [file.theirs for file in edited] == [file.theirs for file in proposed]:
            self.edits.pop(job.agent_id, None)
            click.echo("  not edited, so nothing is decided")
            return False
        self.edits[job.agent_id] = edited
        if why := why_unfinished(edited):
            print_lines(wrapped(f"  {why}", "  "))
        elif self._accept_edited(job, edited):
            return True
        click.echo(_EDIT_IS_KEPT)
        return False

    def _accept_edited(self, job: JobView, files: list[FilePatch]) -> bool:
        judged = {**self._where, "announce": partial(note, self.options)}
        return self._written(
            job, accept_part.accept_edited(self.view, job.agent_id, files, **judged)
        )

    def _written(self, job: JobView, done: Verdicts) -> bool:
        """Show the result of a partial or edited accept. Return True if it was written."""
        self.view = done.view
        self._show_notes(done)
        self._show_conflicts(done.unwritten, "nothing was written")
        if done.unwritten:
            return False
        self._decided(ACCEPTED, [job.agent_id])
        now = next(other for other in self.view.jobs if other.agent_id == job.agent_id)
        click.echo(f"  written: {written_text(now)}")
        return True

    def accept_alike(self, job: JobView) -> bool:
        """Accept a change set and all others that correct the same with the same operation."""
        alike = [job, *(other for _, other in self._ahead() if is_alike(job, other))]
        if len(alike) == 1:
            click.echo("  no other change corrects the same: [y] accepts this one")
            return False
        files = len({split_node_key(other.node_id)[0] for other in alike})
        number = f"{count(len(alike), 'change')} of {job.operation} in {count(files, 'file')}"
        print_lines(wrapped(f"  {number}: {rules_text(job)}", "  "))
        if not click.confirm("  accept all of them?"):
            return False
        agents = [other.agent_id for other in alike]
        try:
            with accept_progress(self.options) as pace:
                done = verdicts.accept(self.view, *agents, progress=pace, **self._where)
        except BaseException:
            self._refresh()  # those that were accepted before the interruption
            self._decided(ACCEPTED, self._accepted(agents))
            raise
        self.view = done.view
        self._show_notes(done)
        self._show_conflicts(done.unwritten)
        self._decided(ACCEPTED, self._accepted(agents))
        nodes = {conflict["node_id"] for conflict in done.unwritten}
        refused = [other.agent_id for other in alike if other.node_id in nodes]
        self.passed.update(refused)
        self.conflicts += len(refused)
        if done.error is not None:
            print_failure(done.error)
        return True

    def _accepted(self, agents: Collection[str]) -> list[str]:
        """Return those of the agents whose change sets are accepted."""
        return [
            job.agent_id
            for job in self.view.jobs
            if job.agent_id in agents and job.review.state == ACCEPTED
        ]

    @property
    def _where(self) -> dict[str, Any]:
        return {"root": self.project, "trust_run": self.trusted}

    def skip(self, job: JobView) -> bool:
        self.passed.add(job.agent_id)
        self.steps.append(_Step(_SKIPPED, [job.agent_id]))
        return True

    def why(self, job: JobView) -> bool:
        print_lines(action_lines(self.project, job))
        return False

    def diff(self, job: JobView) -> bool:
        show_whole(list(change_set_lines(self.project, job, "again")))
        return False

    def help(self, _: JobView) -> bool:
        print_lines(f"  {key}  {about}" for key, about in _HELP.items())
        return False


_Action = Callable[[Review, JobView], bool]
_KEYS: dict[str, tuple[str, _Action]] = {
    "y": ("yes", Review.accept),
    "n": ("no", Review.reject),
    "e": ("edit", Review.edit),
    "s": ("split", Review.split),
    "A": ("accept all alike", Review.accept_alike),
    "t": ("try again", Review.retry),
    "k": ("skip", Review.skip),
    "u": ("undo", Review.undo),
    "d": ("diff", Review.diff),
    "w": ("why", Review.why),
    QUIT: ("quit", Review.skip),
}
_HELP = {
    "y": "accept: write it to your files",
    "n": "reject it; a reason is recorded if you give one",
    "e": "edit the proposed files in $VISUAL or $EDITOR, and accept the result",
    "s": "split: choose groups of its hunks to accept, and reject the others",
    "A": "accept this and all changes of the agent that correct the same",
    "t": "try again, with your feedback",
    "k": "skip it for now",
    "u": "undo the last verdict of this review",
    "d": "show the whole diff (in $PAGER if it is long)",
    "w": "show all actions and who decided them",
    QUIT: "quit; verdicts so far are kept",
}


def _retry_text(job: JobView) -> str:
    """Return the reason why a retry has no new diff, or an empty string if there is a new diff."""
    if job.proposal.same:
        return f"  {SAME_CHANGE}"
    return "" if job.review.state else f"  {job.status}: {job.outcome.error or 'no change'}"
