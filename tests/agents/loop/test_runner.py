"""The turn loop: append, then apply, then act; whatever a part does, the job comes to an end."""

import asyncio
import json
import re
import threading
from textwrap import dedent
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from remora.agents.definition.agent import Agent, definition_record
from remora.agents.loop.runner import AgentRunner, FunctionGemmaRunner
from remora.agents.loop.state import AgentState
from remora.errors import ModelError
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    ContextUpdate,
    ModelRequest,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import packet_json
from remora.trace.read.agent_turns import packet_at
from tests.agents.conftest import SUBMIT, Play, Played, Theatre
from tests.offered_calls import choose

ACT = '{"tool":"act","args":{}}'


def fold_shown(played: Played, turn: int) -> dict[str, Any]:
    return packet_json(packet_at(played.events, turn))


class TestOrder:
    def test_turn_events_are_in_order_and_requests_are_what_is_sent(self, theatre: Theatre) -> None:
        agent = theatre.tool('{"result": 1, "summary": "one", "outcome": "success"}')
        played = theatre.play(Play(agent=agent, answers=[ACT, SUBMIT]))
        turn = ["turn_start", "model_request", "model_response", "tool_call", "tool_result"]
        assert played.types == ["agent_start", *turn, *turn, "submit_result", "agent_end"]
        assert [event.turn for event in played.events] == [0, *[1] * 5, *[2] * 7]
        assert [event.seq for event in played.events] == list(range(len(played.events)))
        played = theatre.play(Play(agent=theatre.tool("1"), answers=[ACT, SUBMIT]))
        sent = [
            [msgspec.to_builtins(message) for message in request.messages]
            for request in played.model.requests  # type: ignore[attr-defined]
        ]
        assert [request.messages for request in played.payloads(ModelRequest)] == sent
        assert played.runner.messages[:2] == sent[0]
        assert played.runner.messages[2] == {"role": "assistant", "content": ACT}
        assert FunctionGemmaRunner is AgentRunner

    def test_events_are_applied_before_effects(self, theatre: Theatre) -> None:
        """Each event that the runner tells of is in the stream, and in the packet, already."""
        agent = theatre.tool('{"result": 1, "summary": "one", "knowledge_delta": {"zebra": 1}}')
        packets = []

        def answer(request: Any) -> str:
            packets.append("zebra" in request.messages[-1].content)
            return ACT if len(packets) == 1 else SUBMIT

        theatre.play(Play(agent=agent, answers=answer))
        assert packets == [False, True]

    def test_a_request_is_recorded_before_it_is_sent(self, theatre: Theatre) -> None:
        agent = theatre.tool("1")
        broken = ModelError("no answer today", hint="try tomorrow")
        played = theatre.play(Play(agent=agent, answers=[broken]))
        assert played.types[-3:] == ["model_request", "agent_error", "agent_end"]
        assert (played.result.status, played.result.stop_reason) == ("error", "model_error")
        assert played.result.error == "no answer today; try tomorrow"


class TestAgentStart:
    def test_it_holds_all_that_a_replay_needs(self, theatre: Theatre) -> None:
        agent = theatre.tool("x: int = 1\nx")
        played = theatre.play(Play(agent=agent, answers=[SUBMIT]))
        (start,) = played.payloads(AgentStart)
        assert start.packet.goal == "Look at f"
        assert start.packet.constraints.max_turns == 12
        assert start.packet.constraints.checks == ("parses", "own_lines_only")
        assert [tool.name for tool in start.tools] == [
            "act", "recall", "undo", "leave", "submit_result",
        ]  # fmt: skip
        assert start.model["provider"] == "scripted"
        assert (start.model["strategy"], start.model["decisions"]) == ("grammar", "model")
        assert (start.renderer, start.trim, start.fold) == ("lines/2", "trim/1", "fold/1")
        assert (start.counter, start.limit, start.attempt) == ("upper-bound/1", 3000, 1)
        assert start.definition == definition_record(agent)
        assert start.definition["scripts"] == {"act.pym": agent.tools["act"].script.sha256}


