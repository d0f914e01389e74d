"""An agent that was cut off anywhere goes on as if it never had been."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from msgspec import UNSET

from remora.agents.definition.agent import Agent
from remora.agents.replay import replay_scripts
from remora.chat import ToolCall
from remora.memory.events import ToolCalled, ToolResulted
from remora.models.protocol import Request
from tests.agents.conftest import SUBMIT, Play, Theatre, check_every_cut

EDITS = """
from remora.pym import Input, external

text: str = Input("text")
target: dict = Input("target")

@external
def read_text(path: str) -> str: ...

@external
def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...

lines = read_text("mod.py").split("\\n")
if text == "nothing":
    report = {"result": target, "summary": "saw it", "outcome": "success"}
elif text == "broken":
    report = {"result": None, "error": "it does not do this", "outcome": "error"}
else:
    edit_text("mod.py", 5, lines[4], "    " + text)
    report = {
        "result": text, "summary": "wrote " + text, "outcome": "success",
        "knowledge_delta": {"wrote": text},
    }
report
"""
CANDIDATES = """
from remora.pym import Input

packet: dict = Input("packet")
options: dict = Input("options")

texts = ["x = 1", "x = 2", "x =", "nothing", "broken"] if options["open"] else ["x = 3"]
actions = [{"tool": "act", "args": {"text": text}, "reason": "why not"} for text in texts]
if packet["recent_actions"] and not options["open"]:
    actions = []
actions.append({"tool": "submit_result", "args": {}, "reason": "enough"})
{"result": len(actions), "summary": "s", "candidate_actions": actions}
"""
LOOK = '{"result": 1, "summary": "s", "knowledge_delta": {"looked": 1}, "outcome": "success"}'

FIND = """
from remora.pym import external

@external
def read_text(path: str) -> str: ...

