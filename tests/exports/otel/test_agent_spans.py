"""Spans: what OpenTelemetry's own messages read from our lines, and what the spans say."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from remora.chat import ToolCall
from remora.exports.formats import export_chunks
from remora.exports.otel.span import Span, any_value, nanoseconds, request_documents, span_json
from remora.exports.run_group import ExportCounts, group_of_agent, group_of_run
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, everything, exported, made, only

TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = (
    TEXTS
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)
IDS = frozenset({"traceId", "spanId", "parentSpanId"})


def as_protobuf_has_it(value: Any) -> Any:
    """OTLP's JSON has ids in hex, protobuf's JSON in base64; that is all the difference."""
    if isinstance(value, list):
        return [as_protobuf_has_it(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in IDS
        else as_protobuf_has_it(item)
        for key, item in value.items()
    }


def assert_known(document: dict[str, Any]) -> None:
    """OpenTelemetry's message has every field and value, and gives the document back."""
    given = as_protobuf_has_it(document)
    read = json_format.ParseDict(given, ExportTraceServiceRequest())
    assert json_format.ParseDict(json_format.MessageToDict(read), type(read)()) == read


def spans_of(lines: list[bytes]) -> list[dict[str, Any]]:
    return [
        span
        for line in lines
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def told(span: dict[str, Any]) -> dict[str, Any]:
    """Attributes by name."""

    def plain(value: dict[str, Any]) -> Any:
        ((form, inner),) = value.items()
        if form == "arrayValue":
            return [plain(item) for item in inner["values"]]
        return int(inner) if form == "intValue" else inner

    return {one["key"]: plain(one["value"]) for one in span["attributes"]}


@pytest.fixture
def played(folder: TraceFolder) -> TraceFolder:
    run = Run(folder)
    run.began("lint-a")
    attempt = Attempt(folder, "lint-a")
    attempt.choose(1)
    attempt.fail("SECRET-ANSWER")
    attempt.ask()
    attempt.answer(made(0))
    attempt.act({"line": 1}, outcome="error", error="SECRET-ERROR", error_kind="runtime")
    run.ended("lint-a", attempt.end())
    run.said("lint-a", "accepted")
    run.close()
    return folder


def test_the_official_messages_know_every_field(golden: TraceFolder) -> None:
    found, _ = exported(golden, "otel")
    assert found
    for line in found:
        assert_known(json.loads(line))


@given(st.dictionaries(st.text(min_size=1), VALUES | st.lists(VALUES, max_size=3), max_size=4))
def test_values_of_every_kind(values: dict[str, Any]) -> None:
    span = Span(
        run_id="r", span_id="0" * 16, name="n", began="2026-01-02T03:04:05.000006Z",
        ended="", attributes=values, error=("kind", "é"),
    )  # fmt: skip
    (document,) = request_documents([span])
    assert_known(document)


def test_a_run_is_one_tree(played: TraceFolder) -> None:
    found = spans_of(exported(played, "otel")[0])
    assert [span["name"] for span in found] == [
        "chat tiny", "execute_tool fix", "chat tiny", "chat tiny", "execute_tool fix",
        "invoke_agent linter", "invoke_workflow remora",
    ]  # fmt: skip
    *steps, agent, run = found
    assert len({span["traceId"] for span in found}) == 1
    assert len({span["spanId"] for span in found}) == len(found)
    assert {span["parentSpanId"] for span in steps} == {agent["spanId"]}
    assert agent["parentSpanId"] == run["spanId"]
    assert "parentSpanId" not in run
    for span in steps:
        assert int(agent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert int(span["endTimeUnixNano"]) <= int(agent["endTimeUnixNano"])


def test_an_agent_alone_has_no_parent_and_the_same_ids(played: TraceFolder) -> None:
    """So a run that is exported later completes what the receiver has."""
    whole = spans_of(exported(played, "otel")[0])
    alone = spans_of(exported(played, "otel", only(group_of_agent(played, "lint-a")))[0])
    assert [span["spanId"] for span in alone] == [span["spanId"] for span in whole[:-1]]
    assert "parentSpanId" not in alone[-1]
    assert exported(played, "otel")[0] == exported(played, "otel")[0]


def test_agent_spans_speak_the_conventions_words(played: TraceFolder) -> None:
    chat, tool, _, _, failed, agent, run = spans_of(exported(played, "otel")[0])
    assert chat["kind"] == 3
    said = told(chat)
    assert {k: v for k, v in said.items() if k.startswith("gen_ai.")} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "remora",
        "gen_ai.request.model": "tiny",
        "gen_ai.conversation.id": "lint-a",
        "gen_ai.agent.id": "lint-a",
        "gen_ai.agent.name": "linter",
        "gen_ai.request.max_tokens": 1,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stop_sequences": ["<end_of_turn>"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.response.finish_reasons": ["stop"],
    }
    said = told(tool)
    assert said["gen_ai.operation.name"] == "execute_tool"
    assert said["gen_ai.tool.name"] == "fix"
    assert said["gen_ai.tool.type"] == "function"
    assert said["gen_ai.tool.description"] == "Fix one finding."
    assert said["remora.decided_by"] == "model"
    assert (told(failed)["error.type"], failed["status"]["code"]) == ("runtime", 2)
    said = told(agent)
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert (said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == (300, 3)
    assert (said["remora.verdict"], said["remora.verified"]) == ("accepted", True)
    assert [event["name"] for event in agent["events"]] == ["remora.agent_error"]
    assert told(run)["gen_ai.operation.name"] == "invoke_workflow"


def test_content_is_the_users_choice(played: TraceFolder) -> None:
    """As the conventions have it: neither prompts nor answers, arguments, outputs, messages."""
    bare = b"".join(exported(played, "otel")[0])
    assert not any(word in bare for word in (b"SECRET", b"no findings", b"fixed", b"not a call"))
    full = list(export_chunks(played, everything(played), "otel", ExportCounts(), content=True))
    chat, tool, bad, *_ = map(told, spans_of(full))
    asked = json.loads(chat["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["system", "user"]
    assert "no findings" in asked[1]["parts"][0]["content"]
    assert json.loads(chat["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": made(1)}],
            "finish_reason": "stop",
        }
    ]
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"line": 2}
    assert json.loads(tool["gen_ai.tool.call.result"]) == {"fixed": True}
    assert "SECRET-ANSWER" in bad["gen_ai.output.messages"]


def test_a_native_call_is_a_part_of_the_answer(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a", asked=("json/1", "tool_call"))
    attempt.ask()
    attempt.answer("", call=ToolCall(tool="fix", args={"line": 2}))
    attempt.act({"line": 2}, choice=1)
    attempt.end()
    chat, *_ = map(
        told,
        spans_of(
            list(export_chunks(folder, everything(folder), "otel", ExportCounts(), content=True))
        ),
    )
    ((_, call),) = [each["parts"] for each in json.loads(chat["gen_ai.output.messages"])]
    assert call == {"type": "tool_call", "name": "fix", "arguments": {"line": 2}}


def test_a_question_to_a_larger_model_has_its_name(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a")
    attempt.ask(model="large")
    attempt.answer("B")
    attempt.end()
    chat, *_ = spans_of(exported(folder, "otel")[0])
    assert chat["name"] == "chat large"
    assert told(chat)["gen_ai.request.model"] == "large"


def test_a_plain_prompt_is_a_text_completion(golden: TraceFolder) -> None:
    group = group_of_agent(golden, "own-5ce5dc295fa1")
    names = [span["name"] for span in spans_of(exported(golden, "otel", only(group))[0])]
    assert names.count("text_completion scripted") == 4


def test_spans_without_an_end_are_empty(folder: TraceFolder) -> None:
    """Of an agent that was killed while it waited for a model; then while a tool ran."""
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.writer.close()
    chat, agent = spans_of(exported(folder, "otel")[0])
    assert chat["startTimeUnixNano"] == chat["endTimeUnixNano"]
    assert told(chat)["error.type"] == "unanswered"
    assert told(agent)["remora.status"] == "interrupted"


@pytest.mark.parametrize(
    ("number", "text", "counts"),
    [
        (1025, "", [512, 512, 1]),
        (5, "x" * 1_000_000, [2, 2, 1]),
        (2, "x" * 9_000_000, [1, 1]),
        (0, "", []),
    ],
)
def test_requests_are_of_bounded_size(number: int, text: str, counts: list[int]) -> None:
    def many() -> Iterator[Span]:
        for place in range(number):
            yield Span(
                run_id="r", span_id=f"{place:016x}", name="n",
                began="2026-01-02T03:04:05Z", ended="2026-01-02T03:04:05Z", attributes={"t": text},
            )  # fmt: skip

    found = [len(spans_of([json.dumps(one).encode()])) for one in request_documents(many())]
    assert found == counts


def test_a_clock_that_jumped_back_makes_no_negative_span() -> None:
    span = Span(
        run_id="r", span_id="0" * 16, name="n", began="2026-01-02T03:04:05Z",
        ended="2025-01-02T03:04:05Z", attributes={},
    )  # fmt: skip
    written = span_json(span)
    assert written["endTimeUnixNano"] == written["startTimeUnixNano"] == "1767323045000000000"
    assert nanoseconds("no time") == "0"


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, float("inf"), {"a": 1}])
def test_numbers_that_otlp_lacks_are_text(value: Any) -> None:
    assert any_value(value) == {"stringValue": str(value)}


def test_a_run_has_one_root_span(played: TraceFolder) -> None:
    group = group_of_run(played, "run-1")
    names = [span["name"] for span in spans_of(exported(played, "otel", only(group))[0])]
    assert names.count("invoke_workflow remora") == 1
