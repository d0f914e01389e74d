"""What a stream holds of a tool's run is enough to run its script again without the machine."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from remora.agents.definition.agent import Agent, load_agent
from remora.memory.decode_values import decode_value
from remora.memory.encode_values import encode_value
from remora.memory.events import Event, ToolResulted
from remora.memory.packet import packet_json
from remora.memory.projection import replay
from remora.pym import HostCall
from remora.tools.tool import ToolRun, replay_tool
from remora.trace.blobs import resolved_payload
from tests.agents.conftest import SUBMIT, Play, Played, Theatre
from tests.offered_calls import choose
from tests.step_lint.operations import OPERATIONS, STEP_LINT

OWN = """
from grail import Input, external
packet: dict = Input("packet")
options: dict = Input("options")
target: dict = Input("target")
@external
async def read_text(path: str) -> str: ...
@external
def write_new_file(path: str, text: str) -> dict: ...
text = await read_text(target["path"])
try:
    write_new_file("new.py", "x" * 70000)
except RuntimeError:
    pass
import random, time
[packet["turn"], options["open"], text, "é" * 70000, "\\ud800", float("nan"), random.random(), time.time()]
"""


def runs(played: Played, agent: Agent) -> list[tuple[ToolResulted, ToolRun]]:
    """Each recorded run, and the same run made from the stream alone."""
    found = []
    for number, event in enumerate(played.events):
        if event.type != "tool_result":
            continue
        recorded = resolved_payload(event, played.folder.blobs)
        assert isinstance(recorded, ToolResulted)
        if recorded.tool in agent.tools:
            found.append((recorded, rerun(recorded, agent, played.events[:number])))
    return found


def rerun(recorded: ToolResulted, agent: Agent, before: list[Event]) -> ToolRun:
    tool = agent.tools[recorded.tool]
    assert tool.script.sha256 == recorded.script_sha256
    given: dict[str, Any] = decode_value({**recorded.args, **recorded.inputs})
    if "packet" in {spec.name for spec in tool.script.inputs}:
        given["packet"] = packet_json(replay(before))
    calls = msgspec.convert(decode_value(recorded.host_calls), list[HostCall])
    assert recorded.clock is not None
    assert recorded.seed is not None
    clock = datetime.fromisoformat(recorded.clock)
    return replay_tool(tool, given, calls, clock=clock, seed=recorded.seed)


def test_a_tool_that_takes_all_there_is(theatre: Theatre) -> None:
    agent = theatre.tool(OWN, grants=["read_text", "write_new_file"])
    act = '{"tool":"act","args":{}}'

    played = theatre.play(Play(agent=agent, answers=[act, act, SUBMIT]))

    found = runs(played, agent)
    assert len(found) == 2
    for recorded, made in found:
        assert encode_value(made.raw_output) == recorded.raw_output
        assert [call.name for call in made.host_calls] == ["read_text", "write_new_file"]
        assert made.result.outcome == recorded.outcome


@pytest.mark.slow
def test_the_lint_agents_tools(theatre: Theatre) -> None:
    agent = load_agent(STEP_LINT.folder, OPERATIONS, builtin=True)
    played = theatre.play(
        Play(agent=agent, answers=choose(0), node="__module__", writes=False, renderer="lines/1")
    )

    found = runs(played, agent)
    assert found
    for recorded, made in found:
        assert encode_value(made.raw_output) == recorded.raw_output
        assert made.error_kind == recorded.error_kind
