"""Whether each line is JSON of an event and carries the hash that the bytes before it give."""

import msgspec

from remora.memory.events import GENESIS, Event, Head, decode_event
from remora.trace.lines import TAIL, Line, line_hash, stated_hash
from remora.trace.verify.report import Kind, Problems

_CANDIDATES = 3


class ChainCheck:
    """Follows the chain over raw bytes. After a bad line it finds the chain again where it can,
    so that only the line that was changed is named. `trusted` is about the last line, `sound`
    about all of them so far."""

    def __init__(self, found: Problems) -> None:
        self.head = Head()
        self.sound = True
        self.trusted = True
        self._found = found
        self._previous = [GENESIS]

    def see(self, line: Line) -> Event | None:
        """The event of the line, or None where there is none."""
        self.trusted = True
        event = self._event(line)
        stated = stated_hash(line.raw)
        computed = [line_hash(previous, line.raw[:-TAIL]) for previous in self._previous]
        if stated in computed:
            self._previous = [stated]
        else:
            if stated is not None:
                self._problem(line, "chain", "the line is not what its hash says")
            elif event is not None:
                self._problem(line, "schema", 'the line does not end in ,"hash":"…"}')
            # the change may be in the line or in its hash: the next line tells
            remains = line.raw[-66:-2].decode("ascii", "replace")
            self._previous = [remains, *computed][:_CANDIDATES]
        self.head = Head(count=line.number, hash=stated or "")
        return event

    def _event(self, line: Line) -> Event | None:
        if line.size > len(line.raw):
            self._problem(line, "bad_json", f"a line of {line.size} bytes is too long")
            return None
        try:
            line.raw.decode()
            msgspec.json.decode(line.raw)
        except (ValueError, RecursionError) as error:
            self._problem(line, "bad_json", str(error))
            return None
        try:
            return decode_event(line.raw)
        except (ValueError, RecursionError) as error:
            self._problem(line, "schema", str(error))
        return None

    def _problem(self, line: Line, kind: Kind, detail: str) -> None:
        self.sound = self.trusted = False
        self._found.add(line.number, kind, detail)
