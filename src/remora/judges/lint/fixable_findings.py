"""Choice of the findings that may be fixed by ruff, or by ruff in preview mode."""

from collections.abc import Callable, Sequence

from remora.tools.host.ruff.finding import Finding
from remora.tools.host.ruff.rules import fixable_codes
from remora.tools.tree import ToolTree

_CHANGES_WHEN_CODE_RUNS = frozenset(
    ("E402", "F401", "UP035", "PLC0415", "PLW0603", "B006", "B008", "B905")
)
_FAMILIES = ("PERF", "SIM")

Place = tuple[str, str, int, int]
"""Path, code, line and column of a finding."""


def place_of(finding: Finding) -> Place:
    return finding["path"], finding["code"], finding["line"], finding["column"]


class FixableFindings:
    """The findings of a tree that may be fixed. Unsafe fixes are permitted only if `unsafe` is True."""

    def __init__(self, place: ToolTree, *, unsafe: bool) -> None:
        self._permitted = ("safe", "unsafe") if unsafe else ("safe",)
        self._selected = place.ruff.selected_rules()

    def has_fix(self, finding: Finding) -> bool:
        """Return True if ruff has a fix for the finding that may be applied."""
        fix = finding["fix"]
        return fix is not None and fix["applicability"] in self._permitted

    def may_be_fixed_in_preview(self, path: str, finding: Finding) -> bool:
        """Return True if a finding may be fixed in preview mode: the project selects its rule."""
        return self._selected.contain(path, finding["code"])

    def in_preview(
        self, wanted: Sequence[Finding], check: Callable[[Sequence[str]], list[Finding]]
    ) -> list[Finding]:
        """Return the wanted findings that ruff fixes only in preview mode, with their fixes.

        `check` returns the findings of some rules in preview mode.
        """
        rules = sorted(
            ({finding["code"] for finding in wanted} & fixable_codes()) - _CHANGES_WHEN_CODE_RUNS
        )
        if not rules:
            return []
        places = {place_of(finding) for finding in wanted}
        return [
            finding
            for finding in check(rules)
            if self.has_fix(finding)
            and _is_usable_in_preview(finding)
            and place_of(finding) in places
        ]


def _is_usable_in_preview(finding: Finding) -> bool:
    """Return True if a fix that ruff has only in preview mode may be applied.

    Fixes that move or remove imports, or change defaults, change when code runs. `--unsafe-fixes` does not
    permit unsafe fixes that ruff itself would not apply, except of these families.
    """
    fix, code = finding["fix"], finding["code"]
    return fix is not None and (fix["applicability"] == "safe" or code.startswith(_FAMILIES))
