"""Anchor files, which store stream heads in a separate place. `trace anchor` creates them."""

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
from remora.trace.verify.head_hmac import Signer

Kind = Literal["agent", "run"]
_DIGITS = 15
_HINT = "expected the output of `remora trace anchor`: agent|run ID COUNT HASH [SIGNATURE]"


class SavedAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """A stream head that was saved earlier. `signature` is set if a signing key was configured."""

    kind: Kind
    id: str
    count: int
    hash: str
    signature: str | None = None

    @property
    def head(self) -> Head:
        return Head(count=self.count, hash=self.hash)

    @property
    def line(self) -> str:
        """The anchor as a line of `trace anchor` output: `agent|run ID COUNT HASH [SIGNATURE]`."""
        signed = f" {self.signature}" if self.signature else ""
        return f"{self.kind} {self.id} {self.count} {self.hash}{signed}"

    def as_json(self) -> dict[str, Any]:
        """Return a dict with `kind`, `id`, `count` and `hash`, and with `signature` if there is
        one.
        """
        built = msgspec.structs.asdict(self)
        return built if self.signature else {k: v for k, v in built.items() if k != "signature"}


def anchor_of(path: Path, kind: Kind, signer: Signer | None = None) -> SavedAnchor:
    """Return the head of a stream as an anchor, after verifying all hashes.

    Raises NotFound if the stream does not exist, DiskError if it cannot be read, and StreamDamaged
    if it is invalid.
    """
    head = verified_head(path, torn=True)
    name = stream_id(path)
    signature = None if signer is None else signer.sign(kind, name, head)
    return SavedAnchor(kind=kind, id=name, count=head.count, hash=head.hash, signature=signature)


def streams_to_anchor(folder: TraceFolder, run_id: str | None) -> Iterator[tuple[Kind, Path]]:
    """Yield a run's stream and the streams of its agents. If `run_id` is None, yield all streams,
    runs first.

    Raises NotFound if the run does not exist, and StreamDamaged if its stream is invalid.
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
    """Parse the output of `trace anchor`, either as lines or as JSON.

    Raises UsageError if an anchor is invalid. The message contains the number of the line or
    anchor.
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    return [
        _from_words(line.split(), number)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _agents_of(path: Path) -> frozenset[str]:
    """Return the IDs of the agents that a run started."""
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
        raise UsageError(f"invalid anchor document: {error}", hint=_HINT) from error
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
    raise UsageError(f"line {number} is not an anchor", hint=_HINT)


def _check(anchor: SavedAnchor, place: str) -> None:
    hashes = [anchor.hash] if anchor.signature is None else [anchor.hash, anchor.signature]
    if not is_id(anchor.id) or anchor.count < 0 or not all(map(is_sha256, hashes)):
        raise UsageError(f"{place} is not an anchor", hint=_HINT)
