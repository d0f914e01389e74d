"""Lines that are aligned with the bracket that they continue, and follow it when it moves."""

import functools
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from typing import NamedTuple

from remora.code.edit.text_lines import split_lines
from remora.tools.host.style_config import TEXT_TOKENS


class _Bracket(NamedTuple):
    """A bracket with aligned lines: its line and column from 0, and the lines that it moves."""

    line: int
    column: int
    moves: tuple[int, ...]


def with_aligned_lines(before: str, after: str) -> str:
    """Return `after` with the lines aligned with a bracket that `before` aligns with it.

    A fix that makes the code before a bracket shorter moves the bracket, but not the lines below.
    """
    brackets = _aligned_brackets(before)
    if not brackets or before == after:
        return after
    old, new = split_lines(before), split_lines(after, keepends=True)
    now = _new_places(old, [line.rstrip("\r\n") for line in new])
    shifts: Counter[int] = Counter()
    for line in {each.line for each in brackets}:
        moved = {
            each
            for bracket in brackets
            if bracket.line == line and line in now
            if new[now[line]].rstrip("\r\n").endswith(old[line][bracket.column :])
            for each in bracket.moves
        }
        for each in moved:
            shifts[each] += len(new[now[line]].rstrip("\r\n")) - len(old[line])
    for line, shift in shifts.items():
        place = now.get(line)
        if place is not None and _indent(new[place]) == _indent(old[line]):
            new[place] = " " * (_indent(old[line]) + shift) + new[place].lstrip(" ")
    return "".join(new)


@functools.lru_cache(maxsize=4)  # for all fixes of a file
def _aligned_brackets(body: str) -> tuple[_Bracket, ...]:
    lines = split_lines(body)
    return tuple(_brackets(body, lines))


def _brackets(body: str, lines: list[str]) -> Iterator[_Bracket]:
    """Yield the brackets with a line below that begins right of them, where their content begins.

    Lines inside of texts do not move.
    """
    inside_texts: set[int] = set()
    waiting: list[tuple[int, int]] = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(body).readline):
            line, column = token.start[0] - 1, token.start[1]
            if token.type in TEXT_TOKENS:
                inside_texts |= set(range(line + 1, token.end[0]))
            elif token.string in ("(", "[", "{"):
                waiting.append((line, column))
            elif token.string in (")", "]", "}") and waiting:
                first, start = waiting.pop()
                below = [each for each in range(first + 1, line + 1) if each not in inside_texts]
                if any(_indent(lines[each]) == start + 1 for each in below):
                    moves = (each for each in below if _indent(lines[each]) > start)
                    yield _Bracket(first, start, tuple(moves))


def _new_places(old: list[str], new: list[str]) -> dict[int, int]:
    """Return the new index of each line that is unchanged, or changed in its place."""
    found: dict[int, int] = {}
    for kind, start, end, to, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in ("equal", "replace") and end - start == stop - to:
            found |= dict(zip(range(start, end), range(to, stop), strict=True))
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
