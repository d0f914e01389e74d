"""Applies proposed fixes, and keeps only those whose result passes every check."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from remora.code.edit.edits import Edit, apart, apply_edits
from remora.code.edit.text_lines import lines_of
from remora.judges.lint.new_findings import comparison_key, new_findings
from remora.judges.lint.used_imports import bound_names
from remora.tools.host.ruff.finding import Finding

Settled = tuple[bytes, list[Finding]]
Settle = Callable[[str], Settled]
"""Returns the final content for an edited version of the file, and its findings."""
Check = Callable[[str], list[Finding]]
"""Returns the findings of a version of the file."""
_MAX_CHECKS = 10
_UNDEFINED = re.compile(r"Undefined name `(\w+)`")


@dataclass(frozen=True)
class Proposal:
    """The edits that fix a finding."""

    finding: Finding
    edits: tuple[Edit, ...]


@dataclass
class _Trial:
    """Decides which proposals can be applied together to the text `body`."""

    body: str
    before: list[Finding]
    settle: Settle
    check: Check
    taken: list[Proposal] = field(default_factory=list)
    content: bytes | None = None
    checks: int = 0

    def add(self, proposals: Sequence[Proposal]) -> None:
        """Take as many of the proposals as pass the checks together with those already taken."""
        if not proposals or self.checks >= _MAX_CHECKS:
            return
        self.checks += 1
        blamed = self._try([*self.taken, *proposals])
        if blamed is None:
            return
        rest = [proposal for proposal in proposals if id(proposal) not in set(map(id, blamed))]
        if rest and len(rest) < len(proposals):
            self.add(rest)
        elif len(proposals) > 1:
            middle = len(proposals) // 2
            self.add(proposals[:middle])
            self.add(proposals[middle:])

    def _try(self, proposals: list[Proposal]) -> list[Proposal] | None:
        """Take the proposals if they pass the checks, or return those that are at fault.

        Returns an empty list if it is not known which ones are.
        """
        body = edited(self.body, proposals)
        content, found = self.settle(body)
        wrong = [*new_findings(self.before, found), *self._lasting(proposals, found)]
        if not wrong:
            self.taken, self.content = proposals, content
            return None
        raw = found if content == body.encode() else self.check(body)
        keys = {comparison_key(finding) for finding in wrong}
        lines = {
            line
            for finding in raw
            if comparison_key(finding) in keys
            for line in range(finding["line"], finding["end_line"] + 1)
        }
        causes = _causes_elsewhere(wrong, content.decode("utf-8", "replace"))
        return [
            proposal
            for proposal, own in _placed(self.body, proposals)
            if not lines.isdisjoint(own)
            or any(causes(self.body[edit.start : edit.end], edit.text) for edit in proposal.edits)
        ]

    def _lasting(self, proposals: Sequence[Proposal], found: list[Finding]) -> list[Finding]:
        """Return the findings of each rule of which fewer are fixed than there are proposals."""
        fixed = Counter(proposal.finding["code"] for proposal in proposals)
        left = Counter(finding["code"] for finding in found)
        had = Counter(finding["code"] for finding in self.before)
        lasting = {code for code, number in fixed.items() if left[code] > had[code] - number}
        return [finding for finding in found if finding["code"] in lasting]


def _causes_elsewhere(findings: Iterable[Finding], body: str) -> Callable[[str, str], bool]:
    """Return a function that returns True if a change of some text causes a finding of `body`.

    The change removes the import of a name that is now undefined, or a use of a name whose import
    is now unused.
    """
    undefined: set[str] = set()
    unused: set[str] = set()
    for finding in findings:
        undefined.update(_UNDEFINED.findall(finding["message"]))
        unused.update(bound_names(finding, body))
    lost = re.compile(rf"import\b[^#]*\b(?:{'|'.join(undefined)})\b", re.DOTALL)
    used = re.compile(rf"\b(?:{'|'.join(unused)})\b")

    def causes(removed: str, added: str) -> bool:
        return (bool(undefined) and lost.search(removed) is not None) or (
            bool(unused) and len(used.findall(removed)) > len(used.findall(added))
        )

    return causes


def edited(body: str, proposals: Sequence[Proposal]) -> str:
    """Return a text with the edits of proposals."""
    return apply_edits(body, [edit for proposal in proposals for edit in proposal.edits])


def _placed(body: str, proposals: Sequence[Proposal]) -> Iterator[tuple[Proposal, range]]:
    """Yield the lines that each proposal has in the edited text."""
    moved, starts = 0, [line.start for line in lines_of(body)]
    lines: dict[Edit, tuple[int, int]] = {}
    for edit in sorted({edit for proposal in proposals for edit in proposal.edits}):
        first = bisect_right(starts, edit.start) + moved
        added = edit.text.count("\n")
        lines[edit] = (first, first + added)
        moved += added - body.count("\n", edit.start, edit.end)
    for proposal in proposals:
        firsts, lasts = zip(*(lines[edit] for edit in proposal.edits), strict=True)
        yield proposal, range(min(firsts), max(lasts) + 1)


def apply_proposals(
    body: str,
    proposals: Sequence[Proposal],
    before: list[Finding],
    *,
    settle: Settle,
    check: Check,
) -> bytes | None:
    """Return the content of the file with as many of the proposals as pass every check.

    `before` contains the findings of `body`. Fixes are left out if they overlap an earlier one, if
    the result does not parse, if a finding stays, or if there are new findings. Returns None if no
    proposal is left.
    """
    trial = _Trial(body, before, settle, check)
    trial.add([proposals[number] for number in apart([proposal.edits for proposal in proposals])])
    return trial.content
