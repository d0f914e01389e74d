"""Reverts the changes of a file that are at fault for new findings."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from remora.tools.host.ruff.finding import Finding
from remora.tools.host.text_lines import split_lines

_UNDEFINED = re.compile(r"Undefined name `(\w+)`")


def without_changes_at(
    before: str, after: str, findings: Sequence[Finding]
) -> tuple[str, frozenset[int]] | None:
    """Return `after` without the changes in the lines of findings.

    If a finding is an undefined name, the change that removed its import is reverted, too. Also
    returns the lines of `before` whose changes were reverted. Returns None if no change is at fault.
    """
    old, new = split_lines(before, keepends=True), split_lines(after, keepends=True)
    lines = {line for each in findings for line in range(each["line"], each["end_line"] + 1)}
    names = [match[1] for each in findings if (match := _UNDEFINED.search(each["message"]))]
    lost = re.compile(rf"import\b[^#]*\b(?:{'|'.join(names)})\b", re.DOTALL) if names else None
    result: list[str] = []
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    reverted: set[int] = set()
    for kind, old_start, old_stop, new_start, new_stop in changes:
        removed = "".join(old[old_start:old_stop])
        at_fault = kind != "equal" and (
            not lines.isdisjoint(range(new_start + 1, max(new_stop, new_start + 1) + 1))
            or (lost is not None and lost.search(removed) is not None)
        )
        reverted.update(range(old_start + 1, old_stop + 1) if at_fault else ())
        result += old[old_start:old_stop] if at_fault else new[new_start:new_stop]
    return ("".join(result), frozenset(reverted)) if reverted else None
