"""The conformance suite accepts an in-memory store and rejects broken stores."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from remora.errors import StreamError
from remora.trace.stream.trace_store import Claim
from remora.trace.trace_folder import TraceFolder
from tests.trace.stream.store.conformance import Opens, StoreConformance
from tests.trace.stream.store.memory_store import MemoryStore, Storage


class TestMemoryStore(StoreConformance):
    def storage(self, folder: TraceFolder) -> Opens:
        return partial(MemoryStore, Storage())


class TakesAnySeq(MemoryStore):
    def append(self, stream: str, epoch: int, expected_seq: int, *added: bytes) -> None:
        super().append(stream, epoch, len(list(self.lines(stream))), *added)


class TakesAnyWriter(MemoryStore):
    def append(self, stream: str, epoch: int, expected_seq: int, *added: bytes) -> None:
        super().append(stream, self._storage.epochs[stream], expected_seq, *added)


class KeepsEpochs(MemoryStore):
    def claim(self, stream: str) -> Claim:
        self._storage.epochs[stream] = 0
        return super().claim(stream)


class ReleasesOthers(MemoryStore):
    def release(self, stream: str, epoch: int) -> None:
        super().release(stream, self._storage.epochs[stream])


class TouchesLines(MemoryStore):
    def append(self, stream: str, epoch: int, expected_seq: int, *added: bytes) -> None:
        changed = (line.replace(b"\xc3\xa9", b"\\u00e9") for line in added)
        super().append(stream, epoch, expected_seq, *changed)


class ForgetsStart(MemoryStore):
    def lines(self, stream: str, start: int = 0) -> Iterator[bytes]:
        return super().lines(stream)


class ForgetsOrder(MemoryStore):
    def streams(self) -> Iterator[str]:
        yield from sorted(super().streams(), reverse=True)


@pytest.mark.parametrize(
    ("wrong", "promise"),
    [
        (
            TakesAnySeq,
            lambda suite, opens: suite.test_a_line_goes_to_the_end_or_nowhere(0, opens()),
        ),
        (TakesAnyWriter, lambda suite, opens: suite.test_of_two_writers_at_most_one_writes(opens)),
        (
            KeepsEpochs,
            lambda suite, opens: suite.test_epochs_grow_and_an_earlier_one_writes_nothing(opens()),
        ),
        (
            ReleasesOthers,
            lambda suite, opens: suite.test_epochs_grow_and_an_earlier_one_writes_nothing(opens()),
        ),
        (TouchesLines, lambda suite, opens: suite.test_lines_are_kept_as_the_bytes_they_are(opens)),
        (ForgetsStart, lambda suite, opens: suite.test_lines_from_a_number_on(1, opens())),
        (ForgetsOrder, lambda suite, opens: suite.test_streams_do_not_meet(opens())),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_store_that_breaks_a_promise_is_found(
    wrong: type[MemoryStore], promise: Callable[[StoreConformance, Opens], None]
) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, StreamError)):
        promise(StoreConformance(), partial(wrong, Storage()))
    promise(StoreConformance(), partial(MemoryStore, Storage()))
