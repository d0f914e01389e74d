"""Hash chain check: every line must be an event and have the correct hash."""

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
    """Follows the hash chain line by line, and continues after invalid lines.

    `trusted` is True if the most recent line is valid, and `sound` is True if all lines so far are
    valid. `count` and `hash` make up the head.
    """

    def __init__(self, found: Problems) -> None:
        self.count = 0
        self.hash = GENESIS
        self.sound = True
        self.trusted = True
        self._found = found
        self._previous = [GENESIS]

    @property
    def head(self) -> Head:
        return Head(count=self.count, hash=self.hash)

    def see(self, line: Line) -> Event | None:
        """Check a line. Return its event, or None if the line is not an event."""
        self.trusted = True
        event = self._event(line)
        digest = line_hash(self._previous[0], hashed_part(line.raw))
        if line.raw.endswith(line_with_hash(b"", digest)[:-1]):
            self._previous = [digest]
            self.count, self.hash = line.number, digest
        else:
            self._resynchronize(line, event, digest)
        return event

    def _resynchronize(self, line: Line, event: Event | None, digest: str) -> None:
        stated = stated_hash(line.raw)
        choices = [line_hash(previous, hashed_part(line.raw)) for previous in self._previous[1:]]
        if stated in choices:
            self._previous = [stated]
        else:
            if stated is not None:
                self._problem(line, "chain", "the line does not match its hash")
            elif event is not None:
                self._problem(line, "schema", 'the line does not end in ,"hash":"…"}')
            # either the line or its hash was changed: the next line shows which
            remains = line.raw[-66:-2].decode("ascii", "replace")
            self._previous = [remains, digest, *choices][:_CANDIDATES]
        self.count, self.hash = line.number, stated or ""

    def _event(self, line: Line) -> Event | None:
        if line.size > len(line.raw):
            self._problem(line, "bad_json", f"a line of {line.size} bytes is too long")
            return None
        try:
            if not line.raw.isascii():
                line.raw.decode()  # the decoder does not check text in skipped fields
            return decode_event(line.raw)
        except (ValueError, RecursionError) as error:
            self._problem(line, _kind(line.raw, error), str(error))
        return None

    def _problem(self, line: Line, kind: Kind, detail: str) -> None:
        self.sound = self.trusted = False
        self._found.add(line.number, kind, detail)


def _kind(raw: bytes, error: Exception) -> Kind:
    """Return `schema` if the line is valid JSON but not an event, or `bad_json` otherwise."""
    if not isinstance(error, msgspec.ValidationError):
        return "bad_json"
    try:
        msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        return "bad_json"
    return "schema"
