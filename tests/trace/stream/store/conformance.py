"""Conformance suite for trace stores. A backend adds a factory and inherits the tests."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from typing import Protocol

import pytest

from remora.errors import (
    NotFound,
    SeqConflict,
    StreamError,
    StreamLocked,
    UsageError,
    WriterReplaced,
)
from remora.memory.events import AgentEnd, ContextUpdate, Head, TurnStart
from remora.trace.read.blobs import NullBlobSink
from remora.trace.stream.jsonl_emitter import EmitterOptions, JsonlEventEmitter
from remora.trace.stream.line_builder import build_line, head_after, line_template
from remora.trace.stream.trace_store import TraceStore
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.trace.conftest import AGENT, RUN, agent_identity

STREAM, OTHER = f"traces/{AGENT}", f"runs/{RUN}"
ODD = ["", "\u2028\x85\r\n\x00", "é🐟", 'a"b\\', '","hash":"', "x" * 300_000]


class Opens(Protocol):
    """Opens the same storage again, as another process would."""

    def __call__(self) -> TraceStore: ...


def chained(count: int) -> list[bytes]:
    """Return the lines of a stream, each with its newline."""
    template, head, made = line_template(agent_identity(), NullBlobSink(), ticking()), Head(), []
    for number in range(count):
        value = ODD[number % len(ODD)]
        line, event = build_line(
            template, head, ContextUpdate(source="hub", value=value), turn=number, delta=None
        )
        head = head_after(event)
        made.append(line)
    return made


def head_of(lines: list[bytes]) -> Head:
    return Head(count=len(lines), hash=lines[-1][-67:-3].decode()) if lines else Head()


def stored(store: TraceStore, start: int = 0, stream: str = STREAM) -> list[bytes]:
    return [line + b"\n" for line in store.lines(stream, start)]


class StoreConformance:
    """Subclass it as `Test…` and define `storage`."""

    def storage(self, folder: TraceFolder) -> Opens:
        raise NotImplementedError

    @pytest.fixture
    def opens(self, folder: TraceFolder) -> Opens:
        return self.storage(folder)

    @pytest.fixture
    def how(self, folder: TraceFolder) -> EmitterOptions:
        return EmitterOptions(blobs=folder.blobs, clock=ticking())

    @pytest.fixture
    def store(self, opens: Opens) -> TraceStore:
        return opens()

    def fill(self, store: TraceStore, lines: list[bytes], stream: str = STREAM) -> int:
        epoch = store.claim(stream).epoch
        for seq, line in enumerate(lines):
            store.append(stream, epoch, seq, line)
        return epoch

    def test_a_new_stream_is_empty_and_there(self, store: TraceStore) -> None:
        claim = store.claim(STREAM)
        assert (claim.head, claim.last, claim.recovered) == (Head(), None, ())
        assert store.head(STREAM) == Head()
        assert stored(store) == []

    def test_lines_are_kept_as_the_bytes_they_are(self, opens: Opens) -> None:
        lines = chained(len(ODD) * 2)
        store = opens()
        self.fill(store, lines)
        assert stored(store) == lines
        assert stored(opens()) == lines

    def test_the_head_is_the_last_lines(self, store: TraceStore) -> None:
        lines = chained(5)
        epoch = store.claim(STREAM).epoch
        for seq, line in enumerate(lines):
            store.append(STREAM, epoch, seq, line)
            assert store.head(STREAM) == head_of(lines[: seq + 1])

    def test_lines_from_a_number_on(self, store: TraceStore) -> None:
        lines = chained(7)
        self.fill(store, lines)
        for start in (0, 1, 6, 7, 8, 100):
            assert stored(store, start) == lines[start:]

    def test_a_line_goes_to_the_end_or_nowhere(self, store: TraceStore) -> None:
        lines = chained(3)
        epoch = self.fill(store, lines[:2])
        for seq in (0, 1, 3, 9, -1):
            with pytest.raises(SeqConflict):
                store.append(STREAM, epoch, seq, lines[2])
            assert stored(store) == lines[:2]
        store.append(STREAM, epoch, 2, lines[2])
        assert stored(store) == lines

    def test_a_new_claim_continues_where_the_stream_ends(
        self, opens: Opens, how: EmitterOptions
    ) -> None:
        lines = chained(6)
        first = opens()
        epoch = self.fill(first, lines[:4])
        first.sync(STREAM, epoch)
        first.release(STREAM, epoch)
        for store in (first, opens()):
            claim = store.claim(STREAM)
            count = store.head(STREAM).count
            assert claim.head == head_of(lines[:count])
            assert claim.last is not None
            assert (claim.last.seq, claim.last.hash) == (count - 1, claim.head.hash)
            store.append(STREAM, claim.epoch, count, lines[count])
            store.release(STREAM, claim.epoch)
        assert stored(opens()) == lines

    def test_epochs_grow_and_an_earlier_one_writes_nothing(self, store: TraceStore) -> None:
        lines = chained(3)
        old = self.fill(store, lines[:1])
        store.release(STREAM, old)
        for _ in range(2):
            new = store.claim(STREAM).epoch
            assert new > old
            with pytest.raises(WriterReplaced):
                store.append(STREAM, old, 1, lines[1])
            with pytest.raises(WriterReplaced):
                store.sync(STREAM, old)
            store.release(STREAM, old)  # nothing: it is no longer its to give back
            store.append(STREAM, new, store.head(STREAM).count, lines[store.head(STREAM).count])
            old = new
            store.release(STREAM, old)
        assert stored(store) == lines

    def test_of_two_writers_at_most_one_writes(self, opens: Opens) -> None:
        lines = chained(2)
        first, second = opens(), opens()
        epoch = self.fill(first, lines[:1])
        late = None
        with suppress(StreamLocked):
            late = second.claim(STREAM)
        if late is None:
            first.append(STREAM, epoch, 1, lines[1])
        else:
            with pytest.raises(WriterReplaced):
                first.append(STREAM, epoch, 1, lines[1])
            second.append(STREAM, late.epoch, 1, lines[1])
        assert stored(opens()) == lines

    def test_streams_do_not_meet(self, store: TraceStore) -> None:
        lines = chained(2)
        mine, other = store.claim(STREAM).epoch, store.claim(OTHER).epoch
        store.append(STREAM, mine, 0, lines[0])
        store.append(OTHER, other, 0, lines[0])
        store.release(STREAM, mine)
        store.append(OTHER, other, 1, lines[1])
        assert stored(store) == lines[:1]
        assert stored(store, stream=OTHER) == lines

    def test_streams_are_written_side_by_side(self, opens: Opens) -> None:
        lines, store = chained(40), opens()
        names = [f"traces/lint-{number}" for number in range(6)]

        def write(name: str) -> None:
            epoch = self.fill(store, lines, name)
            store.sync(name, epoch)
            store.release(name, epoch)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(write, names))
        assert {name: stored(opens(), stream=name) for name in names} == dict.fromkeys(names, lines)

    def test_a_sync_may_run_beside_appends(self, store: TraceStore) -> None:
        lines = chained(60)
        epoch, done = store.claim(STREAM).epoch, threading.Event()

        def keep_syncing() -> None:
            while not done.is_set():
                store.sync(STREAM, epoch)

        with ThreadPoolExecutor(1) as pool:
            syncing = pool.submit(keep_syncing)
            for seq, line in enumerate(lines):
                store.append(STREAM, epoch, seq, line)
            done.set()
            syncing.result()
        assert stored(store) == lines

    def test_a_missing_content_is_not_found(self, store: TraceStore) -> None:
        with pytest.raises(NotFound):
            store.head("traces/nobody")
        with pytest.raises(NotFound):
            list(store.lines("traces/nobody"))

    def test_what_is_not_a_name_is_refused(self, store: TraceStore) -> None:
        names = ("", "..", "traces/../x", "/etc/passwd", "traces/", "traces/A", "traces/.x", "a//b")
        for name in names:
            for act in (store.claim, store.head, store.lines):
                with pytest.raises(UsageError):
                    act(name)

    def test_a_writer_writes_chained_lines_and_ends(
        self, opens: Opens, how: EmitterOptions
    ) -> None:
        for turn in (1, 2):
            writer = JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), how)
            writer.emit(TurnStart(), turn=turn)
            writer.close()
        with JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), how) as writer:
            writer.emit(AgentEnd(status="no_change", stop_reason="no_change"), turn=2)
            with pytest.raises(StreamError, match="ended"):
                writer.emit(TurnStart(), turn=3)
        previous = "0" * 64
        for line in opens().lines(STREAM):
            previous = sha256(previous.encode() + line[:-75]).hexdigest()
            assert line.endswith(b'"hash":"%b"}' % previous.encode())
        assert opens().head(STREAM) == Head(count=3, hash=previous) == writer.head

    def test_anothers_stream_is_refused_and_given_back(
        self, opens: Opens, how: EmitterOptions
    ) -> None:
        with JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), how) as writer:
            writer.emit(TurnStart(), turn=1)
        with pytest.raises(StreamError, match="belongs to"):
            JsonlEventEmitter.claim(opens(), STREAM, agent_identity("another"), how)
        JsonlEventEmitter.claim(opens(), STREAM, agent_identity(), how).close()
