"""Formats fixed files as the project formats its code."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile

from remora.code.edit.comments import is_for_tool
from remora.code.edit.text_lines import Text, split_lines
from remora.errors import HostError
from remora.tools.host.ruff.processes import RuffStoppedError
from remora.tools.host.style_config import (
    DEFAULT_WIDTH,
    black_options,
    configured_width,
    habitual_width,
)
from remora.tools.tree import ToolTree

_BLANK_LINES = re.compile(r"(?m)(?:^[ \t]*\r?\n){2,}")
_ENCODING = re.compile(r"#.*coding[:=]")


class FileFormat:
    """Formats changed versions of a file as the file is formatted now.

    Ruff's formatter is tried with the project's ruff configuration, and then with its Black
    configuration. If neither leaves the file unchanged, its changed versions are not formatted, and
    only lose blank lines that are left over where other lines were removed.
    """

    def __init__(self, place: ToolTree, path: str, text: Text) -> None:
        self._place = place
        self._path = path
        self._text = text

    @cached_property
    def width(self) -> int:
        width = self._place.once_beside(configured_width, self._path)
        return width or min(habitual_width(self._text.body), DEFAULT_WIDTH)

    def formatted(self, body: str) -> bytes:
        """Return a changed version of the file in its format."""
        body = without_orphaned_comments(self._text.body, body)
        changed = self._text._replace(body=body).bytes()
        if body == self._text.body:
            return changed
        if self._options is not None:
            try:
                return self._place.ruff.format_text(self._path, changed, *self._options)
            except RuffStoppedError:
                raise
            except HostError:  # it does not parse
                return changed
        body = without_extra_blank_lines(self._text.body, body)
        if self._text.body[:1] not in ("\r", "\n"):
            body = body.lstrip("\r\n")
        return self._text._replace(body=body).bytes()

    @cached_property
    def _options(self) -> tuple[Sequence[str] | None] | None:
        content = self._text.bytes()
        black = self._place.once_beside(black_options, self._path)
        for options in (None, black) if black is not None else (None,):
            try:
                if self._place.ruff.is_formatted(self._path, content, options):
                    return (options,)
            except RuffStoppedError:
                raise
            except HostError:  # it does not parse
                return None
        return None


def without_orphaned_comments(before: str, after: str) -> str:
    """Return `after` without comments for tools whose statement was removed.

    An empty comment after a removed first line, such as that of an encoding, is removed, too.
    """
    if before == after:
        return after
    known = {line.strip() for line in split_lines(before)}
    lines = split_lines(after, keepends=True)
    left = [line for line in lines if line.strip() in known or not is_for_tool(line)]
    if left and left[0].strip() == "#" and _ENCODING.match(before):
        del left[0]
    return "".join(left)


def without_extra_blank_lines(before: str, after: str) -> str:
    """Return `after` without the blank lines that are left over where lines were removed.

    If there were blank lines above and below the removed lines, only the longer run stays. Lines
    that were moved, such as imports, are not removed lines.
    """
    if _blank_runs(before) == _blank_runs(after):
        return after
    old, new = split_lines(before, keepends=True), split_lines(after, keepends=True)
    extra: set[int] = set()
    removed = Counter(old) - Counter(new)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, start, end, _, stop in changes:
        above, below = _blank(reversed(new[:stop])), _blank(iter(new[stop:]))
        if kind == "delete" and above and below and any(line in removed for line in old[start:end]):
            extra.update(range(stop, stop + min(above, below)))
    return "".join(line for number, line in enumerate(new) if number not in extra)


def _blank_runs(body: str) -> list[int]:
    """Return the lengths of all runs of blank lines, sorted, without single blank lines."""
    return sorted(run.count("\n") for run in _BLANK_LINES.findall(body))


def _blank(lines: Iterator[str]) -> int:
    """Return the number of blank lines before the first other line."""
    return sum(1 for _ in takewhile(lambda line: not line.strip(), lines))
