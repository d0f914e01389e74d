"""Findings whose fixes are left alone, because a person or another tool needs what is there."""

import re
from collections.abc import Sequence

from remora.code.edit.text_lines import decode
from remora.judges.lint.conversions import IDIOMS, moved_lines, of_other_style, usual_idioms
from remora.judges.lint.left_rules import (
    FILE_RULES,
    FIX_RULES,
    UNUSED_IMPORT,
    CaseInBody,
    CodeInFile,
    LintedFile,
)
from remora.judges.lint.used_imports import IMPORT_RULES, UnusedImport, unused_imports
from remora.judges.rules import first_of
from remora.tools.host.ruff.finding import Finding, Place, place_of
from remora.tools.tree import ToolTree

_HEAD = 2000  # characters
GENERATED = "the file is generated"
_GENERATED = re.compile(
    r"^.*(?:\bdo not (?:edit|modify)|@generated|\b(?:auto-?|automatically )generated\b|\$ANTLR\b)|"
    r"^(?:\s*#.*\b|\W*(?:this file (?:is|was) )?)generated (?:by|from|automatically|using)\b",
    re.IGNORECASE | re.MULTILINE,
)
UNKNOWN = "its import is not known"
TOGETHER = "its import has needed names"
"""Ruff's fix of an unused import removes all unused names of the statement."""


def is_generated(body: str) -> bool:
    """Return True if the comments or the docstring at the start of a file say it is generated."""
    head = body[:_HEAD]
    if not _GENERATED.search(head):
        return False
    opening = re.match(
        r"(?:\s*(?:#[^\n]*(?:\n|$)|[rR]?\"\"\".*?(?:\"\"\"|\Z)|[rR]?'''.*?(?:'''|\Z)))*",
        head,
        re.DOTALL,
    )
    return opening is not None and _GENERATED.search(opening[0]) is not None


class LeftAlone:
    """The findings of a file that stay, because their fixes would remove something that is needed.

    `rules` contains the codes of which all findings stay, with the reasons.
    """

    def __init__(self, place: ToolTree, path: str, findings: Sequence[Finding]) -> None:
        self._file = file = LintedFile(place, path, findings)
        is_asked = not file.codes.isdisjoint(IDIOMS)
        # the whole project is read for idioms
        codes = file.codes.union(place.once(usual_idioms)) if is_asked else file.codes
        self.rules: dict[str, str] = {}
        for code in sorted(codes):
            case = CodeInFile(code, file)
            if (rule := first_of(FILE_RULES, case)) is not None:
                self.rules[code] = rule.reason.format(case=case)

    def reasons(self, findings: Sequence[Finding], body: str) -> dict[Place, str]:
        """Return the findings of a version of the file that stay, with the reasons."""
        unused = unused_imports(self._file, body, findings)
        reasons = ((place_of(f), self._reason(f, body, unused.get(place_of(f)))) for f in findings)
        found = {place: why for place, why in reasons if why}
        fixes = {
            str(finding["fix"])
            for finding in findings
            if finding["code"] == UNUSED_IMPORT and finding["fix"] and place_of(finding) in found
        }
        together = [finding for finding in findings if str(finding["fix"]) in fixes]
        found = dict.fromkeys(map(place_of, together), TOGETHER) | found
        free = [finding for finding in findings if not self._file.is_meant(finding["code"])]
        return of_other_style(free, body) | moved_lines(findings, body) | found

    def _reason(self, finding: Finding, body: str, unused: UnusedImport | None) -> str:
        """Return why a finding stays, or an empty string."""
        if finding["code"] in self.rules:
            return self.rules[finding["code"]]
        if (rule := first_of(FIX_RULES, CaseInBody(finding, body, self._file))) is not None:
            return rule.reason
        if finding["code"] == UNUSED_IMPORT and unused is None:
            return UNKNOWN
        needed = first_of(IMPORT_RULES, unused) if unused is not None else None
        return "" if needed is None else needed.reason


def kept_findings(
    place: ToolTree, path: str, content: bytes, findings: Sequence[Finding]
) -> dict[Place, str]:
    """Return those of all findings of a file that the fixes leave alone, with the reasons."""
    body = decode(path, content).body

    def kept() -> dict[Place, str]:
        if is_generated(body):
            return dict.fromkeys(map(place_of, findings), GENERATED)
        return LeftAlone(place, path, findings).reasons(findings, body)

    return place.ruff.once_for("kept", path, content, kept)
