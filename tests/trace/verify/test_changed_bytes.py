"""Every change of a byte of a stream is found, and no content of the folder is an exception."""

import contextlib
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import StreamDamaged
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, TurnStart
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import list_streams, read_events
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.recovery import check_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.trace.verify.stream_check import VerifyTarget, verify_stream
from remora.trace.verify.verify_report import StreamReport
from tests.trace.conftest import AGENT, RUN, Recorder, RunRecorder, play_run, rechained, target

FLIPS = (0x01, 0x20, 0x80, 0xFF)


def small_stream(folder: TraceFolder) -> Path:
    agent = Recorder(folder)
    agent.turn = 1
    agent.emit(TurnStart(), PacketDelta(turn=1))
    agent.emit(AgentEnd(status="no_change", stop_reason="no_change"))
    agent.writer.close()
    return agent.writer.path


def write(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def check(alone: VerifyTarget, content: bytes, place: int, byte: int) -> None:
    changed = content[:place] + bytes([byte]) + content[place + 1 :]
    write(alone.path, changed)
    report: StreamReport = verify_stream(alone)
    line = content.count(b"\n", 0, place) + 1
    lines = [problem.line for problem in report.problems]
    assert line in lines, f"byte {place} of line {line} to {byte:#x}: {report.problems}"
    assert min(lines) == line
    # a byte that is no line's end is told on its own line alone, unless it became one
    if content[place] != 10 and byte != 10:
        assert set(lines) == {line}
    with alone.path.open("rb") as file, contextlib.suppress(StreamDamaged):
        assert check_stream(file.fileno(), alone.path).torn, "a writer would go on with it"


@pytest.mark.slow
def test_every_byte_with_every_bit_flipped_and_as_a_newline(folder: TraceFolder) -> None:
    path = small_stream(folder)
    content = path.read_bytes()
    alone = target(folder, path)
    assert verify_stream(alone).ok
    for place, byte in enumerate(content):
        for changed in {byte ^ flip for flip in FLIPS} | {10, 0} - {byte}:
            check(alone, content, place, changed)
    write(path, content)
    assert verify_stream(target(folder, path)).ok


def test_every_byte_of_a_runs_stream(folder: TraceFolder) -> None:
    run = RunRecorder(folder)
    run.job_start()
    path = run.writer.path
    run.end()
    content = path.read_bytes()
    for place, byte in enumerate(content):
        check(target(folder, path, of_run=True), content, place, byte ^ 1)


@pytest.mark.slow
def test_every_byte_of_a_whole_job(folder: TraceFolder) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    content = path.read_bytes()
    for place, byte in enumerate(content):
        check(target(folder, path), content, place, byte ^ (1 << place % 8))


@pytest.mark.parametrize("cut", ["a line", "a byte", "all"])
def test_a_stream_that_was_cut_is_found_by_its_anchor_or_its_end(
    cut: str, folder: TraceFolder
) -> None:
    play_run(folder)
    path = folder.agent_stream(AGENT)
    content = path.read_bytes()
    size = {"a line": content.rindex(b"\n", 0, -1) + 1, "a byte": len(content) - 1, "all": 0}[cut]
    os.truncate(path, size)
    (report,) = verify_all(folder, AGENT).streams
    expected = {"a line": {"anchor"}, "a byte": {"torn_tail", "anchor"}, "all": {"anchor"}}[cut]
    assert {problem.kind for problem in report.problems} == expected
    assert report.anchored is False


@pytest.fixture
def compressed(folder: TraceFolder) -> list[Path]:
    """The compressed files of a run and its agent."""
    play_run(folder)
    plain = (folder.run_stream(RUN), folder.agent_stream(AGENT))
    for path in plain:
        compress_stream(path)
    assert not any(path.exists() for path in plain)
    return [folder.existing_run(RUN), folder.existing_agent(AGENT)]


def test_it_says_what_it_said_before(folder: TraceFolder) -> None:
    play_run(folder)
    before = verify_all(folder).as_json()
    for path in (folder.run_stream(RUN), folder.agent_stream(AGENT)):
        compress_stream(path)
    assert verify_all(folder).as_json() == before
    assert verify_all(folder, AGENT).as_json()["streams"] == before["streams"][1:]


@pytest.mark.slow
def test_no_byte_of_it_can_change_unseen(folder: TraceFolder, compressed: list[Path]) -> None:
    for path in compressed:
        content = path.read_bytes()
        for place in range(0, len(content), 7):
            path.write_bytes(
                content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
            )
            assert not verify_all(folder).ok, f"byte {place} of {len(content)}"
        path.write_bytes(content)
    assert verify_all(folder).ok


def test_nor_be_cut_off(folder: TraceFolder, compressed: list[Path]) -> None:
    for path in compressed:
        content = path.read_bytes()
        for size in range(0, len(content), 41):
            path.write_bytes(content[:size])
            assert not verify_all(folder).ok, f"{size} of {len(content)} bytes"
        path.write_bytes(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def play() -> dict[str, list[bytes]]:
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        play_run(folder)
        return {
            "agent": folder.agent_stream(AGENT).read_bytes().splitlines(),
            "run": folder.run_stream(RUN).read_bytes().splitlines(),
        }


SOUND = play()


def verified(agent: bytes, run: bytes) -> dict[str, Any]:
    """Return the report on a folder with these two streams; their contents are missing."""
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        folder.agent_stream(AGENT).write_bytes(agent)
        folder.run_stream(RUN).write_bytes(run)
        report: dict[str, Any] = json.loads(json.dumps(verify_all(folder).as_json()))
        list_streams(folder)
    assert report["ok"] is all(stream["ok"] for stream in report["streams"])
    for stream in report["streams"]:
        assert stream["ok"] is (not stream["problems"])
        assert all(problem["line"] >= 1 for problem in stream["problems"])
    return report


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@given(agent=st.binary(max_size=400), run=st.binary(max_size=400))
def test_any_bytes(agent: bytes, run: bytes) -> None:
    verified(agent, run)


@given(data=st.data(), forged=st.booleans())
def test_spliced_swapped_doubled_and_cut_streams(data: st.DataObject, forged: bool) -> None:
    streams = {}
    for name, lines in SOUND.items():
        picked = data.draw(st.lists(st.sampled_from(lines), max_size=len(lines) + 3))
        content = rechained(picked) if forged else joined(picked)
        streams[name] = content[: data.draw(st.integers(0, len(content)))]
    report = verified(streams["agent"], streams["run"])
    changed = {name: joined(SOUND[name]) != streams[name] for name in streams}
    if changed["agent"] and streams["agent"]:
        assert not report["ok"]


def set_at(record: Any, path: list[Any], value: Any) -> None:
    for part in path[:-1]:
        record = record[part]
    record[path[-1]] = value


def places(record: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys: list[Any] = []
    if isinstance(record, dict):
        keys = list(record)
    elif isinstance(record, list):
        keys = list(range(len(record)))
    inner = [place for key in keys for place in places(record[key], (*path, key))]
    return [*([path] if path else []), *inner]


@given(
    name=st.sampled_from(sorted(SOUND)),
    line=st.integers(0),
    seed=st.randoms(use_true_random=False),
    value=JSON,
)
def test_a_forged_value_anywhere_in_an_event(
    name: str, line: int, seed: random.Random, value: Any
) -> None:
    lines = list(SOUND[name])
    number = line % len(lines)
    record = json.loads(lines[number])
    place = seed.choice([p for p in places(record) if p != ("hash",)])
    set_at(record, list(place), value)
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=seed.random() < 0.5)
    lines[number] = text.encode("utf-8", "replace")
    if not lines[number].endswith(SOUND[name][number][-75:]):
        return
    streams = {key: joined(value) for key, value in SOUND.items()} | {name: rechained(lines)}
    verified(streams["agent"], streams["run"])


@given(data=JSON)
def test_transcripts_of_any_data(data: Any) -> None:
    from remora.memory.events import PAYLOADS, decode_event

    event = decode_event(SOUND["agent"][0])
    for kind in [*PAYLOADS, "unknown"]:
        raw = msgspec.Raw(json.dumps(data).encode())
        changed = msgspec.structs.replace(event, type=kind, data=raw)
        assert all("\n" not in line and "\x1b" not in line for line in transcript([changed]))


class TestOddFiles:
    @pytest.mark.parametrize("kind", ["link", "broken link", "fifo", "folder", "closed"])
    @pytest.mark.parametrize("part", ["traces", "runs"])
    def test_what_is_not_a_regular_file_is_a_problem(
        self, kind: str, part: str, folder: TraceFolder
    ) -> None:
        play_run(folder)
        path = folder.path / part / "odd.jsonl"
        if kind == "link":
            path.symlink_to(folder.agent_stream(AGENT))
        elif kind == "broken link":
            path.symlink_to("nowhere")
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(b"closed\n")
        report = verify_all(folder)
        bad = [stream for stream in report.streams if not stream.ok]
        assert [stream.name for stream in bad] == ["odd"]
        assert {problem.line for problem in bad[0].problems} == {1}
        infos = {info.agent_id: info.status for info in list_streams(folder)}
        assert infos.get("odd", "damaged") == "damaged"

    @pytest.mark.parametrize("name", [b"\xff.jsonl", b"..jsonl", b".jsonl", b"A B\n.jsonl"])
    def test_names_that_are_no_ids(self, name: bytes, folder: TraceFolder) -> None:
        play_run(folder)
        os.link(folder.agent_stream(AGENT), os.fsencode(folder.traces) + b"/" + name)
        report = verify_all(folder)
        json.dumps(report.as_json()).encode()
        assert [stream.ok for stream in report.streams].count(False) == 1

    def test_a_huge_hole_is_read_in_bounded_memory(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from remora.trace.content import line_format as lines

        monkeypatch.setattr(lines, "MAX_LINE", 1 << 16)
        play_run(folder)
        path = folder.agent_stream(AGENT)
        size = path.stat().st_size
        os.truncate(path, size + (1 << 24))
        with path.open("ab") as file:
            file.write(b"\n{}\n")
        (report,) = verify_all(folder, AGENT).streams
        assert {problem.kind for problem in report.problems} >= {"bad_json"}

    @pytest.mark.parametrize("depth", [100, 300, 320, 450, 480, 900, 960, 990, 2000])
    @pytest.mark.parametrize(
        ("kind", "old"), [("tool_result", b'"tool":'), ("agent_end", b'"path":')]
    )
    def test_values_nested_as_deep_as_a_parser_goes(
        self, kind: str, old: bytes, depth: int, folder: TraceFolder
    ) -> None:
        play_run(folder)
        path = folder.agent_stream(AGENT)
        lines = path.read_bytes().splitlines()
        number = next(n for n, line in enumerate(lines) if f'"type":"{kind}"'.encode() in line)
        deep = b'"deep":' + b'[{"a":' * depth + b'{"$blob":1}' + b"}]" * depth + b","
        lines[number] = lines[number].replace(old, deep + old)
        path.write_bytes(rechained(lines))
        (report,) = verify_all(folder, AGENT).streams
        assert number + 1 in {problem.line for problem in report.problems}
        list(list_streams(folder))
        with contextlib.suppress(StreamDamaged):
            list(transcript(read_events(path)))

    @pytest.mark.parametrize("content", [b"[" * 200_000, b'{"a":' * 100_000, b'"' * 99])
    def test_nesting_that_would_exhaust_a_parser(self, content: bytes, folder: TraceFolder) -> None:
        play_run(folder)
        path = folder.agent_stream(AGENT)
        path.write_bytes(content + b"\n" + path.read_bytes())
        (report,) = verify_all(folder, AGENT).streams
        assert (report.problems[0].line, report.problems[0].kind) == (1, "bad_json")
