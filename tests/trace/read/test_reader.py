"""Reading: events in order, ends of streams, listings, following, verified reading."""

from pathlib import Path

import pytest

from remora.errors import DiskError, NotFound, StreamDamaged, UsageError
from remora.memory.events import AgentEnd, decode_event
from remora.trace.content.zstd_file import compressed
from remora.trace.read.reader import (
    StreamInfo,
    is_being_written,
    last_event,
    list_streams,
    read_events,
    read_lines,
    replay,
    stream_status,
    typed_payload,
)
from remora.trace.read.verified_reader import verified_events, verified_head
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.memory_limit import memory_limit
from tests.trace.conftest import AGENT, NODE, RUN, Recorder, RunRecorder, play_agent, play_run


def test_lines_are_the_files_bytes_and_events_their_meaning(folder: TraceFolder) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    assert b"".join(line + b"\n" for line in read_lines(path)) == path.read_bytes()
    assert [decode_event(line) for line in read_lines(path)] == list(read_events(path))
    assert last_event(path) == list(read_events(path))[-1]


def test_an_unfinished_last_line_is_left_out(folder: TraceFolder) -> None:
    path = play_agent(folder).writer.path
    whole = list(read_events(path))
    with path.open("ab") as file:
        file.write(path.read_bytes()[:100])
    assert list(read_events(path)) == whole
    assert last_event(path) == whole[-1]


def test_a_bad_line_is_named(folder: TraceFolder) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    lines = list(read_lines(path))
    path.write_bytes(b"\n".join([*lines[:2], b"no event", *lines[2:]]) + b"\n")
    with pytest.raises(StreamDamaged, match="line 3"):
        list(read_events(path))
    assert list_streams(folder)[0].status == "verified"


def test_a_missing_stream_or_is_a_link(folder: TraceFolder) -> None:
    with pytest.raises(NotFound):
        list(read_events(folder.agent_stream("nobody")))
    play_run(folder)
    folder.agent_stream("alias").symlink_to(folder.agent_stream(AGENT))
    with pytest.raises(DiskError):
        list(read_events(folder.agent_stream("alias")))


class TestStatus:
    def test_an_agents(self, folder: TraceFolder) -> None:
        agent = play_agent(folder)
        path: Path = agent.writer.path
        assert stream_status(path) == "running"
        agent.writer.close()
        assert stream_status(path) == "interrupted"
        agent.reopen()
        agent.end()
        assert stream_status(path) == "verified"

    def test_a_long_error_does_not_hide_it(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        agent.emit(AgentEnd(status="error", stop_reason="tool_error", error="x" * 70_000))
        assert stream_status(agent.writer.path) == "error"

    def test_a_runs(self, folder: TraceFolder) -> None:
        run = RunRecorder(folder)
        path = folder.run_stream(RUN)
        assert stream_status(path) == "running"
        run.writer.close()
        assert stream_status(path) == "interrupted"
        again = RunRecorder.reopen(folder)
        again.end()
        assert stream_status(path) == "ended"
        retrying = RunRecorder.reopen(folder)
        assert stream_status(path) == "running"
        retrying.job_start()
        retrying.writer.close()
        assert stream_status(path) == "ended"

    def test_an_empty_streams(self, folder: TraceFolder) -> None:
        folder.agent_stream(AGENT).touch()
        assert last_event(folder.agent_stream(AGENT)) is None
        assert stream_status(folder.agent_stream(AGENT)) == "interrupted"


class TestListing:
    def test_it_shows_each_streams_end(self, folder: TraceFolder) -> None:
        _, agent = play_run(folder)
        Recorder(folder, "a").writer.close()
        size = folder.agent_stream(AGENT).stat().st_size
        first, second = list_streams(folder)
        assert (first.agent_id, first.status, first.turns, first.events) == (
            "a", "interrupted", 0, 1,
        )  # fmt: skip
        assert second == StreamInfo(
            agent_id=AGENT,
            run_id=RUN,
            operation="lint",
            node_id=NODE,
            status="verified",
            turns=4,
            events=agent.writer.head.count,
            bytes=size,
        )

    def test_no_folder_no_streams(self, tmp_path: Path) -> None:
        assert list_streams(TraceFolder(tmp_path)) == []

    @pytest.mark.parametrize("content", [b"\xff\n", b"[]\n"])
    def test_a_damaged_stream_is_listed_as_such(self, content: bytes, folder: TraceFolder) -> None:
        folder.agent_stream(AGENT).write_bytes(content)
        (info,) = list_streams(folder)
        assert (info.agent_id, info.status, info.events) == (AGENT, "damaged", 0)


@pytest.mark.parametrize("data", [b'{"status":"\xff","stop_reason":"x"}', b'{"status":3}', b"[]"])
def test_data_that_is_not_what_its_type_holds_is_damage_with_its_place(data: bytes) -> None:
    event = decode_event(
        b'{"v":1,"seq":7,"timestamp":"","run_id":"r","agent_id":"a","operation":"","node_id":"",'
        b'"turn":1,"type":"agent_end","data":' + data + b',"packet_delta":null}'
    )
    with pytest.raises(StreamDamaged, match="a: event 7 is not a valid agent_end"):
        typed_payload(event)


def test_small_compressed_files_of_gigabytes_or_empty_lines_are_rows_and_problems(
    folder: TraceFolder,
) -> None:
    """The sparse one takes no room on the disk; the other one would be read for half a minute."""
    play_run(folder)
    with folder.agent_stream("forged").with_suffix(".jsonl.zst").open("wb") as file:
        file.truncate(8 << 30)
    whole = folder.agent_stream(AGENT).read_bytes()
    forged = compressed((whole, b"\n" * (48 << 20), whole.splitlines(keepends=True)[-1]))
    folder.agent_stream("long").with_suffix(".jsonl.zst").write_bytes(b"".join(forged))
    with memory_limit(64 << 20):
        listed = {stream.agent_id: stream.status for stream in list_streams(folder)}
        reports = {stream.name: stream for stream in verify_all(folder).streams}
    assert listed == {AGENT: "verified", "forged": "damaged", "long": "damaged"}
    assert [name for name, report in reports.items() if not report.ok] == ["forged", "long"]
    assert "forged.jsonl.zst is damaged" in reports["forged"].problems[0].detail


def test_replay_says_which_streams_it_takes(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("x = 1\n")
    with pytest.raises(UsageError, match="must begin with agent_start") as caught:
        replay([])
    assert ".agentfs/traces/AGENT.jsonl" in str(caught.value.hint)
    with pytest.raises(NotFound, match="is not a stream"):
        replay(source)


def test_a_stream_is_written_while_its_writer_lives(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    assert is_being_written(agent.writer.path)
    agent.writer.close()
    assert not is_being_written(agent.writer.path)


def changed(whole: bytes) -> bytes:
    return whole.replace(b'"turn":2', b'"turn":1', 1)


@pytest.fixture
def stream(folder: TraceFolder) -> Path:
    _, agent = play_run(folder)
    return agent.writer.path


def test_a_sound_stream_gives_what_any_reading_gives(stream: Path) -> None:
    events = list(read_events(stream))
    for _ in ("plain", "compressed"):
        assert list(verified_events(stream)) == events
        assert verified_head(stream).hash == events[-1].hash
        assert verified_head(stream).count == len(events)
        if stream.exists():
            compress_stream(stream)


def test_a_changed_line_is_never_given(stream: Path) -> None:
    stream.write_bytes(changed(stream.read_bytes()))
    for read in (lambda: list(verified_events(stream)), lambda: verified_head(stream)):
        with pytest.raises(StreamDamaged, match="does not match its hash"):
            read()
