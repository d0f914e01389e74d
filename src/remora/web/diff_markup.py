"""The lines of a unified diff, with what each of them is."""

from typing import NamedTuple

_KINDS = {"@@": "hunk", "+": "add", "-": "del"}


class DiffLine(NamedTuple):
    """A line of a diff. `kind` is `head`, `hunk`, `add`, `del` or empty."""

    kind: str
    text: str


def diff_lines(diff: str) -> list[DiffLine]:
    """Return the lines of a unified diff of one file.

    Its names are above the first hunk. Within a hunk, a line such as `--- x` is a deleted `-- x`.
    """
    found: list[DiffLine] = []
    is_hunk = False
    for line in diff.removesuffix("\n").split("\n") if diff else ():
        is_hunk = is_hunk or line.startswith("@@")
        is_name = not is_hunk and line.startswith(("+++", "---"))
        found.append(DiffLine("head" if is_name else _kind(line), line))
    return found


def _kind(line: str) -> str:
    return next((kind for mark, kind in _KINDS.items() if line.startswith(mark)), "")
