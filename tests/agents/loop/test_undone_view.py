"""After `undo`, the packet shows the files as they are, and keeps what else was learned."""

import re
from typing import Any

import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.bootstrap.operations import BUILT_IN
from remora.memory.packet import DecisionPacket
from remora.operations.lint.operation import LINT
from tests.agents.conftest import SUBMIT, Play, Theatre
from tests.agents.loop.model_turns import by_turn, call, cut_everywhere, shown, undo
from tests.scripted_model import ScriptedModel

YAML = """
    name: own
    operation: own
    goal: Set x
    tools:
      - {name: put, script: put.pym, grants: [read_text, edit_text]}
      - {name: look, script: look.pym}
    verify: [parses]
"""
PUT = """
    from remora.pym import Input, external

    value: str = Input("value")

    @external
    def read_text(path: str) -> str: ...

    @external
    def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...

    edit_text("mod.py", 1, read_text("mod.py").split("\\n")[0], "x = " + value)
    {
        "result": value,
        "summary": "wrote " + value,
        "knowledge_delta": {"x": value, "wrote " + value: True},
        "outcome": "success",
        "diagnostics": ["x is " + value],
        "state_summary": "x is " + value,
        "excerpt": {"ref": "x", "path": "mod.py", "lines": [1, 1], "text": "x = " + value},
    }
"""
LOOK = """
    from remora.pym import Input

    at: str = Input("at")
    {"result": at, "summary": at, "knowledge_delta": {"seen": at}, "outcome": "success"}
"""
PUT_1, PUT_2, PUT_3 = (call("put", value=str(number)) for number in (1, 2, 3))
LOOKED = call("look", at="y")


@pytest.fixture
def own(theatre: Theatre) -> Agent:
    return theatre.agent(YAML, put=PUT, look=LOOK)


def view(packet: DecisionPacket) -> tuple[Any, ...]:
    facts = {key: fact.value for key, fact in packet.knowledge.items()}
    text = packet.excerpt.text if packet.excerpt else None
    return packet.diagnostics, packet.state_summary, text, facts


def shows(value: str, **more: Any) -> tuple[Any, ...]:
    facts = {"x": value, **{f"wrote {number}": True for number in value}, **more}
    return (f"x is {value}",), f"x is {value}", f"x = {value}", facts


CASES = {
    "the last": ([PUT_1, PUT_2, undo(2)], shows("1")),
    "two": ([PUT_1, PUT_2, PUT_3, undo(2)], shows("1")),
    "all": ([PUT_1, PUT_2, undo(1)], ((), "", None, {})),
    "what was looked at": ([PUT_1, LOOKED, PUT_2, LOOKED, undo(3)], shows("1", seen="y")),
    "an undo": ([PUT_1, PUT_2, undo(2), undo(3)], shows("2", **{"wrote 1": True})),
}


@pytest.mark.parametrize("case", CASES)
def test_what_edits_have_set_is_as_before_them(theatre: Theatre, own: Agent, case: str) -> None:
    answers, expected = CASES[case]
    how = Play(agent=own, answers=[*answers, SUBMIT], source="x = 0\n")
    assert view(theatre.play(how).runner.context.packet) == expected


@pytest.mark.slow
def test_resumed(theatre: Theatre, own: Agent) -> None:
    answers = by_turn({1: PUT_1, 2: PUT_2, 3: undo(2)})
    found = cut_everywhere(theatre, Play(agent=own, answers=answers, source="x = 0\n"))
    assert view(found.runner.context.packet) == shows("1")


FILES = {"ruff.toml": 'lint.select = ["F"]\n'}
TYPOS = "def pay(price):\n    total = pirce\n    return price + totl\n"
EDIT = call("edit_lines", first=3, last=3, text="    return price + total")


def test_the_built_in_lint_agent(theatre: Theatre) -> None:
    agent = load_agent(LINT.folder, BUILT_IN, builtin=True)

    def shown_at(turn: int, answers: list[str]) -> str:
        how = Play(agent=agent, source=TYPOS, answers=[*answers, SUBMIT], node="pay", files=FILES)
        found = theatre.play(how)
        assert isinstance(found.model, ScriptedModel)
        return re.sub(
            r"(?m)^(Turn .*|Error: .*|Done:|\d+\. .*)\n", "", shown(found.model.requests[turn])
        )

    first = shown_at(0, [])
    edited, undone = (shown_at(number, [EDIT, undo(1)]) for number in (1, 2))
    assert edited != first
    assert undone == first
