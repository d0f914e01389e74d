"""Training rows: prompts byte for byte as they were sent, in tables that trainers read."""

import json
from typing import Any

import msgspec
import pytest

from remora.chat import ToolCall
from remora.errors import StreamDamaged
from remora.exports.run_group import group_of_agent
from remora.trace.read.reader import read_events
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, exported, flip, only, rows


def kind(value: Any) -> Any:
    """What a reader of tables takes a value for."""
    match value:
        case None:
            return None
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list():
            return ["list", merged([kind(item) for item in value])]
        case dict():
            return {key: kind(item) for key, item in value.items()}
    raise AssertionError(value)


def merged(kinds: list[Any]) -> Any:
    """The one type that all have, null aside; fails where there are two."""
    found: Any = None
    for one in kinds:
        if found is None or one is None:
            found = found if one is None else one
        elif isinstance(found, dict) and isinstance(one, dict):
            found = {key: merged([found.get(key), one.get(key)]) for key in {**found, **one}}
        elif isinstance(found, list) and isinstance(one, list):
            found = ["list", merged([found[1], one[1]])]
        else:
            assert found == one
    return found


@pytest.fixture
def table(folder: TraceFolder) -> TraceFolder:
    """An accepted attempt with a choice, a fallback and a misunderstanding, and a rejected one."""
    run = Run(folder)
    for name, verdict in (("lint-a", "accepted"), ("lint-b", "rejected")):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose(1)
        attempt.fail()
        run.ended(name, attempt.end(verified=name == "lint-a"))
        run.said(name, verdict, "why so?" if verdict == "rejected" else None)
    run.close()
    return folder


def test_a_prompt_is_what_was_sent_byte_for_byte(golden: TraceFolder) -> None:
    """The bytes of the recorded line hold the bytes of the row."""
    told = rows(golden, "sft")
    assert len(told) == 6
    for row in told:
        events = list(read_events(golden.agent_stream(row["agent_id"])))
        event = events[row["seq"]]
        sent = msgspec.json.decode(event.data)
        assert row["prompt"] == sent["messages"]
        assert msgspec.json.encode(row["prompt"]) in bytes(event.data)
        assert row["line_hash"] == event.hash
        assert row["packet_sha256"] == sent["packet_sha256"]
        said = next(e for e in events[row["seq"] :] if e.type == "model_response")
        assert row["completion"] == [
            {"role": "assistant", "content": msgspec.json.decode(said.data)["text"]}
        ]


def test_rules_decisions_were_never_asked(golden: TraceFolder) -> None:
    """Only what a model was asked is a row: of the golden run, two decisions."""
    asked = [row for row in rows(golden, "sft") if row["run_id"] == "golden-1"]
    assert sorted(row["turn"] for row in asked) == [2, 3]
    assert {row["decided_by"] for row in asked} == {"model"}


def test_a_row_has_its_outcome(table: TraceFolder) -> None:
    chosen, bad, *rejected = rows(table, "sft")
    assert (chosen["tool"], chosen["args"]) == ("fix", '{"line":2}')
    assert (chosen["decided_by"], chosen["outcome"], chosen["error"]) == ("model", "success", None)
    assert (chosen["verified"], chosen["verdict"], chosen["status"]) == (
        True, "accepted", "submitted",
    )  # fmt: skip
    assert (bad["tool"], bad["outcome"]) == (None, None)
    assert bad["error"].startswith("bad_call: the answer has no tool call: 'no call'")
    assert {row["verdict"] for row in rejected} == {"rejected"}
    assert {row["verified"] for row in rejected} == {False}
    assert {row["feedback"] for row in rejected} == {"why so?"}


@pytest.mark.parametrize("form", ["sft", "functiongemma"])
def test_every_column_has_one_type(table: TraceFolder, golden: TraceFolder, form: str) -> None:
    """Readers of tables (Arrow, and so `datasets`) refuse anything else."""
    found = rows(table, form) + rows(golden, form)
    assert found
    assert len({tuple(row) for row in found}) == 1, "the same keys in the same order"
    assert "tool" in str(merged([kind(row) for row in found]))


