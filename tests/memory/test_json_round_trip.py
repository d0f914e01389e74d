"""Packets, deltas and events as JSON: forms of values, schemas, newer keys, unknown versions."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET
from msgspec.structs import asdict

from remora.errors import StreamDamaged
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    PAYLOADS,
    VERSION,
    Change,
    Event,
    Head,
    UnknownVersion,
    decode_event,
    event_schema,
    packet_schema,
    payload,
)
from remora.memory.packet import (
    Action,
    Candidate,
    Constraints,
    DecisionPacket,
    Excerpt,
    Fact,
    NewAction,
    packet_json,
)
from remora.memory.projection import replay
from remora.trace.read.reader import last_event, list_streams, read_events, read_lines
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all

PACKET_KEYS = [
    "packet_version",
    "agent_id",
    "run_id",
    "turn",
    "goal",
    "operation",
    "node_id",
    "node_type",
    "node_summary",
    "state_summary",
    "excerpt",
    "diagnostics",
    "candidate_actions",
    "recent_actions",
    "knowledge",
    "last_error",
    "error_count",
    "hub_context",
    "hub_freshness",
    "constraints",
    "extensions",
    "omitted",
]
EVENT_KEYS = [
    "v",
    "seq",
    "timestamp",
    "run_id",
    "agent_id",
    "operation",
    "node_id",
    "turn",
    "type",
    "data",
    "packet_delta",
    "hash",
]
AGENT_TYPES = [
    "agent_start",
    "turn_start",
    "context_update",
    "model_request",
    "model_response",
    "tool_call",
    "tool_result",
    "submit_result",
    "agent_error",
    "escalation",
    "recovered",
    "agent_end",
]
RUN_TYPES = ["run_start", "job_start", "job_end", "review", "gates", "run_end"]

PACKET = DecisionPacket(
    agent_id="a",
    run_id="r",
    turn=2,
    goal="gö",
    operation="lint",
    node_id="node:p.py:f",
    node_type="function",
    node_summary="def f()",
    state_summary="s",
    excerpt=Excerpt(ref="p.py:1", path="p.py", lines=(1, 2), text="a\nb"),
    diagnostics=("text", {"line": 3}),
    candidate_actions=(Candidate(tool="t", args={"z": 1, "a": None}, reason="why"),),
    recent_actions=(Action(turn=1, tool="t", args={"x": []}, summary="s", outcome="partial"),),
    knowledge={"z": Fact(value=None, source_turn=0), "a": Fact(value={"k": 1}, source_turn=1)},
    last_error="e",
    error_count=1,
    hub_context={"z": {"signature": None}, "a": {}},
    hub_freshness={"z": "t", "a": "t"},
    constraints=Constraints(max_turns=3, safety=("parses",)),
    extensions={"z": 1, "a": 2},
    omitted={"actions": 1},
)
DELTA = PacketDelta(
    turn=1,
    state_summary="s",
    excerpt=PACKET.excerpt,
    candidate_actions=PACKET.candidate_actions,
    diagnostics=PACKET.diagnostics,
    add_action=NewAction(tool="t", args={"x": 1}, summary="s", outcome="error"),
    update_knowledge={"z": 1, "a": None},
    forget_knowledge=("k",),
    set_error="e",
    hub_context={"n": None},
    hub_freshness={"n": None},
    extensions={"x": None},
    add_history="Looked",
)


def again(record: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(record), type=type(record))


def test_a_packet_survives_json_with_the_order_of_its_keys() -> None:
    copy = again(PACKET)
    assert copy == PACKET
    assert [*copy.knowledge, *copy.hub_context, *copy.extensions] == [*"zazaza"]
    assert msgspec.json.encode(copy) == msgspec.json.encode(PACKET)


def test_all_keys_of_an_empty_packet_are_present() -> None:
    built = packet_json(DecisionPacket())
    assert list(built) == PACKET_KEYS
    assert built["packet_version"] == "1.0"
    assert built["constraints"] == {"max_turns": 12, "safety": []}
    empty = {key: built[key] for key in PACKET_KEYS if key not in ("packet_version", "constraints")}
    assert all(value in (None, "", [], {}, 0) for value in empty.values())


def test_a_delta_survives_json_key_by_key() -> None:
    assert again(DELTA) == DELTA
    for key, value in asdict(DELTA).items():
        one = PacketDelta(**{key: value})
        assert again(one) == one
        assert list(json.loads(msgspec.json.encode(one))) == [key]


def test_absent_and_null_stay_apart() -> None:
    absent = msgspec.json.decode(b"{}", type=PacketDelta)
    null = msgspec.json.decode(b'{"set_error":null,"excerpt":null}', type=PacketDelta)
    assert (absent.set_error, absent.excerpt) == (UNSET, UNSET)
    assert (null.set_error, null.excerpt) == (None, None)
    assert msgspec.json.encode(absent) == b"{}"
    assert msgspec.json.encode(null) == b'{"excerpt":null,"set_error":null}'


@pytest.mark.parametrize("key", ["turn", "state_summary", "diagnostics", "update_knowledge"])
def test_null_is_refused_where_it_is_not_a_value(key: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps({key: None}), type=PacketDelta)


@pytest.mark.parametrize("kind", [DecisionPacket, PacketDelta])
def test_keys_of_newer_versions_are_tolerated(kind: Any) -> None:
    assert msgspec.json.decode(b'{"of_a_newer_version":{"x":[1.5]}}', type=kind) == kind()


def line(**changes: Any) -> bytes:
    event: dict[str, Any] = dict.fromkeys(EVENT_KEYS, "")
    event |= {"v": 1, "seq": 0, "turn": 0, "data": {}, "packet_delta": None, "hash": "0" * 64}
    return msgspec.json.encode(event | changes)


def test_an_event_survives_byte_for_byte() -> None:
    written = line(type="tool_result", data={"tool": "t", "z": 1.5}, packet_delta={"turn": 1})
    event = decode_event(written)
    assert msgspec.json.encode(event) == written
    assert list(json.loads(written)) == EVENT_KEYS
    assert list(Event.__struct_fields__) == EVENT_KEYS


def test_unknown_types_and_keys_of_an_event_survive() -> None:
    written = line(type="of_a_newer_version", data={"x": 1}, another=True)
    event = decode_event(written)
    assert payload(event) is None
    assert bytes(event.data) == b'{"x":1}'


def test_every_type_of_the_contract_has_a_payload() -> None:
    assert list(PAYLOADS) == AGENT_TYPES + RUN_TYPES


@pytest.mark.parametrize(
    ("kind", "data", "field", "expected"),
    [
        ("agent_start", {"packet": packet_json(PACKET)}, "packet", PACKET),
        ("tool_call", {"tool": "t", "candidates": 2}, "candidates", 2),
        ("tool_result", {"tool": "t", "raw_output": {"$blob": {}}}, "raw_output", {"$blob": {}}),
        ("job_end", {**dict.fromkeys(["agent_id", "operation", "node_id"], "a")}, "head", Head()),
        (
            "agent_end",
            {
                "status": "submitted",
                "stop_reason": "submitted",
                "change_set": [{"path": "p", "before": None, "after": "00", "mode": 420}],
            },
            "change_set",
            (Change(path="p", before=None, after="00", mode=420),),
        ),
    ],
)
def test_payloads_are_typed(kind: str, data: dict[str, Any], field: str, expected: Any) -> None:
    said = payload(decode_event(line(type=kind, data=data | {"of_a_newer_version": 1})))
    assert said is not None
    assert said.type == kind
    assert getattr(said, field) == expected


def test_a_payload_that_does_not_fit_its_type_is_refused() -> None:
    event = decode_event(line(type="tool_call", data={"tool": 3}))
    with pytest.raises(msgspec.ValidationError, match=r"\$\.tool"):
        payload(event)


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b"null", line()[:-1], b"\xff", line(seq="0")])
def test_what_is_not_an_event_is_refused(broken: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        decode_event(broken)


def test_records_are_frozen() -> None:
    for record in (PACKET, DELTA, PACKET.recent_actions[0], Head()):
        with pytest.raises(AttributeError):
            setattr(record, record.__struct_fields__[0], 1)


AGENT, NODE = "lint-0123456789ab", "node:a.py:f"
ENVELOPE = {"run_id": "run-1", "agent_id": AGENT, "operation": "lint", "node_id": NODE}
STARTED = DecisionPacket(agent_id=AGENT, run_id="run-1", operation="lint", node_id=NODE, goal="g")


def chained(records: list[dict[str, Any]]) -> bytes:
    """A stream of these lines with their hashes."""
    previous, stream = "0" * 64, b""
    for record in records:
        body = json.dumps(record, separators=(",", ":"))[:-1]
        previous = sha256(previous.encode() + body.encode()).hexdigest()
        stream += body.encode() + b',"hash":"%b"}\n' % previous.encode()
    return stream


def record(seq: int, kind: str, turn: int, data: Any, delta: Any = None, **more: Any) -> Any:
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
    current = msgspec.json.encode(record(0, "turn_start", 0, {}, hash="0" * 64))
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
            record(0, "agent_start", 0, {"packet": packet_json(STARTED), "mood": "new"}),
            record(1, "dream", 1, {"of": ["sheep"]}, {"turn": 1}, colour="red"),
            record(2, "turn_start", 1, {"novel": 1}, {"state_summary": "s"}),
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
        shown = msgspec.structs.replace(STARTED, state_summary="dreamt")
        delta = {"dreams": ["sheep"]}
        for digest, expected in ((canonical_sha256(shown), [(3, "projection")]),
                                 (canonical_sha256(STARTED), [])):  # fmt: skip
            called = {"tool": "t", "packet_sha256": digest}
            first = {**self.newer()[0], "data": {"packet": packet_json(STARTED)}}
            dreamt = record(1, "context_update", 0, {"source": "hub"}, delta)
            written(folder, [first, dreamt, record(2, "tool_call", 0, called)])
            assert kinds(folder) == expected

    @pytest.mark.parametrize("rules", [{"fold": "fold/2"}, {"trim": "trim/9"}])
    def test_by_whose_rules_it_was_folded_is_reported_and_no_packet_is_made(
        self, rules: dict[str, str], folder: TraceFolder
    ) -> None:
        first = record(0, "agent_start", 0, {"packet": packet_json(STARTED), **rules})
        path = written(folder, [first, record(1, "turn_start", 1, {}, {"turn": 1})])
        assert kinds(folder) == [(1, "projection")]
        with pytest.raises(ValueError, match=r"/[29]', which is not supported"):
            replay(read_events(path))


def test_every_type_of_event_has_its_payload() -> None:
    schema = event_schema()
    Draft202012Validator.check_schema(schema)
    types = [part["if"]["properties"]["type"]["const"] for part in schema["allOf"]]
    assert types == list(PAYLOADS)


def test_a_packet_fits_and_one_with_a_word_for_its_turn_does_not() -> None:
    schema = Draft202012Validator(packet_schema())
    packet = packet_json(DecisionPacket(agent_id="a", run_id="r"))
    assert schema.is_valid(packet)
    assert not schema.is_valid(packet | {"turn": "one"})
