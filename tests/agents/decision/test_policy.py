"""Decisions: by a rule, a model, or the fallback; and turns without one."""

from typing import Any

import pytest
from msgspec.structs import replace

from remora.agents.decision.candidates import limit_tools, valid_candidates
from remora.agents.decision.query_settings import strategy_for
from remora.agents.definition.agent import Agent
from remora.chat import ToolCall, ToolSchema, Usage
from remora.errors import ModelError
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import Candidate
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.protocol import Answer, Request
from remora.models.scripted import ScriptedModel
from tests.agents.conftest import SUBMIT, Play, Played, Theatre, scripted
from tests.offered_calls import choose

TOOL = ToolSchema(
    name="edit",
    parameters={
        "type": "object",
        "properties": {"line": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["line", "text"],
    },
)
TWO_EDITS = (
    "def f(x):\n    try:\n        return x()\n    except KeyError:\n        raise ValueError(1)\n"
)
RUFF = {"ruff.toml": 'lint.select = ["B904", "E722", "F401"]\n'}


def played(theatre: Theatre, lint: Agent, model: ScriptedModel, **more: object) -> Played:
    settings: dict[str, object] = {"writes": False, "source": TWO_EDITS, "files": RUFF, **more}
    return theatre.play(Play(agent=lint, model=model, **settings))  # type: ignore[arg-type]


class TestChosen:
    def test_the_model_chooses_where_the_choice_matters(
        self, theatre: Theatre, lint: Agent
    ) -> None:
        found = played(theatre, lint, scripted(choose(2)))
        rule, asked = found.payloads(ToolCalled)
        assert (rule.tool, rule.decided_by) == ("run_linter", "rule")
        assert (asked.tool, asked.decided_by) == ("submit_result", "model")
        assert (asked.choice, asked.candidates) == (2, 3)
        assert (found.result.asked, found.result.differed) == (1, 1)

    def test_after_two_answers_that_are_no_calls_the_first_candidate_is_taken(
        self, theatre: Theatre, lint: Agent
    ) -> None:
        found = played(theatre, lint, scripted(["prose", "prose"]))
        assert [error.kind for error in found.payloads(AgentError)] == ["bad_call"] * 2
        call = found.payloads(ToolCalled)[1]
        assert (call.decided_by, call.choice, call.tool) == ("fallback", 0, "edit_line")
        assert found.result.differed == 0


class TestWritten:
    def test_a_call_in_json(self, theatre: Theatre, lint: Agent) -> None:
        call = '{"tool":"submit_result","args":{"summary":"left"}}'
        found = played(theatre, lint, scripted([call]), strategy="grammar")
        made = found.payloads(ToolCalled)[1]
        assert (made.tool, made.args, made.decided_by) == (
            "submit_result", {"summary": "left"}, "model",
        )  # fmt: skip
        assert (made.choice, made.candidates) == (2, 3)
        assert found.payloads(ModelRequest)[0].decoding["grammar"].startswith("root")

    def test_a_call_that_is_not_a_candidate_is_bad(self, theatre: Theatre, lint: Agent) -> None:
        call = '{"tool":"run_linter","args":{}}'
        found = played(theatre, lint, scripted([call, call]), strategy="grammar")
        assert found.payloads(AgentError)[0].kind == "bad_call"
        assert "not one of the valid actions" in found.payloads(AgentError)[0].message

    def test_arguments_left_open_are_the_models(self, theatre: Theatre) -> None:
        pick = """
            found = [{"tool": "act", "args": {"line": 1}, "reason": "any text"},
                     {"tool": "submit_result", "args": {}, "reason": "done"}]
            {"result": 0, "summary": "", "outcome": "success", "candidate_actions": found}"""
        act = """
            from remora.pym import Input
            line: int = Input("line")
            text: str = Input("text")
            {"result": text, "summary": text, "outcome": "success"}"""
        agent = theatre.agent(
            "name: own\noperation: own\ngoal: go\ntools: [{name: act, script: act.pym}]\n"
            "candidates: pick.pym\n",
            act=act,
            pick=pick,
        )
        calls = ['{"tool":"act","args":{"line":1,"text":"mine"}}', SUBMIT]
        found = theatre.play(Play(agent=agent, answers=calls))
        assert found.payloads(ToolCalled)[0].args == {"line": 1, "text": "mine"}
        assert found.payloads(ToolCalled)[0].choice == 0
        chosen = theatre.play(Play(agent=agent, answers=[], writes=False))
        assert chosen.payloads(ToolCalled)[0].decided_by == "rule", "one of two is complete"

    def test_a_native_tool_call(self, theatre: Theatre) -> None:
        agent = theatre.tool("1")
        calls = [ToolCall(tool="act"), ToolCall(tool="submit_result")]
        found = theatre.play(Play(agent=agent, answers=calls, strategy="tool_call"))
        assert [c.tool for c in found.payloads(ToolCalled)] == ["act", "submit_result"]
        assert found.result.differed == 0, "without candidates there is no first one"
        assert [t["name"] for t in found.payloads(ModelRequest)[0].decoding["tools"]] == [
            "act", "recall", "submit_result",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "answer",
        ["text", ToolCall(tool="nope"), ToolCall(tool="act", args={"x": 1}),
         ToolCall(tool="recall", args={"ref": 1, "lines": []})],
    )  # fmt: skip
    def test_an_invalid_native_call(self, theatre: Theatre, answer: str | ToolCall) -> None:
        found = theatre.play(
            Play(agent=theatre.tool("1"), answers=[answer, answer], strategy="tool_call")
        )
        assert [e.kind for e in found.payloads(AgentError)] == ["bad_call"] * 2

    def test_functiongemma_over_plain_completions(self, theatre: Theatre) -> None:
        answers = [
            "<start_function_call>call:recall{lines:[1,2],ref:<escape>turn:7<escape>}"
            "<end_function_call>",
            "<start_function_call>call:submit_result{}<end_function_call>",
        ]
        found = theatre.play(
            Play(
                agent=theatre.tool("1"),
                answers=answers,
                strategy="completion",
                renderer="functiongemma/1",
            )
        )
        request = found.payloads(ModelRequest)[0]
        assert request.messages is None
        assert request.prompt.startswith("<start_of_turn>developer\n")
        assert request.decoding["stop"] == ["<end_of_turn>", "<start_function_response>"]
        assert [c.tool for c in found.payloads(ToolCalled)] == ["recall", "submit_result"]
        assert found.result.status == "no_change"

    def test_functiongemma_by_native_calls_whose_arguments_are_strings(
        self, theatre: Theatre
    ) -> None:
        calls = [
            ToolCall(tool="recall", args={"lines": "[1, 2]", "ref": "turn:7"}),
            ToolCall(tool="submit_result"),
        ]
        how: dict[str, Any] = {
            "strategy": "string_tool_call", "renderer": "functiongemma_tools/1",
        }  # fmt: skip
        found = theatre.play(Play(agent=theatre.tool("1"), answers=calls, **how))
        request = found.payloads(ModelRequest)[0]
        assert request.messages is not None
        assert "function calling" in request.messages[0]["content"]
        recall = next(one for one in request.decoding["tools"] if one["name"] == "recall")
        assert {one["type"] for one in recall["parameters"]["properties"].values()} == {"string"}
        first = found.payloads(ToolCalled)[0]
        assert (first.tool, first.args) == ("recall", {"lines": [1, 2], "ref": "turn:7"})


class TestSize:
    def test_a_request_over_the_limit_is_never_sent(self, theatre: Theatre) -> None:
        model = scripted([])
        found = theatre.play(Play(agent=theatre.tool("1"), model=model, limit=50))
        assert (found.result.status, found.result.stop_reason) == ("error", "packet_too_large")
        assert model.requests == []
        assert found.payloads(ModelRequest) == []
        (error,) = found.payloads(AgentError)
        assert error.kind == "packet_too_large"
        assert "(maximum 50)" in error.message

    def test_nothing_sent_is_over_the_limit(self, theatre: Theatre) -> None:
        script = """
            from remora.pym import Input
            packet: dict = Input("packet")
            n = packet["turn"]
            {"result": n, "summary": f"{n} " + "word " * 40, "outcome": "success",
             "knowledge_delta": {f"k{n}-{i}": "v" * 90 for i in range(9)},
             "diagnostics": [f"finding {i} " + "x" * 80 for i in range(20)]}"""
        act = '{"tool":"act","args":{}}'
        found = theatre.play(
            Play(agent=theatre.tool(script), answers=lambda _: act, limit=1500, max_turns=8)
        )
        requests = found.payloads(ModelRequest)
        assert len(requests) == 8
        assert max(request.prompt_tokens for request in requests) <= 1500
        assert found.result.max_packet_tokens == max(r.prompt_tokens for r in requests)
        assert requests[-1].trim > 0


class _Truncating(ScriptedModel):
    """Says that it read less than was sent."""

    async def ask(self, request: Request) -> Answer:
        answer = await super().ask(request)
        return Answer(
            text=answer.text, usage=Usage(prompt_tokens=3), finish_reason=None, model="", raw={}
        )


def test_a_server_that_cuts_the_prompt_ends_the_job(theatre: Theatre) -> None:
    found = theatre.play(Play(agent=theatre.tool("1"), model=_Truncating([SUBMIT])))
    assert (found.result.status, found.result.stop_reason) == ("error", "model_error")
    (error,) = found.payloads(AgentError)
    assert error.kind == "context_truncated"
    assert "the server says that it read 3 of" in error.message


class TestStrategy:
    def test_model_capabilities_decide_the_strategy(self) -> None:
        able = scripted([])
        assert strategy_for(able, "lines/1", "auto") == "grammar"
        assert strategy_for(able, "functiongemma/1", "auto") == "completion"
        assert strategy_for(able, "functiongemma_tools/1", "auto") == "string_tool_call"
        unable = scripted([], grammar=False, completions=False)
        assert strategy_for(unable, "lines/1", "auto") == "tool_call"

    @pytest.mark.parametrize(
        ("renderer", "decoding"), [("functiongemma/1", "auto"), ("lines/1", "grammar")]
    )
    def test_a_missing_model_capability_is_an_error(self, renderer: str, decoding: str) -> None:
        unable = scripted([], grammar=False, completions=False)
        with pytest.raises(ModelError, match="scripted") as caught:
            strategy_for(unable, renderer, decoding)
        assert "set model." in caught.value.hint


class TestOffered:
    def test_without_a_writer_candidates_are_complete(self) -> None:
        one = Candidate(tool="edit", args={"line": 1, "text": "x"})
        part = Candidate(tool="edit", args={"line": 1})
        assert valid_candidates([part, one], [TOOL], complete=True)[0] == (one,)
        assert valid_candidates([part, one], [TOOL], complete=False)[0] == (part, one)

    def test_equal_calls_are_one_candidate(self) -> None:
        first = Candidate(tool=TOOL.name, args={"line": 1}, reason="first")
        again = replace(first, reason="again")
        assert valid_candidates([first, again], [TOOL], complete=False)[0] == (first,)

    def test_the_first_fault_is_reported(self) -> None:
        bad = [Candidate(tool="nope"), Candidate(tool="edit", args={"line": "1"})]
        found, problem = valid_candidates(bad, [TOOL], complete=False)
        assert found == ()
        assert problem == "not a valid candidate: unknown tool 'nope'; the tools are edit"

    def test_there_are_no_more_than_twenty(self) -> None:
        many = [Candidate(tool="edit", args={"line": n, "text": ""}) for n in range(50)]
        assert [c.args["line"] for c in valid_candidates(many, [TOOL], complete=True)[0]] == list(
            range(20)
        )


class TestNarrowed:
    def test_given_arguments_are_the_only_ones(self) -> None:
        candidates = [
            Candidate(tool="edit", args={"line": 1}),
            Candidate(tool="edit", args={"line": 2, "text": "x"}),
            Candidate(tool="edit", args={"line": 2}),
        ]
        (tool,) = limit_tools([TOOL, ToolSchema(name="other")], candidates)
        assert tool.parameters["properties"]["line"] == {"type": "integer", "enum": [1, 2]}
        assert "enum" not in tool.parameters["properties"]["text"], "open in one of them"

    def test_without_candidates_every_tool_stays(self) -> None:
        assert limit_tools([TOOL], []) == (TOOL,)


@pytest.mark.slow
class TestEmbedded:
    """The same turns with the real model."""

    def test_it_chooses(self, theatre: Theatre, lint: Agent, embedded: EmbeddedModel) -> None:
        found = theatre.play(
            Play(agent=lint, model=embedded, writes=False, limit=600, source=TWO_EDITS, files=RUFF)
        )
        asked = [c for c in found.payloads(ToolCalled) if c.decided_by != "rule"]
        assert asked
        assert all(call.candidates >= 2 for call in asked)
        for request, answer in zip(
            found.payloads(ModelRequest), found.payloads(ModelResponse), strict=True
        ):
            assert answer.usage.prompt_tokens == request.prompt_tokens <= 600

    def test_it_writes_by_grammar(self, theatre: Theatre, embedded: EmbeddedModel) -> None:
        found = theatre.play(
            Play(agent=theatre.tool("1"), model=embedded, strategy="grammar", max_turns=3)
        )
        assert found.payloads(ToolCalled), "a grammar leaves nothing but calls"
        assert found.payloads(AgentError) == []

    def test_a_functiongemma_answer_is_a_call_or_an_error(
        self, theatre: Theatre, embedded: EmbeddedModel
    ) -> None:
        found = theatre.play(
            Play(
                agent=theatre.tool("1"),
                model=embedded,
                strategy="completion",
                renderer="functiongemma/1",
                max_turns=2,
            )
        )
        turns = found.payloads(ToolCalled) + found.payloads(AgentError)
        assert len(turns) == found.result.turns
