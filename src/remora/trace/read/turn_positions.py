"""The lines of an agent's turns, found by bisection, so that only these are read."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import (
    MAX_STRANGE_LINES,
    Line,
    complete_lines,
    newline_before,
)
from remora.trace.read.agent_turns import turn_not_found
from remora.trace.read.reader import open_stream

_PIECE = 1 << 16


class _Place(msgspec.Struct):
    turn: int
    seq: int = 0


_PLACE = msgspec.json.Decoder(_Place)


def turn_lines(path: Path, turn: int, turns: int | None) -> Iterator[tuple[int, Line]]:
    """Yield the complete lines of the turn `turn`, or of the next one, and of the ones after it.

    Each comes with its turn. `turns` is their number; without it, all are read. Turn 0 is the part
    before the first turn. A line that is not an event belongs to the turn of the line before it.
    Lines are numbered by the events' `seq`. Raises NotFound if there is no such stream, and
    DiskError or StreamDamaged if it cannot be read.
    """
    with open_stream(path) as source:
        offset, before = _beginning(source, turn)
        last, left = None, turns
        for line in complete_lines(source, offset, before, piece=_PIECE):
            now = turn_of(line.raw, last or 0)
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
        for _ in range(MAX_STRANGE_LINES):
            if end < 0:
                break
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


def _beginning(source: ByteSource, turn: int) -> tuple[int, int]:
    """Return the byte at which `turn` or the next one begins, and the number of lines before it.

    The events before `low` are of earlier turns, and the first one after `high` is not.
    """
    low, high = 0, source.size() if turn > 0 else 0
    while high - low > _PIECE:
        middle = (low + high) // 2
        found = _first_event(source, middle, high)
        if found is None or found[1].turn >= turn:
            high = middle
        else:
            low = found[0].offset + found[0].size + 1
    for line in complete_lines(source, low, piece=_PIECE) if turn > 0 else ():
        place = _place(line.raw)
        if place is not None and place.turn >= turn:
            return line.offset, place.seq
    return (source.size(), 0) if turn > 0 else (0, 0)


def _first_event(source: ByteSource, start: int, end: int) -> tuple[Line, _Place] | None:
    """Return the first event that begins after byte `start` and before `end`."""
    lines = complete_lines(source, start, piece=_PIECE)
    next(lines, None)  # the rest of the line that contains this byte
    for line in lines:
        if line.offset >= end:
            return None
        place = _place(line.raw)
        if place is not None:
            return line, place
    return None


def _place(raw: bytes) -> _Place | None:
    """Return where an event is, or None if the line is not an event."""
    try:
        return _PLACE.decode(raw)
    except (ValueError, RecursionError):
        return None
