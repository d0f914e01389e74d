"""Results as anyone may have written them: whatever a tool returned, there is a delta."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora import ContextManager
from remora.errors import UsageError
from remora.memory.canonical import canonical
from remora.memory.packet import packet_json
from remora.memory.summarizers import LinterSummarizer


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
    odd,
    lambda v: st.one_of(st.lists(v), st.dictionaries(odd, v), st.tuples(v)),
    max_leaves=8,
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
