"""Small modules of agents: stop rules, recall, the pull hook, extensions, summarizers, the target."""

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.agents.inputs.target_location import line_ranges, locate_target
from remora.agents.loop.packet_updates import checked_extensions
from remora.agents.loop.stop_rules import StopRules
from remora.agents.loop.turn_counts import TurnCounts, raw_size
from remora.agents.named_summarizers import ScriptSummarizer, summarizer_named, summarizer_record
from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import ModelRequest, Payload, ToolCalled, ToolResulted, TurnStart
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.summarizers import LinterSummarizer, ToolSidePassthrough
from remora.pym import Script, load
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.agents.conftest import SOURCE, Play, Theatre, a_job
from tests.stream_writer import open_emitter


class TestWatch:
    def turn(self, packet: DecisionPacket, summary: str, **more: Any) -> DecisionPacket:
        args = {"line": more.pop("line", 1)}
        action = new_action("t", args, summary, "success")
        return apply(packet, PacketDelta(turn=packet.turn + 1, add_action=action, **more))

    def endings(self, *turns: dict[str, Any]) -> list[str | None]:
        watch, packet = StopRules(), DecisionPacket()
        found: list[str | None] = []
        for number, turn in enumerate(turns):
            changed = turn.pop("changed", False)
            now = self.turn(packet, turn.pop("summary", str(number)), **turn)
            ending = watch.after(packet, now, changed=changed)
            found.append(ending and ending[1])
            packet = now
        return found

    @pytest.mark.parametrize(
        "progress", [{"changed": True}, {"update_knowledge": {"k": 1}}, {"diagnostics": ("one",)}]
    )
    def test_progress_starts_the_count_again(self, progress: dict[str, Any]) -> None:
        turns = [{}, {}, {}, progress, {}, {}, {}, {}]
        assert self.endings(*turns) == [None] * 7 + ["no_progress"]

    def test_only_what_is_new_is_progress(self) -> None:
        assert self.endings(*({"line": line} for line in range(9))) == [None] * 9
        turns = [{"update_knowledge": {"k": 1}} for _ in range(5)]
        assert self.endings(*turns)[-1] == "no_progress"


class TestTally:
    def tally(self, folder: Path, *payloads: tuple[int, Payload]) -> TurnCounts:
        made = TraceFolder(folder)
        made.create()
        tally, path = TurnCounts(), made.agent_stream("a")
        with open_emitter(path, Identity("r", "a", "o", "n"), blobs=made.blobs) as writer:
            for turn, payload in payloads:
                tally.add(writer.emit(payload, turn=turn))
        return tally

    def test_calls_are_counted_by_who_decided_them(self, tmp_path: Path) -> None:
        calls = [ToolCalled(tool="t", decided_by=who) for who in ("rule", "model", "model", "new")]
        tally = self.tally(tmp_path, *enumerate(calls, 1))
        counts = {who: number for who, number in tally.total.decided_by.items() if number}
        assert counts == {"rule": 1, "model": 2, "new": 1}

    def test_texts_in_blobs_count_with_their_length(self, tmp_path: Path) -> None:
        long = "x" * 100_000
        tally = self.tally(
            tmp_path,
            (1, ModelRequest(prompt=long, prompt_tokens=7)),
            (1, ToolCalled(tool="t", args={"text": long}, decided_by="model", choice=1)),
            (1, ToolResulted(tool="t", raw_output=long)),
            (3, TurnStart()),
        )
        assert (tally.total.max_packet_tokens, tally.total.turns) == (7, 3)
        assert tally.total.raw_bytes > len(long)


class TestRawSize:
    def size(self, folder: Path, raw: Any) -> int:
        made = TraceFolder(folder)
        made.create()
        path = made.agent_stream("a")
        with open_emitter(path, Identity("r", "a", "o", "n"), blobs=made.blobs) as writer:
            return raw_size(writer.emit(ToolResulted(tool="t", raw_output=raw), turn=1))

    @pytest.mark.parametrize("raw", [None, "text", {"a": [1]}, [], {"a": {"b": "blob"}}])
    def test_it_is_the_length_of_the_json(self, tmp_path: Path, raw: Any) -> None:
        assert self.size(tmp_path, raw) == len(msgspec.json.encode(raw))

    def test_blobs_count_in_full(self, tmp_path: Path) -> None:
        size = self.size(tmp_path, {"a": ["x" * 70_000, {"b": "y" * 80_000}], "c": 1})
        assert 150_000 < size < 152_000

    def test_a_forged_reference_counts_as_what_it_is(self, tmp_path: Path) -> None:
        assert self.size(tmp_path, {"$blob": {"bytes": 10**9}}) < 100


class TestRecall:
    def test_an_agent_uses_it(self, theatre: Theatre) -> None:
        played = theatre.play(
            Play(
                agent=theatre.tool('"first\\nsecond"'),
                answers=[
                    '{"tool":"act","args":{}}',
                    '{"tool":"recall","args":{"ref":"turn:1","lines":[2,2]}}',
                    '{"tool":"submit_result","args":{}}',
                ],
            )
        )
        excerpt = played.runner.context.packet.excerpt
        assert excerpt is not None
        assert (excerpt.ref, excerpt.lines, excerpt.text) == ("turn:1", (2, 2), "second")


