"""Styles of diffs on a terminal."""

from typing import Any

import click

from remora.code.syntax.diff_parts import DiffLine, diff_lines
from remora.text import escape_line

_STYLES: dict[str, dict[str, Any]] = {
    "head": {"bold": True}, "hunk": {"fg": "cyan"}, "add": {"fg": "green"}, "del": {"fg": "red"},
    "keyword": {"bold": True}, "string": {"italic": True}, "comment": {"italic": True},
}  # fmt: skip


def styled_lines(diff: str) -> list[str]:
    """Return the styled lines of a diff.

    Removed lines are red and added ones green. Keywords are bold, strings and comments italic, and
    words that another version of the line does not have are underlined.
    """
    return [_styled(line) for line in diff_lines(diff)]


def _styled(line: DiffLine) -> str:
    shown = ""
    for number, part in enumerate(line.parts, 1):
        is_last = number == len(line.parts)
        text = escape_line(part.text.removesuffix("\r") if is_last else part.text)
        styles = _STYLES.get(line.kind, {}) | _STYLES.get(part.syntax, {})
        styles |= {"underline": True} if part.is_other else {}
        shown += click.style(text, **styles) if styles and text else text
    return shown
