"""Report of a sweep: what each repository lacked before, and what is left."""

from collections.abc import Iterator
from typing import Any

import msgspec

from remora.operations.base import Totals
from remora.runs.records.results import RunView, job_document
from remora.runs.records.totals import phrases_of, totals_by_operation
from remora.runs.report.markdown import escape_markdown
from remora.text import count, plural


class Debt(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one kind, such as `findings`, before and after all changes.

    Changes count if they are verified, whether they are accepted or still pending.
    """

    what: str
    before: int
    after: int


class RepositoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of a sweep.

    `error` says why it has no run, or which record cannot be read. Otherwise, it is empty.
    """

    name: str
    run_id: str | None
    status: str
    jobs: int
    pending: int
    accepted: int
    debts: tuple[Debt, ...] = ()
    error: str = ""


class SweepReport(msgspec.Struct, frozen=True, kw_only=True):
    run_id: str
    version: str
    repositories: tuple[RepositoryReport, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of debt, in the order in which they first occur."""
        every = (debt.what for one in self.repositories for debt in one.debts)
        return tuple(dict.fromkeys(every))

    @property
    def totals(self) -> tuple[Debt, ...]:
        """The sums over all repositories."""
        every = [debt for one in self.repositories for debt in one.debts]
        return tuple(
            Debt(
                what=kind,
                before=sum(debt.before for debt in every if debt.what == kind),
                after=sum(debt.after for debt in every if debt.what == kind),
            )
            for kind in self.kinds
        )

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "totals": msgspec.to_builtins(self.totals)}


def debts_of(view: RunView, totals: tuple[Totals, ...]) -> tuple[Debt, ...]:
    """Return what a run found and what its changes leave."""
    documents = [job_document(job) for job in view.jobs]
    sums = totals_by_operation(documents, view.start.plan, totals)
    return tuple(
        Debt(what=_noun(phrase.what), before=phrase.of, after=phrase.of - phrase.done)
        for phrase in phrases_of(sums)
    )


def _noun(what: str) -> str:
    """Return `findings` for `findings fixed` and for `finding fixed`."""
    noun = what.rpartition(" ")[0] or what
    return noun if noun.endswith("s") else plural(noun, 2)


def sweep_markdown(report: SweepReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_markdown_lines(report)) + "\n"


def _markdown_lines(report: SweepReport) -> Iterator[str]:
    yield f"## Remora: {_headline(report)}\n"
    yield f"Run `{report.run_id}`. Numbers are before → after all verified changes.\n"
    yield "| " + " | ".join(("repository", *report.kinds, "to review", "accepted")) + " |"
    yield "|---" * (3 + len(report.kinds)) + "|"
    for one in report.repositories:
        name = escape_markdown(one.name)
        yield "| " + " | ".join((name, *_cells(report, one))) + " |"
    sums = (_arrow(debt) for debt in report.totals)
    pending, accepted = _verdicts(report)
    yield "| " + " | ".join(("**all**", *sums, str(pending), str(accepted))) + " |"
    failed = [one for one in report.repositories if one.error]
    yield from (f"\n{escape_markdown(one.name)}: {escape_markdown(one.error)}" for one in failed)


def _cells(report: SweepReport, one: RepositoryReport) -> list[str]:
    known = {debt.what: debt for debt in one.debts}
    arrows = [_arrow(known[kind]) if kind in known else "" for kind in report.kinds]
    return [*arrows, str(one.pending), str(one.accepted)]


def _arrow(debt: Debt) -> str:
    return f"{debt.before:,} → {debt.after:,}"


def _headline(report: SweepReport) -> str:
    pending, accepted = _verdicts(report)
    where = count(len(report.repositories), "repository", "repositories")
    return f"{count(pending, 'change')} to review, {accepted:,} accepted in {where}"


def _verdicts(report: SweepReport) -> tuple[int, int]:
    ones = report.repositories
    return sum(one.pending for one in ones), sum(one.accepted for one in ones)
