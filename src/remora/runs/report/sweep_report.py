"""Report of a sweep: what each repository lacked before, and what is left."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from remora.operations.base import Totals
from remora.pictures.markup import escaped
from remora.runs.records.results import RunView, job_document
from remora.runs.records.totals import phrases_of, totals_by_operation
from remora.runs.report.markdown import escape_markdown
from remora.runs.report.page_style import STYLE
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


def debts_of(view: RunView, totals: tuple[Totals, ...]) -> tuple[Debt, ...]:
    """Return what a run found and what its changes leave."""
    documents = [job_document(job) for job in view.jobs]
    sums = totals_by_operation(documents, view.start.plan.get("findings", 0), totals)
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


def sweep_page(report: SweepReport) -> str:
    """Return the report as a self-contained HTML page."""
    return "\n".join(_page_lines(report)) + "\n"


def _page_lines(report: SweepReport) -> Iterator[str]:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escaped(_headline(report))}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{escaped(_headline(report))}</h1>"
    yield f'<p class="dim">Run <code>{escaped(report.run_id)}</code></p>'
    yield '<ul class="numbers">'
    for debt in report.totals:
        done = debt.before - debt.after
        yield f"<li><b>{done:,} of {debt.before:,}</b>{escaped(debt.what)} resolved</li>"
    yield "</ul>\n<h2>Repositories</h2>"
    yield '<p class="dim">Before → after all verified changes.</p>\n<table>'
    heads = ("repository", *report.kinds, "to review", "accepted")
    yield "<tr>" + "".join(f"<th>{escaped(head)}</th>" for head in heads) + "</tr>"
    for one in report.repositories:
        yield _page_row(report, one)
    yield f"</table>\n<footer><p>Remora {escaped(report.version)}.</p></footer>\n</body>\n</html>"


def _page_row(report: SweepReport, one: RepositoryReport) -> str:
    known = {debt.what: debt for debt in one.debts}
    cells = [f'<td class="name">{escaped(one.name)}</td>']
    if one.error:
        cells.append(f'<td class="bad" colspan="{len(report.kinds) + 2}">{escaped(one.error)}</td>')
        return f"<tr>{''.join(cells)}</tr>"
    for kind in report.kinds:
        debt = known.get(kind)
        shown = "" if debt is None else _arrow(debt)
        cells.append(f'<td class="{_color(debt)}">{shown}</td>')
    cells += [f"<td>{one.pending:,}</td>", f"<td>{one.accepted:,}</td>"]
    return f"<tr>{''.join(cells)}</tr>"


def _color(debt: Debt | None) -> str:
    if debt is None:
        return "quiet"
    if not debt.after:
        return "good"
    return "wait" if debt.after <= debt.before / 2 else "warn"


def _cells(report: SweepReport, one: RepositoryReport) -> list[str]:
    known = {debt.what: debt for debt in one.debts}
    arrows = [_arrow(known[kind]) if kind in known else "" for kind in report.kinds]
    return [*arrows, str(one.pending), str(one.accepted)]


def _arrow(debt: Debt) -> str:
    return f"{debt.before:,} → {debt.after:,}"


def _headline(report: SweepReport) -> str:
    pending, accepted = _verdicts(report)
    where = count(len(report.repositories), "repository", "repositories")
    return f"{count(pending, 'change set')} to review, {accepted:,} accepted in {where}"


def _verdicts(report: SweepReport) -> tuple[int, int]:
    ones = report.repositories
    return sum(one.pending for one in ones), sum(one.accepted for one in ones)


def _json(report: SweepReport) -> str:
    totals = msgspec.to_builtins(report.totals)
    document = {**msgspec.to_builtins(report), "totals": totals}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


SWEEP_FORMATS: Mapping[str, Callable[[SweepReport], str]] = {
    "md": sweep_markdown,
    "html": sweep_page,
    "json": _json,
}
