"""Trace commands: packet diff, tail, search, and wide terminals."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remora.memory.events import JobStart, RunStart, TurnStart
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.cli.conftest import Ran


def recorded(ran: Ran, agent: str) -> list[dict[str, Any]]:
    path = ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestDiff:
    @pytest.mark.slow
    def test_the_document_says_what_changed_where(self, ran: Ran, agent: str) -> None:
        document = ran("trace", "diff", agent, "--from", "1", "--to", "3", "--json").document
        assert {key: document[key] for key in ("agent_id", "from", "to")} == {
            "agent_id": agent, "from": 1, "to": 3
        }  # fmt: skip
        changes = {change["path"]: change for change in document["changes"]}
        assert all(set(change) == {"op", "path", "before", "after"} for change in changes.values())
        assert changes["/turn"] == {"op": "change", "path": "/turn", "before": 1, "after": 3}
        assert changes["/recent_actions/0"]["op"] == "add"
        packets = [ran("trace", "packet", agent, "--turn", str(turn)).document for turn in (1, 3)]
        assert changes["/recent_actions/1"]["after"] == packets[1]["recent_actions"][1]

    @pytest.mark.slow
    def test_people_read_sections_and_signs(self, ran: Ran, agent: str) -> None:
        told = ran("trace", "diff", agent, "--from", "1", "--to", "3").out
        assert re.match(rf"turn 1 → turn 3 of {agent}: \d+ changes\n", told)
        assert "\nrecent actions\n  + 1. run_linter() → success" in told

    def test_a_run_is_distinguished_from_an_agent(self, ran: Ran, agent: str) -> None:
        error = ran("trace", "packet", "last", "--json").error
        assert error["message"].endswith("is the ID of a run, not of an agent")
        (listed,) = re.findall(r"`remora (trace list --run \S+)`", error["hint"])
        assert agent in ran(*listed.split()).out

    def test_a_missing_turn(self, ran: Ran, agent: str) -> None:
        done = ran("trace", "diff", agent, "--from", "2", "--to", "99", "--json")
        assert done.code == 1
        assert "1 to 3" in done.error["hint"]


class Following:
    """A `trace tail -f --json` that goes on."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self.out, self._err = process, process.stdout, process.stderr

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """It ends by itself: its exit code, and what it said on stderr."""
        return self.process.wait(timeout=30), self._err.read()


Follow = Callable[[str], Following]


@pytest.fixture
def follow(ran: Ran, tmp_path: Path) -> Iterator[Follow]:
    """Starts one in `tmp_path`; whatever happens, none is left."""
    with ExitStack() as stack:

        def begin(name: str) -> Following:
            process = ran.remora.start("trace", "tail", name, "-f", "--json", cwd=tmp_path)
            stack.enter_context(process)
            stack.callback(process.kill)
            return Following(process)

        yield begin


class TestTail:
    def test_the_last_events(self, ran: Ran, agent: str) -> None:
        document = ran("trace", "tail", agent, "-n", "3", "--json").document
        assert document == {"agent_id": agent, "events": recorded(ran, agent)[-3:]}
        told = ran("trace", "tail", agent, "-n", "3").out
        shown = ran("trace", "show", agent).out
        assert told.splitlines() == shown.splitlines()[-3:]

    def test_of_the_newest_run_if_none_is_named(self, ran: Ran) -> None:
        assert "run_end" in ran("trace", "tail").out.splitlines()[-1]

    def test_of_a_stream_that_is_a_link_there_is_only_the_error(
        self, ran: Ran, tmp_path: Path
    ) -> None:
        folder = TraceFolder(tmp_path)
        folder.create()
        folder.agent_stream("lint-a").symlink_to(tmp_path / "elsewhere")
        for words in (("tail",), ("show", "--raw"), ("show",)):
            done = ran("trace", *words, "lint-a", "--root", str(tmp_path), "--json")
            assert (done.code, done.error["code"]) == (3, "disk_error")

    def test_of_a_damaged_stream_there_is_one_document_that_ends_in_the_error(
        self, ran: Ran, agent: str, tmp_path: Path
    ) -> None:
        folder = TraceFolder(tmp_path)
        folder.create()
        first = json.dumps(recorded(ran, agent)[0]).encode()
        folder.agent_stream("lint-a").write_bytes(first + b'\n{"seq":1}\n')
        done = ran("trace", "tail", "lint-a", "--root", str(tmp_path), "--json")
        assert (done.code, done.error["code"]) == (1, "stream_damaged")
        assert done.document["events"] == recorded(ran, agent)[:1]

    def test_following_a_stream_without_a_writer_ends_at_once(self, ran: Ran, agent: str) -> None:
        done = ran("trace", "tail", agent, "-f")
        assert done.code == 0
        assert f"{agent} is verified" in done.err

    def test_what_is_written_meanwhile_is_shown_until_the_writer_goes(
        self, follow: Follow, tmp_path: Path
    ) -> None:
        with live(tmp_path) as writer:
            process = follow("lint-live")
            seen = [process.out.readline(), process.out.readline()]
            assert json.loads(seen[1])["turn"] == 1
            for turn in (2, 3):
                writer.emit(TurnStart(), turn=turn)
                seen.append(process.out.readline())
                assert json.loads(seen[-1].removeprefix(","))["turn"] == turn
        seen += process.out.readlines()
        code, err = process.end()
        assert code == 0
        assert [event["turn"] for event in json.loads("".join(seen))["events"]] == [1, 2, 3]
        assert "interrupted" in err

    def test_ctrl_c_leaves_a_whole_document(self, follow: Follow, tmp_path: Path) -> None:
        with live(tmp_path):
            process = follow("lint-live")
            seen = [process.out.readline(), process.out.readline()]
            process.interrupt()
            seen += process.out.readlines()
            code, err = process.end()
        assert code == 130
        assert [event["turn"] for event in json.loads("".join(seen))["events"]] == [1]
        assert "Traceback" not in err

    def test_of_a_run_the_agents_at_work_are_followed_too(
        self, follow: Follow, tmp_path: Path
    ) -> None:
        with live(tmp_path, job=True) as writer:
            process = follow("last")
            seen = [process.out.readline() for _ in range(4)]  # the run's own events come first
            writer.emit(TurnStart(), turn=2)
            seen.append(process.out.readline())
        seen += process.out.readlines()
        assert process.end()[0] == 0
        events = json.loads("".join(seen))["events"]
        assert [(e["agent_id"], e["type"]) for e in events] == [
            ("", "run_start"), ("", "job_start"), *[("lint-live", "turn_start")] * 2
        ]  # fmt: skip


