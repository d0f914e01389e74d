"""Rules do what they are sure of; then a model chooses each call, whatever is suggested to it."""

from collections.abc import Callable
from typing import Any

import pytest

from remora.chat import ToolCall
from remora.memory.events import (
    ContextUpdate,
    Escalation,
    ModelRequest,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.models.protocol import Request
from remora.trace.read.agent_turns import packet_at
from tests.agents.conftest import SUBMIT, Play, Theatre, scripted
from tests.agents.loop.model_turns import (
    GONE,
    OPENED,
    PROSE,
    SOURCE,
    a_play,
    call,
    cut_everywhere,
    deciders,
    ending,
    errors,
    play,
    put,
    replayed,
    shown,
    tools,
    undo,
    updates,
    writer,
)


class TestOpening:
    def test_rules_begin_and_the_model_goes_on_where_they_would_submit(
        self, theatre: Theatre
    ) -> None:
        found = play(theatre, writer(theatre, suggested="[put()]"), {2: put("7")})
        assert found.after == b"x = 7\ny = 0\n"
        assert deciders(found) == ["rule", "model", "model"]
        assert updates(found, "opening") == [{"summary": "by rule"}]
        requests = found.model.requests  # type: ignore[attr-defined]
        assert len(requests) == 2
        assert all("- put(value) - why not" in shown(one) for one in requests)
        assert ending(found) == ("submitted", "submitted")

    def test_the_model_decides_without_an_opening_and_rules_if_they_are_to(
        self, theatre: Theatre
    ) -> None:
        found = play(theatre, writer(theatre), {1: put("7")}, opening=False)
        assert found.after == b"x = 7\ny = 0\n"
        assert deciders(found) == ["model", "model"]
        assert updates(found, "opening") == []
        found = play(theatre, writer(theatre), {}, decisions="rules")
        assert (found.after, deciders(found)) == (OPENED, ["rule", "rule"])
        assert found.payloads(ModelRequest) == []
        assert updates(found, "opening") == []
        found = play(theatre, writer(theatre, rules="[]"), {1: put("7")})
        assert deciders(found) == ["model", "model"]
        assert updates(found, "opening") == [{"summary": "by rule"}]

    def test_a_turn_can_be_undone_only_if_it_changed_a_file(self, theatre: Theatre) -> None:
        calls = [ToolCall(tool="put", args={"value": "7"}), ToolCall(tool="submit_result")]
        found = theatre.play(
            Play(
                agent=writer(theatre),
                answers=calls,
                source=SOURCE,
                strategy="tool_call",
                opening=False,
            )
        )
        declared = [
            {tool["name"] for tool in one.decoding["tools"]} for one in found.payloads(ModelRequest)
        ]
        assert declared == [
            {"put", "leave", "submit_result"},
            {"put", "leave", "submit_result", "undo"},
        ]

    @pytest.mark.slow
    def test_resumed(self, theatre: Theatre) -> None:
        how = a_play(writer(theatre, suggested="[put()]"), {2: put("7"), 3: put("8")})
        assert cut_everywhere(theatre, how).after == b"x = 8\ny = 0\n"


class TestSuggestions:
    SUGGESTED = '[put(value="2"), put(line=2)]'

    @pytest.mark.parametrize(
        ("answer", "choice"),
        [
            (put("2"), 0),
            (put("9", line=2), 1),
            (put("9"), None),
            (call("leave", item="x", because="it is right"), None),
        ],
    )
    def test_any_valid_call_is_made(
        self, theatre: Theatre, answer: str, choice: int | None
    ) -> None:
        found = play(theatre, writer(theatre, suggested=self.SUGGESTED), {2: answer})
        made = found.payloads(ToolCalled)[1]
        assert (made.decided_by, made.candidates, made.choice) == ("model", 2, choice)

    def test_an_action_that_a_tool_suggests_is_only_a_suggestion(self, theatre: Theatre) -> None:
        script = """
            {"result": 1, "summary": "s", "outcome": "success", "candidate_actions": [
                {"tool": "nope", "args": {}, "reason": ""},
                {"tool": "act", "args": {}, "reason": "more"},
                {"tool": "submit_result", "args": {}, "reason": "done"},
            ]}"""
        answers = ['{"tool":"act","args":{}}', SUBMIT]
        found = theatre.play(Play(agent=theatre.tool(script), answers=answers))
        assert [(one.decided_by, one.choice) for one in found.payloads(ToolCalled)] == [
            ("model", None), ("model", 1),
        ]  # fmt: skip


class TestInvalidCalls:
    def test_the_next_packet_says_what_is_wrong(self, theatre: Theatre) -> None:
        found = play(theatre, writer(theatre), {2: PROSE, 3: call("nope"), 4: put("7")})
        assert errors(found) == ["bad_call", "bad_call"]
        requests = found.model.requests  # type: ignore[attr-defined]
        assert "Error: the answer has no tool call" in shown(requests[1])
        assert "Error: unknown tool 'nope'" in shown(requests[2])
        assert "Error:" not in shown(requests[3])
        assert found.after == b"x = 7\ny = 0\n"

    def test_after_three_in_a_row_the_first_complete_suggestion_is_taken(
        self, theatre: Theatre
    ) -> None:
        agent = writer(theatre, suggested='[put(), put(value="2")]')
        found = play(theatre, agent, {2: put("7"), 3: PROSE, 4: PROSE, 5: PROSE})
        assert errors(found) == ["bad_call"] * 3
        taken = found.payloads(ToolCalled)[2]
        assert (taken.decided_by, taken.choice, taken.args) == ("fallback", 1, {"value": "2"})
        assert deciders(found) == ["rule", "model", "fallback", "model"]
        assert ending(found) == ("submitted", "submitted")

    def test_a_model_that_makes_no_call_at_all_leaves_what_rules_did(
        self, theatre: Theatre
    ) -> None:
        agent = writer(theatre, suggested='[put(value="2")]')
        found = play(theatre, agent, {2: PROSE, 3: PROSE, 4: PROSE})
        assert errors(found) == ["bad_call"] * 3 + ["invalid_calls"]
        assert (found.after, ending(found)) == (OPENED, ("submitted", "model_error"))

    def test_it_goes_on_unless_calls_are_invalid_three_times_in_a_row(
        self, theatre: Theatre
    ) -> None:
        answers = {2: PROSE, 3: PROSE, 4: put("7"), 5: PROSE, 6: PROSE}
        found = play(theatre, writer(theatre), answers)
        assert errors(found) == ["bad_call"] * 4
        assert (found.after, ending(found)) == (b"x = 7\ny = 0\n", ("submitted", "submitted"))
        found = play(theatre, writer(theatre), dict.fromkeys(range(9), PROSE), opening=False)
        assert errors(found) == ["bad_call"] * 3 + ["invalid_calls"]
        assert ending(found) == ("failed", "model_error")
        assert str(found.result.error).startswith(
            "3 invalid calls in a row: the answer has no tool call"
        )

    @pytest.mark.slow
    def test_resumed(self, theatre: Theatre) -> None:
        agent = writer(theatre, suggested='[put(), put(value="2")]')
        answers = {2: put("7"), 3: PROSE, 4: PROSE, 5: PROSE}
        found = cut_everywhere(theatre, a_play(agent, answers))
        assert found.after == b"x = 2\ny = 0\n"
        assert deciders(found) == ["rule", "model", "fallback", "model"]


class TestSubmissions:
    BROKEN = "mod.py: line 1: '(' was never closed"

    def test_one_that_fails_a_check_goes_back_with_the_reason(self, theatre: Theatre) -> None:
        answers = {2: put("("), 3: SUBMIT, 4: put("7"), 5: SUBMIT}
        found = play(theatre, writer(theatre), answers)
        assert [one.verified for one in found.payloads(SubmitResult)] == [False, True]
        requests = found.model.requests  # type: ignore[attr-defined]
        assert f"\nNow: the submission was refused: {self.BROKEN}" in shown(requests[2])
        assert shown(requests[2]).count(self.BROKEN) == 1
        assert (found.after, ending(found)) == (b"x = 7\ny = 0\n", ("submitted", "submitted"))

    @pytest.mark.parametrize(("more", "most"), [("", 3), ("max_submissions: 1", 1)])
    def test_it_goes_back_only_so_often(self, theatre: Theatre, more: str, most: int) -> None:
        found = play(theatre, writer(theatre, more=more), {1: put("(")}, opening=False)
        assert len(found.payloads(SubmitResult)) == most
        assert ending(found) == ("failed", "verification")
        assert found.result.error == f"parses: {self.BROKEN}"

    def test_a_submission_by_rule_does_not_go_back(self, theatre: Theatre) -> None:
        found = play(theatre, writer(theatre, rules='[put(value="(")]'), {}, decisions="rules")
        assert len(found.payloads(SubmitResult)) == 1
        assert ending(found) == ("failed", "verification")

    @pytest.mark.slow
    def test_resumed(self, theatre: Theatre) -> None:
        answers = {2: put("("), 3: SUBMIT, 4: SUBMIT, 5: put("7"), 6: SUBMIT}
        found = cut_everywhere(theatre, a_play(writer(theatre), answers))
        assert len(found.payloads(SubmitResult)) == 3
        assert ending(found) == ("submitted", "submitted")


class TestUndo:
    def test_a_turn_of_the_model_the_opening_or_a_turn_without_changes(
        self, theatre: Theatre
    ) -> None:
        found = play(theatre, writer(theatre), {2: put("7"), 3: put("8"), 4: undo(3)})
        assert found.after == b"x = 7\ny = 0\n"
        assert packet_at(found.events, 5).recent_actions[-1].summary == (
            "Undid turn 3 and later: it was right"
        )
        found = play(theatre, writer(theatre), {2: undo(1)})
        assert found.after == SOURCE.encode()
        assert ending(found) == ("no_change", "no_change")
        found = play(theatre, writer(theatre), {2: undo(2)})
        assert found.payloads(ToolResulted)[1].error == "no file was changed in turn 2 or later"
        assert found.after == OPENED

    @pytest.mark.slow
    def test_resumed(self, theatre: Theatre) -> None:
        answers = {2: put("7"), 3: undo(1), 4: put("8", line=2), 5: undo(4), 6: put("9", line=2)}
        found = cut_everywhere(theatre, a_play(writer(theatre), answers))
        assert found.after == b"x = 0\ny = 9\n"


def test_what_is_left_is_a_fact_with_its_reason(theatre: Theatre) -> None:
    answers = {2: call("leave", item="the number x", because="it is right")}
    found = play(theatre, writer(theatre), answers)
    assert packet_at(found.events, 3).knowledge["left the number x"].value == "it is right"
    assert found.after == OPENED


def test_scripts_that_suggest_are_told_what_was_left_and_whether_files_differ(
    theatre: Theatre,
) -> None:
    answers = {2: call("leave", item="x" * 70, because="it is right"), 3: undo(1)}
    found = replayed(play(theatre, writer(theatre), answers))
    given = [update.inputs["progress"] for update in found.payloads(ContextUpdate) if update.inputs]
    assert [(len("".join(progress["left"])), progress["changed"]) for progress in given] == [
        (0, False), (0, True), (0, True), (60, True), (60, False),
    ]  # fmt: skip


class TestBudget:
    @pytest.mark.slow
    def test_after_the_last_request_rules_go_on(self, theatre: Theatre) -> None:
        answers = {2: put("7"), 3: put("8"), 4: put("9")}
        how = a_play(writer(theatre), answers, max_requests=2)
        found = cut_everywhere(theatre, how)
        assert deciders(found) == ["rule", "model", "model", "rule"]
        assert (found.after, ending(found)) == (b"x = 8\ny = 0\n", ("submitted", "submitted"))


class TestEscalation:
    """A larger model goes on where the smaller one cannot."""

    def larger(self) -> Callable[[Request], str]:
        return lambda request: SUBMIT if "wrote 9" in shown(request) else put("9")

    @pytest.mark.parametrize(
        ("answers", "reason", "by_smaller"),
        [
            (
                {2: PROSE, 3: PROSE, 4: PROSE, 5: put("7")},
                "3 invalid calls in a row: the answer has no tool call",
                0,
            ),
            ({2: put("("), 3: SUBMIT}, f"parses: {TestSubmissions.BROKEN}", 2),
            ({2: GONE}, "the server is gone", 0),
        ],
        ids=["invalid calls", "a refused submission", "a failure"],
    )
    def test_where_the_smaller_one_cannot(
        self, theatre: Theatre, answers: dict[int, Any], reason: str, by_smaller: int
    ) -> None:
        found = play(theatre, writer(theatre), answers, larger=scripted(self.larger()))
        (step,) = found.payloads(Escalation)
        assert step.model["name"] == "scripted"
        assert step.reason.startswith(reason)
        assert deciders(found) == ["rule", *["model"] * by_smaller, *["escalation"] * 2]
        assert found.result.counts.decided_by["escalation"] == 2
        assert (found.after, ending(found)) == (b"x = 9\ny = 0\n", ("submitted", "submitted"))

    def test_three_invalid_calls_of_the_larger_model_give_the_fallback(
        self, theatre: Theatre
    ) -> None:
        agent = writer(theatre, suggested='[put(value="2")]')
        larger = scripted(lambda request: SUBMIT if "wrote 2" in shown(request) else PROSE)
        found = play(theatre, agent, {2: put("7"), 3: PROSE, 4: PROSE, 5: PROSE}, larger=larger)
        assert errors(found) == ["bad_call"] * 6
        assert deciders(found) == ["rule", "model", "fallback", "escalation"]
        assert found.after == b"x = 2\ny = 0\n"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "answers", [{2: PROSE, 3: PROSE, 4: PROSE}, {2: put("("), 3: SUBMIT}, {2: GONE}]
    )
    def test_resumed(self, theatre: Theatre, answers: dict[int, str]) -> None:
        larger = scripted(self.larger())
        found = cut_everywhere(theatre, a_play(writer(theatre), answers, larger=larger))
        assert len(found.payloads(Escalation)) == 1
        assert (found.after, ending(found)) == (b"x = 9\ny = 0\n", ("submitted", "submitted"))