class TestExtensions:
    SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}  # noqa: RUF012

    def test_the_merged_whole_is_checked_and_dropped_with_an_error(self) -> None:
        delta = PacketDelta(extensions={"n": 1})
        assert checked_extensions(delta, {}, self.SCHEMA) is delta
        delta = checked_extensions(PacketDelta(extensions={"n": "x"}), {}, self.SCHEMA)
        assert delta.extensions is msgspec.UNSET
        assert delta.set_error == "extensions: 'x' is not of type 'integer'"
        schema = {"required": ["n"], "maxProperties": 2}
        assert checked_extensions(PacketDelta(extensions={"m": 1}), {"n": 1}, schema).set_error is (
            msgspec.UNSET
        )
        gone = checked_extensions(PacketDelta(extensions={"n": None}), {"n": 1}, schema)
        assert gone.set_error == "extensions: 'n' is a required property"
        delta = checked_extensions(PacketDelta(extensions={"n": 1}), {}, None)
        assert delta.set_error == "extensions: the agent declares no packet_extension"

    @pytest.mark.parametrize(
        "schema", [{"$ref": "#"}, {"$ref": "#/gone"}, {"properties": {"n": {"pattern": "("}}}]
    )
    def test_a_schema_that_breaks_is_an_error_too(self, schema: dict[str, Any]) -> None:
        delta = checked_extensions(PacketDelta(extensions={"n": "x"}), {}, schema)
        assert "cannot be checked" in str(delta.set_error)


class TestSummarizers:
    def script(self, folder: Path, text: str) -> ScriptSummarizer:
        (folder / "s.pym").write_text(text)
        made = summarizer_named("s.pym", "act", lambda name: load(folder / name))
        assert isinstance(made, ScriptSummarizer)
        return made

    def test_a_users_own_speaks(self, tmp_path: Path) -> None:
        own = self.script(
            tmp_path,
            'from remora.pym import Input\nraw: list = Input("raw")\n'
            '{"summary": f"{len(raw)} things", "knowledge": {"things": len(raw)}}',
        )
        assert own.summarize([1, 2]) == "2 things"
        assert own.extract_knowledge([1, 2]) == {"things": 2}

    @pytest.mark.parametrize("text", ["1 / 0", "7", '{"summary": 7, "knowledge": []}'])
    def test_if_a_script_summarizer_fails_the_default_is_used(
        self, tmp_path: Path, text: str
    ) -> None:
        own = self.script(tmp_path, text)
        assert own.summarize("raw") == "Executed act: raw"
        assert isinstance(own.extract_knowledge("raw"), dict)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('{"summary": "x", "knowledge": {}}', None),
            (
                '{"summary": "x", "knowledge_delta": {}}',
                "s.pym: no key 'knowledge_delta' (did you mean 'knowledge'?)",
            ),
            ("1 / 0", "s.pym:3: ZeroDivisionError: division by zero"),
        ],
    )
    def test_why_an_output_is_not_used_is_recorded(
        self, tmp_path: Path, text: str, problem: str | None
    ) -> None:
        head = 'from remora.pym import Input\nraw: str = Input("raw")\n'
        record = summarizer_record(self.script(tmp_path, head + text), {"raw_output": "x"})
        assert record is not None
        assert record.get("problem") == problem

    def test_the_named_ones(self) -> None:
        none: dict[str, Script] = {}
        made = [summarizer_named(name, "t", none.__getitem__) for name in ("tool", "linter")]
        assert [*map(type, made)] == [ToolSidePassthrough, LinterSummarizer]

    def test_a_summarizer_is_used_if_the_tool_gives_no_summary(self, theatre: Theatre) -> None:
        agent = theatre.agent(
            "name: own\noperation: own\ngoal: go\n"
            "tools: [{name: act, script: act.pym, summarizer: say.pym}]\n",
            act="[1, 2, 3]",
            say="""
                from remora.pym import Input
                raw: list = Input("raw")
                {"summary": f"saw {len(raw)}", "knowledge": {"seen": raw}}""",
        )
        played = theatre.play(
            Play(
                agent=agent,
                answers=['{"tool":"act","args":{}}', '{"tool":"submit_result","args":{}}'],
            )
        )
        packet = played.runner.context.packet
        assert packet.recent_actions[0].summary == "saw 3"
        assert packet.knowledge["seen"].value == [1, 2, 3]


class TestTarget:
    def test_the_target_moves_with_its_lines(self) -> None:
        job = a_job("f", "own")
        before = locate_target(job, SOURCE.encode(), None)
        after = locate_target(job, b"# new\n" + SOURCE.encode(), before)
        assert (before["first"], before["last"], before["own"]) == (4, 6, [[4, 6]])
        assert (after["first"], after["last"]) == (5, 7)

    @pytest.mark.parametrize("source", [None, b"def f(:\n", b"def g(): pass\n"])
    def test_an_unlocatable_target_keeps_its_place(self, source: bytes | None) -> None:
        job = a_job("f", "own")
        before = locate_target(job, SOURCE.encode(), None)
        assert locate_target(job, source, before) == before
        assert locate_target(job, source, None)["own"] == []

    @given(st.sets(st.integers(1, 60)))
    def test_stretches_are_the_lines(self, lines: set[int]) -> None:
        spans = line_ranges(frozenset(lines))
        assert {n for first, last in spans for n in range(first, last + 1)} == lines
        assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(spans))
