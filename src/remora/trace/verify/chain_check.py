"""Whether each line is JSON of an event and carries the hash that the bytes before it give."""

import msgspec

from remora.memory.events import GENESIS, Event, Head, decode_event
from remora.trace.content.line_format import (
    Line,
    hashed_part,
    line_hash,
    line_with_hash,
    stated_hash,
)
from remora.trace.verify.verify_report import Kind, Problems

_CANDIDATES = 3


class ChainCheck:
    """Follows the chain over raw bytes. After a bad line it finds the chain again where it can,
    so that only the line that was changed is named. `trusted` is about the last line, `sound`
    about all of them so far; `count` and `hash` are the head."""

    def __init__(self, found: Problems) -> None:
        self.count = 0
        self.hash = GENESIS
        self.sound = True
        self.trusted = True
        self._found = found
        self._previous = [GENESIS]

    @property
    def head(self) -> Head:
        """Number of lines so far, and the hash that the last one states."""
        return Head(count=self.count, hash=self.hash)

    def see(self, line: Line) -> Event | None:
        """The event of the line, or None where there is none."""
        self.trusted = True
        event = self._event(line)
        digest = line_hash(self._previous[0], hashed_part(line.raw))
        if line.raw.endswith(line_with_hash(b"", digest)[:-1]):
            self._previous = [digest]
            self.count, self.hash = line.number, digest
        else:
            self._find_again(line, event, digest)
        return event

    def _find_again(self, line: Line, event: Event | None, digest: str) -> None:
        stated = stated_hash(line.raw)
        others = [line_hash(previous, hashed_part(line.raw)) for previous in self._previous[1:]]
        if stated in others:
            self._previous = [stated]
        else:
            if stated is not None:
                self._problem(line, "chain", "the line is not what its hash says")
            elif event is not None:
                self._problem(line, "schema", 'the line does not end in ,"hash":"…"}')
            # the change may be in the line or in its hash: the next line tells
            remains = line.raw[-66:-2].decode("ascii", "replace")
            self._previous = [remains, digest, *others][:_CANDIDATES]
        self.count, self.hash = line.number, stated or ""

    def _event(self, line: Line) -> Event | None:
        if line.size > len(line.raw):
            self._problem(line, "bad_json", f"a line of {line.size} bytes is too long")
            return None
        try:
            if not line.raw.isascii():
                line.raw.decode()  # of what the decoder passes over it does not check the text
            return decode_event(line.raw)
        except (ValueError, RecursionError) as error:
            self._problem(line, _kind(line.raw, error), str(error))
        return None

    def _problem(self, line: Line, kind: Kind, detail: str) -> None:
        self.sound = self.trusted = False
        self._found.add(line.number, kind, detail)


def _kind(raw: bytes, error: Exception) -> Kind:
    """Whether a line that is no event is at least JSON: the first fault ends the decoding."""
    if not isinstance(error, msgspec.ValidationError):
        return "bad_json"
    try:
        msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return "bad_json"
    return "schema"
