"""Lines of excerpts, and cutting: the first line and the lines around the one that matters stay."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from remora.memory.packet import Excerpt

_LEFT_OUT = re.compile(r"\.\.\. (\d{1,9}) lines \.\.\.")


def left_out(line: str) -> int:
    """Return how many lines are left out in the place of `line`, or 0 if it is a line itself."""
    found = _LEFT_OUT.fullmatch(line)
    return int(found[1]) if found else 0


def numbered_lines(first: int, text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of an excerpt's text with its number, also those for lines left out."""
    for line in text.split("\n"):
        yield first, line
        first += left_out(line) or 1


def code_lines(excerpt: Excerpt) -> list[tuple[int, str]]:
    """Return the lines of an excerpt that are not left out, with their numbers."""
    numbered = numbered_lines(excerpt.lines[0], excerpt.text)
    return [(number, line) for number, line in numbered if not left_out(line)]


def cut(excerpt: Excerpt, count: int) -> Excerpt:
    """Leave out all lines but `count`: the first one, and those nearest to the focus.

    Without a focus, the lines in the middle go first.
    """
    head, *lines = code_lines(excerpt)
    anchors = [excerpt.focus] if excerpt.focus else [head[0], lines[-1][0] if lines else 0]
    nearest = sorted(lines, key=lambda line: min(abs(line[0] - anchor) for anchor in anchors))
    nearest.insert(0, head)
    first, last = excerpt.lines
    text: list[str] = []
    for number, line in [*sorted(nearest[:count]), (last + 1, "")]:
        if number > first:
            text.append(f"... {number - first} lines ...")
        text.append(line)
        first = number + 1
    return replace(excerpt, text="\n".join(text[:-1]))
