"""An agent whose rules write first, and models that answer by the turn that they are shown."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from remora.agents.definition.agent import Agent
from remora.agents.replay import replay_scripts
from remora.errors import ModelError
from remora.memory.events import AgentError, ContextUpdate, ToolCalled
from remora.models.protocol import Request
from tests.agents.conftest import SUBMIT, Play, Played, Theatre, check_every_cut

SOURCE = "x = 0\ny = 0\n"
GONE = ModelError("the server is gone", hint="start it")
PROSE = "I would say 7"
OPENED = b"x = 1\ny = 0\n"
"""What the rule of `writer` leaves of SOURCE."""
YAML = """
    name: own
    operation: own
    goal: Set the numbers
    tools:
      - {{name: put, script: put.pym, grants: [read_text, edit_text]}}
    candidates: {{script: pick.pym, grants: [read_text]}}
    verify: [parses]
    {more}
"""
PUT = """
    from remora.pym import Input, external

    value: str = Input("value")
    line: int = Input("line", default=1)

    @external
    def read_text(path: str) -> str: ...

    @external
    def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...

    name = ["x", "y"][line - 1]
    edit_text("mod.py", line, read_text("mod.py").split("\\n")[line - 1], name + " = " + value)
    {"result": value, "summary": "wrote " + value, "knowledge_delta": {name: value}, "outcome": "success"}
"""
PICK = """
    from remora.pym import Input

    packet: dict = Input("packet")
    options: dict = Input("options")
    progress: dict = Input("progress")

    def put(**args):
        return {"tool": "put", "args": args, "reason": "why not"}

    rules = RULES
    done = len(packet["recent_actions"])
    if options["open"]:
        found = SUGGESTED
    elif done < len(rules):
        found = [rules[done]]
    else:
        found = [{"tool": "submit_result", "args": {"summary": "by rule"}, "reason": "done"}]
    {"result": 0, "summary": "", "outcome": "success", "candidate_actions": found}
"""


def writer(
    theatre: Theatre, *, rules: str = '[put(value="1")]', suggested: str = "[]", more: str = ""
) -> Agent:
    """Rules make the calls `rules` and submit; `suggested` is shown to a model."""
    pick = PICK.replace("RULES", rules).replace("SUGGESTED", suggested)
    return theatre.agent(YAML.format(more=more), put=PUT, pick=pick)


def call(tool: str, **args: Any) -> str:
    return json.dumps({"tool": tool, "args": args}, separators=(",", ":"))


def put(value: str, **more: Any) -> str:
    return call("put", value=value, **more)


def undo(turn: int) -> str:
    return call("undo", turn=turn, because="it was right")


def by_turn(
    answers: Mapping[int, str | ModelError], otherwise: str = SUBMIT
) -> Callable[[Request], str | ModelError]:
    """A model that answers by the number of the turn that it is shown."""

    def answer(request: Request) -> str | ModelError:
        return answers.get(turn_of(request), otherwise)

    return answer


def turn_of(request: Request) -> int:
    assert request.messages is not None
    found = re.findall(r"^Turn (\d+) of", request.messages[-1].content, re.MULTILINE)
    return int(found[-1])


def shown(request: Request) -> str:
    assert request.messages is not None
    return request.messages[-1].content


def a_play(agent: Agent, answers: Mapping[int, str | ModelError], **more: Any) -> Play:
    return Play(agent=agent, answers=by_turn(answers), source=SOURCE, **more)


def play(
    theatre: Theatre, agent: Agent, answers: Mapping[int, str | ModelError], **more: Any
) -> Played:
    """Run it. The scripts must replay to the same results."""
    return replayed(theatre.play(a_play(agent, answers, **more)))


def cut_everywhere(theatre: Theatre, how: Play) -> Played:
    """Run it, and once more from each event on. The scripts must replay to the same results."""
    return replayed(check_every_cut(theatre, how))


def replayed(played: Played) -> Played:
    scripts = replay_scripts(played.events, played.folder.blobs, played.folder.objects)
    assert [one.detail for one in scripts if not one.same] == []
    return played


def deciders(played: Played) -> list[str]:
    return [one.decided_by for one in played.payloads(ToolCalled)]


def tools(played: Played) -> list[str]:
    return [one.tool for one in played.payloads(ToolCalled)]


def errors(played: Played) -> list[str]:
    return [one.kind for one in played.payloads(AgentError)]


def updates(played: Played, source: str) -> list[Any]:
    return [one.value for one in played.payloads(ContextUpdate) if one.source == source]


def ending(played: Played) -> tuple[str, str]:
    return played.result.status, played.result.stop_reason
