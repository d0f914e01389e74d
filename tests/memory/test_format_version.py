"""Unknown event types and keys survive, unknown versions are refused, and no packet is guessed."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.errors import StreamDamaged
from remora.memory.canonical import canonical_sha256
from remora.memory.events import VERSION, UnknownVersion, decode_event, payload
from remora.memory.packet import DecisionPacket, packet_json
from remora.memory.projection import replay
from remora.trace.read.reader import last_event, list_streams, read_events, read_lines
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all

AGENT, NODE = "lint-0123456789ab", "node:a.py:f"
ENVELOPE = {"run_id": "run-1", "agent_id": AGENT, "operation": "lint", "node_id": NODE}
PACKET = DecisionPacket(agent_id=AGENT, run_id="run-1", operation="lint", node_id=NODE, goal="g")


def chained(records: list[dict[str, Any]]) -> bytes:
    """A stream of these lines with their hashes."""
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


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    made = TraceFolder(tmp_path)
    made.create()
    return made


def written(folder: TraceFolder, records: list[dict[str, Any]]) -> Path:
    path = folder.agent_stream(AGENT)
    path.write_bytes(chained(records))
    return path


def kinds(folder: TraceFolder) -> list[tuple[int, str]]:
    """What is wrong, but for the run's stream, which there is none of."""
    found = [p for stream in verify_all(folder).streams for p in stream.problems]
    return [(p.line, p.kind) for p in found if p.kind != "anchor"]


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_another_version_is_refused(version: int, folder: TraceFolder) -> None:
    current = msgspec.json.encode(line(0, "turn_start", 0, {}, hash="0" * 64))
    assert decode_event(current).v == VERSION
    with pytest.raises(UnknownVersion, match=f"format version {version} is not supported"):
        decode_event(current.replace(b'"v":1', b'"v":%d' % version))
    path = written(folder, [{"v": version, "number": 0}])
    assert kinds(folder) == [(1, "schema")]
    with pytest.raises(StreamDamaged, match=f"line 1: format version {version} is") as caught:
        list(read_events(path))
    assert f"reads format {VERSION}" in caught.value.hint
    with pytest.raises(StreamDamaged, match=f"the last line: format version {version} is"):
        last_event(path)
    path.write_bytes(b"no event\n")
    with pytest.raises(StreamDamaged, match="line 1 is not an event"):
        list(read_events(path))


class TestANewerWriter:
    def newer(self) -> list[dict[str, Any]]:
        return [
            line(0, "agent_start", 0, {"packet": packet_json(PACKET), "mood": "new"}),
            line(1, "dream", 1, {"of": ["sheep"]}, {"turn": 1}, colour="red"),
            line(2, "turn_start", 1, {"novel": 1}, {"state_summary": "s"}),
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
        assert kinds(folder) == []

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
