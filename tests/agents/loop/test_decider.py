"""A model is asked only where its answer matters, and believed only if the checks accept it."""

import json
from pathlib import Path
from typing import Any

import pytest

from remora.agents.definition.agent import Agent
from remora.agents.fork import fork_point_at
from remora.memory.canonical import canonical_sha256
from remora.memory.events import (
    AgentError,
    ContextUpdate,
    Escalation,
    ModelRequest,
    ModelResponse,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import packet_json
from remora.models.protocol import Request
from remora.runs.diagnosis.agent_history import read_history
from remora.runs.project import Project
from remora.runs.records.turn_record import turn_document
from remora.trace.read.state_at import packet_at
from remora.web.agent_records import AgentRecord
from remora.web.share.redacted_records import SharedAgent
from remora.web.tabs.candidates_tab import candidates
from remora.web.tabs.packet_tab import packet
from tests.agents.conftest import Play, Played, Theatre, scripted
from tests.web.shared import records_of

YAML = """
    name: own
    operation: own
    goal: Set the number
    max_turns: 4
    trials: true
    tools:
      - {{name: put, script: put.pym, grants: [read_text, edit_text]}}
    candidates: {{script: pick.pym, grants: [read_text]}}
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
    {"result": value, "summary": value, "knowledge_delta": {}, "outcome": "success"}
"""
PICK = """
    from remora.pym import Input

    packet: dict = Input("packet")
    options: dict = Input("options")

    def put(args):
        return {"tool": "put", "args": args, "reason": ""}

    if packet["recent_actions"]:
        found = [{"tool": "submit_result", "args": {}, "reason": "done"}]
    else:
        found = FOUND
    place = {"ref": "place", "path": "mod.py", "lines": [1, 1], "text": "x ="}
    {"result": 0, "summary": "", "outcome": "success", "candidate_actions": found, "excerpt": place}
"""
CHOICE = '[put({"value": v}) for v in VALUES]'
OPEN = """[{"tool": "put", "args": {}, "reason": "fill"}]
    if not options["open"] or options["unanswered"]:
        found = [{"tool": "submit_result", "args": {}, "reason": "nothing"}]"""


def own(theatre: Theatre, found: str, yaml: str = YAML) -> Agent:
    return theatre.agent(yaml.format(), put=PUT, pick=PICK.replace("FOUND", found))


def choice(theatre: Theatre, *values: str) -> Agent:
    return own(theatre, CHOICE.replace("VALUES", repr(list(values))))


def put(value: str) -> str:
    return json.dumps({"tool": "put", "args": {"value": value}}, separators=(",", ":"))


def play(theatre: Theatre, agent: Agent, *answers: Any, **more: Any) -> Played:
    settings = {"strategy": "grammar", "source": "x = 0\n", **more}
    return theatre.play(Play(agent=agent, answers=list(answers), **settings))


def trials(played: Played) -> list[dict[str, Any]]:
    return [
        one
        for update in played.payloads(ContextUpdate)
        if update.source == "trials"
        for one in update.value["candidates"]
    ]


class TestTrials:
    def test_candidates_that_fail_the_checks_are_not_put_to_a_model(self, theatre: Theatre) -> None:
        found = play(theatre, choice(theatre, "(", "1"))
        assert found.after == b"x = 1\n"
        assert [(one["args"]["value"], one["kept"]) for one in trials(found)] == [
            ("(", False),
            ("1", True),
        ]
        assert found.payloads(ModelRequest) == []
        assert found.payloads(ToolCalled)[0].decided_by == "rule"

    def test_candidates_with_the_same_outcome_are_one(self, theatre: Theatre) -> None:
        found = play(theatre, choice(theatre, "1", "1", "2"), put("2"))
        assert [one["kept"] for one in trials(found)] == [True, True]
        assert found.after == b"x = 2\n"
        assert found.payloads(ToolCalled)[0].decided_by == "model"

    def test_a_trial_leaves_nothing_in_the_workspace(self, theatre: Theatre) -> None:
        found = play(theatre, choice(theatre, "1", "2"), put("2"))
        call = next(one for one in found.payloads(ToolResulted) if one.tool == "put")
        assert call.host_calls[0]["result"] == "x = 0\n"
        assert [len(one.changes) for one in found.payloads(ToolResulted)] == [1, 0]


class TestSamples:
    def test_the_sample_that_passes_is_taken(self, theatre: Theatre) -> None:
        found = play(theatre, own(theatre, OPEN), put("("), "prose", put("7"), samples=3)
        assert found.after == b"x = 7\n"
        assert (found.result.asked, found.result.differed) == (1, 1)
        assert found.payloads(ToolCalled)[0].decided_by == "model"
        requests = found.payloads(ModelRequest)
        assert [request.decoding["temperature"] for request in requests] == [0.0, 0.8, 0.8]

    def test_of_several_that_pass_the_first_is_taken(self, theatre: Theatre) -> None:
        found = play(theatre, own(theatre, OPEN), put("7"), put("8"), samples=2)
        assert found.after == b"x = 7\n"

    def test_an_answer_that_changes_nothing_is_no_answer(self, theatre: Theatre) -> None:
        found = play(theatre, own(theatre, OPEN), put("0"), put("0"), samples=2)
        assert [error.kind for error in found.payloads(AgentError)] == ["no_answer"]
        assert found.result.status == "no_change"


class TestEscalation:
    def test_the_larger_model_is_asked_if_no_answer_passes(self, theatre: Theatre) -> None:
        larger = scripted([put("9")] * 2)
        found = play(theatre, own(theatre, OPEN), put("("), larger=larger)
        (step,) = found.payloads(Escalation)
        assert step.model["name"] == "scripted"
        assert step.reason == (
            "no answer passed the checks: parses: mod.py: line 1: '(' was never closed"
        )
        assert found.after == b"x = 9\n"
        assert found.payloads(ToolCalled)[0].decided_by == "escalation"
        assert found.result.decided_by["escalation"] == 1

    def test_the_larger_model_is_asked_if_the_answer_to_a_choice_is_no_call(
        self, theatre: Theatre
    ) -> None:
        agent = choice(theatre, "1", "2")
        found = play(theatre, agent, "prose", larger=scripted([put("2")] * 2))
        assert found.payloads(ToolCalled)[0].decided_by == "escalation"
        assert found.after == b"x = 2\n"


def shared_record(project: Project, _: str, path: Path) -> SharedAgent:
    shared = SharedAgent(project, path)
    shared.read_packets([1])
    return shared


def everything(agent: Agent) -> Play:
    """Two samples fail, the larger model is asked, and two of its answers pass."""

    def small(request: Request) -> str:
        return put(")" if request.decoding.temperature else "(")

    def large(request: Request) -> str:
        return put("9" if request.decoding.temperature else "8")

    return Play(
        agent=agent, answers=small, strategy="grammar", source="x = 0\n", samples=2,
        larger=scripted(large),
    )  # fmt: skip


class TestAllSteps:
    """A stream with samples, trials and an escalation. Playing it verifies it."""

    def test_the_first_answer_of_the_larger_model_is_used_and_the_record_shows_all(
        self, theatre: Theatre
    ) -> None:
        found = theatre.play(everything(own(theatre, OPEN)))
        assert found.after == b"x = 8\n"
        strategies = [one.decoding["strategy"] for one in found.payloads(ModelRequest)]
        assert strategies == ["grammar"] * 4
        assert len(found.payloads(Escalation)) == 1
        assert found.payloads(ToolCalled)[0].decided_by == "escalation"
        point = fork_point_at(found.events, 1)  # before the first question
        assert point.decides
        assert [one.args for one in point.packet.candidate_actions] == [{}]
        history = read_history(found.events)
        assert canonical_sha256(history.shown(history.turns[0])) == (
            found.payloads(ModelRequest)[0].packet_sha256
        )

    def test_its_packet_is_the_one_that_the_writer_saw(self, theatre: Theatre) -> None:
        found = theatre.play(everything(own(theatre, OPEN)))
        written = found.payloads(ModelRequest)[-1].packet_sha256
        (call,) = [one for one in found.payloads(ToolCalled) if one.written]
        (agent,) = {event.agent_id for event in found.events}
        shown = packet_at(found.events, 1)
        assert canonical_sha256(shown) == written != call.packet_sha256
        called = packet_at(found.events, 1, called=True)
        assert canonical_sha256(called) == call.packet_sha256
        assert [one.args for one in called.candidate_actions] == [{"value": "8"}, {"value": "9"}]
        document = turn_document(found.folder, agent, 1)
        assert document["packet"] == packet_json(shown)
        assert document["prompt_tokens"] == found.payloads(ModelRequest)[-1].prompt_tokens

    def test_the_page_shows_the_answers_that_were_left(self, theatre: Theatre) -> None:
        found = theatre.play(everything(own(theatre, OPEN)))
        (agent,) = {event.agent_id for event in found.events}
        project = records_of(found.folder.path.parent, theatre.folder)
        for record in (AgentRecord, shared_record):
            turn = record(project, agent, found.folder.existing_agent(agent)).turn(1)
            rows = candidates(turn, None)["rows"]
            assert [row["candidate"].args["value"] for row in rows] == ["8", "9"]
            assert [row["is_chosen"] for row in rows] == [True, False]
            assert packet(turn, None)["packet"]["candidate_actions"][0]["args"] == {}

    @pytest.mark.slow
    def test_cut_after_any_event_nothing_is_asked_twice(self, theatre: Theatre) -> None:
        agent = own(theatre, OPEN)
        whole = theatre.play(everything(agent))
        for cut in range(1, len(whole.events)):
            again = theatre.go_on(everything(agent), whole, cut)
            assert again.after == whole.after
            assert again.result.change_set == whole.result.change_set
            assert len(again.payloads(ModelResponse)) == len(whole.payloads(ModelResponse))
