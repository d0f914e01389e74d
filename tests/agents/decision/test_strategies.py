"""Every recorded strategy has one object that decodes, reads and names what it needs."""

import json
from typing import get_args

import pytest

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ANSWER_FORMS, ToolSchema
from remora.memory.events import ModelResponse
from remora.memory.packet import Candidate
from remora.models.protocol import Capabilities, Strategy


def test_every_recorded_name_has_a_strategy_and_a_form_of_answer() -> None:
    assert set(STRATEGIES) == set(get_args(Strategy)) - {"rules"}
    assert set(ANSWER_FORMS) == set(STRATEGIES)
    assert [name for name, form in ANSWER_FORMS.items() if form.declares_tools] == [
        "tool_call",
        "string_tool_call",
    ]


@pytest.mark.parametrize(
    ("able", "supported"),
    [
        (Capabilities(), set()),
        (Capabilities(grammar=True), {"grammar"}),
        (Capabilities(completions=True), {"completion"}),
        (Capabilities(tools=True), {"tool_call"}),
        (Capabilities(json_schema=True), {"json_schema"}),
    ],
)
def test_a_strategy_names_the_capability_that_it_needs(
    able: Capabilities, supported: set[str]
) -> None:
    always = {"string_tool_call", "text"}
    found = {name for name, each in STRATEGIES.items() if each.is_supported(able)}
    assert found == always | supported


@pytest.mark.parametrize(("hides", "choice"), [({}, 0), ({"hide": True}, 1), ({"hide": False}, 0)])
def test_a_written_call_is_the_candidate_with_most_of_its_arguments(
    hides: dict[str, bool], choice: int
) -> None:
    fix = ToolSchema(
        name="fix", parameters={"type": "object", "properties": {"hide": {"type": "boolean"}}}
    )
    candidates = [Candidate(tool="fix", args={}), Candidate(tool="fix", args={"hide": True})]
    answer = ModelResponse(text=json.dumps({"tool": "fix", "args": hides}))
    read = STRATEGIES["grammar"].read(answer, candidates, [fix])
    assert (read.args, read.choice) == (hides, choice)


def test_a_text_that_the_packet_cut_off_is_that_of_the_suggestion() -> None:
    text = {"type": "string"}
    leave = ToolSchema(name="leave", parameters={"properties": {"item": text, "because": text}})
    candidates = [Candidate(tool="leave", args={"item": f"{code}: why"}) for code in "AB"]
    answer = ModelResponse(text='{"tool":"leave","args":{"item":"B…","because":"no…"}}')
    read = STRATEGIES["grammar"].read(answer, candidates, [leave])
    assert (read.args, read.choice) == ({"item": "B: why", "because": "no…"}, 1)