@pytest.mark.parametrize(
    ("form", "keys"),
    [("sft", {"prompt", "completion"}), ("functiongemma", {"prompt", "completion"})],
)
def test_no_other_column_means_anything_to_a_trainer(
    table: TraceFolder, form: str, keys: set[str]
) -> None:
    """TRL knows these, takes a dataset's kind from them, and refuses any other mixture."""
    known = {"prompt", "completion", "chosen", "rejected", "messages", "label", "text"}
    told = rows(table, form)
    assert told
    for row in told:
        assert known & set(row) == keys


def test_a_request_without_an_answer_is_not_a_row(folder: TraceFolder) -> None:
    """A turn that was cut off and asked again is told once."""
    attempt = Attempt(folder, "lint-a")
    attempt.ask()
    attempt.turn -= 1
    attempt.choose(0)
    attempt.ask()
    attempt.writer.close()
    found, tally = exported(folder, "sft")
    assert len(found) == 1
    assert json.loads(found[0])["seq"] == attempt.requests[1].seq
    assert tally.left_out == {"without an answer": 2}
    assert json.loads(found[0])["status"] == "interrupted"


def test_a_prompt_that_was_moved_to_a_blob_is_whole(folder: TraceFolder) -> None:
    attempt = Attempt(folder, "lint-a", goal="goal " * 30_000)
    attempt.choose(0)
    attempt.end()
    assert b'"$blob"' in folder.agent_stream("lint-a").read_bytes()
    (row,) = rows(folder, "sft")
    assert "goal " * 30_000 in row["prompt"][1]["content"]


def test_native_calls_and_declared_tools(folder: TraceFolder) -> None:
    """What a server gets beside the messages belongs to the prompt too."""
    attempt = Attempt(folder, "lint-a", asked=("json/1", "tool_call"))
    attempt.ask()
    attempt.answer("", call=ToolCall(tool="fix", args={"line": 2}))
    attempt.act({"line": 2}, choice=1)
    attempt.end()
    (row,) = rows(folder, "sft")
    assert row["completion"][0]["tool_calls"] == [
        {"type": "function", "function": {"name": "fix", "arguments": '{"line":2}'}}
    ]
    declared = json.loads(row["tools"])
    assert [tool["function"]["name"] for tool in declared] == ["fix", "submit_result"]


def test_plain_prompts_are_left_to_their_own_format(golden: TraceFolder) -> None:
    found, tally = exported(golden, "sft")
    assert all(isinstance(json.loads(line)["prompt"], list) for line in found)
    plain_prompts = "with a plain prompt, which --format functiongemma exports"
    assert tally.left_out == {plain_prompts: 4}
    group = group_of_agent(golden, "own-5ce5dc295fa1")
    assert rows(golden, "sft", only(group)) == []
    plain = rows(golden, "functiongemma", only(group))
    assert len(plain) == 4
    for row in plain:
        event = list(read_events(golden.agent_stream(row["agent_id"])))[row["seq"]]
        assert row["prompt"] == msgspec.json.decode(event.data)["prompt"]


def test_nothing_is_given_of_a_stream_that_was_changed(table: TraceFolder) -> None:
    """Of several, the others are; of one alone, the error."""
    flip(table.agent_stream("lint-b"), b"bad_call")
    found, tally = exported(table, "sft")
    assert {json.loads(line)["agent_id"] for line in found} == {"lint-a"}
    assert tally.damaged == ["lint-b.jsonl: line 12 does not match its hash"]
    with pytest.raises(StreamDamaged, match="line 12"):
        rows(table, "sft", only(group_of_agent(table, "lint-b")))


def test_verdicts_of_a_damaged_run_are_nobodys(table: TraceFolder) -> None:
    """A row without its verdict would be a lie: the run's agents are left out."""
    flip(table.run_stream("run-1"), b"accepted")
    found, tally = exported(table, "sft")
    assert found == []
    assert len(tally.damaged) == 1
