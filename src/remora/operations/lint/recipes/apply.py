"""Applies recipes, and keeps only those edits whose result passes every check."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from remora.errors import HostError
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    Verify,
    parse_source,
)
from remora.operations.lint.recipes.imports import import_edits
from remora.tools.host.ruff.new_findings import new_findings
from remora.tools.host.ruff.ruff_process import Finding
from remora.tools.host.ruff.text_edits import apply_edits, overlap

Check = Callable[[str], list[Finding]]
"""Returns the findings of a version of the file."""
_MAX_CHECKS = 60


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
    check: Check
    taken: list[Proposal] = field(default_factory=list)
    checks: int = 0

    def add(self, proposals: Sequence[Proposal]) -> None:
        """Take as many of the proposals as pass the checks together with those already taken."""
        if not proposals or self.checks >= _MAX_CHECKS:
            return
        self.checks += 1
        if self._passes([*self.taken, *proposals]):
            self.taken += proposals
        elif len(proposals) > 1:
            middle = len(proposals) // 2
            self.add(proposals[:middle])
            self.add(proposals[middle:])

    def result(self, proposals: Sequence[Proposal]) -> str:
        edits = [edit for one in proposals for edit in one.fix.edits]
        needed = frozenset[tuple[str, str]]().union(*(one.fix.imports for one in proposals))
        return apply_edits(self.source.body, [*edits, *import_edits(self.source, needed)])

    def _passes(self, proposals: Sequence[Proposal]) -> bool:
        body = self.result(proposals)
        try:
            after = parse_source(self.source.path, body, self.source.conventions)
        except HostError:
            return False
        found = self.check(body)
        if new_findings(self.before, found):
            return False
        fixed = Counter(one.finding["code"] for one in proposals)
        left = Counter(each["code"] for each in found)
        had = Counter(each["code"] for each in self.before)
        if any(left[code] > had[code] - number for code, number in fixed.items()):
            return False
        # one recipe's check does not know the edits of another recipe
        for keeps in {one.keeps for one in proposals}:
            alone = self.result([one for one in proposals if one.keeps is keeps])
            changed = after if alone == body else self._parsed(alone)
            if changed is None or not keeps(self.source, changed):
                return False
        return True

    def _parsed(self, body: str) -> PythonSource | None:
        try:
            return parse_source(self.source.path, body, self.source.conventions)
        except HostError:
            return None


def propose(
    source: PythonSource, findings: Sequence[Finding], recipes: Mapping[str, Recipe]
) -> list[Proposal]:
    """Return the fixes of all findings that a recipe applies to. `recipes` is keyed by rule."""
    proposals: list[Proposal] = []
    for finding in findings:
        recipe = recipes.get(finding["code"])
        fix = recipe.fix(source, finding) if recipe is not None else None
        if recipe is not None and fix is not None:
            proposals.append(Proposal(finding, fix, recipe.keeps))
    return proposals


def apply_proposals(
    source: PythonSource, proposals: Sequence[Proposal], check: Check, before: list[Finding]
) -> str:
    """Return the text of the file with as many of the proposals as pass every check.

    `check` returns the findings of a version of the file, and `before` contains the findings of
    `source`. Fixes are left out if they overlap an earlier one, if the result does not parse, if
    their own check fails, if a finding stays, or if there are new findings.
    """
    trial = _Trial(source, before, check)
    apart: list[Proposal] = []
    for proposal in proposals:
        if not any(overlap(proposal.fix.edits, other.fix.edits) for other in apart):
            apart.append(proposal)
    trial.add(apart)
    return trial.result(trial.taken)
