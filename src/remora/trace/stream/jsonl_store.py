"""Trace store that keeps each stream in a JSON Lines file."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from remora.errors import SeqConflict, UsageError, WriterReplaced, undo_on_error
from remora.ids import is_id
from remora.memory.events import Head
from remora.trace.read.reader import last_event, read_lines
from remora.trace.stream.line_file import LineFile
from remora.trace.stream.trace_store import Claim
from remora.trace.trace_folder import STREAM_SUFFIX


class JsonlTraceStore:
    """Stores each stream in a file `{stream}.jsonl` in a folder. For a project, the folder is
    `.agentfs`.

    A lock on the file excludes other processes. Epochs distinguish claims within this process.
    """

    appends_turns = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._claimed: dict[str, tuple[int, LineFile]] = {}
        self._epochs: dict[str, int] = {}

    def claim(self, stream: str) -> Claim:
        """Claim a stream. The lock of a killed writer is released automatically, so its stream can
        be claimed.
        """
        file = LineFile.open(self._path(stream))
        with undo_on_error(file.close):
            recovered = file.recover()
        epoch = self._epochs.get(stream, 0) + 1
        self._epochs[stream] = epoch
        self._claimed[stream] = (epoch, file)
        found = file.contents
        return Claim(epoch=epoch, head=found.head, last=found.last, recovered=recovered)

    def append(self, stream: str, epoch: int, expected_seq: int, *lines: bytes) -> None:
        file = self._claimed_file(stream, epoch)
        if file.count != expected_seq:
            raise SeqConflict(f"{stream} has {file.count} lines, not {expected_seq}")
        file.append(*lines)

    def sync(self, stream: str, epoch: int) -> None:
        self._claimed_file(stream, epoch).sync()

    def release(self, stream: str, epoch: int) -> None:
        with suppress(WriterReplaced):
            self._claimed_file(stream, epoch).close()
            del self._claimed[stream]

    def head(self, stream: str) -> Head:
        last = last_event(self._path(stream))
        return Head() if last is None else Head(count=last.seq + 1, hash=last.hash)

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        return islice(read_lines(self._path(stream)), start, None)

    def _claimed_file(self, stream: str, epoch: int) -> LineFile:
        claimed = self._claimed.get(stream)
        if claimed is None or claimed[0] != epoch:
            raise WriterReplaced(f"{stream} is no longer open in this writer")
        return claimed[1]

    def _path(self, stream: str) -> Path:
        if not all(is_id(part) for part in stream.split("/")):
            raise UsageError(f"{stream!r} is not a valid stream name")
        return self._folder / f"{stream}{STREAM_SUFFIX}"