class TestBadTools:
    """A tool that fails is an outcome; the run goes on."""

    @pytest.mark.parametrize(
        ("script", "kind", "says"),
        [
            ('raise ValueError("broken")', "runtime", "ValueError: broken"),
            ('print("x" * 100_000_000)', "limit", ""),
            ('"x" * 10_000_000', "limit", ""),
            ("def loop(): return loop()\nloop()", "limit", "Recursion"),
            ('{"result": 1, "summary": ["no", "text"]}', "contract", "summary"),
            ('{"result": 1, "summary": "s", "outcome": "great"}', "contract", "outcome"),
            ('{"result": 1, "summary": "s", "excerpt": 7}', "contract", "excerpt"),
        ],
    )  # fmt: skip
    def test_it_is_recorded_and_shown(
        self, theatre: Theatre, script: str, kind: str, says: str
    ) -> None:
        played = theatre.play(Play(agent=theatre.tool(script), answers=[ACT, SUBMIT]))
        bad, good = played.payloads(ToolResulted)
        assert (bad.outcome, bad.error_kind) == ("error", kind)
        assert says in (bad.error or "")
        shown = fold_shown(played, 2)
        assert shown["last_error"]
        assert "\n" not in shown["last_error"]
        assert len(shown["last_error"]) <= 300
        assert shown["recent_actions"][0]["outcome"] == "error"
        assert good.outcome == "success"
        assert (played.result.status, played.result.counts.turns) == ("no_change", 2)

    @pytest.mark.slow
    def test_one_that_loops_forever_is_stopped(self, theatre: Theatre) -> None:
        played = theatre.play(
            Play(agent=theatre.tool("while True:\n    pass"), answers=[ACT, SUBMIT])
        )
        assert played.payloads(ToolResulted)[0].error_kind == "limit"
        assert played.result.status == "no_change"

    @pytest.mark.parametrize(
        "value",
        ["None", "7", "[]", '"text"', '{"_summary": "said"}', '{"a": {"b": [1, 2.5, None]}}',
         '{1: 2, None: 3}', "float('nan')", "10 ** 400", "'\\ud800'", '{"error": "no luck"}'],
    )  # fmt: skip
    def test_any_value_is_a_result(self, theatre: Theatre, value: str) -> None:
        played = theatre.play(Play(agent=theatre.tool(value), answers=[ACT, SUBMIT]))
        assert played.result.status == "no_change"
        assert played.payloads(ToolResulted)[0].error_kind in (None, "contract")

    def test_a_long_output_is_counted_whole_and_moved_away(self, theatre: Theatre) -> None:
        script = '{"result": "line\\n" * 40_000, "summary": "long", "outcome": "success"}'
        played = theatre.play(Play(agent=theatre.tool(script), answers=[ACT, SUBMIT]))
        data = json.loads(bytes(played.events[5].data))
        assert data["raw_output"]["result"]["$blob"]["bytes"] == 200_000
        assert 200_000 < played.result.counts.raw_bytes < 201_000
        assert played.result.counts.max_packet_tokens < 3000


