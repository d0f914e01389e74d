"""Findings in ruff's JSON output, and those that a change adds."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from remora.code.edit.edits import Edit
from remora.code.edit.text_lines import Line, lines_of, offset
from remora.workspaces.apply.line_diff import new_lines

Finding = dict[str, Any]

_NO_CODE = "invalid-syntax"
_QUOTING = {"D401", "D403"}
_NUMBER = re.compile(r"\d+")


def finding_of(item: dict[str, Any], root: Path, *, unsafe: bool) -> Finding:
    """Return a finding in ruff's JSON, with its path relative to `root`.

    An unsafe fix is left out, unless `unsafe` is True. A file that does not parse has the code
    `invalid-syntax`.
    """
    return {
        "code": item["code"] or _NO_CODE,
        "message": _message(item, root),
        "path": os.path.relpath(item["filename"], root),
        **_range(item),
        "fix": _fix(item.get("fix"), unsafe=unsafe),
    }


def _message(item: dict[str, Any], root: Path) -> str:
    """Return the message of a finding. If the root is a package, its name is that of a copy."""
    message = str(item["message"])
    return message.replace(f"`{root.name}.", "`") if item["code"] == "PLW0406" else message


def _range(item: dict[str, Any]) -> dict[str, int]:
    start, end = item["location"], item["end_location"]
    return {
        "line": start["row"],
        "column": start["column"],
        "end_line": end["row"],
        "end_column": end["column"],
    }


def _fix(fix: dict[str, Any] | None, *, unsafe: bool) -> dict[str, Any] | None:
    if fix is None or (fix["applicability"] == "unsafe" and not unsafe):
        return None
    return {
        "applicability": fix["applicability"],
        "message": fix["message"] or "",
        "edits": [{**_range(edit), "content": edit["content"]} for edit in fix["edits"]],
    }


def edits_of(body: str, fix: dict[str, Any], lines: list[Line] | None = None) -> tuple[Edit, ...]:
    """Return the edits of a fix, sorted by position.

    Raises HostError if a position is outside the file.
    """
    lines = lines_of(body) if lines is None else lines
    return tuple(
        sorted(
            Edit(
                offset(body, lines, edit["line"], edit["column"]),
                offset(body, lines, edit["end_line"], edit["end_column"]),
                edit["content"],
            )
            for edit in fix["edits"]
        )
    )


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


def suspects(before: str, after: str, extra: list[Finding], found: list[Finding]) -> list[Finding]:
    """Return the findings that are probably new.

    `found` contains all findings of `after`. Because findings are only counted, `extra` may contain
    findings of unchanged lines instead of those that are really new. Findings in changed lines
    that are like them are returned instead.
    """
    if not extra:
        return []
    new = new_lines(before.encode(), after.encode())
    keys = set(map(comparison_key, extra))
    changed = [
        each
        for each in found
        if comparison_key(each) in keys
        and not new.isdisjoint(range(each["line"], each["end_line"] + 1))
    ]
    explained = set(map(comparison_key, changed))
    return [*changed, *(each for each in extra if comparison_key(each) not in explained)]


def comparison_key(finding: Finding) -> tuple[str, str]:
    """Return the code and the message of a finding.

    The message is without numbers, and without the text of a docstring that another fix may change.
    """
    code, message = str(finding.get("code")), str(finding.get("message"))
    if code in _QUOTING:
        message = message.partition(": ")[0]
    return code, _NUMBER.sub("N", message)
