"""Decisions: by a rule, a model, or the fallback; and turns without one."""

from typing import Any

import pytest
from msgspec.structs import replace

from remora.agents.decision.candidates import valid_candidates
from remora.agents.decision.query_settings import strategy_for
from remora.agents.definition.agent import Agent
from remora.chat import Answer, ToolCall, ToolSchema, Usage
from remora.errors import ModelError
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import Candidate
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.protocol import Request
from tests.agents.conftest import SUBMIT, Play, Theatre, scripted
from tests.offered_calls import choose
from tests.scripted_model import ScriptedModel

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


class TestCalls:
    def test_a_call_in_json(self, theatre: Theatre) -> None:
        call = '{"tool":"submit_result","args":{"summary":"left"}}'
        found = theatre.play(Play(agent=theatre.tool("1"), answers=[call]))
        (made,) = found.payloads(ToolCalled)
        assert (made.tool, made.args, made.decided_by) == (
            "submit_result", {"summary": "left"}, "model",
        )  # fmt: skip
        assert (made.choice, made.candidates) == (None, 0)
        assert found.payloads(ModelRequest)[0].decoding["grammar"].startswith("root")

    def test_a_choice_between_suggestions(self, theatre: Theatre, lint: Agent) -> None:
        play = Play(agent=lint, answers=choose(2), source=TWO_EDITS, files=RUFF)
        rule, asked = theatre.play(play).payloads(ToolCalled)
        assert (rule.tool, rule.decided_by) == ("run_linter", "rule")
        assert (asked.tool, asked.decided_by) == ("submit_result", "model")
        assert (asked.choice, asked.candidates) == (2, 3)

    def test_a_native_tool_call(self, theatre: Theatre) -> None:
        agent = theatre.tool("1")
        calls = [ToolCall(tool="act"), ToolCall(tool="submit_result")]
        found = theatre.play(Play(agent=agent, answers=calls, strategy="tool_call"))
        assert [c.tool for c in found.payloads(ToolCalled)] == ["act", "submit_result"]
        assert [t["name"] for t in found.payloads(ModelRequest)[1].decoding["tools"]] == [
            "act", "leave", "submit_result", "recall",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "answer",
        ["text", ToolCall(tool="nope"), ToolCall(tool="act", args={"x": 1}),
         ToolCall(tool="recall", args={"ref": [], "lines": []})],
    )  # fmt: skip
    def test_an_invalid_native_call(self, theatre: Theatre, answer: str | ToolCall) -> None:
        found = theatre.play(
            Play(
                agent=theatre.tool("1"),
                answers=[answer, ToolCall(tool="submit_result")],
                strategy="tool_call",
            )
        )
        assert [e.kind for e in found.payloads(AgentError)] == ["bad_call"]

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
                renderer="functiongemma/3",
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
            ToolCall(tool="act"),
            ToolCall(tool="recall", args={"lines": "[1, 2]", "ref": "turn:7"}),
            ToolCall(tool="submit_result"),
        ]
        how: dict[str, Any] = {
            "strategy": "string_tool_call", "renderer": "functiongemma_tools/2",
        }  # fmt: skip
        found = theatre.play(Play(agent=theatre.tool("1"), answers=calls, **how))
        request = found.payloads(ModelRequest)[1]
        assert request.messages is not None
        assert "function calling" in request.messages[0]["content"]
        recall = next(one for one in request.decoding["tools"] if one["name"] == "recall")
        assert {one["type"] for one in recall["parameters"]["properties"].values()} == {"string"}
        made = found.payloads(ToolCalled)[1]
        assert (made.tool, made.args) == ("recall", {"lines": [1, 2], "ref": "turn:7"})


class TestSize:
    def test_nothing_over_the_limit_is_sent(self, theatre: Theatre) -> None:
        model = scripted([])
        found = theatre.play(Play(agent=theatre.tool("1"), model=model, limit=50))
        assert (found.result.status, found.result.stop_reason) == ("error", "packet_too_large")
        assert model.requests == []
        assert found.payloads(ModelRequest) == []
        (error,) = found.payloads(AgentError)
        assert error.kind == "packet_too_large"
        assert "(maximum 50)" in error.message
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
        assert found.result.counts.max_packet_tokens == max(r.prompt_tokens for r in requests)
        assert requests[-1].trim > 0