class TestCandidates:
    YAML = """
        name: own
        operation: own
        goal: Look at {node_name}
        tools: [{name: act, script: act.pym}]
        candidates: pick.pym
        """
    ACT = """
        from remora.pym import Input
        n: int = Input("n", default=0)
        {"result": n, "summary": f"did {n}", "knowledge_delta": {"n": n}, "outcome": "success"}
        """
    RESULT = '\n{"result": None, "summary": "", "outcome": "success", "candidate_actions": found}'

    def own(self, theatre: Theatre, pick: str) -> Agent:
        return theatre.agent(self.YAML, act=self.ACT, pick=dedent(pick) + self.RESULT)

    def test_one_candidate_is_a_rules_decision_computed_each_turn(self, theatre: Theatre) -> None:
        pick = 'found = [{"tool": "submit_result", "args": {}, "reason": "done"}]'
        played = theatre.play(Play(agent=self.own(theatre, pick), decisions="rules"))
        (call,) = played.payloads(ToolCalled)
        assert (call.decided_by, call.candidates, call.choice) == ("rule", 1, 0)
        assert played.payloads(ModelRequest) == []
        assert played.result.counts.decided_by["rule"] == 1
        pick = """
            from remora.pym import Input
            packet: dict = Input("packet")
            found = [{"tool": "act", "args": {"n": packet["turn"]}, "reason": "go on"}]
            if packet["turn"] == 3:
                found = [{"tool": "submit_result", "args": {}, "reason": "done"}]
            """
        played = theatre.play(Play(agent=self.own(theatre, pick), decisions="rules"))
        assert [c.args for c in played.payloads(ToolCalled)] == [{"n": 1}, {"n": 2}, {}]
        assert [u.source for u in played.payloads(ContextUpdate)] == ["candidates"] * 3

    @pytest.mark.parametrize("result", ["found", '{"result": found, "outcome": "success"}'])
    def test_a_script_gives_its_actions_once(self, theatre: Theatre, result: str) -> None:
        pick = 'found = [{"tool": "submit_result", "args": {}, "reason": "done"}]\n' + result
        agent = theatre.agent(self.YAML, act=self.ACT, pick=pick)
        played = theatre.play(Play(agent=agent, decisions="rules"))
        assert [call.choice for call in played.payloads(ToolCalled)] == [0]
        assert [update.value[0]["reason"] for update in played.payloads(ContextUpdate)] == ["done"]

    @pytest.mark.parametrize(("result", "problem"), [("3", "`int`"), ('[{"tool": "act"}]', "args")])
    def test_a_result_of_another_shape_is_named(
        self, theatre: Theatre, result: str, problem: str
    ) -> None:
        agent = theatre.agent(self.YAML, act=self.ACT, pick=result)
        played = theatre.play(Play(agent=agent, decisions="rules"))
        said = f"the result of the candidates script is not a list of actions: .*{problem}"
        assert re.match(said, fold_shown(played, 1)["last_error"])

    @pytest.mark.parametrize(
        ("pick", "says"),
        [
            ("found = []", "offers no action"),
            ('found = [{"tool": "nope", "args": {}, "reason": ""}]', "unknown tool 'nope'"),
            ('found = [{"tool": "act", "args": {"n": "x"}, "reason": ""}]', "n must be of type"),
            ('found = [{"tool": "act", "args": {"m": 1}, "reason": ""}]', "no argument 'm'"),
            ('found = [{"tool": "recall", "args": {"ref": 5, "lines": "x"}, "reason": ""}]',
             "ref must be of type string"),
            ('found = [{"tool": "recall", "args": {"ref": "token = \\"horse12!staple\\"", "lines": [1, 2]}, '
             '"reason": ""}]', "the arguments hold <secret:assignment:"),
            ("found = [1]", "breaks the contract"),
            ("found = 1 / 0", "ZeroDivisionError"),
        ],
    )  # fmt: skip
    def test_without_a_valid_one_the_job_ends(self, theatre: Theatre, pick: str, says: str) -> None:
        played = theatre.play(Play(agent=self.own(theatre, pick), decisions="rules"))
        assert (played.result.status, played.result.stop_reason) == ("failed", "no_progress")
        assert says in (played.result.error or "")
        assert played.payloads(ToolCalled) == []

    def test_what_was_recalled_stays_for_a_turn(self, theatre: Theatre) -> None:
        pick = """
            from remora.pym import Input
            packet: dict = Input("packet")
            past = [action["tool"] for action in packet["recent_actions"]]
            recall = {"tool": "recall", "args": {"ref": "turn:1", "lines": [1, 1]}, "reason": ""}
            act = {"tool": "act", "args": {"n": len(past)}, "reason": ""}
            submit = {"tool": "submit_result", "args": {}, "reason": ""}
            found = [[act, recall, act, submit][len(past)]]
            """
        shown = self.RESULT.replace(
            "}", ', "excerpt": {"ref": "code", "path": "", "lines": [1, 1], "text": ""}}'
        )
        agent = theatre.agent(self.YAML, act=self.ACT, pick=dedent(pick) + shown)
        played = theatre.play(Play(agent=agent, decisions="rules"))
        updates = [each for each in played.events if each.type == "context_update"]
        shows = [getattr(each.packet_delta, "excerpt", UNSET) is not UNSET for each in updates]
        assert shows == [True, True, False, True]

    def test_an_old_error_is_not_the_reason_that_none_is_left(self, theatre: Theatre) -> None:
        pick = """
            from remora.pym import Input
            packet: dict = Input("packet")
            found = []
            if packet["turn"] == 1:
                found = [{"tool": "recall", "args": {"ref": "turn:9", "lines": [1, 2]}, "reason": ""}]
            """
        played = theatre.play(Play(agent=self.own(theatre, pick), decisions="rules"))
        assert (
            played.runner.context.packet.last_error == "no raw output 'turn:9'; there is none yet"
        )
        assert played.result.error == "the candidates script offers no action"


