"""The ContextManager as a library for other agent frameworks: plain dicts in, a prompt context out."""

import json
from typing import Any

import pytest
from msgspec import UNSET

from remora import ContextManager, DecisionPacket, PacketDelta, Summarizer, replay
from remora.errors import InvalidEvent
from remora.memory.canonical import canonical
from remora.memory.context import estimate_tokens
from remora.memory.events import Event, decode_event
from remora.memory.excerpts import code_lines
from remora.memory.packet import Fact, packet_json
from remora.memory.summarizers import LinterSummarizer, ToolSidePassthrough


def fresh(**context: Any) -> ContextManager:
    return ContextManager({"goal": "Fix foo.py", **context})


def result(tool: str = "t", **data: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool": tool, "data": data}


def test_a_walk_as_another_framework_would_take_it() -> None:
    memory = ContextManager(
        {
            "agent_id": "a",
            "run_id": "r",
            "goal": "Fix lint errors in foo.py",
            "operation": "lint",
            "node_id": "foo.py",
            "knowledge": {"style": "black"},
            "constraints": {"max_turns": 20, "safety": ["no_eval_exec"]},
        },
        packet_size_limit=1000,
    )
    memory.register_summarizer("linter", LinterSummarizer())
    memory.apply_event({"type": "turn_start", "turn": 1})
    memory.apply_event(result("linter", raw_output={"errors": ["E1", "E2"], "fixed": 3}))
    memory.apply_event({"type": "turn_start", "turn": 2})
    memory.apply_event(result("read_file", raw_output="def foo()…", args={"path": "foo.py"}))
    context = memory.get_prompt_context()
    assert context["turn"] == 2
    assert context["knowledge"] == {
        "style": "black",
        "lint_errors_remaining": 2,
        "lint_errors_fixed": 3,
    }
    assert [(a["turn"], a["tool"], a["summary"]) for a in context["recent_actions"]] == [
        (1, "linter", "Fixed 3 lint errors, 2 remaining"),
        (2, "read_file", "Executed read_file: def foo()…"),
    ]
    assert context["constraints"] == {"max_turns": 20, "safety": ["no_eval_exec"]}
    assert context.keys().isdisjoint({"agent_id", "run_id", "hub_freshness"})


class TestALongGoal:
    def test_the_rest_of_it_is_a_fact(self) -> None:
        goal = "Book " + "x" * 288 + " flight HAT123 to Rome"
        memory = ContextManager({"goal": goal, "knowledge": {"style": "black"}})
        assert memory.packet.goal == goal[:299] + "…"
        facts = memory.get_prompt_context()["knowledge"]
        assert facts == {"goal": "flight HAT123 to Rome", "style": "black"}

    def test_a_goal_that_fits_is_no_fact(self) -> None:
        assert ContextManager({"goal": "x" * 300}).packet.knowledge == {}

    def test_a_stated_fact_of_that_name_stays(self) -> None:
        memory = ContextManager({"goal": "x " * 200, "knowledge": {"goal": "own"}})
        assert memory.get_prompt_context()["knowledge"] == {"goal": "own"}


def test_facts_of_the_same_call_are_replaced_and_of_another_call_are_kept() -> None:
    memory = fresh()
    for number, total in [("W1", 3), ("W2", 4), ("W1", 5)]:
        data = {"args": {"id": number}, "raw_output": {"total": total}}
        memory.apply_event(result("order", **data))
    facts = memory.get_prompt_context()["knowledge"]
    assert facts == {"order(W2)": "total=4", "order(W1)": "total=5"}


class TestSeedShapes:
    @pytest.mark.parametrize("kind", ["model_response", "run_end"])
    def test_other_events_change_nothing(self, kind: str) -> None:
        memory = fresh()
        before = memory.packet
        assert memory.apply_event({"type": kind}) == PacketDelta()
        assert memory.packet == before

    @pytest.mark.parametrize("event", [{"type": "dream"}, {}, {"type": ["odd"]}])
    def test_unknown_events_change_nothing_if_not_strict(self, event: dict[str, Any]) -> None:
        memory = fresh()
        before = memory.packet
        assert memory.apply_event(event, strict=False) == PacketDelta()
        assert memory.packet == before


class TestStrict:
    @pytest.mark.parametrize(
        ("event", "message"),
        [
            (
                {"type": "tool_reslt"},
                "unknown event type 'tool_reslt' (did you mean 'tool_result'?)",
            ),
            (
                {"type": "turn_begin"},
                "unknown event type 'turn_begin'",
            ),
            ({"type": "dream"}, "unknown event type 'dream'"),
            ({"type": ["odd"]}, "unknown event type '[\"odd\"]'"),
            ({"typ": "tool_result"}, "the event has no type"),
            ({"type": "tool_result"}, "a tool result without a tool"),
            (
                {"type": "tool_result", "toll": "lint"},
                "unknown key 'toll' of a tool result (did you mean 'tool'?)",
            ),
            (
                {"type": "tool_result", "tool": "", "toolname": "lint"},
                "unknown key 'toolname' of a tool result (did you mean 'tool_name'?)",
            ),
            (
                result(sumary="Fixed 3 errors"),
                "unknown key 'sumary' of a tool result (did you mean 'summary'?)",
            ),
            (
                {"type": "tool_result", "tool": "t", "delta": {"update_knowlege": {}}},
                "unknown key 'update_knowlege' of a delta (did you mean 'update_knowledge'?)",
            ),
        ],
    )
    def test_a_wrong_event_is_an_error_that_names_the_nearest(
        self, event: dict[str, Any], message: str
    ) -> None:
        memory = fresh()
        before = memory.packet
        with pytest.raises(InvalidEvent) as caught:
            memory.apply_event(event)
        assert str(caught.value) == message
        assert caught.value.hint
        assert memory.packet == before
        memory.apply_event(event, strict=False)

    @pytest.mark.parametrize("key", ["turns", "diagnostic", "history", "action"])
    def test_a_fact_in_a_delta_may_resemble_a_word_of_the_packet(self, key: str) -> None:
        memory = fresh()
        memory.apply_event({"type": "tool_result", "tool": "t", "delta": {key: 3}})
        assert memory.packet.knowledge[key].value == 3

    def test_a_delta_for_a_result_without_a_tool_is_an_error(self) -> None:
        with pytest.raises(InvalidEvent, match="without a tool"):
            fresh().delta_for({"raw_output": "x"})
        action = fresh().delta_for({"raw_output": "x"}, strict=False).add_action
        assert action is not UNSET
        assert action.tool == ""

    def test_recorded_events_are_checked_too(self) -> None:
        memory, delta = fresh(), {"state_summary": "seen"}
        unknown = recorded("tool_reslt", {"tool": "t"}, delta)
        with pytest.raises(InvalidEvent, match="did you mean 'tool_result'"):
            memory.apply_event(unknown)
        for data in ({}, {"tool": ""}, {"tool": 1}):
            with pytest.raises(InvalidEvent, match="event 0 is a tool result without a tool"):
                memory.apply_event(recorded("tool_result", data, delta))
        assert memory.packet.state_summary == ""
        memory.apply_event(unknown, strict=False)
        assert memory.packet.state_summary == "seen"

    def test_a_replay_is_strict_unless_told_otherwise(self) -> None:
        start = recorded("agent_start", {"packet": packet_json(fresh().packet)}, None)
        unknown = recorded("dream", {}, {"state_summary": "seen"})
        with pytest.raises(InvalidEvent, match="unknown event type 'dream'"):
            replay([start, unknown])
        assert replay([start, unknown], strict=False).state_summary == "seen"


class TestOutcome:
    @pytest.mark.parametrize(
        ("data", "outcome"),
        [
            ({}, "success"),
            ({"error": "boom"}, "error"),
            ({"error": ""}, "success"),
            ({"raw_output": {"error": "boom"}}, "error"),
            ({"raw_output": {"error": None}}, "success"),
            ({"raw_output": {"error": []}}, "success"),
            ({"raw_output": "error"}, "success"),
            ({"outcome": "partial"}, "partial"),
            ({"outcome": "success", "raw_output": {"error": "boom"}}, "success"),
            ({"outcome": "error"}, "error"),
            ({"outcome": "fine"}, "success"),
            ({"outcome": "fine", "error": "boom"}, "error"),
            ({"raw_output": {"outcome": "Error"}}, "error"),
            ({"raw_output": {"outcome": "failure", "error": ""}}, "error"),
            ({"raw_output": {"outcome": "success"}}, "success"),
            ({"outcome": ["error"]}, "success"),
            ({"outcome": {}}, "success"),
            ({"args": None, "outcome": None, "error": None}, "success"),
        ],
    )
    def test_it_is_as_stated_or_follows_from_the_error(
        self, data: dict[str, Any], outcome: str
    ) -> None:
        memory = fresh()
        memory.apply_event(result(**data))
        assert memory.packet.recent_actions[0].outcome == outcome

    def test_an_error_stays_until_something_succeeds(self) -> None:
        memory = fresh()
        memory.apply_event(result(error="boom\nat line 3"))
        assert memory.packet.last_error == "boom at line 3"
        memory.apply_event({"type": "turn_start", "turn": 2})
        assert memory.packet.last_error == "boom at line 3"
        assert memory.apply_event(result()).set_error is None
        after = packet_json(memory.packet)
        assert (after["last_error"], after["error_count"]) == (None, 1)
        assert memory.apply_event(result()).set_error is UNSET

    @pytest.mark.parametrize(
        ("data", "error"),
        [
            ({"summary": "Nothing there"}, "Nothing there"),
            ({}, "look failed"),
            ({"error": ""}, "look failed"),
            ({"raw_output": {"error": "", "stderr": "disk full"}}, "disk full"),
            ({"raw_output": "no \x1b[1mfile_7\x1b[0m"}, "look failed: no file_7"),
        ],
    )
    def test_an_error_that_has_no_words_says_what_failed(
        self, data: dict[str, Any], error: str
    ) -> None:
        memory = fresh()
        memory.apply_event(result("look", outcome="error", **data))
        assert memory.packet.last_error == error

    @pytest.mark.parametrize("key", ["recent_actions", "recent_history"])
    def test_all_actions_of_a_delta_are_kept(self, key: str) -> None:
        memory = fresh()
        memory.apply_event(result(summary_delta={key: ["Read a.py", {"summary": "Ran it"}]}))
        assert memory.packet.recent_history == ["Read a.py; Ran it"]

    def test_an_error_stated_beside_a_partial_outcome_is_kept(self) -> None:
        memory = fresh()
        memory.apply_event(result(outcome="partial", error="half of it"))
        assert memory.packet.last_error == "half of it"
        assert memory.packet.recent_actions[0].outcome == "partial"

    def test_an_unknown_failed_tool_leaves_no_facts(self) -> None:
        memory = fresh()
        memory.apply_event(result(raw_output={"error": "boom", "path": "x"}))
        assert memory.packet.knowledge == {}


class Loud(Summarizer):
    def summarize(self, raw_result: Any) -> str:
        return f"LOUD {raw_result}"

    def extract_knowledge(self, raw_result: Any) -> dict[str, Any]:
        return {"heard": raw_result}


class TestWhoSpeaksForAResult:
    def test_the_tool_itself_first(self) -> None:
        memory = fresh()
        memory.register_summarizer("t", Loud())
        memory.apply_event(result(raw_output="x", summary="own", knowledge_delta={"k": 1}))
        assert memory.packet.recent_actions[0].summary == "own"
        assert list(memory.packet.knowledge) == ["k"]

    def test_an_empty_knowledge_delta_is_an_answer(self) -> None:
        memory = fresh()
        memory.register_summarizer("t", Loud())
        memory.apply_event(result(raw_output="x", knowledge_delta={}))
        assert memory.packet.knowledge == {}

    def test_the_tools_summarizer_comes_second(self) -> None:
        memory = fresh()
        memory.register_summarizer("t", Loud())
        memory.apply_event(result(raw_output="x"))
        assert memory.packet.recent_actions[0].summary == "LOUD x"
        assert memory.packet.knowledge == {"heard": Fact(value="x", source_turn=0)}

    def test_a_summarizer_speaks_for_its_own_tool_only(self) -> None:
        memory = fresh()
        memory.register_summarizer("other", Loud())
        memory.apply_event(result(raw_output={"path": "foo.py"}))
        assert memory.packet.recent_actions[0].summary == "Executed t"
        assert memory.packet.knowledge == {"t": Fact(value="path=foo.py", source_turn=0)}

    def test_a_returned_mapping_may_hold_its_own_summary(self) -> None:
        memory = fresh()
        memory.apply_event(result(raw_output={"_summary": "Read 3 files"}))
        assert memory.packet.recent_actions[0].summary == "Read 3 files"

    def test_without_raw_output_a_summarizer_gets_the_whole_result(self) -> None:
        memory = fresh()
        memory.register_summarizer("t", ToolSidePassthrough())
        delta = memory.delta_for({"tool": "t", "_summary": "said"})
        assert delta.add_action is not UNSET
        assert delta.add_action.summary == "said"


def test_making_a_delta_applies_nothing() -> None:
    memory = fresh()
    before = memory.packet
    delta = memory.delta_for({"tool": "t", "raw_output": {"a": 1}, "error": "boom"})
    assert memory.packet is before
    memory.apply_event(result(raw_output={"a": 1}, error="boom"))
    assert memory.packet.last_error == delta.set_error == "boom"


def test_optional_keys_of_a_result_reach_the_packet() -> None:
    memory = fresh()
    memory.apply_event(
        result(
            diagnostics=["E1", "E2"],
            candidate_actions=[{"tool": "u", "args": {"x": 1}, "reason": "why"}, {"no": "tool"}],
            state_summary="two\nleft",
            excerpt={"ref": "foo.py:3", "path": "foo.py", "lines": [3, 5], "text": "a\nb\n\n"},
            extensions={"rule": "E1"},
        )
    )
    packet = packet_json(memory.packet)
    assert packet["diagnostics"] == ["E1", "E2"]
    assert packet["candidate_actions"] == [{"tool": "u", "args": {"x": 1}, "reason": "why"}]
    assert packet["state_summary"] == "two left"
    assert packet["excerpt"] == {
        "ref": "foo.py:3",
        "path": "foo.py",
        "lines": [3, 5],
        "text": "a\nb\n",
    }
    assert packet["extensions"] == {"rule": "E1"}


class TestExcerpt:
    @pytest.mark.parametrize(
        "text",
        ["line\n" * 5000, "é" * 20_000, "x\n" + "y" * 20_000, "y" * 20_000 + "\nx", "\n" * 900],
    )
    @pytest.mark.parametrize("limit", [60, 600, 3000])
    def test_it_is_at_most_a_third_of_the_limit(self, text: str, limit: int) -> None:
        memory = ContextManager({}, packet_size_limit=limit)
        memory.apply_event(result(excerpt={"ref": "r", "path": "p", "lines": [7, 9], "text": text}))
        excerpt = memory.packet.excerpt
        assert excerpt is not None
        assert estimate_tokens(excerpt.text) <= limit // 3
        lines = text.removesuffix("\n").split("\n")
        assert excerpt.lines == (7, 6 + len(lines))
        assert all(lines[n - 7].startswith(line) for n, line in code_lines(excerpt))
        assert excerpt.text or not text.strip()

    def test_as_many_lines_are_kept_as_fit(self) -> None:
        memory = ContextManager({}, packet_size_limit=90, token_counter=len)
        memory.apply_event(result(excerpt={"text": f"abcd\n{'e' * 30}\nijkl"}))
        excerpt = memory.packet.excerpt
        assert excerpt is not None
        assert list(code_lines(excerpt)) == [(1, "abcd"), (3, "ijkl")]


def nested(levels: int) -> Any:
    return "leaf" if not levels else {"a": nested(levels - 1), "b": [nested(levels - 1)]}


LONG = "x" * 20_000
LARGE = {
    "text": {"t": LONG},
    "wide text": {"t": "漢" * 20_000},
    "name": {LONG: 1},
    "many": {f"k{n}": "value" for n in range(5_000)},
    "list": {"n": [*range(20_000)]},
    "nested": {"n": nested(12)},
}


class TestLimit:
    @pytest.mark.parametrize("limit", [400, pytest.param(3000, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
    def test_what_is_too_long_anywhere_is_cut_with_a_mark(
        self, value: dict[str, Any], limit: int
    ) -> None:
        memory = ContextManager({"goal": "g", "knowledge": {"kept": 1}}, packet_size_limit=limit)
        call = {"tool": "write", "args": value, "reason": LONG, "slots": value}
        memory.apply_event(result(candidate_actions=[call, {**call, "tool": LONG}], summary="s"))
        context = memory.get_prompt_context()
        assert context["candidate_actions"][0]["tool"] == "write"
        assert "…" in str(context["candidate_actions"][0]["args"])
        assert context["knowledge"] == {"kept": 1}
        texts = dict.fromkeys(("goal", "operation", "node_id", "node_type", "node_summary"), LONG)
        more = {"constraints": {"safety": [LONG] * 9}, "knowledge": {"feedback": LONG, LONG: 1}}
        full = ContextManager({**texts, **more, "state_summary": LONG}, packet_size_limit=limit)
        full.apply_event(result(args=value, error=LONG, excerpt={"text": LONG, "path": LONG}))
        full.apply_event(result(LONG, knowledge_delta=value, diagnostics=[value], extensions=value))
        assert full.get_prompt_context()["turn"] == 0

    def test_a_fact_with_a_long_name_removes_no_other(self) -> None:
        assert len(fresh(knowledge={"a": 1, LONG: 2, "b": 3}).packet.knowledge) == 3

    def test_context_size_is_measured_as_canonical_json(self) -> None:
        counted: list[str] = []

        def counter(text: str) -> int:
            counted.append(text)
            return 1

        memory = ContextManager({"goal": "gö"}, token_counter=counter)
        context = memory.get_prompt_context()
        assert counted == [canonical(context).decode()]

    def test_the_default_counter_is_half_the_bytes_rounded_up(self) -> None:
        assert [estimate_tokens(text) for text in ("", "a", "ab", "abc", "é", "😀a")] == [
            *(0, 1, 1, 2, 1, 3)
        ]

    def test_the_context_is_trimmed_the_packet_is_not(self) -> None:
        memory = ContextManager({"goal": "g"}, packet_size_limit=300)
        for n in range(60):
            memory.apply_event(result(f"tool_{n}", raw_output={"path": f"src/{n}.py"}))
        context = memory.get_prompt_context()
        assert estimate_tokens(canonical(context).decode()) <= 300
        assert len(memory.packet.knowledge) == 60
        gone = context["omitted"]
        assert gone["knowledge"] == 60 - len(context["knowledge"])
        assert gone["actions"] == 10 - len(context["recent_actions"])
        assert memory.packet.omitted == {}


class TestMiddleware:
    def test_each_hook_sees_what_the_one_before_changed(self) -> None:
        memory = fresh()
        seen: list[DecisionPacket] = []

        def first(packet: DecisionPacket) -> PacketDelta | None:
            return PacketDelta(hub_context={"n": {"signature": "def f()"}})

        def silent(packet: DecisionPacket) -> PacketDelta | None:
            return None

        def second(packet: DecisionPacket) -> PacketDelta | None:
            seen.append(packet)
            return PacketDelta(set_error="stale")

        deltas = memory.run_middleware([first, silent, second])
        assert [delta.set_error for delta in deltas] == [UNSET, "stale"]
        assert seen[0].hub_context == {"n": {"signature": "def f()"}}
        assert memory.packet.last_error == "stale"

    def test_what_a_hook_says_is_made_plain_before_it_is_recorded(self) -> None:
        memory = fresh()
        (delta,) = memory.run_middleware([lambda _: PacketDelta(update_knowledge={"k": 0.5})])
        assert delta == PacketDelta(update_knowledge={"k": "0.5"})
        assert memory.packet.knowledge == {"k": Fact(value="0.5", source_turn=0)}


class TestFirstPacket:
    def test_caps_hold_from_the_start(self) -> None:
        packet = fresh(
            goal="g" * 999,
            node_summary="two\nlines",
            knowledge={"k": "v" * 999, "n": 0.5},
            extensions={"x": 0.5},
        ).packet
        assert packet.goal == "g" * 299 + "…"
        assert packet.node_summary == "two lines"
        assert len(canonical(packet.knowledge["k"].value).decode()) == 500
        assert packet.knowledge["n"] == Fact(value="0.5", source_turn=0)
        assert packet.extensions == {"x": "0.5"}

    def test_of_nothing(self) -> None:
        assert ContextManager({}).packet == DecisionPacket()


def recorded(kind: str, data: Any, delta: Any, seq: int = 0) -> Event:
    texts = dict.fromkeys(("timestamp", "run_id", "agent_id", "operation", "node_id", "hash"), "")
    line = {"v": 1, "seq": seq, "turn": 0, "type": kind, "data": data, "packet_delta": delta}
    return decode_event(json.dumps(line | texts).encode())


def test_recorded_events_are_applied_as_they_were_written() -> None:
    made = fresh()
    events = [{"type": "turn_start", "turn": 1}, result(raw_output={"a": [1, 2]}, error="boom")]
    start = {"packet": packet_json(made.packet)}
    deltas = [packet_json(made.apply_event(event)) for event in events]  # type: ignore[arg-type]
    lines = [("agent_start", start, None), *(("tool_result", {"tool": "t"}, d) for d in deltas)]
    written = [recorded(kind, data, delta, seq) for seq, (kind, data, delta) in enumerate(lines)]
    assert replay(written) == made.packet
    again = fresh()
    for event in written:
        again.apply_event(event)
    assert again.packet == made.packet
