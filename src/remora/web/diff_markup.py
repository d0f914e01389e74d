"""The lines of a unified diff, with what each of them is."""

from typing import NamedTuple

_KINDS = {"+++": "head", "---": "head", "@@": "hunk", "+": "add", "-": "del"}


class DiffLine(NamedTuple):
    """A line of a diff. `kind` is `head`, `hunk`, `add`, `del` or empty."""

    kind: str
    text: str


def diff_lines(diff: str) -> list[DiffLine]:
    """Return the lines of a unified diff."""
    return [DiffLine(_kind(line), line) for line in diff.removesuffix("\n").split("\n") if diff]


def _kind(line: str) -> str:
    return next((kind for mark, kind in _KINDS.items() if line.startswith(mark)), "")