class TestOwnAgent:
    """A user's own agent: context script, candidates, extension, grants, edits."""

    YAML = """
        name: own
        operation: own
        goal: Rename in {node_name} of {path}
        tools:
          - {name: swap, script: swap.pym, grants: [edit_text]}
        context:
          - {script: look.pym, grants: [read_text]}
        candidates: pick.pym
        packet_extension:
          type: object
          properties: {seen: {type: integer}}
          additionalProperties: false
        verify: [parses, own_lines_only]
        """
    LOOK = """
        from remora.pym import Input, external
        target: dict = Input("target")
        @external
        def read_text(path: str) -> str: ...
        text = read_text(target["path"])
        {"result": len(text), "summary": "looked", "outcome": "success",
         "state_summary": "fresh", "extensions": {"seen": 1},
         "knowledge_delta": {"length": len(text)}}
        """
    SWAP = """
        from remora.pym import Input, external
        target: dict = Input("target")
        @external
        def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...
        edit_text(target["path"], target["last"], "    return 1", "    return 10")
        {"result": 1, "summary": "swapped", "outcome": "success", "extensions": {"seen": "two"}}
        """
    PICK = """
        from remora.pym import Input
        packet: dict = Input("packet")
        tool = "submit_result" if packet["recent_actions"] else "swap"
        found = [{"tool": tool, "args": {}, "reason": "next"}]
        {"result": found, "summary": "", "outcome": "success", "candidate_actions": found}
        """

    def test_every_part_of_it_plays(self, theatre: Theatre) -> None:
        agent = theatre.agent(self.YAML, look=self.LOOK, swap=self.SWAP, pick=self.PICK)
        played = theatre.play(Play(agent=agent, decisions="rules"))
        first, *_ = played.payloads(ContextUpdate)
        assert (first.source, first.value) == ("context", 73)
        shown = fold_shown(played, 1)
        assert (shown["state_summary"], shown["extensions"]) == ("fresh", {"seen": 1})
        assert shown["knowledge"]["length"] == {"value": 73, "source_turn": 0}
        assert shown["recent_actions"] == [], "a context script is no action"
        later = fold_shown(played, 2)
        assert later["extensions"] == {"seen": 1}, "what breaks the schema is dropped"
        assert later["last_error"] == "extensions: 'two' is not of type 'integer'"
        assert played.result.status == "submitted"
        assert [(c.path, c.mode) for c in played.result.change_set] == [("mod.py", 0o644)]
        assert b"return 10" in (played.after or b"")
        (end,) = played.payloads(AgentEnd)
        assert end.change_set == played.result.change_set
        (change,) = played.payloads(ToolResulted)[0].changes
        assert played.folder.objects.get(change.after) == played.after
        assert b"return 1\n" in played.folder.objects.get(change.before)


