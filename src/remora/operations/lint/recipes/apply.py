"""Applies recipes, and keeps only those edits whose result passes every check."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from remora.code.edit.edits import Edit, apply_edits, overlap
from remora.errors import HostError
from remora.operations.lint.recipes.base import PythonSource, RecipeFix, Verify, parse_source
from remora.operations.lint.recipes.class_variables import CLASS_VARIABLES
from remora.operations.lint.recipes.comment_wrapping import WRAPPED_COMMENTS
from remora.operations.lint.recipes.docstring_text import IMPERATIVE, PERIOD, PLAIN_CHARACTERS
from remora.operations.lint.recipes.exceptions import CHAINED
from remora.operations.lint.recipes.imports import UNUSED_IMPORTS, needed_imports
from remora.operations.lint.recipes.summary import SUMMARY_LINE
from remora.operations.lint.reverting import causes_elsewhere
from remora.tools.host.ruff.finding import Finding, comparison_key, new_findings

_RECIPES = (
    *(WRAPPED_COMMENTS, SUMMARY_LINE, IMPERATIVE, PERIOD, CLASS_VARIABLES, CHAINED),
    *(PLAIN_CHARACTERS, UNUSED_IMPORTS),
)
RECIPES = {code: recipe for recipe in _RECIPES for code in recipe.codes}
"""All recipes, by rule."""
Settled = tuple[bytes, list[Finding]]
Settle = Callable[[str], Settled]
"""Returns the final content for an edited version of the file, and its findings."""
Check = Callable[[str], list[Finding]]
"""Returns the findings of a version of the file."""
_MAX_CHECKS = 10


@dataclass(frozen=True)
class Proposal:
    """A fix of a finding. `keeps` verifies the version with all fixes that share it."""

    finding: Finding
    fix: RecipeFix
    keeps: Verify


@dataclass
class _Trial:
    """Decides which proposals can be applied together to `source`."""

    source: PythonSource
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
        rest = [each for each in proposals if id(each) not in set(map(id, blamed))]
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
        body = edited(self.source, proposals)
        content, found = self.settle(body)
        wrong = [*new_findings(self.before, found), *self._lasting(proposals, found)]
        if not wrong:
            self.taken, self.content = proposals, content
            return None
        raw = found if content == body.encode() else self.check(body)
        keys = {comparison_key(each) for each in wrong}
        lines = {
            line
            for each in raw
            if comparison_key(each) in keys
            for line in range(each["line"], each["end_line"] + 1)
        }
        causes = causes_elsewhere(wrong, content.decode("utf-8", "replace"))
        return [
            each
            for each, own in _placed(self.source, proposals)
            if not lines.isdisjoint(own)
            or any(causes(self.source.body[e.start : e.end], e.text) for e in each.fix.edits)
        ]

    def _lasting(self, proposals: Sequence[Proposal], found: list[Finding]) -> list[Finding]:
        """Return the findings of each rule of which fewer are fixed than there are proposals."""
        fixed = Counter(one.finding["code"] for one in proposals)
        left = Counter(each["code"] for each in found)
        had = Counter(each["code"] for each in self.before)
        lasting = {code for code, number in fixed.items() if left[code] > had[code] - number}
        return [each for each in found if each["code"] in lasting]


def edited(source: PythonSource, proposals: Sequence[Proposal]) -> str:
    """Return the text with the edits of proposals, and with the imports that they need."""
    edits = [edit for one in proposals for edit in one.fix.edits]
    needed = frozenset[tuple[str, str]]().union(*(one.fix.imports for one in proposals))
    return apply_edits(source.body, [*edits, *needed_imports(source, needed)])


def _placed(
    source: PythonSource, proposals: Sequence[Proposal]
) -> Iterator[tuple[Proposal, range]]:
    """Yield the lines that each proposal has in the edited text."""
    needed = frozenset[tuple[str, str]]().union(*(one.fix.imports for one in proposals))
    edits = {edit for one in proposals for edit in one.fix.edits} | {
        *needed_imports(source, needed)
    }
    moved = 0
    lines: dict[Edit, tuple[int, int]] = {}
    for edit in sorted(edits):
        first = bisect_right(source.lines, edit.start, key=lambda line: line.start) + moved
        added = edit.text.count("\n")
        lines[edit] = (first, first + added)
        moved += added - source.body.count("\n", edit.start, edit.end)
    for one in proposals:
        places = [lines[edit] for edit in one.fix.edits]
        yield one, range(min(each[0] for each in places), max(each[1] for each in places) + 1)


def verified(source: PythonSource, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals that keep the meaning of the file, each group by its own check."""
    kept: list[Proposal] = []
    for keeps in dict.fromkeys(each.keeps for each in proposals):
        kept += _keeping(source, [each for each in proposals if each.keeps is keeps])
    return kept


def _keeping(source: PythonSource, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return as many of the proposals as pass their own check. It is the same for all."""
    try:
        after = parse_source(source.path, edited(source, proposals), source.conventions)
        if proposals[0].keeps(source, after):
            return list(proposals)
    except HostError:  # it does not parse
        pass
    if len(proposals) == 1:
        return []
    middle = len(proposals) // 2
    return [*_keeping(source, proposals[:middle]), *_keeping(source, proposals[middle:])]


def propose(source: PythonSource, findings: Sequence[Finding]) -> list[Proposal]:
    """Return the fixes of all findings that a recipe applies to."""
    return [
        Proposal(finding, fix, recipe.keeps)
        for finding in findings
        if (recipe := RECIPES.get(finding["code"])) and (fix := recipe.fix(source, finding))
    ]


def apply_proposals(
    source: PythonSource,
    proposals: Sequence[Proposal],
    before: list[Finding],
    *,
    settle: Settle,
    check: Check,
) -> bytes | None:
    """Return the content of the file with as many of the proposals as pass every check.

    `before` contains the findings of `source`. Fixes are left out if they overlap an earlier one, if
    the result does not parse, if their own check fails, if a finding stays, or if there are new
    findings. Returns None if no proposal is left.
    """
    trial = _Trial(source, before, settle, check)
    trial.add(verified(source, without_overlaps(proposals)))
    return trial.content


def without_overlaps(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals whose edits do not overlap those of an earlier one."""
    taken: list[Edit] = []
    apart: list[Proposal] = []
    for proposal in proposals:
        edits = proposal.fix.edits
        if not any(_touches(taken, edit) for edit in edits):
            apart.append(proposal)
            for edit in edits:
                insort(taken, edit)
    return apart


def _touches(taken: Sequence[Edit], edit: Edit) -> bool:
    """Return True if an edit overlaps one of the sorted edits, and is not the same as it."""
    at = bisect_left(taken, edit)
    near = taken[max(at - 2, 0) : at + 2]
    return edit not in near and any(overlap((edit,), (other,)) for other in near)
