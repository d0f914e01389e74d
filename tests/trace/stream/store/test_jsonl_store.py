"""JSONL trace store: the conformance suite, and properties of files."""

from functools import partial
from pathlib import Path

import pytest

from remora.errors import StreamLocked
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.trace_folder import TraceFolder
from tests.trace.stream.store.conformance import STREAM, Opens, StoreConformance, chained, stored


class TestJsonlTraceStore(StoreConformance):
    def storage(self, folder: TraceFolder) -> Opens:
        return partial(JsonlTraceStore, folder.path)

    def path(self, folder: TraceFolder) -> Path:
        return folder.path / f"{STREAM}.jsonl"

    def test_a_stream_is_its_file(self, folder: TraceFolder, store: JsonlTraceStore) -> None:
        lines = chained(4)
        self.fill(store, lines)
        assert self.path(folder).read_bytes() == b"".join(lines)

    def test_a_second_claim_is_refused(self, opens: Opens) -> None:
        store = opens()
        self.fill(store, chained(1))
        for other in (store, opens()):
            with pytest.raises(StreamLocked):
                other.claim(STREAM)
        store.append(STREAM, 1, 1, chained(2)[1])

    def test_a_compressed_stream_is_read_and_continues(
        self, folder: TraceFolder, opens: Opens
    ) -> None:
        lines, store = chained(3), opens()
        store.release(STREAM, self.fill(store, lines[:2]))
        compress_stream(self.path(folder))
        assert (stored(store), store.head(STREAM).count) == (lines[:2], 2)
        store.append(STREAM, store.claim(STREAM).epoch, 2, lines[2])
        assert self.path(folder).read_bytes() == b"".join(lines)

    def test_a_torn_tail_is_reported_once(self, folder: TraceFolder, opens: Opens) -> None:
        lines, store = chained(3), opens()
        store.release(STREAM, self.fill(store, lines[:2]))
        with self.path(folder).open("ab") as file:
            file.write(lines[2][:50])
        claim = store.claim(STREAM)
        (note,) = claim.recovered
        assert (note.bytes, claim.head.count) == (50, 2)
        assert (self.path(folder).parent / note.quarantine).read_bytes() == lines[2][:50]
        assert stored(store) == lines[:2]
