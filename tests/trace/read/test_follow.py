"""Following: the last lines of a stream, then each new line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import NotFound
from remora.memory.events import TurnStart
from remora.trace.read.follow import StreamFollower
from remora.trace.read.reader import read_lines
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, Recorder, play_run


@given(
    st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=9),
    st.binary(max_size=5).map(lambda tail: tail.replace(b"\n", b"")),
    st.integers(0, 12),
)
def test_the_last_lines_are_those_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: bytes, count: int
) -> None:
    path = tmp_path_factory.mktemp("f") / "a.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
    follower = StreamFollower(path, count)
    assert list(follower.lines()) == (lines[-count:] if count else [])
    assert list(follower.lines()) == []
    with path.open("ab") as file:
        file.write(b"more\nunfinished")
    assert list(follower.lines()) == [tail + b"more"]
    with path.open("ab") as file:
        file.write(b" no more\n")
    assert list(follower.lines()) == [b"unfinished no more"]


def test_lines_that_are_longer_than_a_block(tmp_path: Path) -> None:
    lines = [b"%d" % n * 100_000 for n in range(5)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    for count in range(6):
        assert list(StreamFollower(path, count).lines()) == (lines[-count:] if count else [])


def test_a_line_that_was_taken_back_is_not_given_twice(folder: TraceFolder) -> None:
    """A writer that could not finish a line cuts it off and writes another in its place."""
    agent = Recorder(folder)
    follower = StreamFollower(agent.writer.path, 9)
    list(follower.lines())
    with agent.writer.path.open("r+b") as file:
        size = file.seek(0, 2)
        file.write(b"half a li")
        file.flush()
        assert list(follower.lines()) == []
        file.truncate(size)
    agent.emit(TurnStart())
    agent.writer.close()
    assert list(follower.lines()) == list(read_lines(agent.writer.path))[1:]


def test_a_stream_is_written_while_its_writer_lives(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    follower = StreamFollower(agent.writer.path, 0)
    assert follower.is_written
    agent.writer.close()
    assert not follower.is_written


def test_a_stream_that_was_sealed_is_followed_like_any_other(folder: TraceFolder) -> None:
    from remora.trace.stream.compression import compress_stream

    play_run(folder)
    path = folder.agent_stream(AGENT)
    lines = list(read_lines(path))
    compress_stream(path)
    assert list(StreamFollower(folder.existing_agent(AGENT), 3).lines()) == lines[-3:]


def test_a_stream_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(StreamFollower(tmp_path / "a.jsonl", 1).lines())