class TestForks:
    def test_one_in_the_opening_or_in_the_middle_of_the_models_turns(
        self, theatre: Theatre
    ) -> None:
        agent = writer(theatre)
        whole = play(theatre, agent, {2: put("7"), 3: put("8"), 4: put("9")})
        found = replayed(theatre.fork(a_play(agent, {3: put("5")}), whole, 3))
        assert deciders(found) == ["model", "model"]
        assert (found.after, ending(found)) == (b"x = 5\ny = 0\n", ("submitted", "submitted"))
        agent = writer(theatre, rules='[put(value="1"), put(value="2")]')
        whole = play(theatre, agent, {3: put("7")})
        found = theatre.fork(a_play(agent, {3: put("5")}), whole, 2)
        assert deciders(found) == ["rule", "model", "model"]
        assert found.after == b"x = 5\ny = 0\n"

    def test_its_floor_is_the_opening_and_turns_of_ancestors_can_be_undone(
        self, theatre: Theatre
    ) -> None:
        agent = writer(theatre)
        whole = play(theatre, agent, {2: put("7"), 3: put("8")})
        found = theatre.fork(a_play(agent, {4: undo(3)}), whole, 4)
        assert (found.after, tools(found)) == (b"x = 7\ny = 0\n", ["undo", "submit_result"])
        agent = writer(theatre)
        whole = play(theatre, agent, {2: put("("), 3: put("8")})
        found = theatre.fork(a_play(agent, {3: GONE}), whole, 3)
        assert found.after == OPENED
        assert tools(found) == ["submit_result", "undo", "submit_result"]
        assert ending(found) == ("submitted", "model_error")
