"""Old streams load for ever; of newer ones what is unknown survives, and no packet is guessed."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.errors import StreamDamaged
from remora.memory.canonical import canonical_sha256
from remora.memory.events import VERSION, ToolCalled, decode_event, payload
from remora.memory.packet import DecisionPacket, packet_json
from remora.memory.projection import replay
from remora.memory.upcast import UPCASTERS
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import iter_lines
from remora.trace.index.ingest import StreamReading
from remora.trace.read.reader import last_event, list_streams, read_events, read_lines
from remora.trace.read.state_at import packet_at
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all

AGENT, NODE = "lint-0123456789ab", "node:a.py:f"
ENVELOPE = {"run_id": "run-1", "agent_id": AGENT, "operation": "lint", "node_id": NODE}
PACKET = DecisionPacket(agent_id=AGENT, run_id="run-1", operation="lint", node_id=NODE, goal="g")


def chained(records: list[dict[str, Any]]) -> bytes:
    """A stream of these lines with their hashes, as every version of the format has them."""
    previous, stream = "0" * 64, b""
    for record in records:
        body = json.dumps(record, separators=(",", ":"))[:-1]
        previous = sha256(previous.encode() + body.encode()).hexdigest()
        stream += body.encode() + b',"hash":"%b"}\n' % previous.encode()
    return stream


def line(seq: int, kind: str, turn: int, data: Any, delta: Any = None, **more: Any) -> Any:
    stamp = {"timestamp": f"2026-01-01T00:00:0{seq}.000000Z"}
    said = {"turn": turn, "type": kind, "data": data, "packet_delta": delta}
    return {"v": VERSION, "seq": seq, **stamp, **ENVELOPE, **said, **more}


def version_0() -> list[dict[str, Any]]:
    """A stream as it might have been before: other names, the delta in other words."""
    packet = packet_json(PACKET)
    shown = msgspec.structs.replace(PACKET, turn=1)
    events = [
        line(0, "agent_start", 0, {"packet": packet, "tools": []}),
        line(1, "turn_start", 1, {}, {"turn": 1}),
        line(2, "call", 1, {"tool": "t", "args": {"n": 1}, "packet": canonical_sha256(shown)}),
        line(3, "tool_result", 1, {"tool": "t"}, {"history": "done", "know": {"k": "v"}}),
        line(4, "agent_end", 1, {"status": "failed", "stop_reason": "max_turns"}),
    ]
    for event in events:
        event["v"], event["time"] = 0, event.pop("timestamp")
    return events


def from_0(old: dict[str, Any]) -> dict[str, Any]:
    """What version 1 would have written for it."""
    new = {**old, "timestamp": old["time"]}
    del new["time"]
    if old["type"] == "call":
        data = dict(old["data"])
        new |= {"type": "tool_call", "data": {**data, "packet_sha256": data.pop("packet")}}
    delta = old["packet_delta"]
    if delta is not None and "history" in delta:
        action = {"tool": old["data"]["tool"], "summary": delta["history"]}
        new["packet_delta"] = {"add_action": action, "update_knowledge": delta["know"]}
    return new


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    made = TraceFolder(tmp_path)
    made.create()
    return made


@pytest.fixture
def _lifts_from_0(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setitem(UPCASTERS, 0, from_0)
        yield


def written(folder: TraceFolder, records: list[dict[str, Any]]) -> Path:
    path = folder.agent_stream(AGENT)
    path.write_bytes(chained(records))
    return path


def kinds(folder: TraceFolder) -> list[tuple[int, str]]:
    """What is wrong, but for the run's stream, which there is none of."""
    found = [p for stream in verify_all(folder).streams for p in stream.problems]
    return [(p.line, p.kind) for p in found if p.kind != "anchor"]