@contextmanager
def live(root: Path, *, job: bool = False) -> Iterator[JsonlEventEmitter]:
    """The writer of an agent that is at work; with `job`, in a run that is written too."""
    folder = TraceFolder(root)
    folder.create()
    with ExitStack() as stack:
        if job:
            run = JsonlEventEmitter.open(
                folder.run_stream("run-1"), Identity("run-1"), blobs=folder.blobs
            )
            stack.enter_context(run)
            run.emit(RunStart(), turn=0)
            run.emit(
                JobStart(agent_id="lint-live", operation="lint", node_id="node:a.py:f"), turn=0
            )
        identity = Identity("run-1", "lint-live", "lint", "node:a.py:f")
        path = folder.agent_stream("lint-live")
        writer = JsonlEventEmitter.open(path, identity, blobs=folder.blobs)
        stack.enter_context(writer)
        writer.emit(TurnStart(), turn=1)
        yield writer


class TestQuestions:
    def test_agents_that_called_a_tool_and_events_of_a_tool_and_file(
        self, ran: Ran, agent: str
    ) -> None:
        streams = ran("trace", "list", "--tool", "edit_line", "--json").document["streams"]
        assert agent in {stream["agent_id"] for stream in streams}
        assert ran("trace", "list", "--tool", "nothing", "--json").document["streams"] == []
        calls = [e for e in recorded(ran, agent) if e["type"] == "tool_call"]
        shown = ran("trace", "show", agent, "--type", "tool_call", "--json").document["events"]
        assert [event["seq"] for event in shown] == [event["seq"] for event in calls]
        listed = ran("trace", "show", agent, "--file", "src/settings.py", "--tool", "edit_line")
        assert len(listed.out.splitlines()) == 2  # the heads, and the result
        raw = ran("trace", "show", agent, "--tool", "edit_line", "--raw").out
        assert len(raw.splitlines()) == 2
        assert ran("trace", "show", agent, "--turn", "1", "--tool", "x", "--json").code == 2

    def test_streams_that_fit(self, ran: Ran) -> None:
        counts = {
            "--node read": 1,
            "--operation steps": 2,
            "--run last": 2,
            "--status verified": 2,
            "--status failed": 0,
            "--tool edit_line": 1,
        }
        for line, count in counts.items():
            done = ran("trace", "list", *line.split(), "--json")
            assert (done.code, len(done.document["streams"])) == (0, count), line

    def test_a_submitted_change_is_verified(self, ran: Ran, agent: str) -> None:
        (end,) = [e["data"] for e in recorded(ran, agent) if e["type"] == "agent_end"]
        assert (end["status"], end["stop_reason"]) == ("submitted", "submitted")
        found = ran("trace", "list", "--json").document["streams"]
        assert {stream["status"] for stream in found} == {"verified"}
        why = ran("trace", "why", agent, "--json").document
        assert (why["status"], why["stop_reason"], why["cause"]["kind"]) == ("verified",) * 3
        refused = ran("trace", "list", "--status", "submitted")
        assert (refused.code, "'verified'" in refused.err) == (2, True)

    def test_they_stand_by_node(self, ran: Ran) -> None:
        nodes = ["src/settings.py", "src/settings.py:read"]
        assert [line.split()[-1] for line in ran("trace", "list").out.splitlines()[1:]] == nodes

    def test_no_match_is_reported(self, ran: Ran) -> None:
        assert "no matching streams" in ran("trace", "list", "--status", "failed").out

    def test_what_makes_no_sense(self, ran: Ran) -> None:
        assert ran("trace", "list", "--status", "wrong", "--json").code == 2

    def test_a_key_gets_the_event_as_recorded(self, ran: Ran, agent: str) -> None:
        (event, *_) = [e for e in recorded(ran, agent) if e["type"] == "tool_result"]
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
        assert ran.remora("trace", "list", "--tool", "edit_line", cwd=copy).code == 0
