"""Streams as files of lines: the TraceStore of one machine."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from remora.errors import SeqConflict, UsageError, WriterReplaced
from remora.ids import is_id
from remora.memory.events import Head
from remora.trace.read.reader import last_event, read_lines
from remora.trace.stream.line_file import LineFile
from remora.trace.stream.trace_store import Claim
from remora.trace.trace_folder import STREAM_SUFFIX, stream_id, stream_paths

_FOLDERS = ("runs", "traces")


class JsonlTraceStore:
    """The files `{stream}.jsonl` beneath a folder, for a project its `.agentfs`.

    A file's lock keeps other processes out; epochs tell this process' own claims apart.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._claimed: dict[str, tuple[int, LineFile]] = {}
        self._epochs: dict[str, int] = {}

    def claim(self, stream: str) -> Claim:
        """As TraceStore says. A writer whose process has died has no lock."""
        file = LineFile.open(self._path(stream))
        try:
            recovered = file.recover()
        except BaseException:
            file.close()
            raise
        epoch = self._epochs.get(stream, 0) + 1
        self._epochs[stream] = epoch
        self._claimed[stream] = (epoch, file)
        found = file.contents
        return Claim(epoch=epoch, head=found.head, last=found.last, recovered=recovered)

    def append(self, stream: str, epoch: int, expected_seq: int, line: bytes) -> None:
        """As TraceStore says."""
        file = self._held(stream, epoch)
        if file.count != expected_seq:
            raise SeqConflict(f"{stream} has {file.count} lines: the next is not {expected_seq}")
        file.append(line)

    def sync(self, stream: str, epoch: int) -> None:
        """As TraceStore says."""
        self._held(stream, epoch).sync()

    def release(self, stream: str, epoch: int) -> None:
        """As TraceStore says."""
        with suppress(WriterReplaced):
            self._held(stream, epoch).close()
            del self._claimed[stream]

    def head(self, stream: str) -> Head:
        """As TraceStore says."""
        last = last_event(self._path(stream))
        return Head() if last is None else Head(count=last.seq + 1, hash=last.hash)

    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        """As TraceStore says."""
        return islice(read_lines(self._path(stream)), start, None)

    def streams(self) -> Iterator[str]:
        """As TraceStore says."""
        for name in _FOLDERS:
            yield from (f"{name}/{stream_id(path)}" for path in stream_paths(self._folder / name))

    def _held(self, stream: str, epoch: int) -> LineFile:
        held = self._claimed.get(stream)
        if held is None or held[0] != epoch:
            raise WriterReplaced(f"{stream} is no longer written by this writer")
        return held[1]

    def _path(self, stream: str) -> Path:
        if not all(is_id(part) for part in stream.split("/")):
            raise UsageError(f"{stream!r} is not the name of a stream")
        return self._folder / f"{stream}{STREAM_SUFFIX}"
