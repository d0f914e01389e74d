"""Findings in ruff's JSON output."""

from pathlib import Path
from typing import Any

from remora.code.edit.edits import Edit
from remora.code.edit.text_lines import Line, lines_of, offset

Finding = dict[str, Any]

_NO_CODE = "invalid-syntax"


def finding_of(item: dict[str, Any], root: Path, *, unsafe: bool) -> Finding:
    """Return a finding in ruff's JSON, with its path relative to `root`.

    An unsafe fix is left out, unless `unsafe` is True. A file that does not parse has the code
    `invalid-syntax`.
    """
    return {
        "code": item["code"] or _NO_CODE,
        "message": _message(item, root),
        "path": item["filename"].removeprefix(f"{root}/"),
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


Place = tuple[str, str, int, int]
"""Path, code, line and column of a finding."""


def place_of(finding: Finding) -> Place:
    return finding["path"], finding["code"], finding["line"], finding["column"]


def has_fix(finding: Finding, *, unsafe: bool) -> bool:
    """Return True if ruff has a fix for the finding, which is safe or may be `unsafe`."""
    fix = finding["fix"]
    return fix is not None and fix["applicability"] in (("safe", "unsafe") if unsafe else ("safe",))
