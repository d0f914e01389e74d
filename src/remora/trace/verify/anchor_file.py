"""Heads that people keep elsewhere: how they are printed, read back, and taken from streams."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from remora.errors import UsageError
from remora.ids import is_id
from remora.memory.events import Head, JobStart
from remora.trace.content.objects import is_sha256
from remora.trace.read.reader import decode_part, read_events
from remora.trace.read.verified_reader import verified_head
from remora.trace.trace_folder import TraceFolder, stream_id
from remora.trace.verify.head_signatures import Signer

Kind = Literal["agent", "run"]
_DIGITS = 15
_HINT = "`remora trace anchor` prints lines of: agent|run ID COUNT HASH [SIGNATURE]"


class SavedAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """The head that a stream had once. `signature` where a key was configured then."""

    kind: Kind
    id: str
    count: int
    hash: str
    signature: str | None = None

    @property
    def head(self) -> Head:
        """Number of lines and the last one's hash."""
        return Head(count=self.count, hash=self.hash)

    @property
    def line(self) -> str:
        """As `trace anchor` prints it: `agent|run ID COUNT HASH [SIGNATURE]`."""
        signed = f" {self.signature}" if self.signature else ""
        return f"{self.kind} {self.id} {self.count} {self.hash}{signed}"

    def as_json(self) -> dict[str, Any]:
        """`{"kind", "id", "count", "hash"}`, and `signature` where there is one."""
        built = msgspec.structs.asdict(self)
        return built if self.signature else {k: v for k, v in built.items() if k != "signature"}


def anchor_of(path: Path, kind: Kind, signer: Signer | None = None) -> SavedAnchor:
    """The head of a stream, every hash made again; a torn or unfinished tail is left out.

    Raises NotFound, DiskError, and StreamDamaged: what is broken today is no proof tomorrow.
    """
    head = verified_head(path, torn=True)
    name = stream_id(path)
    signature = None if signer is None else signer.sign(kind, name, head)
    return SavedAnchor(kind=kind, id=name, count=head.count, hash=head.hash, signature=signature)


def streams_of(folder: TraceFolder, run_id: str | None = None) -> Iterator[tuple[Kind, Path]]:
    """The streams whose heads are printed: a run's own and its agents', or all; runs come first.

    Raises NotFound for an unknown run, StreamDamaged for one that cannot be read.
    """
    if run_id is None:
        yield from (("run", path) for path in folder.run_streams())
        yield from (("agent", path) for path in folder.agent_streams())
        return
    path = folder.existing_run(run_id)
    yield "run", path
    ours = _agents_of(path)
    yield from (("agent", path) for path in folder.agent_streams() if stream_id(path) in ours)


def parse_anchors(text: str) -> list[SavedAnchor]:
    """What `trace anchor` printed: lines, of which empty ones and those that begin with `#` are
    passed over, or its JSON document. Raises UsageError with the number of a line that is none."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    return [
        _from_words(line.split(), number)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _agents_of(path: Path) -> frozenset[str]:
    """The agents that a run started."""
    events = (event for event in read_events(path) if event.type == JobStart.type)
    return frozenset(decode_part(event, _Started).agent_id for event in events)


class _Started(msgspec.Struct):
    agent_id: str


class _Document(msgspec.Struct):
    anchors: list[SavedAnchor]


def _from_json(text: str) -> list[SavedAnchor]:
    try:
        anchors = msgspec.json.decode(text, type=_Document).anchors
    except (ValueError, RecursionError) as error:
        raise UsageError(f"no document of anchors: {error}", hint=_HINT) from error
    for number, anchor in enumerate(anchors, 1):
        _check(anchor, f"anchor {number}")
    return anchors


def _from_words(words: list[str], number: int) -> SavedAnchor:
    match words:
        case [("agent" | "run") as kind, name, count, digest, *rest] if (
            len(rest) <= 1 and count.isdecimal() and len(count) <= _DIGITS
        ):
            signature = rest[0] if rest else None
            anchor = SavedAnchor(
                kind=kind, id=name, count=int(count), hash=digest, signature=signature
            )
            _check(anchor, f"line {number}")
            return anchor
    raise UsageError(f"line {number} is no anchor", hint=_HINT)


def _check(anchor: SavedAnchor, place: str) -> None:
    hashes = [anchor.hash] if anchor.signature is None else [anchor.hash, anchor.signature]
    if not is_id(anchor.id) or anchor.count < 0 or not all(map(is_sha256, hashes)):
        raise UsageError(f"{place} is no anchor", hint=_HINT)
