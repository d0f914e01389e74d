"""OTLP over HTTP: what a receiver reads from us, and what we make of its answers."""

import time

import pytest

from remora.errors import OutsideError, UsageError
from remora.exports.export_counts import ExportCounts
from remora.exports.formats import ExportOptions, send_to_receiver
from remora.exports.otel.otlp import rejected_spans
from remora.exports.otel.otlp_sender import headers_from, traces_url
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import everything
from tests.exports.receiver import receiving

WISH = ExportOptions(format="otel", version="1.2.3")


def sent(folder: TraceFolder, url: str, **headers: str) -> ExportCounts:
    return send_to_receiver(folder, everything(folder), WISH, url, headers)


def test_everything_arrives(golden: TraceFolder) -> None:
    with receiving() as receiver:
        tally = sent(golden, receiver.url, authorization="Bearer me")
    assert len(receiver.spans) == tally.records == 34
    assert {span.name.partition(" ")[0] for span in receiver.spans} == {
        "chat", "execute_tool", "invoke_agent", "invoke_workflow", "text_completion",
    }  # fmt: skip
    known = {span.span_id for span in receiver.spans}
    assert all(not span.parent_span_id or span.parent_span_id in known for span in receiver.spans)
    assert all(headers["authorization"] == "Bearer me" for headers in receiver.headers)
    resource = receiver.requests[0].resource_spans[0].resource
    assert [(each.key, each.value.string_value) for each in resource.attributes] == [
        ("service.name", "remora"), ("service.version", "1.2.3"),
    ]  # fmt: skip


def test_no_proxy_stands_between_this_machine_and_itself(
    golden: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with receiving() as receiver:
        assert sent(golden, receiver.url).records == len(receiver.spans)


def test_a_busy_receiver_is_asked_again(golden: TraceFolder) -> None:
    with receiving(503, 429) as receiver:
        assert sent(golden, receiver.url).records == len(receiver.spans) == 34


@pytest.mark.parametrize("statuses", [(401,), (503, 503, 503, 503)])
def test_a_refusal_is_reported(golden: TraceFolder, statuses: tuple[int, ...]) -> None:
    with (
        receiving(*statuses) as receiver,
        pytest.raises(OutsideError, match=f"returned status {statuses[-1]}"),
    ):
        sent(golden, receiver.url)


def test_spans_that_the_receiver_dropped_are_reported(golden: TraceFolder) -> None:
    with receiving(refuses=3) as receiver, pytest.raises(OutsideError, match="rejected 3 of"):
        sent(golden, receiver.url)


def test_no_server_at_the_address(golden: TraceFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with receiving() as receiver:
        gone = receiver.url
    with pytest.raises(OutsideError, match="cannot be reached"):
        sent(golden, gone)


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://h:4318", "http://h:4318/v1/traces"),
        ("http://h:4318/", "http://h:4318/v1/traces"),
        ("https://h/otlp?tenant=a", "https://h/otlp/v1/traces?tenant=a"),
        ("https://h/v1/traces", "https://h/v1/traces"),
    ],
)
def test_the_path_is_added_where_it_is_missing(endpoint: str, url: str) -> None:
    assert traces_url(endpoint) == url


@pytest.mark.parametrize("endpoint", ["h:4318", "grpc://h:4317", "http://", "http://[", ""])
def test_what_is_not_an_address(endpoint: str) -> None:
    with pytest.raises(UsageError, match="invalid OTLP endpoint"):
        traces_url(endpoint)


def test_a_password_is_not_part_of_an_address() -> None:
    """It would be told in messages, and stand in the shell's history."""
    with pytest.raises(UsageError, match="contains a user name or password") as refused:
        traces_url("https://me:hunter22@host/v1/traces")
    assert "hunter22" not in refused.value.message + refused.value.hint


def test_headers_as_opentelemetry_spells_them() -> None:
    assert headers_from("a=b, key=Bearer%20x=y,nothing") == {"a": "b", "key": "Bearer x=y"}
    assert headers_from("") == {}


@pytest.mark.parametrize("answer", [b"<html>", b"\xff" * 20, b"\x0a\x80"])
def test_an_answer_that_is_none_says_nothing(answer: bytes) -> None:
    with pytest.raises(ValueError, match="not a response"):
        rejected_spans(answer)
