"""The Long Track by the command line: listed, shown, verified, told."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from remora.testing import build_events
from tests.cli.conftest import Ran


def stream(ran: Ran, agent: str) -> Path:
    return ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"


@pytest.mark.slow
def test_list_has_every_agent(ran: Ran) -> None:
    streams = ran("trace", "list", "--json").document["streams"]
    keys = {"agent_id", "run_id", "operation", "node_id", "status", "turns", "events", "bytes"}
    assert all(set(one) == keys for one in streams)
    assert {one["agent_id"] for one in streams} == {
        job["agent_id"] for job in ran.analyzed.document["jobs"]
    }
    for one in streams:
        text = stream(ran, one["agent_id"]).read_bytes()
        assert (one["bytes"], one["events"]) == (len(text), text.count(b"\n"))


@pytest.mark.parametrize("more", [(), ("-v",)])
def test_a_forged_run_id_leaves_the_list_readable(
    ran: Ran, agent: str, more: tuple[str, ...]
) -> None:
    last = stream(ran, agent).read_bytes().splitlines(keepends=True)[-1]
    long = b"x" * 100_000
    forged = stream(ran, "lint-forged")
    forged.write_bytes(
        re.sub(rb'"(run_id|status)":"[^"]*"', lambda name: b'"%b":"%b"' % (name[1], long), last)
    )
    try:
        lines = ran("trace", "list", *more).out.splitlines()
    finally:
        forged.unlink()
    assert any("lint-forged" in line for line in lines)
    assert max(map(len, lines)) < 1000


def test_a_stream_is_verified_by_the_path_of_its_file(ran: Ran, agent: str, tmp_path: Path) -> None:
    whole = ran("trace", "verify", str(stream(ran, agent)), "--json").document
    assert whole == ran("trace", "verify", agent, "--json").document
    assert whole["streams"][0]["anchored"] is True
    events = build_events(
        {"goal": "Tidy up", "agent_id": "debug-1"},
        [{"type": "tool_result", "tool": "lint", "data": {"summary": "F401 line 1"}}],
    )
    path = tmp_path / "debug-1.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    assert ran("trace", "verify", str(path)).code == 0
    path.write_bytes(path.read_bytes().replace(b"F401", b"F402"))
    assert "chain: the line does not match its hash" in ran("trace", "verify", str(path)).out
    assert "does not exist" in ran("trace", "verify", str(tmp_path / "no.jsonl")).out


def test_a_packet_is_the_one_that_was_decided_on(ran: Ran, agent: str) -> None:
    calls = [
        event
        for event in map(json.loads, stream(ran, agent).read_text().splitlines())
        if event["type"] == "tool_call"
    ]
    assert calls
    for call in calls:
        packet = ran("trace", "packet", agent, "--turn", str(call["turn"]), "--json").document
        text = json.dumps(packet, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == call["data"]["packet_sha256"]


def test_a_node_of_the_newest_run_or_a_beginning_of_the_name_will_do(ran: Ran, agent: str) -> None:
    for name in ("src/settings.py:read", agent[:-3]):
        assert ran("trace", "packet", name).document["agent_id"] == agent
    name = "read"
    assert ran("trace", "packet", name).document["agent_id"] == agent
    assert ran("trace", "show", name, "--json").document["agent_id"] == agent
    assert ran("trace", "transcript", name, "--json").document["agent_id"] == agent
    (verified,) = ran("trace", "verify", name, "--json").document["streams"]
    assert verified["agent_id"] == agent


def test_people_see_the_run_of_each_agent(ran: Ran, agent: str) -> None:
    run_id = ran.analyzed.document["run_id"]
    (line,) = [one for one in ran("trace", "list").out.splitlines() if agent in one]
    assert run_id[:15] in line
    assert agent in ran("show", "last", "-v").out


def test_a_missing_turn(ran: Ran, agent: str) -> None:
    done = ran("trace", "packet", agent, "--turn", "99", "--json")
    assert done.code == 1
    assert "1 to" in done.error["hint"]


def test_show_lists_every_event(ran: Ran, agent: str) -> None:
    events = ran("trace", "show", agent, "--json").document["events"]
    lines = stream(ran, agent).read_text().splitlines()
    assert events == [json.loads(line) for line in lines]
    shown = ran("trace", "show", agent).out.splitlines()
    assert len(shown) == len(lines) + 1
    assert "apply_fix" in shown[-3] or "submit_result" in shown[-3]


def test_raw_lines_are_byte_for_byte(ran: Ran, agent: str) -> None:
    text = stream(ran, agent).read_text()
    assert ran("trace", "show", agent, "--raw").out == text
    document = ran("trace", "show", agent, "--raw", "--json").document
    assert document["lines"] == text.splitlines()


def test_a_turn_has_its_packet_beside_the_raw_output(ran: Ran, agent: str) -> None:
    document = ran("trace", "show", agent, "--turn", "1", "--json").document
    assert document["packet"]["turn"] == 1
    assert document["raw_output"]["result"]["findings"][0]["code"] == "E722"
    told = ran("trace", "show", agent, "--turn", "1").out
    assert told.index("packet of this turn") < told.index("raw output of the tool")
    assert "E722" in told


def test_the_transcript_shows_who_decided(ran: Ran, agent: str) -> None:
    told = ran("trace", "transcript", agent).out
    assert "tool call: run_linter(" in told
    assert ") by rule" in told
    assert told.rstrip().endswith("agent end: submitted")


def test_the_messages_of_an_agent(ran: Ran, agent: str) -> None:
    document = ran("trace", "transcript", agent, "--messages").document
    assert document["agent_id"] == agent
    first, result = document["messages"][:2]
    assert (first["name"], first["tool_calls"][0]["function"]["name"]) == ("rule", "run_linter")
    assert result["tool_call_id"] == first["tool_calls"][0]["id"]
    assert "E722" in result["content"]
    run_id = ran.analyzed.document["run_id"]
    assert ran("trace", "transcript", run_id, "--messages", "--json").code == 1


def test_verify_shows_every_head_and_anchor(ran: Ran) -> None:
    done = ran("trace", "verify", "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    run, *agents = done.document["streams"]
    assert set(run) == {"run_id", "ok", "head", "anchored", "problems"}
    assert run["anchored"] is None
    for one in agents:
        assert set(one) == {"agent_id", "ok", "head", "anchored", "problems"}
        assert one["anchored"] is True
        last = json.loads(stream(ran, one["agent_id"]).read_text().splitlines()[-1])
        assert one["head"] == {"count": last["seq"] + 1, "hash": last["hash"]}


def test_a_flipped_byte_exits_with_1_and_names_the_line(
    ran: Ran, agent: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ran.root, copy)
    path = copy / ".agentfs" / "traces" / f"{agent}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"run_linter", b"run_lintes", 1)
    path.write_bytes(b"".join(lines))
    done = ran.remora("trace", "verify", "--all", "--json", cwd=copy)
    assert done.code == 1
    assert done.document["ok"] is False
    (bad,) = [one for one in done.document["streams"] if not one["ok"]]
    assert bad["agent_id"] == agent
    assert {"line", "kind", "detail"} == set(bad["problems"][0])
    assert bad["problems"][0]["line"] == 5
    told = ran.remora("trace", "verify", agent, cwd=copy)
    assert told.code == 1
    assert "line 5: chain" in told.out


def test_without_any_stream_there_is_nothing_to_verify(ran: Ran, tmp_path: Path) -> None:
    done = ran.remora("trace", "verify", "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.document == {"ok": True, "streams": []}
