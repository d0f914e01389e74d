"""Reverts the changes of a file that are at fault for new findings."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from remora.code.edit.text_lines import split_lines
from remora.operations.lint.used_imports import bound_names
from remora.tools.host.ruff.finding import Finding

_UNDEFINED = re.compile(r"Undefined name `(\w+)`")


def without_changes_at(
    before: str, after: str, findings: Sequence[Finding]
) -> tuple[str, frozenset[int]] | None:
    """Return `after` without the changes in the lines of findings.

    Changes that cause a finding elsewhere are reverted, too. Also returns the lines of `before` whose
    changes were reverted. Returns None if no change is at fault.
    """
    old, new = split_lines(before, keepends=True), split_lines(after, keepends=True)
    lines = {line for each in findings for line in range(each["line"], each["end_line"] + 1)}
    causes = causes_elsewhere(findings, after)
    result: list[str] = []
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    reverted: set[int] = set()
    for kind, old_start, old_stop, new_start, new_stop in changes:
        removed, added = "".join(old[old_start:old_stop]), "".join(new[new_start:new_stop])
        at_fault = kind != "equal" and (
            not lines.isdisjoint(range(new_start + 1, max(new_stop, new_start + 1) + 1))
            or causes(removed, added)
        )
        reverted.update(range(old_start + 1, old_stop + 1) if at_fault else ())
        result += old[old_start:old_stop] if at_fault else new[new_start:new_stop]
    return ("".join(result), frozenset(reverted)) if reverted else None


def causes_elsewhere(findings: Iterable[Finding], body: str) -> Callable[[str, str], bool]:
    """Return a function that returns True if a change of some text causes a finding of `body`.

    The change removes the import of a name that is now undefined, or a use of a name whose import
    is now unused.
    """
    undefined: set[str] = set()
    unused: set[str] = set()
    for each in findings:
        undefined.update(_UNDEFINED.findall(each["message"]))
        unused.update(bound_names(each, body))
    lost = re.compile(rf"import\b[^#]*\b(?:{'|'.join(undefined)})\b", re.DOTALL)
    used = re.compile(rf"\b(?:{'|'.join(unused)})\b")

    def causes(removed: str, added: str) -> bool:
        return (bool(undefined) and lost.search(removed) is not None) or (
            bool(unused) and len(used.findall(removed)) > len(used.findall(added))
        )

    return causes
