"""Text edits of ruff's fixes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from remora.tools.host.text_lines import Line, lines_of, offset


class Edit(NamedTuple):
    """Replacement of the characters from `start` to `stop` with `content`."""

    start: int
    stop: int
    content: str


def edits_of(body: str, fix: dict[str, Any], lines: list[Line] | None = None) -> tuple[Edit, ...]:
    """Return a fix's edits in order. Raises HostError for a position outside the text."""
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


def overlap(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """True if two fixes change the same characters or insert at the same position.

    Fixes with identical edits do not overlap: applying one applies the other.
    """
    if set(one) == set(other):
        return False
    return any(_edits_touch(a, b) for a in one for b in other)


def _edits_touch(a: Edit, b: Edit) -> bool:
    if a.start == a.stop or b.start == b.stop:  # an insertion overlaps what it touches
        return a.start <= b.stop and b.start <= a.stop
    return a.start < b.stop and b.start < a.stop


def apply_edits(body: str, edits: Sequence[Edit]) -> str:
    """Apply edits that do not overlap and return the text. A repeated edit is applied once."""
    for edit in sorted(set(edits), reverse=True):
        body = body[: edit.start] + edit.content + body[edit.stop :]
    return body
