"""Globs and ignore-file patterns that match root-relative POSIX paths."""

import functools
import re
from contextlib import suppress
from pathlib import Path

from remora.regular_file import read_regular

_MAX_BYTES = 1 << 24  # maximum size of an ignore file in bytes


@functools.lru_cache(maxsize=512)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for a glob. `**` is the only wildcard that matches `/`."""
    out: list[str] = []
    section, start = "", ""
    rest = pattern
    while rest:
        if rest.startswith("**/"):
            out.append(_section(start, section, last=False))
            section, start, rest = "", "(?:[^/]+/)*", rest[3:]
        elif rest == "**":
            section, rest = section + ".*", ""
        else:
            part, slash, rest = rest.partition("/")
            section += _part_regex(part) + slash
    out.append(_section(start, section, last=True))
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:  # an invalid glob such as [z-a] is taken literally
        return re.compile(re.escape(pattern), re.DOTALL)


_PIECE = re.compile(r"\\.|\[[!^]?\]?[^]]*\]|\*+|\?|.", re.DOTALL)


def _section(start: str, parts: str, *, last: bool) -> str:
    """Return the expression for the part of a glob between two `**` wildcards.

    The expression is an atomic group, because backtracking could take exponential time.
    """
    return start + parts if last or not start else f"(?>{start}?{parts})"


def _part_regex(part: str) -> str:
    """Return the expression for one path component.

    The text between two stars becomes an atomic group, because backtracking could take exponential
    time.
    """
    first, *middle = _between_stars(part)
    last = [f"[^/]*{middle.pop()}"] if middle else []
    return "".join([first, *(f"(?>[^/]*?{fixed})" for fixed in middle), *last])


def _between_stars(part: str) -> list[str]:
    fixed = [""]
    for piece in _PIECE.findall(part):
        if piece[0] == "*":
            fixed.append("")
        else:
            fixed[-1] += _piece_regex(piece)
    return fixed


def _piece_regex(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if len(piece) > 2 and piece[0] == "[":
        negated = piece[1] in "!^"
        inner = piece[1 + negated : -1].replace("\\", "\\\\").replace("[", "\\[")
        inner = inner.replace("]", "\\]").replace("^", "\\^")
        # Python warns about signs that may become operations on sets
        inner = re.sub(r"([-&|~])(?=\1)", r"\1\\", inner)
        return f"(?!/)[{'^' if negated else ''}{inner}]"
    return re.escape(piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece)


class IgnoreRules:
    """Ignore rules from `.gitignore` files only.

    Matching is case-sensitive, and the last matching rule wins.
    """

    def __init__(self) -> None:
        self._rules: list[tuple[str, re.Pattern[str], bool, bool]] = []

    def read(self, root: Path, prefix: str) -> None:
        """Add the rules of the `.gitignore` in `prefix`.

        The file is skipped if it is unreadable, a symbolic link, or larger than 16 MiB.
        """
        path = root / prefix / ".gitignore"
        with suppress(OSError):
            if not path.is_symlink():
                text = read_regular(path, _MAX_BYTES)
                self.add(prefix, text.decode("utf-8", "surrogateescape"))

    def add(self, prefix: str, text: str) -> None:
        """Add the rules in `text`, the content of the `.gitignore` in the folder `prefix`."""
        for line in text.split("\n"):
            pattern = re.sub(r"(?<!\\) +$", "", line.rstrip("\r"))
            if not pattern.strip("/") or pattern.startswith("#"):
                continue
            negated = pattern.startswith("!")
            pattern = pattern[negated:]
            folders_only = pattern.endswith("/")
            pattern = pattern.rstrip("/")
            anywhere = "/" not in pattern
            glob = glob_regex("**/" + pattern if anywhere else pattern.lstrip("/"))
            self._rules.append((prefix, glob, negated, folders_only))

    def matches(self, path: str, *, folder: bool) -> bool:
        """Return True if the last rule that matches this path ignores it.

        Parent folders are not considered.
        """
        for prefix, glob, negated, folders_only in reversed(self._rules):
            if folders_only and not folder:
                continue
            if path.startswith(prefix) and glob.fullmatch(path[len(prefix) :]):
                return not negated
        return False

    def ignores(self, path: str) -> bool:
        """Return True if a file or any of its parent folders is ignored."""
        parts = path.split("/")
        folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
        return any(self.matches(folder, folder=True) for folder in folders) or self.matches(
            path, folder=False
        )
