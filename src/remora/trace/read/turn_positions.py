"""The lines of an agent's turns."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from remora.trace.content.line_format import Line, complete_lines, newline_before
from remora.trace.read.agent_turns import turn_not_found
from remora.trace.read.reader import open_stream


class _Place(msgspec.Struct):
    turn: int


_PLACE = msgspec.json.Decoder(_Place)


def turn_lines(path: Path, turn: int, turns: int | None) -> Iterator[tuple[int, Line]]:
    """Yield the complete lines of the turn `turn`, or of the next one, and of the ones after it.

    Each comes with its turn. `turns` is their number; without it, all are read. Turn 0 is the part
    before the first turn. A line that is not an event belongs to the turn of the line before it.
    Raises NotFound if there is no such stream, and DiskError or StreamDamaged if it cannot be read.
    """
    with open_stream(path) as source:
        now, last, left = 0, None, turns
        for line in complete_lines(source):
            now = turn_of(line.raw, now)
            if now < turn:
                continue
            if now != last and left is not None:
                if not left:
                    return
                left -= 1
            last = now
            yield now, line


def lines_of_turn(path: Path, turn: int) -> list[Line]:
    """Return the lines of one turn. Raises NotFound if there is none, and what `turn_lines` raises."""
    found = [line for number, line in turn_lines(path, turn, 1) if number == turn]
    if not found:
        first = next((number for number, _ in turn_lines(path, 1, 1)), 0)
        raise turn_not_found(turn, [first, last_turn(path)])
    return found


def last_turn(path: Path) -> int:
    """Return the turn of the last event that can be read, or 0. The stream is read backwards.

    Raises whatever `turn_lines` raises.
    """
    with open_stream(path) as source:
        end = newline_before(source, source.size())
        while end >= 0:
            before = newline_before(source, end)
            found = _place(source.pread(end - before - 1, before + 1))
            if found is not None:
                return found.turn
            end = before
    return 0


def turn_of(raw: bytes, last: int) -> int:
    """Return the turn of a line, or `last` if the line is not an event or its turn is lower."""
    found = _place(raw)
    return max(found.turn if found is not None else 0, last)


def _place(raw: bytes) -> _Place | None:
    """Return where an event is, or None if the line is not an event."""
    try:
        return _PLACE.decode(raw)
    except (ValueError, RecursionError):
        return None
