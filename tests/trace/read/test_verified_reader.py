"""Verified reading: valid streams are returned, changed ones refused."""

from pathlib import Path

import pytest

from remora.errors import StreamDamaged
from remora.trace.read.reader import read_events
from remora.trace.read.verified_reader import verified_events, verified_head
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import play_run


def changed(whole: bytes) -> bytes:
    return whole.replace(b'"turn":2', b'"turn":1', 1)


@pytest.fixture
def stream(folder: TraceFolder) -> Path:
    _, agent = play_run(folder)
    return agent.writer.path


def test_a_sound_stream_gives_what_any_reading_gives(stream: Path) -> None:
    events = list(read_events(stream))
    for _ in ("plain", "sealed"):
        assert list(verified_events(stream)) == events
        assert verified_head(stream).hash == events[-1].hash
        assert verified_head(stream).count == len(events)
        if stream.exists():
            compress_stream(stream)


def test_a_changed_line_is_never_given(stream: Path) -> None:
    stream.write_bytes(changed(stream.read_bytes()))
    for read in (
        lambda: list(verified_events(stream)),
        lambda: verified_head(stream),
    ):
        with pytest.raises(StreamDamaged, match="does not match its hash"):
            read()
