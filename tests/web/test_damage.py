"""Streams that are damaged, hostile or unusual: the page shows what is left, and says what is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import client_of, rewrite, stream_of
from tests.web.shared import shared_agent

PAYLOADS = (
    "<script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    "</pre></td><img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "' autofocus onfocus=window.hit=1 x='",
    "javascript:window.hit=1",
    "<a href=javascript:window.hit=1>x</a>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<style>@import '//example.invalid'</style>",
    "{{ 7 * 7 }}{% for x in y %}",
    "\u202e<b>reversed</b>\u2066",
    "\x1b[31mred\x00nul\u2028line",
)
HIDDEN = "\u202e\u2066\x1b\x00\u2028"


def say_payloads(event: dict[str, Any]) -> None:
    """Let an event say what would be markup or an order to a terminal."""
    data = event["data"]
    for key in {"summary", "error", "message", "text", "tool"} & data.keys():
        data[key] = " ".join((*PAYLOADS, "-->", "<!--<script>"))
    if "raw_output" in data:
        data["raw_output"] = {each: [{each: each}, each * 300] for each in PAYLOADS}
    if "messages" in data:
        data["messages"] = [{"role": each, "content": each} for each in PAYLOADS]


def tabs_of(copied: Path, agent_id: str, home: Path) -> str:
    """Return all that the pages show of an agent."""
    with client_of(copied, home) as pages:
        texts = [pages.get(f"/agents/{agent_id}").text]
        for turn in range(4):
            for part in ("", "?why=1"):
                answer = pages.get(f"/agents/{agent_id}/turns/{turn}{part}")
                assert answer.status_code == 200
                texts.append(answer.text)
    return "\n".join(texts)


def test_recorded_text_is_never_markup(failed: Planted, copied: Path, tmp_path: Path) -> None:
    def plant(event: dict[str, Any]) -> None:
        say_payloads(event)
        if event["type"] == "agent_start":
            everything = " ".join(PAYLOADS)
            event["data"]["packet"]["goal"] = everything
            event["data"]["model"] = {"name": everything}

    rewrite(stream_of(copied, failed.agent_id), plant)
    shown = tabs_of(copied, failed.agent_id, tmp_path)
    assert "&lt;script&gt;window.hit=1" in shown
    for mark in (
        "<script>window",
        "<img",
        "<svg onload",
        "<iframe",
        "<style>",
        "<b>r",
        "<a href=j",
    ):
        assert mark not in shown
    assert "autofocus onfocus=window.hit=1 x='" not in shown
    assert not any(character in shown for character in HIDDEN)


def test_an_unreadable_line_is_one_row(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream = stream_of(copied, failed.agent_id)
    lines = stream.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b'"turn":2' in line) + 1
    lines[number] = b'{"half of":\n'
    stream.write_bytes(b"".join(lines))
    with client_of(copied, tmp_path) as pages:
        text = pages.get(f"/agents/{failed.agent_id}/rows").text
        assert text.count(f'<p class="problem">line {number + 1} is not an event</p>') == 1
        assert text.count("data-turn=") == 4
        assert "check" in pages.get(f"/agents/{failed.agent_id}/turns/3").text
        badge = pages.get(f"/streams/{failed.agent_id}/badge").text
        assert f"not what was recorded: line {number + 1}" in badge


@pytest.mark.parametrize(
    "wrong",
    [
        {
            "tool_result": {"changes": ["a.py"], "host_calls": "x"},
            "tool_call": {"args": ["x"]},
            "model_request": {"messages": "abc"},
            "agent_start": {"model": "m", "tools": ["a"], "definition": []},
        },
        {
            "tool_result": {"changes": 5},
            "tool_call": {"args": {"deep": json.loads("[" * 700 + "]" * 700)}},
            "model_request": {"prompt_tokens": "many"},
            "model_response": {"usage": [1]},
            "agent_start": {
                "definition": {"tools": ["x"], "max_turns": "many"},
                "tools": [{"name": "x", "parameters": {"properties": None}}],
            },
        },
        {"tool_call": {"candidates": "many"}, "submit_result": {"checks": {"name": 1}}},
    ],
    ids=["lists and words", "depths", "candidates and checks"],
)
def test_data_of_a_wrong_type_is_left_out_or_named(
    failed: Planted, copied: Path, tmp_path: Path, wrong: dict[str, dict[str, Any]]
) -> None:
    rewrite(
        stream_of(copied, failed.agent_id),
        lambda event: event["data"].update(wrong.get(event["type"], {})),
    )
    tabs_of(copied, failed.agent_id, tmp_path)
    with client_of(copied, tmp_path) as pages:
        assert pages.get(f"/agents/{failed.agent_id}/rows").status_code == 200
        if "model_request" in wrong:
            assert "is not an event" in pages.get(f"/agents/{failed.agent_id}/rows").text
            text = pages.get(f"/agents/{failed.agent_id}/turns/1").text
            assert "is not a valid model_request" in text
    assert shared_agent(copied, tmp_path, failed.agent_id)


def test_outcomes_and_statuses_of_other_programs_are_only_text(
    failed: Planted, copied: Path, tmp_path: Path
) -> None:
    def change(event: dict[str, Any]) -> None:
        if event["type"] in ("tool_result", "agent_end"):
            event["data"] |= {"outcome": "hidden-label", "status": "hidden-label", "error": None}

    rewrite(stream_of(copied, failed.agent_id), change)
    with client_of(copied, tmp_path) as pages:
        for address in (f"/agents/{failed.agent_id}", f"/runs/{failed.run_id}"):
            text = pages.get(address).text
            assert not re.search(r'class="[^"]*hidden-label">hidden-label', text)
        assert ">hidden-label</span>" in pages.get(f"/agents/{failed.agent_id}/rows").text
    assert shared_agent(copied, tmp_path, failed.agent_id)


def test_a_text_that_was_removed_is_shown_as_a_reference(
    failed: Planted, copied: Path, tmp_path: Path
) -> None:
    def change(event: dict[str, Any]) -> None:
        if event["type"] == "tool_result":
            event["data"]["error"] = {"$blob": {"sha256": "0" * 64, "first": ["its first line"]}}

    rewrite(stream_of(copied, failed.agent_id), change)
    with client_of(copied, tmp_path) as pages:
        text = pages.get(f"/agents/{failed.agent_id}").text
        assert "its first line" in text


def test_a_flipped_byte_turns_the_badge_red(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream = stream_of(copied, failed.agent_id)
    stream.write_bytes(stream.read_bytes().replace(b"Checked price", b"Checked prixe", 1))
    with client_of(copied, tmp_path) as pages:
        assert "badge bad" in pages.get(f"/streams/{failed.agent_id}/badge").text
        assert pages.get(f"/agents/{failed.agent_id}").status_code == 200


def test_a_torn_tail_is_not_shown(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream = stream_of(copied, failed.agent_id)
    stream.write_bytes(stream.read_bytes()[:-30])
    with client_of(copied, tmp_path) as pages:
        text = pages.get(f"/agents/{failed.agent_id}").text
        assert '<span class="state interrupted">interrupted' in text


@pytest.mark.parametrize("missing", ["job_start", "job_end"])
def test_an_agent_whose_job_is_not_over_or_not_listed_is_shown(
    failed: Planted, copied: Path, tmp_path: Path, missing: str
) -> None:
    run = copied / ".agentfs/runs" / f"{failed.run_id}.jsonl"
    lines = run.read_bytes().splitlines(keepends=True)
    run.write_bytes(b"".join(line for line in lines if json.loads(line)["type"] != missing))
    with client_of(copied, tmp_path) as pages:
        assert pages.get(f"/agents/{failed.agent_id}").status_code == 200


def test_an_empty_stream_is_named(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream_of(copied, failed.agent_id).write_bytes(b"")
    with client_of(copied, tmp_path) as pages:
        assert "has no turn 0" in pages.get(f"/agents/{failed.agent_id}").text


def test_events_of_later_versions_are_shown(failed: Planted, copied: Path, tmp_path: Path) -> None:
    def later(event: dict[str, Any]) -> None:
        if event["type"] == "model_response":
            event["type"] = "of_a_later_version"

    rewrite(stream_of(copied, failed.agent_id), later)
    with client_of(copied, tmp_path) as pages:
        text = pages.get(f"/agents/{failed.agent_id}/turns/1").text
        assert "of_a_later_version" in text


@pytest.mark.parametrize("value", ["x" * 10_000_000, "deep"])
def test_huge_and_deep_outputs_are_cut(
    value: str, failed: Planted, copied: Path, tmp_path: Path
) -> None:
    def enlarge(event: dict[str, Any]) -> None:
        if event["type"] == "tool_result":
            event["data"]["raw_output"] = value

    stream = stream_of(copied, failed.agent_id)
    rewrite(stream, enlarge)
    if value == "deep":
        deep = b"[" * 900 + b"]" * 900
        stream.write_bytes(
            stream.read_bytes().replace(b'"raw_output":"deep"', b'"raw_output":' + deep)
        )
    with client_of(copied, tmp_path) as pages:
        for address in ("?turn=1", "/turns/1"):
            part = pages.get(f"/agents/{failed.agent_id}{address}")
            assert part.status_code == 200
            assert len(part.content) < 500_000


def test_a_stream_that_is_compressed_or_removed_while_it_is_shown(
    failed: Planted, copied: Path, tmp_path: Path
) -> None:
    from remora.trace.stream.compression import compress_stream

    stream = stream_of(copied, failed.agent_id)
    with client_of(copied, tmp_path) as pages:
        before = pages.get(f"/agents/{failed.agent_id}/rows").text
        compress_stream(stream)
        assert not stream.exists()
        assert pages.get(f"/agents/{failed.agent_id}/rows").text == before
        stream.with_name(stream.name + ".zst").unlink()
        assert pages.get(f"/agents/{failed.agent_id}/rows").status_code == 404


def test_a_stream_that_grows_has_more_rows(failed: Planted, copied: Path, tmp_path: Path) -> None:
    stream = stream_of(copied, failed.agent_id)
    whole = stream.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(whole) if json.loads(line)["turn"] == 2)
    stream.write_bytes(b"".join(whole[:number]))
    with client_of(copied, tmp_path) as pages:
        assert pages.get(f"/agents/{failed.agent_id}").text.count("data-turn=") == 2
        stream.write_bytes(b"".join(whole))
        assert pages.get(f"/agents/{failed.agent_id}").text.count("data-turn=") == 4
