"""Event output: one line each for people, or as recorded within one JSON document."""

import codecs
import json
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click
import msgspec

from remora.cli.app.output import fit_line, print_error
from remora.cli.views.event_summary import summarize_event
from remora.errors import RemoraError, StreamDamaged
from remora.memory.events import PAYLOADS, Event
from remora.text import escape_line
from remora.trace.read.reader import decode_part, last_event, read_events

_TYPE = max(map(len, PAYLOADS))

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_UTF8 = codecs.getincrementaldecoder("utf-8")
_PIECE = 1 << 18
Write = Callable[[Iterable[str]], None]


class Columns:
    """The widths of a listing that is printed while its stream is read: of what will come only
    this is known, that the last event has the largest numbers."""

    def __init__(self, path: Path) -> None:
        last = None
        with suppress(StreamDamaged):  # what is wrong with it is told where it stands
            last = last_event(path)
        self._seq = max(len("SEQ"), len(str(last.seq if last else 0)))
        self._turn = max(len("TURN"), len(str(last.turn if last else 0)))

    @property
    def head(self) -> str:
        """The titles."""
        return click.style(f"{'SEQ':>{self._seq}}  {'TURN':>{self._turn}}  EVENT", bold=True)

    def line(self, event: Event) -> str:
        """One event."""
        numbers = f"{event.seq:>{self._seq}}  {event.turn:>{self._turn}}"
        return fit_line(
            escape_line(f"{numbers}  {event.type:<{_TYPE}}  {summarize_event(event)}".rstrip())
        )


def count_events(path: Path) -> int:
    """Return the number of events after reading each one, so that a document is printed whole or
    an error instead. Raises StreamDamaged."""
    count = 0
    for event in read_events(path):
        decode_part(event, dict[str, msgspec.Raw])
        count += 1
    return count


@contextmanager
def json_document(name: str, member: str) -> Iterator[Write]:
    """One JSON document `{"agent_id": name, member: […]}`, in ASCII like all others. Each item is
    given in pieces of JSON and printed as it comes.

    What fails before the first item is raised. What fails later ends the document with an `error`
    in it, and the command with that error's exit code: a second document must not follow.
    """
    between = ""

    def write(pieces: Iterable[str]) -> None:
        nonlocal between
        with delay_interrupt():  # Ctrl-C ends the document behind an item, never within one
            click.echo(between or _opening(name, member), nl=False)
            for piece in pieces:
                click.echo(piece, nl=False)
            click.echo()
            between = ","  # in front of the next one: who reads lines need not wait for that

    ending = "]}"
    try:
        yield write
    except RemoraError as error:
        told = {"code": error.code, "message": error.message, "hint": error.hint}
        ending = f'], "error": {json.dumps(told)}}}' if between else ""
        if not between:
            raise
        print_error(error.code, error.message, error.hint, as_json=False)
        raise click.exceptions.Exit(error.exit_code) from error
    finally:
        if ending:
            click.echo(ending if between else f"{_opening(name, member)}{ending}")


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Keep a first Ctrl-C waiting until the block is over; a second one does not wait."""
    if threading.current_thread() is not threading.main_thread():  # signals do not come here
        yield
        return
    came: list[int] = []

    def wait(number: int, _frame: object) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def _opening(name: str, member: str) -> str:
    return f'{{"agent_id": {json.dumps(name)}, "{member}": [\n'


def event_json(line: bytes) -> Iterator[str]:
    """A recorded line as the JSON that it is: beyond ASCII there are only its strings."""
    for piece in _decoded_pieces(line):
        yield _NON_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], piece)


def string_json(line: bytes) -> Iterator[str]:
    """A recorded line as a string, whatever its bytes are."""
    yield '"'
    for piece in _decoded_pieces(line):
        yield json.dumps(piece)[1:-1]
    yield '"'


def _decoded_pieces(line: bytes) -> Iterator[str]:
    """A line of 60 MB takes several times that in one piece."""
    decoder, view = _UTF8("surrogateescape"), memoryview(line)
    for place in range(0, len(view), _PIECE):
        yield decoder.decode(view[place : place + _PIECE])
    yield decoder.decode(b"", final=True)
