"""What results come to in a delta: caps, sentences, facts."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora import ContextManager
from remora.errors import UsageError
from remora.memory import delta as make
from remora.memory.canonical import canonical, to_packet_value
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.packet import Candidate, Excerpt, NewAction, packet_json
from remora.memory.summarizers import (
    ENTRY_LIMIT,
    MAX_ENTRIES,
    MAX_FACTS,
    NAME_LIMIT,
    PATH_LIMIT,
    TEXT_LIMIT,
    DefaultSummarizer,
    LinterSummarizer,
    Summarizer,
    ToolSidePassthrough,
)
from remora.text import clip

texts = st.text(st.characters(exclude_categories=[]), max_size=900)
values = st.recursive(
    texts | st.floats() | st.integers() | st.text('\x00"\\\n', max_size=900),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3),
    max_leaves=4,
)


def spelled(value: Any) -> str:
    return canonical(value).decode()


@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 200), (999, 200)])
def test_a_clipped_text_ends_in_an_ellipsis(length: int, kept: int) -> None:
    clipped = clip("x" * length, 200)
    assert len(clipped) == kept
    assert clipped.endswith("…") == (length > 200)


@given(values)
def test_a_knowledge_value_has_at_most_500_characters(value: Any) -> None:
    made = make.knowledge_value(value)
    assert len(spelled(made)) <= 500
    whole = to_packet_value(value)
    if len(spelled(whole)) <= 500:
        assert made == whole
    else:
        assert made.endswith("…")
        assert (whole if isinstance(whole, str) else spelled(whole)).startswith(made[:-1])


@pytest.mark.parametrize("character", ["x", "é", '"', "\x00", "😀"])
def test_a_long_text_keeps_what_there_is_room_for(character: str) -> None:
    made = make.knowledge_value(character * 2000)
    width = len(spelled(character)) - 2
    assert 500 - width < len(spelled(made)) + width
    assert len(spelled(made)) <= 500


@given(st.lists(values, max_size=25))
def test_diagnostics_are_at_most_20_items_of_200_characters(found: list[Any]) -> None:
    made = make.diagnostics(found)
    assert len(made) == min(len(found), 20)
    for item in made:
        assert len(item if isinstance(item, str) else spelled(item)) <= 200


def test_texts_are_one_line() -> None:
    action = make.new_action("t", {}, " two\n\tlines\x1f ", "success")
    assert action.summary == "two lines"
    assert make.error_text("a\r\nb") == "a b"
    assert make.error_text(None) is None
    assert make.candidate("t", {}, "a\nb").reason == "a b"


def test_caps_of_an_action() -> None:
    args = {"text": "x" * 999, "list": ["x" * 999], "ratio": 0.5}
    action = make.new_action("t", args, "s" * 999, "partial")
    assert len(action.summary) == 200
    assert action.args["text"] == "x" * 199 + "…"
    assert len(spelled(action.args["list"])) <= 500
    assert action.args["ratio"] == "0.5"


def test_a_candidates_arguments_are_whole_since_they_are_what_would_be_called() -> None:
    made = make.candidate("t", {"text": "x" * 9999, "ratio": 0.5}, "r" * 999)
    assert made.args == {"text": "x" * 9999, "ratio": "0.5"}
    assert len(made.reason) == 200


@pytest.mark.parametrize(
    ("text", "last"), [("a", 3), ("a\n", 3), ("a\nb", 4), ("a\n\n", 4), ("a\r\nb\r\n", 4), ("", 3)]
)
def test_an_excerpts_last_line_follows_from_its_text(text: str, last: int) -> None:
    assert make.excerpt("r", "p", 3, text).lines == (3, last)


def test_a_delta_that_others_made_gets_the_same_caps() -> None:
    foreign = PacketDelta(
        turn=3,
        state_summary="s" * 999,
        excerpt=Excerpt(ref="\ud800", path="p", lines=(1, 1), text="\ud800"),
        candidate_actions=(Candidate(tool="t", args={"x": 1.5}, reason="r" * 999),),
        diagnostics=("d" * 999,) * 30,
        add_action=NewAction(tool="t", args={"x": 1.5}, summary="s" * 999, outcome="error"),
        update_knowledge={"k": "v" * 999, "n": 2**60},
        forget_knowledge=("k",),
        set_error="e\n" * 999,
        hub_context={"n": 1.5, "gone": None},
        hub_freshness={"n": "t"},
        extensions={"x": (1.5,), "gone": None},
    )
    made = make.with_caps(foreign)
    assert made == PacketDelta(
        turn=3,
        state_summary="s" * 299 + "…",
        excerpt=Excerpt(ref=r"\ud800", path="p", lines=(1, 1), text=r"\ud800"),
        candidate_actions=(Candidate(tool="t", args={"x": "1.5"}, reason="r" * 199 + "…"),),
        diagnostics=("d" * 199 + "…",) * 20,
        add_action=NewAction(tool="t", args={"x": "1.5"}, summary="s" * 199 + "…", outcome="error"),
        update_knowledge={"k": "v" * 497 + "…", "n": str(2**60)},
        forget_knowledge=("k",),
        set_error="e " * 149 + "e…",
        hub_context={"n": "1.5", "gone": None},
        hub_freshness={"n": "t"},
        extensions={"x": ["1.5"], "gone": None},
    )
    assert make.with_caps(made) == made


def test_null_and_absent_stay_apart_under_caps() -> None:
    assert make.with_caps(PacketDelta()) == PacketDelta()
    cleared = PacketDelta(set_error=None, excerpt=None)
    assert make.with_caps(cleared) == cleared


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


def endless() -> dict[str, Any]:
    inner: dict[str, Any] = {}
    inner |= {"a": inner, "b": [inner, inner]}
    return inner


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=[])),
    st.binary(),
)
hostile = st.recursive(
    odd, lambda v: st.one_of(st.lists(v), st.dictionaries(odd, v), st.tuples(v)), max_leaves=8
)
names = [
    "tool",
    "args",
    "raw_output",
    "summary",
    "knowledge_delta",
    "outcome",
    "error",
    "diagnostics",
    "candidate_actions",
    "state_summary",
    "excerpt",
    "extensions",
    "lines",
    "text",
    "path",
    "ref",
    "reason",
    "summary_delta",
    "recent_actions",
    "recent_history",
    "knowledge",
    "last_error",
    "errors",
    "fixed",
]
shaped = st.recursive(
    hostile,
    lambda v: st.dictionaries(st.sampled_from(names), v) | st.lists(v, max_size=3),
    max_leaves=12,
)
results = st.dictionaries(st.sampled_from(names), shaped)
events = st.one_of(
    st.fixed_dictionaries({"type": st.just("tool_result")}, optional={"data": results | shaped}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "delta": results | shaped}),
    st.fixed_dictionaries({"type": st.just("turn_start"), "turn": shaped}),
)


@pytest.mark.slow
@given(st.lists(events, max_size=3), results)
def test_no_result_whatever_it_holds_raises(
    said: list[dict[str, Any]], last: dict[str, Any]
) -> None:
    memory = ContextManager({}, packet_size_limit=200)
    memory.register_summarizer("", LinterSummarizer())
    for event in said:
        memory.apply_event(event, strict=False)
    memory.delta_for(last, strict=False)
    packet = memory.packet
    assert json.loads(canonical(packet)) == packet_json(packet)
    with suppress(UsageError):  # the smallest packet is too large
        json.dumps(memory.get_prompt_context(), allow_nan=False).encode()


HOSTILE = {
    "object": Hostile,
    "endless": endless,
    "keys": lambda: {Hostile(): Hostile()},
    "number": lambda: 10**9999,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("key", names)
def test_hostile_objects_become_text(make: Callable[[], Any], key: str) -> None:
    memory = ContextManager({})
    data = {key: make(), "raw_output": {"value": make(), key: make()}}
    memory.apply_event({"type": "tool_result", "tool": "t", "data": data}, strict=False)
    memory.delta_for({key: make()}, strict=False)
    assert len(memory.packet.recent_actions) == 1
    canonical(memory.packet)


CANDIDATES = [{"tool": "t"}, {"args": {"line": 3}}]
WRONG = [
    (
        {"raw_output": {"result": 1, "sumary": "Fixed 3 errors"}},
        "the tool's result has no key 'sumary' (did you mean 'summary'?)",
    ),
    ({"raw_output": 1, "candidate_actions": CANDIDATES}, "candidate action 2 has no tool"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_what_is_left_out_of_a_result_is_the_last_error(data: dict[str, Any], message: str) -> None:
    memory = ContextManager("g")
    delta = memory.apply_event({"type": "tool_result", "tool": "t", "data": data})
    assert (delta.set_error, memory.packet.last_error) == (message, message)
    assert memory.packet.recent_actions[0].outcome == "success"


def test_names_of_another_program_are_no_misspelled_keys() -> None:
    memory = ContextManager("g")
    raw = {"result": 1, "outcomes": ["a"], "summaries": ["b"]}
    memory.apply_event({"type": "tool_result", "tool": "t", "data": {"raw_output": raw}})
    assert memory.packet.last_error is None


def test_a_candidate_without_a_tool_is_no_initial_context() -> None:
    with pytest.raises(UsageError, match="candidate action 2 has no tool"):
        ContextManager({"goal": "g", "candidate_actions": CANDIDATES})


def test_a_summarizer_says_both_things() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Summarizer()  # type: ignore[abstract]


class TestToolSidePassthrough:
    @pytest.mark.parametrize(
        ("result", "summary", "facts"),
        [
            ({"summary": "Fixed 3", "knowledge_delta": {"k": 1}}, "Fixed 3", {"k": 1}),
            ({"_summary": "Fixed 3"}, "Fixed 3", {}),
            ({"summary": ""}, "Tool completed", {}),
            ({"summary": 3, "knowledge_delta": [1]}, "Tool completed", {}),
            ("text", "Tool completed", {}),
        ],
    )
    def test_the_tools_own_words(self, result: Any, summary: str, facts: Any) -> None:
        assert ToolSidePassthrough().summarize(result) == summary
        assert ToolSidePassthrough().extract_knowledge(result) == facts


class TestLinterSummarizer:
    @pytest.mark.parametrize(
        ("result", "summary", "counts"),
        [
            ({"errors": [1, 2], "fixed": 3}, "Fixed 3 lint errors, 2 remaining", (2, 3)),
            ({"errors": [1, 2]}, "Found 2 lint errors", (2, 0)),
            ({"errors": "many", "fixed": True}, "Found 0 lint errors", (0, 0)),
            (None, "Found 0 lint errors", (0, 0)),
        ],
    )
    def test_counts(self, result: Any, summary: str, counts: tuple[int, int]) -> None:
        assert LinterSummarizer().summarize(result) == summary
        facts = LinterSummarizer().extract_knowledge(result)
        assert facts == {"lint_errors_remaining": counts[0], "lint_errors_fixed": counts[1]}


class TestDefaultSummarizer:
    tool = DefaultSummarizer("look")

    @pytest.mark.parametrize(
        ("result", "summary"),
        [
            ("text", "Executed look: text"),
            ("two\nlines", "Executed look: two\nlines"),
            ("x" * 121, "Executed look: 1 line"),
            ("a line\n" * 30, "Executed look: 30 lines"),
            ("", "Executed look"),
            ({"a": 1}, "Executed look"),
            ([1, 2], "Executed look: 2 items"),
            (None, "Executed look"),
            ({1, 2}, "Executed look: 2 items"),
        ],
    )
    def test_it_says_what_was_executed(self, result: Any, summary: str) -> None:
        assert self.tool.summarize(result) == summary

    @pytest.mark.parametrize(
        ("tool", "args", "summary"),
        [
            ("read_file", {"path": "x.py"}, "Read 500 lines of x.py"),
            ("readFile", {"first": 1, "file": "x.py"}, "Read 500 lines of x.py"),
            ("read_file", {}, "Executed read_file: 500 lines"),
            ("list_files", {"path": "src"}, "Executed list_files: 500 lines"),
        ],
    )
    def test_a_tool_that_reads_says_what(
        self, tool: str, args: dict[str, Any], summary: str
    ) -> None:
        assert DefaultSummarizer(tool, args).summarize("line\n" * 500) == summary

    @pytest.mark.parametrize("result", ["", "some words", None, object()])
    def test_prose_and_unknown_objects_have_no_facts(self, result: Any) -> None:
        assert self.tool.extract_knowledge(result) == {}

    @pytest.mark.parametrize(
        ("result", "facts"),
        [
            ("mia_rossi", "mia_rossi"),
            (3, "3"),
            ({f"{letter}_1" for letter in "fbdeac"}, "a_1,b_1,c_1,d_1,e_1,f_1"),
            (b"end of x7", "x7"),
            (1.5, "1.5"),
            ("Order #W12-7 of ana@x.com costs $9.50.", "#W12-7,ana@x.com,$9.50"),
            ("./a_1.py\n../b_2.py, .c_3: ~/d_4!", "./a_1.py,../b_2.py,.c_3,~/d_4"),
            ("$E_5 ${F_6}/g @h_7 -8 --i_9 **j_1** #2?", "$E_5,${F_6}/g,@h_7,-8,--i_9,j_1,#2"),
            ('See https://x.com/a?b=c, "A77" (and B_2).', "https://x.com/a?b=c,A77,B_2"),
            ("many words " * 10_000 + "late7", None),
        ],
    )
    def test_a_text_has_its_identifiers_as_facts(self, result: Any, facts: str | None) -> None:
        found = self.tool.extract_knowledge(result)
        assert found == ({} if facts is None else {"look": f"value={facts}"})

    def test_a_traceback_has_its_end_as_facts(self) -> None:
        frames = [f'  File "/venv/lib/python3.11/site-packages/x/y{n}.py", line {n}, in run_{n}\n'
                  f"    return run_{n + 1}()\n" for n in range(60)]  # fmt: skip
        own = '  File "shop/cart.py", line 31, in total\n    return price(row)\n'
        text = f"Traceback (most recent call last):\n{own}{''.join(frames)}"
        text += "ValueError: row 17 has no price\n"
        facts = "value=ValueError: row 17 has no price,shop/cart.py:31 in total"
        assert self.tool.extract_knowledge(text) == {"look": facts}
        assert self.tool.summarize(text) == "Executed look: ValueError: row 17 has no price"
        inside = self.tool.extract_knowledge({"code": 1, "stderr": "noise\n" + text})
        assert inside == {"look": f"code=1;{facts.replace('value', 'stderr')}"}

    def test_a_log_has_its_errors_as_facts(self) -> None:
        lines = [f"12:00:{n:02} INFO step_{n} done" for n in range(40)]
        lines[7:7] = [
            "12:00:07 ERROR  no price",
            "a.py:3: error: bad type",
            "12:00:07 ERROR no price",
        ]
        assert self.tool.extract_knowledge("\n".join(lines)) == {
            "look": "value=12:00:07 ERROR no price,a.py:3: error: bad type,3 of 43 lines are errors"
        }

    def test_a_file_has_its_size_as_fact(self) -> None:
        text = "\n".join(f"x_{n} = {n}  # ValueError" for n in range(50))
        facts = {"look": f"value=50 lines,{len(text)} characters"}
        assert self.tool.extract_knowledge(text) == facts

    def test_keys_of_the_encoding_are_no_facts(self) -> None:
        result = {"_summary": "said", "$blob": {"sha256": "ab12"}, "id": 7}
        assert self.tool.extract_knowledge(result) == {"look": "id=7"}

    def test_facts_of_calls_with_other_arguments_stand_side_by_side(self) -> None:
        orders: list[dict[str, Any]] = [
            {"id": "W1", "lines": [{"n": 7}]},
            {"id": "W2", "full": True},
        ]
        names = [
            name
            for args in orders
            for name in DefaultSummarizer("order", args).extract_knowledge({"total": 3})
        ]
        assert names == ["order(W1)", "order(W2,true)"]

    def test_the_name_of_a_call_is_short(self) -> None:
        args = {f"a{n}": f"{n} " + "x" * 100 for n in range(9)}
        (name,) = DefaultSummarizer("order", args).extract_knowledge({"total": 3})
        assert name.startswith(f"order(0 {'x' * 29}…,1 {'x' * 29}…,")
        assert len(name) == NAME_LIMIT

    @pytest.mark.parametrize("text", ['{"a": [{"b": 1}]}', " [1", "{", "[1, 2", '{"a": NaN'])
    def test_json_in_a_text_is_read(self, text: str) -> None:
        facts = {'{"a": [{"b": 1}]}': "data.a.b=1"}
        shown = facts.get(text, "data=" + " ".join(text.split()))
        assert self.tool.extract_knowledge({"data": text}) == {"look": shown}

    def test_short_texts_come_before_longer_ones(self) -> None:
        note, story = "n" * 33, "s" * 121
        facts = self.tool.extract_knowledge([{"story": story, "note": note, "id": "A1"}])
        assert facts == {"look": f"id=A1;note={note};story={story}"}

    def test_the_first_entry_is_the_last_to_be_forgotten(self) -> None:
        facts = self.tool.extract_knowledge({"id": [n * 1000 for n in range(200)]})
        assert list(facts) == ["look.3", "look.2", "look"]
        assert facts["look"].startswith("id=0,1000,2000,")

    def test_an_entry_has_room_for_escapes(self) -> None:
        facts = self.tool.extract_knowledge({"text": ['"' * 60 for _ in range(1)] + ["a" * 400]})
        stored = knowledge(facts)
        assert stored == facts

    def test_a_long_path_loses_its_beginning_and_not_its_text(self) -> None:
        path, text = "p" * 100, "t" * TEXT_LIMIT
        facts = self.tool.extract_knowledge({path: text})
        assert facts == {"look": f"{'p' * PATH_LIMIT}={text}"}
        assert len(facts["look"]) == ENTRY_LIMIT

    @pytest.mark.parametrize(
        ("result", "grouped"),
        [
            (
                {"findings": [{"code": "F401", "line": 3}, {"code": "E741", "line": 9}]},
                "findings.code=F401,E741;findings.line=3,9",
            ),
            ({"a": [{"x": 1}, {"x": 1}, {"x": 2}]}, "a.x=1,2"),
            (["b", "a", "b"], "value=b,a"),
            ({"a": {"b": {"c": True}}, "d": None, "e": 1.5}, "a.b.c=true;e=1.5"),
            ({"text": "two\n  lines"}, "text=two lines"),
            ({"text": "x" * 120, "long": "x" * 451}, "text=" + "x" * 120),
            (
                {"who": {"name": {"first": "A"}, "at": {"zip": "1"}}},
                "who.name.first=A;who.at.zip=1",
            ),
            ('[{"id": "x y"}]', "id=x y"),
            ({"text": "w " * (TEXT_LIMIT // 2) + "REF-77 (by a@b.de)."}, "text=REF-77,a@b.de"),
            ({"text": "w " * 70 + "REF-77"}, "text=REF-77;text=" + "w " * 70 + "REF-77"),
            (
                {"a": ["x" * 100, "y" * 100], "b": ["z" * 110] * 3},
                f"a={'x' * 100},{'y' * 100};b={'z' * 110}",
            ),
            (
                {
                    "variants": {"101": {"size": "S"}, "102": {"size": "M"}},
                    "rates": {"basic": {"price": 3}, "full": {"price": 4}},
                    "in": {"a7": {"id": "a7", "x": 1}},
                },
                "variants=101,102;variants.size=S,M;rates=basic,full;rates.price=3,4;"
                "in.id=a7;in.x=1",
            ),
        ],
    )
    def test_facts_are_grouped_by_path(self, result: Any, grouped: str) -> None:
        assert self.tool.extract_knowledge(result) == {"look": grouped}

    def test_a_long_group_continues_in_the_next_entry_under_its_path(self) -> None:
        names = [f"name_{n:03}" for n in range(100)]
        facts = self.tool.extract_knowledge({"path=odd": names})
        assert list(facts) == ["look.2", "look"]
        said = [facts[key].removeprefix("path=odd=").split(",") for key in ("look", "look.2")]
        assert said[0] + said[1] == names
        assert all(len(entry) <= ENTRY_LIMIT for entry in facts.values())

    def test_knowledge_of_one_result_is_bounded(self) -> None:
        facts = self.tool.extract_knowledge({f"k{n}": "v" * 100 for n in range(10_000)})
        assert set(facts) == {"look", *(f"look.{n}" for n in range(2, MAX_ENTRIES + 1))}
        assert all(len(entry) <= ENTRY_LIMIT for entry in facts.values())

    def test_only_the_first_facts_are_looked_at(self) -> None:
        facts = self.tool.extract_knowledge(["" for _ in range(MAX_FACTS)] + ["late"])
        assert facts == {"look": "value="}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda v: st.lists(v) | st.dictionaries(st.text() | st.integers(), v),
    max_leaves=20,
)
reported = st.dictionaries(
    st.sampled_from(["errors", "fixed", "summary", "_summary", "knowledge_delta"]), anything
)


@pytest.mark.slow
@given(anything | reported)
def test_summarizers_take_whatever_a_tool_returned(result: Any) -> None:
    default = DefaultSummarizer("look")
    for summarizer in (ToolSidePassthrough(), LinterSummarizer(), default):
        assert isinstance(summarizer.summarize(result), str)
        assert isinstance(summarizer.extract_knowledge(result), dict)
    entries = default.extract_knowledge(result)
    assert entries == default.extract_knowledge(result)
    assert all(len(entry) <= ENTRY_LIMIT for entry in entries.values())