line = read_text("mod.py").split("\\n")[4].strip()
{"result": line, "summary": "s", "outcome": "success", "diagnostics": [f"E1 line 5: {line}"]}
"""


def choosing(seed: int, weights: Mapping[str, int]) -> Callable[[Request], str]:
    """A model whose answer follows from what it is shown, and from nothing else."""

    def answer(request: Request) -> str:
        shown = "\n".join(message.content for message in request.messages or ())
        (chosen,) = Random(f"{seed} {shown}").choices([*weights], [*weights.values()])
        return chosen

    return answer


class Facts:
    """A Hub that knows something of the node."""

    async def get_context(self, keys: list[str]) -> Mapping[str, Any]:
        callers = [{"key": "node:b.py:g", "tier": "exact", "lines": [1]}]
        return {key: {"callers": callers, "last_updated": "2026-01-01"} for key in keys}


def call(text: str) -> str:
    return json.dumps({"tool": "act", "args": {"text": text}}, separators=(",", ":"))


def an_agent(theatre: Theatre) -> Agent:
    yaml = """
        name: own
        operation: own
        goal: Look at {node_name}
        tools:
          - {name: act, script: act.pym, grants: [read_text, edit_text]}
        candidates: {script: candidates.pym}
        context: [{script: look.pym}, {script: find.pym, grants: [read_text]}]
        verify: [parses]
    """
    return theatre.agent(yaml, act=EDITS, candidates=CANDIDATES, look=LOOK, find=FIND)


X, Y, NOTHING, BROKEN, BAD = *map(call, ["x = 1", "x = 2", "nothing", "broken"]), "no call"
ENDINGS: dict[str, tuple[dict[str, int], int]] = {
    "submitted": ({X: 2, Y: 2, NOTHING: 1, BAD: 1, SUBMIT: 1}, 12),
    "no_change": ({NOTHING: 2, BROKEN: 1, SUBMIT: 2}, 12),
    "repeated_call": ({X: 1, BROKEN: 9}, 12),
    "no_progress": ({NOTHING: 1, BROKEN: 1}, 12),
    "max_turns": ({X: 1, Y: 1}, 4),
    "verification": ({call("x ="): 1, SUBMIT: 1}, 12),
}
SEEDS = {
    ("submitted", True): 0,
    ("submitted", False): 9,
    ("no_change", False): 0,
    ("repeated_call", True): 0,
    ("repeated_call", False): 0,
    ("no_progress", True): 164,
    ("no_progress", False): 38,
    ("max_turns", True): 1,
    ("max_turns", False): 15,
    ("verification", True): 0,
    ("verification", False): 8,
}
"""Seeds with which the answers lead to an ending, with an opening and without one."""


def test_what_a_context_script_found_is_looked_for_again_after_each_edit(theatre: Theatre) -> None:
    answers = [X, NOTHING, Y, SUBMIT]
    played = theatre.play(Play(agent=an_agent(theatre), answers=answers, opening=False))
    found = [
        event.packet_delta.diagnostics
        for event in played.events
        if event.packet_delta and event.packet_delta.diagnostics is not UNSET
    ]
    assert found[1:] == [("E1 line 5: x = 1",), ("E1 line 5: x = 2",)]
    folder = played.folder
    replayed = list(replay_scripts(played.events, folder.blobs, folder.objects))
    assert [one.script for one in replayed if one.kind == "context"] == [
        "look.pym",
        *["find.pym"] * 3,
    ]
    assert all(one.same for one in replayed)


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "opening"), SEEDS)
def test_cut_after_every_event_it_ends_the_same(
    theatre: Theatre, ending: str, opening: bool
) -> None:
    weights, most = ENDINGS[ending]
    play = Play(
        agent=an_agent(theatre),
        answers=choosing(SEEDS[ending, opening], weights),
        max_turns=most,
        facts=Facts(),
        opening=opening,
    )
    whole = check_every_cut(theatre, play)
    assert whole.result.stop_reason == ending


def test_an_agent_without_candidates_ends_after_three_invalid_calls(theatre: Theatre) -> None:
    whole = check_every_cut(theatre, Play(agent=theatre.tool(LOOK), answers=lambda _: BAD))
    assert (whole.result.status, whole.result.stop_reason) == ("failed", "model_error")


@pytest.mark.slow
def test_the_nodes_last_location_is_known_if_its_file_does_not_parse(theatre: Theatre) -> None:
    def answer(request: Request) -> str:
        shown = "\n".join(message.content for message in request.messages or ())
        if "saw it" in shown:
            return SUBMIT
        return NOTHING if "wrote" in shown else call("x =")

    whole = check_every_cut(
        theatre, Play(agent=an_agent(theatre), answers=answer, opening=False, max_turns=9)
    )
    looked = next(
        result for result in whole.payloads(ToolResulted) if result.args == {"text": "nothing"}
    )
    assert (looked.parsed_output["first"], looked.parsed_output["last"]) == (4, 6)
    assert whole.result.stop_reason == "verification"


def test_a_native_call_with_what_json_lacks_is_the_same_from_the_record(theatre: Theatre) -> None:
    """Live or cut off behind the answer: what is recorded decides."""
    script = """
        from remora.pym import Input
        line: int = Input("line")
        more: dict = Input("more")
        {"result": str(line), "summary": str(line), "outcome": "success"}"""
    odd = {"line": 10**30, "more": {"$float": "nan", "deep": [2**70]}}
    calls = [ToolCall(tool="act", args=odd), ToolCall(tool="submit_result", args={})]

    def answer(request: Request) -> ToolCall:
        shown = "\n".join(message.content for message in request.messages or ())
        return calls["1000000" in shown]

    play = Play(agent=theatre.tool(script), answers=answer, strategy="tool_call")
    whole = check_every_cut(theatre, play)
    assert [call.tool for call in whole.payloads(ToolCalled)] == ["act", "submit_result"]
    assert whole.payloads(ToolResulted)[0].parsed_output == str(10**30)