class _Truncating(ScriptedModel):
    """Says that it read less than was sent."""

    async def ask(self, request: Request) -> Answer:
        answer = await super().ask(request)
        return Answer(text=answer.text, usage=Usage(prompt_tokens=3, evaluated=3), raw={})


def test_a_server_that_cuts_the_prompt_ends_the_job(theatre: Theatre) -> None:
    found = theatre.play(Play(agent=theatre.tool("1"), model=_Truncating([SUBMIT])))
    assert (found.result.status, found.result.stop_reason) == ("error", "model_error")
    (error,) = found.payloads(AgentError)
    assert error.kind == "context_truncated"
    assert "the server says that it read 3 of" in error.message


class TestStrategy:
    def test_model_capabilities_decide_the_strategy(self) -> None:
        able = scripted([])
        assert strategy_for(able, "lines/2", "auto") == "grammar"
        assert strategy_for(able, "functiongemma/3", "auto") == "completion"
        assert strategy_for(able, "functiongemma_tools/2", "auto") == "string_tool_call"
        unable = scripted([], grammar=False, completions=False)
        assert strategy_for(unable, "lines/2", "auto") == "tool_call"
        chats = scripted([], grammar=False, completions=False, tools=False, json_schema=True)
        assert strategy_for(chats, "lines/2", "auto") == "json_schema"
        assert strategy_for(chats, "guided/1", "auto") == "json_schema"
        writes = scripted([], grammar=False, completions=False, tools=False)
        assert strategy_for(writes, "lines/2", "auto") == "text"
        with pytest.raises(ModelError, match="neither a grammar nor"):
            strategy_for(writes, "guided/1", "auto")

    @pytest.mark.parametrize(
        ("renderer", "decoding"),
        [
            ("functiongemma/3", "auto"),
            ("lines/2", "grammar"),
            ("lines/2", "tool_call"),
            ("lines/2", "json_schema"),
        ],
    )
    def test_a_missing_model_capability_is_an_error(self, renderer: str, decoding: str) -> None:
        unable = scripted([], grammar=False, completions=False, tools=False)
        with pytest.raises(ModelError, match="scripted") as caught:
            strategy_for(unable, renderer, decoding)
        assert "set model." in caught.value.hint


class TestOffered:
    def test_valid_calls_are_offered_once_complete_and_at_most_twenty(self) -> None:
        one = Candidate(tool="edit", args={"line": 1, "text": "x"})
        part = Candidate(tool="edit", args={"line": 1})
        assert valid_candidates([part, one], [TOOL], complete=True)[0] == (one,)
        assert valid_candidates([part, one], [TOOL], complete=False)[0] == (part, one)
        first = Candidate(tool=TOOL.name, args={"line": 1}, reason="first")
        again = replace(first, reason="again")
        assert valid_candidates([first, again], [TOOL], complete=False)[0] == (first,)
        bad = [Candidate(tool="nope"), Candidate(tool="edit", args={"line": "1"})]
        found, problem = valid_candidates(bad, [TOOL], complete=False)
        assert found == ()
        assert problem == "not a valid candidate: unknown tool 'nope'; the tools are edit"
        many = [Candidate(tool="edit", args={"line": n, "text": ""}) for n in range(50)]
        assert [c.args["line"] for c in valid_candidates(many, [TOOL], complete=True)[0]] == list(
            range(20)
        )


@pytest.mark.slow
class TestEmbedded:
    """The same turns with the real model."""

    def test_it_chooses(self, theatre: Theatre, lint: Agent, embedded: EmbeddedModel) -> None:
        found = theatre.play(
            Play(agent=lint, model=embedded, limit=600, source=TWO_EDITS, files=RUFF)
        )
        assert [c for c in found.payloads(ToolCalled) if c.decided_by != "rule"]
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
                renderer="functiongemma/3",
                max_turns=2,
            )
        )
        turns = found.payloads(ToolCalled) + found.payloads(AgentError)
        assert len(turns) == found.result.counts.turns
