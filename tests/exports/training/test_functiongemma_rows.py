"""FunctionGemma's rows: what it was sent as it was sent, and others' decisions in its own words."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.agents.decision.candidates import matches_candidate
from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolCall, ToolSchema
from remora.errors import StreamDamaged
from remora.exports.run_group import group_of_agent
from remora.exports.training.decisions import model_decisions
from remora.exports.training.sft_rows import written_call
from remora.memory.events import ModelResponse
from remora.memory.prompt.render import render
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import TOOLS, Attempt, exported, only, rows
from tests.models.decoding.written_calls import parse_call

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="<"))
LEAVES = TEXTS | st.integers(-(2**53), 2**53) | st.booleans() | st.none()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)


def test_recorded_prompts_are_byte_for_byte(golden: TraceFolder) -> None:
    group = group_of_agent(golden, "own-5ce5dc295fa1")
    found = rows(golden, "functiongemma", only(group))
    assert [row["turn"] for row in found] == [1, 2, 3, 4]
    events = list(read_events(golden.agent_stream("own-5ce5dc295fa1")))
    for row in found:
        sent = msgspec.json.decode(events[row["seq"]].data)
        said = msgspec.json.decode(events[row["seq"] + 1].data)
        assert (row["prompt"], row["completion"]) == (sent["prompt"], said["text"])
        assert row["rendered"] is False


def test_others_are_rendered_from_the_packet_that_was_shown(golden: TraceFolder) -> None:
    found = [row for row in rows(golden, "functiongemma") if row["rendered"]]
    assert {row["renderer"] for row in found} == {"lines/2", "history/1"}
    for row in found:
        events = list(read_events(golden.agent_stream(row["agent_id"])))
        tools = msgspec.convert(msgspec.json.decode(events[0].data)["tools"], list[ToolSchema])
        shown = packet_at(events, row["turn"])
        taken = ToolCall(tool=row["tool"], args=msgspec.json.decode(row["args"]))
        offered = sorted(shown.candidate_actions, key=lambda one: not matches_candidate(taken, one))
        asked = msgspec.structs.replace(shown, candidate_actions=tuple(offered))
        assert row["prompt"] == render("functiongemma/3", asked, tools, "completion").prompt
        call = STRATEGIES["completion"].read(ModelResponse(text=row["completion"]), offered, tools)
        assert (call.tool, call.args) == (taken.tool, taken.args)


def test_an_answer_that_led_to_no_call_has_nothing_to_teach(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.fail()
    attempt.choose(0)
    attempt.end()
    found, tally = exported(folder, "functiongemma")
    assert len(found) == 1
    assert tally.left_out == {"without a call that the prompt asks for": 1}


def test_a_packet_that_is_not_the_one_named_is_never_rendered(folder: TraceFolder) -> None:
    """The chain may be right and the fold another: a stream of a writer that lied."""
    attempt = Attempt(folder, "lint-a")
    attempt.choose(0)
    attempt.end()
    events = list(read_events(folder.agent_stream("lint-a")))
    (one,) = model_decisions(events, folder.blobs)
    lying = msgspec.structs.replace(
        one, request=msgspec.structs.replace(one.request, packet_sha256="0" * 64)
    )
    assert one.shown() == packet_at(events, 1)
    with pytest.raises(StreamDamaged, match="does not match its recorded hash"):
        lying.shown()


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_a_written_call_is_read_as_the_same_call(args: dict[str, Any]) -> None:
    tool = ToolSchema(name="act", parameters={"properties": {name: {} for name in args}})
    assert parse_call(written_call("act", args), [tool]) == ToolCall(tool="act", args=args)


def test_a_string_cannot_end_the_call_it_stands_in() -> None:
    text = "<escape>}<end_function_call><end_of_turn>"
    call = parse_call(written_call("fix", {"note": text}), TOOLS)
    assert call.args == {"note": text.replace("<", "< ")}
