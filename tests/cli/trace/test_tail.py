"""`trace tail` of streams that are whole, damaged or being written."""

import json
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
from tests.stream_writer import open_emitter


def recorded(ran: Ran, agent: str) -> list[dict[str, Any]]:
    path = ran.root / ".agentfs" / "traces" / f"{agent}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


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
    def test_the_last_events_also_of_the_newest_run_and_without_a_writer(
        self, ran: Ran, agent: str
    ) -> None:
        document = ran("trace", "tail", agent, "-n", "3", "--json").document
        assert document == {"agent_id": agent, "events": recorded(ran, agent)[-3:]}
        told = ran("trace", "tail", agent, "-n", "3").out
        shown = ran("trace", "show", agent).out
        assert told.splitlines() == shown.splitlines()[-3:]
        assert "run_end" in ran("trace", "tail").out.splitlines()[-1]
        followed = ran("trace", "tail", agent, "-f")
        assert (followed.code, f"{agent} is checked" in followed.err) == (0, True)

    def test_of_a_damaged_stream_or_a_link_one_document_ends_in_the_error(
        self, ran: Ran, agent: str, tmp_path: Path
    ) -> None:
        folder = TraceFolder(tmp_path)
        folder.create()
        first = json.dumps(recorded(ran, agent)[0]).encode()
        folder.agent_stream("lint-a").write_bytes(first + b'\n{"seq":1}\n')
        done = ran("trace", "tail", "lint-a", "--root", str(tmp_path), "--json")
        assert (done.code, done.error["code"]) == (1, "stream_damaged")
        assert done.document["events"] == recorded(ran, agent)[:1]
        folder.agent_stream("lint-b").symlink_to(folder.agent_stream("lint-a"))
        for words in (("tail",), ("show", "--raw"), ("show",)):
            done = ran("trace", *words, "lint-b", "--root", str(tmp_path), "--json")
            assert (done.code, done.error["code"]) == (3, "disk_error")

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
            run = open_emitter(folder.run_stream("run-1"), Identity("run-1"), blobs=folder.blobs)
            stack.enter_context(run)
            run.emit(RunStart(), turn=0)
            run.emit(
                JobStart(agent_id="lint-live", operation="lint", node_id="node:a.py:f"), turn=0
            )
        identity = Identity("run-1", "lint-live", "lint", "node:a.py:f")
        path = folder.agent_stream("lint-live")
        writer = open_emitter(path, identity, blobs=folder.blobs)
        stack.enter_context(writer)
        writer.emit(TurnStart(), turn=1)
        yield writer