class TestAnOlderVersion:
    @pytest.mark.usefixtures("_lifts_from_0")
    def test_is_read_as_this_one_would_have_written_it(self, folder: TraceFolder) -> None:
        path = written(folder, version_0())
        events = list(read_events(path))
        assert {event.v for event in events} == {VERSION}
        call = payload(events[2])
        assert isinstance(call, ToolCalled)
        assert (call.tool, call.args) == ("t", {"n": 1})
        packet = replay(events)
        assert packet.recent_actions[0].summary == "done"
        assert packet.knowledge["k"].value == "v"
        assert packet_at(events, 1).turn == 1

    @pytest.mark.usefixtures("_lifts_from_0")
    def test_is_indexed_as_this_one_would_be(self, folder: TraceFolder) -> None:
        path = written(folder, version_0())
        found = []
        for stream in (path.read_bytes(), chained([from_0(old) | {"v": 1} for old in version_0()])):
            path.write_bytes(stream)
            with path.open("rb") as file:
                reading = StreamReading(agent_id=AGENT)
                for read in iter_lines(FileSource(file.fileno())):
                    reading.take(read)
            assert (reading.fault, reading.count, reading.folds) == (0, 5, True)
            found.append(
                (reading.stream, reading.packet, [row.tool for row in reading.open_rows()])
            )
        assert found[0] == found[1]
        assert found[0][2] == ["t"]

    @pytest.mark.usefixtures("_lifts_from_0")
    def test_keeps_its_hashes(self, folder: TraceFolder) -> None:
        path = written(folder, version_0())
        assert kinds(folder) == []
        last = list(read_events(path))[-1]
        assert last.hash == json.loads(path.read_bytes().splitlines()[-1])["hash"]

    @pytest.mark.usefixtures("_lifts_from_0")
    def test_is_proved_like_any_other(self, folder: TraceFolder) -> None:
        records = version_0()
        records[2]["data"]["packet"] = "0" * 64
        written(folder, records)
        assert kinds(folder) == [(3, "projection")]

    @pytest.mark.usefixtures("_lifts_from_0")
    def test_that_breaks_its_own_rules_is_named(self, folder: TraceFolder) -> None:
        records = version_0()
        del records[3]["data"]["tool"]
        written(folder, records)
        assert kinds(folder)[0] == (4, "schema")

    def test_without_an_upcaster_is_refused(self, folder: TraceFolder) -> None:
        current = msgspec.json.encode(line(0, "turn_start", 0, {}, hash="0" * 64))
        assert decode_event(current).v == VERSION
        with pytest.raises(msgspec.ValidationError, match="format version 0 is not supported"):
            decode_event(current.replace(b'"v":1', b'"v":0'))
        path = written(folder, version_0())
        assert {kind for _, kind in kinds(folder)} == {"schema"}
        with pytest.raises(StreamDamaged, match="line 1 has format version 0, which"):
            list(read_events(path))
        with pytest.raises(StreamDamaged, match="the last line has format version 0"):
            last_event(path)

    def test_is_lifted_step_by_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        steps: list[int] = []

        def step(record: dict[str, Any]) -> dict[str, Any]:
            steps.append(record["v"])
            return {**record, "turn": record["turn"] + 1}

        for version in (-2, -1, 0):
            monkeypatch.setitem(UPCASTERS, version, step)
        old = line(0, "turn_start", 0, {}, v=-2, hash="0" * 64)
        assert decode_event(msgspec.json.encode(old)).turn == 3
        assert steps == [-2, -1, 0]

    def test_lines_of_this_version_meet_no_upcaster(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("remora.memory.events.upcast_line", None)
        assert decode_event(msgspec.json.encode(line(0, "turn_start", 0, {}))).v == VERSION


class TestANewerVersion:
    def test_that_cannot_be_read_is_named(self, folder: TraceFolder) -> None:
        path = written(folder, [{"v": 2, "number": 0}])
        with pytest.raises(StreamDamaged, match="line 1 has format version 2") as caught:
            list(read_events(path))
        assert f"reads format {VERSION}" in caught.value.hint
        path.write_bytes(b"no event\n")
        with pytest.raises(StreamDamaged, match="line 1 is not an event"):
            list(read_events(path))

    def newer(self) -> list[dict[str, Any]]:
        return [
            line(0, "agent_start", 0, {"packet": packet_json(PACKET), "mood": "new"}),
            line(1, "dream", 1, {"of": ["sheep"]}, {"turn": 1}, colour="red"),
            line(2, "turn_start", 1, {"novel": 1}, {"state_summary": "s"}, v=VERSION + 1),
        ]

    def test_unknown_types_and_keys_are_skipped_and_stay_in_the_lines(
        self, folder: TraceFolder
    ) -> None:
        path = written(folder, self.newer())
        events = list(read_events(path))
        assert [payload(event) is None for event in events] == [False, True, False]
        assert replay(events, strict=False).turn == 1
        assert [info.events for info in list_streams(folder)] == [3]
        lines = list(read_lines(path))
        assert b"".join(raw + b"\n" for raw in lines) == path.read_bytes()
        assert json.loads(lines[1])["colour"] == "red"
        # what it means for the whole is not known: that is said, at the line
        assert kinds(folder) == [(3, "schema")]

    def test_a_delta_with_a_key_that_is_not_known_never_passes_for_another(
        self, folder: TraceFolder
    ) -> None:
        """What the newer version made of it is on record, and what comes out without it is not."""
        shown = msgspec.structs.replace(PACKET, state_summary="dreamt")
        delta = {"dreams": ["sheep"]}
        for digest, expected in ((canonical_sha256(shown), [(3, "projection")]),
                                 (canonical_sha256(PACKET), [])):  # fmt: skip
            called = {"tool": "t", "packet_sha256": digest}
            first = {**self.newer()[0], "data": {"packet": packet_json(PACKET)}}
            dreamt = line(1, "context_update", 0, {"source": "hub"}, delta)
            written(folder, [first, dreamt, line(2, "tool_call", 0, called)])
            assert kinds(folder) == expected

    @pytest.mark.parametrize("rules", [{"fold": "fold/2"}, {"trim": "trim/9"}])
    def test_by_whose_rules_it_was_folded_is_reported_and_no_packet_is_made(
        self, rules: dict[str, str], folder: TraceFolder
    ) -> None:
        first = line(0, "agent_start", 0, {"packet": packet_json(PACKET), **rules})
        path = written(folder, [first, line(1, "turn_start", 1, {}, {"turn": 1})])
        assert kinds(folder) == [(1, "projection")]
        with pytest.raises(ValueError, match=r"/[29]', which is not supported"):
            replay(read_events(path))
