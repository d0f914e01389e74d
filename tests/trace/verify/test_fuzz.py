"""Any content of `.agentfs/` gives a JSON report and no exception."""

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
from remora.trace.read.reader import list_streams, read_events
from remora.trace.read.transcript import transcript
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import AGENT, RUN, play_run, rechained

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
