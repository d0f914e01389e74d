"""Applies recipes, and keeps only those edits whose result passes every check."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from remora.errors import HostError
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
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
class _Proposal:
    finding: Finding
    recipe: Recipe
    fix: RecipeFix


@dataclass
class _Trial:
    """Decides which proposals can be applied together to `source`."""

    source: PythonSource
    before: list[Finding]
    check: Check
    taken: list[_Proposal] = field(default_factory=list)
    checks: int = 0

    def add(self, proposals: Sequence[_Proposal]) -> None:
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

    def result(self, proposals: Sequence[_Proposal]) -> str:
        edits = [edit for one in proposals for edit in one.fix.edits]
        needed = frozenset[tuple[str, str]]().union(*(one.fix.imports for one in proposals))
        return apply_edits(self.source.body, [*edits, *import_edits(self.source, needed)])

    def _passes(self, proposals: Sequence[_Proposal]) -> bool:
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
        for recipe in {id(one.recipe): one.recipe for one in proposals}.values():
            alone = self.result([one for one in proposals if one.recipe is recipe])
            changed = after if alone == body else self._parsed(alone)
            if changed is None or not recipe.keeps(self.source, changed):
                return False
        return True

    def _parsed(self, body: str) -> PythonSource | None:
        try:
            return parse_source(self.source.path, body, self.source.conventions)
        except HostError:
            return None


def apply_recipes(
    source: PythonSource,
    findings: Sequence[Finding],
    recipes: Mapping[str, Recipe],
    check: Check,
    before: list[Finding],
) -> str:
    """Return the text of the file with the recipes for `findings` applied.

    `recipes` is keyed by rule. `check` returns the findings of a version of the file, and `before`
    contains the findings of `source`. Edits are left out if the result does not parse, if the
    recipe's own check fails, if the finding stays, or if there are new findings.
    """
    trial = _Trial(source, before, check)
    proposals: list[_Proposal] = []
    for finding in findings:
        recipe = recipes.get(finding["code"])
        fix = recipe.fix(source, finding) if recipe is not None else None
        if recipe is None or fix is None:
            continue
        if not any(overlap(fix.edits, other.fix.edits) for other in proposals):
            proposals.append(_Proposal(finding, recipe, fix))
    trial.add(proposals)
    return trial.result(trial.taken)