class TestEndings:
    def test_max_turns_and_submissions_without_changes(self, theatre: Theatre) -> None:
        played = theatre.play(Play(agent=theatre.tool("1"), answers=[SUBMIT]))
        assert (played.result.status, played.result.stop_reason) == ("no_change", "no_change")
        assert played.payloads(SubmitResult)[0].verified is True
        script = 'from remora.pym import Input\npacket: dict = Input("packet")\n'
        script += '{"result": 1, "summary": "s", "knowledge_delta": {"t": packet["turn"]}}'
        played = theatre.play(Play(agent=theatre.tool(script), answers=lambda _: ACT, max_turns=2))
        assert (played.result.status, played.result.stop_reason) == ("failed", "max_turns")
        assert played.result.counts.turns == 2

    def test_calls_that_are_repeated_or_change_nothing(self, theatre: Theatre) -> None:
        script = '{"result": 1, "summary": "same", "outcome": "success"}'
        played = theatre.play(Play(agent=theatre.tool(script), answers=lambda _: ACT))
        assert (played.result.stop_reason, played.result.counts.turns) == ("repeated_call", 2)
        script = 'from remora.pym import Input\npacket: dict = Input("packet")\n'
        script += '{"result": 1, "summary": "turn " + str(packet["turn"]), "outcome": "success"}'
        played = theatre.play(Play(agent=theatre.tool(script), answers=lambda _: ACT))
        assert (played.result.stop_reason, played.result.counts.turns) == ("no_progress", 5)

    def test_three_invalid_calls_in_a_row(self, theatre: Theatre) -> None:
        answers = ["nonsense", ACT, *["nonsense"] * 3]
        played = theatre.play(Play(agent=theatre.tool("1"), answers=answers))
        assert (played.result.status, played.result.stop_reason) == ("failed", "model_error")
        errors = played.payloads(AgentError)
        assert [error.kind for error in errors] == ["bad_call"] * 4 + ["invalid_calls"]
        assert all(error.packet_sha256 and error.trim == 0 for error in errors)
        assert fold_shown(played, 2)["last_error"].startswith("the answer has no tool call")
        assert played.result.counts.turns == 6, "a turn without a call is a turn"

    def test_a_failed_check_fails_the_job(self, theatre: Theatre) -> None:
        script = """
            from remora.pym import external
            @external
            def edit_text(path: str, line: int, expect: str, replace: str | None) -> dict: ...
            edit_text("mod.py", 6, "    return 1", "    return (")
            1"""
        agent = theatre.tool(script, grants=["edit_text"], more="verify: [parses]\n")
        played = theatre.play(Play(agent=agent, answers=[ACT, SUBMIT, SUBMIT, SUBMIT]))
        assert (played.result.status, played.result.stop_reason) == ("failed", "verification")
        assert (played.result.error or "").startswith("parses: mod.py: line 6")
        assert [one.verified for one in played.payloads(SubmitResult)] == [False] * 3
        assert played.result.change_set, "what was tried is on record"


class TestCancelled:
    def test_it_waits_for_its_thread_and_passes_its_error(self, theatre: Theatre) -> None:
        from remora.threads import run_in_thread

        began, may_end = threading.Event(), threading.Event()

        def work() -> None:
            began.set()
            may_end.wait(20)

        async def cancelled() -> None:
            task = asyncio.create_task(run_in_thread(work))
            assert await asyncio.to_thread(began.wait, 20)
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
            assert not task.done()
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        with pytest.raises(ZeroDivisionError):
            asyncio.run(run_in_thread(lambda: 1 // 0))


def test_events_of_newer_versions_count(theatre: Theatre, lint: Agent) -> None:
    """A resumed stream may hold types that this version does not know: their deltas count."""
    played = theatre.play(Play(agent=lint, answers=choose(0), source="import os\n"))
    start = next(event for event in played.events if event.type == AgentStart.type)
    dream = msgspec.structs.replace(
        start, type="dream", seq=1, packet_delta=PacketDelta(state_summary="dreamt")
    )
    state = AgentState(ContextManager({}), played.folder.blobs)
    state.add(start)
    state.add(dream)
    assert state.context.packet.state_summary == "dreamt"
