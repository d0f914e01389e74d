"""Findings that a change adds."""

import re
from collections import Counter

from remora.tools.host.ruff.finding import Finding
from remora.workspaces.apply.line_diff import new_lines

_QUOTING = {"D401", "D403"}
"""Rules whose messages quote the docstring."""
_NUMBER = re.compile(r"\d+")


def new_findings(before: list[Finding], after: list[Finding]) -> list[Finding]:
    """Return the findings in `after` that are not in `before`.

    Findings are compared by code and by message. Numbers in messages are ignored, because line
    numbers may have changed.
    """
    known = Counter(map(comparison_key, before))
    extra: list[Finding] = []
    for finding in after:
        if known[comparison_key(finding)] > 0:
            known[comparison_key(finding)] -= 1
        else:
            extra.append(finding)
    return extra


def likely_new_findings(
    before: str, after: str, extra: list[Finding], all_after: list[Finding]
) -> list[Finding]:
    """Return the findings that are probably new.

    `all_after` contains all findings of `after`. Because findings are only counted, `extra` may contain
    findings of unchanged lines instead of those that are really new. Findings in changed lines
    that are like them are returned instead.
    """
    if not extra:
        return []
    new = new_lines(before.encode(), after.encode())
    keys = set(map(comparison_key, extra))
    changed = [
        finding
        for finding in all_after
        if comparison_key(finding) in keys
        and not new.isdisjoint(range(finding["line"], finding["end_line"] + 1))
    ]
    explained = set(map(comparison_key, changed))
    others = (finding for finding in extra if comparison_key(finding) not in explained)
    return [*changed, *others]


def comparison_key(finding: Finding) -> tuple[str, str]:
    """Return the code and the message of a finding.

    The message is without numbers, and without the text of a docstring that another fix may change.
    """
    code, message = str(finding.get("code")), str(finding.get("message"))
    if code in _QUOTING:
        message = message.partition(": ")[0]
    return code, _NUMBER.sub("N", message)
