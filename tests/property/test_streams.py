"""Whatever an agent meets: its stream reads as it was written, folds in parts, and may end anywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from remora.chat import ToolSchema
from remora.memory.budget import fit, trim
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.decode_values import decode_value
from remora.memory.delta import PacketDelta, with_caps
from remora.memory.events import (
    AgentError,
    AgentStart,
    ContextUpdate,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
    TurnStart,
    decode_event,
    event_schema,
    packet_schema,
)
from remora.memory.packet import (
    PINNED,
    Candidate,
    DecisionPacket,
    Excerpt,
    NewAction,
    packet_json,
)
from remora.memory.projection import apply, replay
from remora.memory.prompt.render import render
from remora.trace.blobs import resolve
from remora.trace.read.reader import read_events, read_lines
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.stream_check import verify_stream
from tests.clock import ticking
from tests.memory.test_canonical import same
from tests.trace.conftest import target

AGENT, NODE = "lint-0123456789ab", "node:a.py:f"
TOOLS = (ToolSchema(name="act", parameters={"properties": {"n": {"type": "integer"}}}),)
PACKETS = Draft202012Validator(packet_schema())
EVENTS = Draft202012Validator(event_schema())

texts = st.text(st.characters(exclude_categories=[]), max_size=12) | st.sampled_from(
    ["", "\ud800", "\x00", "a\u2028b\u2029\x85c\r\n", "<|im_end|>", "é" * 400, "x" * 70_000]
)
names = st.sampled_from(["a", "b", "feedback", "é", NODE, "$blob", "$float"]) | texts
odd = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.binary(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
"""What a tool may give."""
deep = st.builds(
    lambda leaf, levels: [leaf := [leaf, n] for n in range(levels)] and leaf,
    odd,
    st.integers(1, 90),
)
facts = st.dictionaries(names, odd, max_size=4)
many_facts = st.integers(60, 70).map(lambda n: {f"k{i}": "v" * 400 for i in range(n)})
nodes = st.dictionaries(names, st.none() | odd, max_size=3)
many_nodes = st.just({f"node:{n}": {"n": n} for n in range(7)})
arguments = st.dictionaries(names, odd, max_size=2)
outcomes = st.sampled_from(["success", "error", "partial"])
DELTAS: dict[str, st.SearchStrategy[Any]] = {
    "state_summary": texts,
    "excerpt": st.none()
    | st.builds(
        Excerpt, ref=texts, path=texts, lines=st.tuples(st.integers(1, 9), st.just(9)), text=texts
    ),
    "candidate_actions": st.lists(
        st.builds(Candidate, tool=texts, args=arguments, reason=texts), max_size=3
    ).map(tuple),
    "diagnostics": st.lists(odd, max_size=25).map(tuple),
    "add_action": st.builds(NewAction, tool=texts, args=arguments, summary=texts, outcome=outcomes),
    "update_knowledge": facts | many_facts,
    "forget_knowledge": st.lists(names, max_size=2).map(tuple),
    "set_error": st.none() | texts,
    "hub_context": nodes | many_nodes,
    "hub_freshness": nodes | many_nodes,
    "extensions": nodes,
}
deltas = st.fixed_dictionaries({}, optional=DELTAS).map(lambda kwargs: PacketDelta(**kwargs))
results = st.fixed_dictionaries(
    {"tool": st.sampled_from(["act", "look"]), "args": arguments},
    optional={"raw_output": odd | deep, "outcome": outcomes, "diagnostics": st.lists(odd)},
)
trims = st.integers(0, 12)
steps = st.one_of(
    st.tuples(st.just("next_turn"), st.none()),
    st.tuples(st.just("update"), deltas),
    st.tuples(st.just("result"), results),
    st.tuples(st.just("repeat"), st.integers(2, 13)),
    st.tuples(st.just("ask"), st.tuples(trims, st.sampled_from(["lines/1", "json/1"]))),
    st.tuples(st.just("call"), trims),
    st.tuples(st.just("error"), st.tuples(trims, texts)),
)
stories = st.lists(steps, max_size=10)


class Teller:
    """Writes a story as a runner would, and keeps what it gave to be recorded."""

    def __init__(self, folder: TraceFolder) -> None:
        self.path = folder.agent_stream(AGENT)
        self.writer = JsonlEventEmitter.open(
            self.path,
            Identity("run-1", AGENT, "lint", NODE),
            blobs=folder.blobs,
            objects=folder.objects,
            durability="none",
            clock=ticking(),
        )
        identity = {"agent_id": AGENT, "run_id": "run-1", "operation": "lint", "node_id": NODE}
        self.context = ContextManager({**identity, "goal": "tell"})
        self.turn = 0
        self.events: list[Event] = []
        self.outputs: dict[int, Any] = {}
        start = AgentStart(
            packet=self.context.packet,
            tools=TOOLS,
            renderer="lines/1",
            limit=3000,
        )
        self.emit(start)

    def emit(self, said: Any, delta: PacketDelta | None = None) -> None:
        event = self.writer.emit(said, turn=self.turn, delta=delta)
        self.context.apply_event(event)
        self.events.append(event)

    def tell(self, step: tuple[str, Any]) -> None:
        kind, what = step
        getattr(self, kind)(what)

    def next_turn(self, _: None) -> None:
        self.turn += 1
        self.emit(TurnStart(), PacketDelta(turn=self.turn))

    def update(self, delta: PacketDelta) -> None:
        self.emit(ContextUpdate(source="middleware"), with_caps(delta))

    def repeat(self, times: int) -> None:
        for number in range(times):
            self.result({"tool": "act", "args": {"n": number // 2}, "raw_output": number})

    def call(self, taken: int) -> None:
        self.emit(ToolCalled(tool="act", **self.named(taken)))

    def error(self, what: tuple[int, str]) -> None:
        taken, text = what
        delta = with_caps(PacketDelta(set_error=text))
        self.emit(AgentError(kind="bad_call", **self.named(taken)), delta)

    def result(self, said: dict[str, Any]) -> None:
        delta = self.context.delta_for(said)
        self.outputs[len(self.events)] = said.get("raw_output")
        recorded = {key: said[key] for key in ("tool", "args", "raw_output") if key in said}
        self.emit(ToolResulted(**recorded), delta)

    def ask(self, what: tuple[int, str]) -> None:
        taken, renderer = what
        shown = trim(self.context.packet, taken)
        rendered = render(renderer, shown, TOOLS, "grammar")
        messages = [msgspec.to_builtins(message) for message in rendered.messages or ()]
        self.emit(ModelRequest(messages=messages, renderer=renderer,
                               decoding={"strategy": "grammar"}, **self.named(taken)))  # fmt: skip

    def named(self, taken: int) -> dict[str, Any]:
        shown = trim(self.context.packet, taken)
        return {"packet_sha256": canonical_sha256(shown), "trim": taken}


@contextmanager
def told(story: list[tuple[str, Any]]) -> Iterator[tuple[TraceFolder, Teller]]:
    with TemporaryDirectory() as place:
        folder = TraceFolder(Path(place))
        folder.create()
        teller = Teller(folder)
        for step in story:
            teller.tell(step)
        teller.writer.close()
        yield folder, teller


def reads_as_it_was_written(story: list[tuple[str, Any]]) -> None:
    with told(story) as (folder, teller):
        lines = list(read_lines(teller.path))
        assert b"".join(line + b"\n" for line in lines) == teller.path.read_bytes()
        assert list(map(decode_event, lines)) == teller.events == list(read_events(teller.path))
        assert [msgspec.json.encode(decode_event(line)) for line in lines] == lines
        for line in lines:
            EVENTS.validate(msgspec.json.decode(line))
        for number, output in teller.outputs.items():
            data = resolve(msgspec.json.decode(teller.events[number].data), folder.blobs)
            assert same(decode_value(data["raw_output"]), output)


def folds_in_parts_as_it_does_whole(story: list[tuple[str, Any]]) -> None:
    with told(story) as (_, teller):
        whole = replay(teller.events)
        assert whole == teller.context.packet
        for cut in range(1, len(teller.events) + 1):
            written = msgspec.json.encode(replay(teller.events[:cut]))
            packet = msgspec.json.decode(written, type=DecisionPacket)  # as a fork begins with it
            for event in teller.events[cut:]:
                packet = apply(packet, event.packet_delta)
            assert packet == whole
            assert msgspec.json.encode(packet) == msgspec.json.encode(whole)  # the keys' order too


def may_end_anywhere(story: list[tuple[str, Any]]) -> None:
    with told(story) as (folder, teller):
        content = teller.path.read_bytes()
        alone = target(folder, teller.path)
        end = 0
        for number, event in enumerate(teller.events, 1):
            end = content.index(b"\n", end) + 1
            teller.path.write_bytes(content[:end])
            report = verify_stream(alone)
            assert (report.problems, report.head.count, report.head.hash) == (
                (),
                number,
                event.hash,
            )
            packet = replay(read_events(teller.path))
            is_valid(packet)
            rest = content[end : end + number]
            teller.path.write_bytes(content[:end] + rest)
            assert [p.kind for p in verify_stream(alone).problems] == ["torn_tail"] * bool(rest)
            assert replay(read_events(teller.path)) == packet


def is_valid(packet: DecisionPacket) -> None:
    PACKETS.validate(packet_json(packet))
    assert len(packet.recent_actions) <= 10
    assert len(packet.diagnostics) <= 20
    assert len(packet.hub_context) <= 5 >= len(packet.hub_freshness)
    known = packet.knowledge
    assert len(known) <= 64
    assert len(msgspec.json.encode(known)) <= 16 * 1024 or set(known) <= PINNED
    # what may be sent is within any limit, or is not sent
    fitted = fit(packet, 900, lambda shown: len(msgspec.json.encode(shown)) // 2)
    assert fitted.tokens <= 900 or not fitted.fits
    PACKETS.validate(packet_json(fitted.packet))


CHECKS = pytest.mark.parametrize(
    "check", [reads_as_it_was_written, folds_in_parts_as_it_does_whole, may_end_anywhere]
)


@CHECKS
def test_a_few_streams(check: Any) -> None:
    given(stories)(check)()


@CHECKS
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_streams(check: Any) -> None:
    settings(max_examples=1_000)(given(stories)(check))()


def test_a_hook_forgets_a_fact_whose_key_could_not_be_written_as_it_was() -> None:
    key = "\ud800"
    story = [
        ("update", PacketDelta(update_knowledge={key: 1})),
        ("update", PacketDelta(forget_knowledge=(key,))),
    ]
    with told(story[:1]) as (_, teller):
        assert len(replay(teller.events).knowledge) == 1
    with told(story) as (_, teller):
        assert replay(teller.events).knowledge == {}


@CHECKS
@pytest.mark.parametrize("levels", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_result_as_deep_as_you_like(check: Any, levels: int) -> None:
    value: Any = ["leaf", {"$at": 1}]
    for level in range(levels):
        value = [value, level] if level % 3 else {"$deep": value}
    check([("result", {"tool": "act", "args": {"deep": value}, "raw_output": value})])
