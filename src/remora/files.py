"""Which files belong to a project."""

import functools
import re


@functools.lru_cache(maxsize=512)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of a glob over root-relative POSIX paths, for `fullmatch`.

    `*`, `?` and `[…]` stay within one folder; `**` as a whole part means any number of folders.
    """
    out: list[str] = []
    rest = pattern
    while rest:
        if rest.startswith("**/"):
            out.append("(?:[^/]+/)*")
            rest = rest[3:]
        elif rest == "**":
            out.append(".*")
            rest = ""
        else:
            part, slash, rest = rest.partition("/")
            out.append(_part_regex(part) + slash)
    return re.compile("".join(out), re.DOTALL)


_PIECE = re.compile(r"\\.|\[[!^]?\]?[^]]*\]|\*+|\?|.", re.DOTALL)


def _part_regex(part: str) -> str:
    return "".join(_piece_regex(piece) for piece in _PIECE.findall(part))


def _piece_regex(piece: str) -> str:
    if piece[0] == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) > 2 and piece[0] == "[":
        negated = piece[1] in "!^"
        inner = piece[1 + negated : -1].replace("\\", "\\\\").replace("[", "\\[")
        inner = inner.replace("]", "\\]").replace("^", "\\^").replace("&&", "&\\&")
        return f"(?!/)[{'^' if negated else ''}{inner}]"
    return re.escape(piece[1:] if len(piece) == 2 and piece[0] == "\\" else piece)
