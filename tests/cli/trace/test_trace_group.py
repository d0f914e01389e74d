"""The Long Track by the command line: listed, shown, verified, told."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.testing import build_events
from tests.cli.conftest import Ran


def stream(ran: Ran, agent: str) -> Path:
    return ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"


def events_of(ran: Ran, agent: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream(ran, agent).read_text().splitlines()]


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


def test_people_see_nodes_in_order_and_the_run_of_each_agent(ran: Ran, agent: str) -> None:
    _, *lines = ran("trace", "list").out.splitlines()
    assert [line.split()[-1] for line in lines] == ["src/settings.py", "src/settings.py:read"]
    (line,) = [one for one in lines if agent in one]
    assert ran.analyzed.document["run_id"][:15] in line
    assert agent in ran("show", "last", "-v").out


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


def test_a_packet_is_the_one_that_was_decided_on_and_runs_and_other_turns_have_none(
    ran: Ran, agent: str
) -> None:
    calls = [event for event in events_of(ran, agent) if event["type"] == "tool_call"]
    assert calls
    for call in calls:
        packet = ran("trace", "packet", agent, "--turn", str(call["turn"]), "--json").document
        text = json.dumps(packet, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == call["data"]["packet_sha256"]
    missing = ran("trace", "packet", agent, "--turn", "99", "--json")
    assert (missing.code, "1 to 3" in missing.error["hint"]) == (1, True)
    error = ran("trace", "packet", "last", "--json").error
    assert error["message"].endswith("is the ID of a run, not of an agent")
    (listed,) = re.findall(r"`remora (trace list --run \S+)`", error["hint"])
    assert agent in ran(*listed.split()).out


def test_a_node_of_the_newest_run_or_a_beginning_of_the_name_will_do(ran: Ran, agent: str) -> None:
    for name in ("src/settings.py:read", agent[:-3]):
        assert ran("trace", "packet", name).document["agent_id"] == agent
    name = "read"
    assert ran("trace", "packet", name).document["agent_id"] == agent
    assert ran("trace", "show", name, "--json").document["agent_id"] == agent
    assert ran("trace", "transcript", name, "--json").document["agent_id"] == agent
    (verified,) = ran("trace", "verify", name, "--json").document["streams"]
    assert verified["agent_id"] == agent


def test_show_lists_every_event_and_jsonl_has_the_lines_byte_for_byte(ran: Ran, agent: str) -> None:
    events = ran("trace", "show", agent, "--json").document["events"]
    text = stream(ran, agent).read_text()
    lines = text.splitlines()
    assert events == events_of(ran, agent)
    shown = ran("trace", "show", agent).out.splitlines()
    assert len(shown) == len(lines) + 1
    assert "apply_fix" in shown[-3] or "submit_result" in shown[-3]
    assert ran("trace", "export", agent, "--format", "jsonl").out == text


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


def test_verify_shows_every_head_and_anchor(ran: Ran, tmp_path: Path) -> None:
    nothing = ran.remora("trace", "verify", "--json", cwd=tmp_path)
    assert (nothing.code, nothing.document) == (0, {"ok": True, "streams": []})
    done = ran("trace", "verify", "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    run, *agents = done.document["streams"]
    assert set(run) == {"run_id", "ok", "head", "anchored", "problems"}
    assert run["anchored"] is None
    for one in agents:
        assert set(one) == {"agent_id", "ok", "head", "anchored", "problems"}
        assert one["anchored"] is True
        last = events_of(ran, one["agent_id"])[-1]
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


class TestQuestions:
    def test_streams_that_fit_are_listed(self, ran: Ran) -> None:
        counts = {
            "--node read": 1,
            "--operation steps": 2,
            "--run last": 2,
            "--status verified": 2,
            "--status failed": 0,
        }
        for line, count in counts.items():
            done = ran("trace", "list", *line.split(), "--json")
            assert (done.code, len(done.document["streams"])) == (0, count), line
        assert "no matching streams" in ran("trace", "list", "--status", "failed").out
        assert ran("trace", "list", "--status", "wrong", "--json").code == 2

    def test_a_submitted_change_is_verified(self, ran: Ran, agent: str) -> None:
        (end,) = [e["data"] for e in events_of(ran, agent) if e["type"] == "agent_end"]
        assert (end["status"], end["stop_reason"]) == ("submitted", "submitted")
        found = ran("trace", "list", "--json").document["streams"]
        assert {stream["status"] for stream in found} == {"verified"}
        why = ran("trace", "why", agent, "--json").document
        assert (why["status"], why["stop_reason"], why["cause"]["kind"]) == ("verified",) * 3
        refused = ran("trace", "list", "--status", "submitted")
        assert (refused.code, "'verified'" in refused.err) == (2, True)

    def test_a_key_gets_the_event_as_recorded(self, ran: Ran, agent: str) -> None:
        (event, *_) = [e for e in events_of(ran, agent) if e["type"] == "tool_result"]
        key = "trace:{run_id}:{operation}:{node_id}:{turn}".format(**event)
        assert ran("trace", "get", key).document == event
        assert ran("trace", "get", f"{key}9", "--json").code == 1
        assert ran("trace", "get", "nonsense", "--json").code == 2

    def test_looking_back_needs_no_right_configuration(self, ran: Ran, tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(ran.root, copy)
        (copy / "remora.yaml").write_text("runner: {max_turns: many}\n")
        done = ran.remora("trace", "packet", "read", "--turn", "2", cwd=copy)
        assert done.code == 0
        for words in ("show", "diff"):
            assert ran.remora(words, cwd=copy) == ran.remora(words, cwd=ran.root)
        assert ran.remora("trace", "list", cwd=copy).code == 0
