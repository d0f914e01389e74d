"""The text edits of a ruff fix."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from remora.tools.host.text_lines import Line, lines_of, offset


class Edit(NamedTuple):
    """Replaces the characters from `start` to `stop` with `content`."""

    start: int
    stop: int
    content: str


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


def overlap(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Return True if two fixes change the same characters or insert at the same position.

    Identical fixes do not overlap, because applying either of them applies both. For the same
    reason, two fixes may add the same import.
    """
    shared = set(one) & set(other)
    if shared == set(one) == set(other):
        return False
    imports = {edit for edit in shared if edit.start == edit.stop and "import " in edit.content}
    return any(
        _edits_touch(a, b) for a in one for b in other if a not in imports or b not in imports
    )


def _edits_touch(a: Edit, b: Edit) -> bool:
    if a.start == a.stop or b.start == b.stop:  # an insertion overlaps what it touches
        return a.start <= b.stop and b.start <= a.stop
    return a.start < b.stop and b.start < a.stop


def apply_edits(body: str, edits: Sequence[Edit]) -> str:
    """Return `body` with all edits applied. The edits must not overlap.

    An edit that occurs several times is applied only once.
    """
    for edit in sorted(set(edits), reverse=True):
        body = body[: edit.start] + edit.content + body[edit.stop :]
    return body
