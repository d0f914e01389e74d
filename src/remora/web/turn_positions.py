"""Positions of the turns in an agent's stream, which are found by reading it once.

The index is not used: a page must also show streams that are damaged or that no index knows.
"""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import msgspec

from remora.trace.content.line_format import Line, complete_lines
from remora.trace.read.reader import open_stream

_PIECE = 1 << 16
_MOST_STREAMS = 64


class _InTurn(msgspec.Struct):
    turn: int


_TURN = msgspec.json.Decoder(_InTurn)


class TurnPositions:
    """The byte and the line at which each turn of a stream begins.

    Turn 0 is the part before the first turn. A line that is not an event belongs to the turn of the
    line before it. Only the lines that were not read before are read. If the file was replaced by a
    smaller one, all are.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._clear()

    def _clear(self) -> None:
        self._turns, self._offsets, self._lines = array("q"), array("q"), array("q")
        self._end = self._count = 0

    def turns(self, until: int | None = None) -> list[int]:
        """Return the numbers of the turns in order, or only those up to `until`.

        Raises NotFound if there is no such stream, and DiskError or StreamDamaged if it cannot be
        read.
        """
        with self._lock:
            self._read(until)
            known = len(self._turns) if until is None else bisect_left(self._turns, until + 1)
            return self._turns[:known].tolist()

    def lines(self, turn: int, turns: int = 1) -> Iterator[tuple[int, Line]]:
        """Yield the complete lines of a turn and of the ones after it, `turns` in all.

        Each comes with its turn. Raises whatever `turns` raises.
        """
        with self._lock:
            self._read(turn)
            place = bisect_left(self._turns, turn)
            if place == len(self._turns):
                return
            offset, before = self._offsets[place], self._lines[place]
            last = self._turns[place]
        with open_stream(self.path) as source:
            for line in complete_lines(source, offset, before, piece=_PIECE):
                now = turn_of(line.raw, last)
                if now != last:
                    turns -= 1
                    if not turns:
                        return
                last = now
                yield now, line

    def _read(self, until: int | None) -> None:
        """Read on until a turn after `until` has begun or the stream ends."""
        with open_stream(self.path) as source:
            if source.size() < self._end:
                self._clear()
            if until is not None and self._turns and self._turns[-1] > until:
                return
            for line in complete_lines(source, self._end, self._count):
                turn = turn_of(line.raw, self._turns[-1] if self._turns else 0)
                if not self._turns or turn != self._turns[-1]:
                    self._turns.append(turn)
                    self._offsets.append(line.offset)
                    self._lines.append(line.number - 1)
                    if until is not None and turn > until:
                        return
                self._end, self._count = line.offset + line.size + 1, line.number


def turn_of(raw: bytes, last: int) -> int:
    """Return the turn of a line, or `last` if the line is not an event or its turn is lower."""
    try:
        return max(_TURN.decode(raw).turn, last)
    except (ValueError, RecursionError):
        return last


class KnownPositions:
    """The positions of the streams that were shown last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, TurnPositions] = OrderedDict()
        self._lock = Lock()

    def of(self, path: Path) -> TurnPositions:
        """Return the positions of a stream."""
        with self._lock:
            found = self._known.pop(path, None) or TurnPositions(path)
            self._known[path] = found
            if len(self._known) > _MOST_STREAMS:
                self._known.popitem(last=False)
            return found
