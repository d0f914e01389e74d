"""What the jobs of a run came to, summed for each operation: each kind of work in its own measure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from remora.runs.records.findings import (
    MISSING,
    OURS,
    OUTDATED,
    UNTESTED,
    WORTH,
    Codes,
    counts,
    fixed_and_left,
)

Document = Mapping[str, Any]
_Known = Sequence[tuple[Document, tuple[Codes, Codes]]]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """A linter's findings: fixed, of all that were planned, or of more where jobs met more."""

    fixed: int
    of: int


class Docstrings(msgspec.Struct, frozen=True, kw_only=True):
    """Docstrings, of all that were missing or outdated."""

    added: int
    mended: int
    of: int


class NewTests(msgspec.Struct, frozen=True, kw_only=True):
    """Tests, of all that were missing. They fail with `killed` of `mutants` of their functions, and
    run `lines` of `all_lines` of those."""

    added: int
    of: int
    killed: int
    mutants: int
    lines: int
    all_lines: int


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """An operation's jobs that began. `verified` counts change sets that are in the user's files or may come
    there with a yes: what people refused does not count, nor what met a conflict, here and in the
    measures. A measure is null where no job knows of any such work."""

    operation: str
    jobs: int
    verified: int
    findings: Findings | None = None
    docstrings: Docstrings | None = None
    tests: NewTests | None = None


def sums_of(jobs: Sequence[Document], planned: int) -> tuple[Sum, ...]:
    """Of documents of jobs: findings first, then docstrings, tests and all else, each in the order in
    which operations occur. `planned` lint findings were met when the run began."""
    names = list(dict.fromkeys(str(job["operation"]) for job in jobs))
    sums = [_sum(name, [job for job in jobs if job["operation"] == name]) for name in names]
    sums.sort(key=lambda told: (not told.findings, not told.docstrings, not told.tests))
    linting = [one for one in sums if one.findings is not None]
    if len(linting) != 1:  # nobody wrote down whose the planned ones are
        return tuple(sums)
    return tuple(_planned(one, planned) if one.findings is not None else one for one in sums)


def left_alone(node_ids: Sequence[str], operations: int, skipped: int) -> int:
    """How many nodes were looked at and became no job. `node_ids` are those of the jobs; `skipped`
    counts pairs of node and operation, so that with the jobs each node is there once for each."""
    return (skipped + len(node_ids)) // max(1, operations) - len(set(node_ids))


def planned_left_alone(plan: Mapping[str, Any]) -> int:
    """The same of a plan as the run's stream has it."""
    nodes = [str(job["node_id"]) for job in plan.get("jobs", ())]
    return left_alone(nodes, len(plan.get("operations", ())), plan.get("skipped", 0))


def asked_text(asked: int, differed: int) -> str:
    """How often a model was asked, and whether that made a difference."""
    times = "once" if asked == 1 else f"{asked:,} times"
    told = f"the model was asked {times}, "
    if not differed:
        return told + f"and the first candidate was taken{'' if asked == 1 else ' each time'}"
    others = "once" if differed == 1 else f"{differed:,} times"
    return told + f"and another candidate than the first was taken {others}"


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A sum in words: `done` of `of`, of what, and what more there is to say, perhaps nothing."""

    done: int
    of: int
    what: str
    more: str = ""

    @property
    def brief(self) -> str:
        """`41 of 44 findings fixed`."""
        return f"{self.done:,} of {self.of:,} {self.what}"

    @property
    def whole(self) -> str:
        """`5 of 6 docstrings written: 4 added, 1 mended`."""
        return f"{self.brief}: {self.more}" if self.more else self.brief


def said(sums: Sequence[Sum]) -> list[Said]:
    """In the order of the operations; one of which no work is known tells of its jobs."""
    return [one for told in sums for one in _said(told)]


def _said(told: Sum) -> list[Said]:
    found = []
    if (lint := told.findings) is not None:
        what = f"{_plural('finding', lint.of)} fixed"
        found.append(Said(done=lint.fixed, of=lint.of, what=what))
    if (text := told.docstrings) is not None:
        what = f"{_plural('docstring', text.of)} written"
        each = ((text.added, "added"), (text.mended, "mended"))
        more = ", ".join(f"{n:,} {how}" for n, how in each if n)
        found.append(Said(done=text.added + text.mended, of=text.of, what=what, more=more))
    if (test := told.tests) is not None:
        what = f"missing {_plural('test', test.of)} added"
        found.append(Said(done=test.added, of=test.of, what=what, more=worth_text(test)))
    if found:
        return found
    what = f"{told.operation} {_plural('job', told.jobs)} verified"
    return [Said(done=told.verified, of=told.jobs, what=what)]


def worth_text(worth: NewTests) -> str:
    """What tests notice and run; empty where that is not known."""
    if not worth.mutants:
        return ""
    faults = (
        f"notice {worth.killed:,} of {worth.mutants:,} planted {_plural('fault', worth.mutants)}"
    )
    lines = f"run {worth.lines:,} of {worth.all_lines:,} {_plural('line', worth.all_lines)}"
    return f"{faults}, {lines} of what they test"


def _sum(operation: str, jobs: Sequence[Document]) -> Sum:
    known = [(job, pair) for job in jobs if (pair := fixed_and_left(job)) is not None]
    return Sum(
        operation=operation,
        jobs=len(jobs),
        verified=sum(job["status"] == "submitted" and counts(job) for job in jobs),
        findings=_findings(known),
        docstrings=_docstrings(known),
        tests=_tests(known),
    )


def _planned(told: Sum, planned: int) -> Sum:
    assert told.findings is not None
    met = msgspec.structs.replace(told.findings, of=max(planned, told.findings.of))
    return msgspec.structs.replace(told, findings=met)


def _findings(known: _Known) -> Findings | None:
    linted = [each for each in known if not _codes(each[1]) & OURS.keys()]
    if not linted:
        return None
    met = sum(sum(gone.values()) + sum(left.values()) for _, (gone, left) in linted)
    done = sum(sum(gone.values()) for job, (gone, _) in linted if counts(job))
    return Findings(fixed=done, of=met)


def _docstrings(known: _Known) -> Docstrings | None:
    met = [each for each in known if _codes(each[1]) & {MISSING, OUTDATED}]
    if not met:
        return None
    done = Counter(code for job, (gone, _) in met if counts(job) for code in gone)
    return Docstrings(added=done[MISSING], mended=done[OUTDATED], of=len(met))


def _tests(known: _Known) -> NewTests | None:
    met = [each for each in known if UNTESTED in _codes(each[1])]
    if not met:
        return None
    added = [job for job, (gone, _) in met if UNTESTED in gone and counts(job)]
    worth = Counter[str]()
    for job in added:
        worth.update(job["worth"] or {})
    return NewTests(added=len(added), of=len(met), **{name: worth[name] for name in WORTH})


def _codes(pair: tuple[Codes, Codes]) -> frozenset[str]:
    return frozenset((*pair[0], *pair[1]))


def _plural(one: str, number: int) -> str:
    return one if number == 1 else f"{one}s"
