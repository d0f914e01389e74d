"""The helpers for tests of users, and what `make test-all` and `make quick` refuse."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remora import ContextManager, PacketDelta, replay
from remora.errors import InvalidEvent
from remora.facilities import POSIX_VARIABLE
from remora.memory.events import Event, ToolResulted, payload
from remora.testing import build_events, check_golden, golden_packets
from tests.platform_facilities import need_facility

START = {"type": "turn_start", "turn": 1}


def built(summary: str, *more: PacketDelta) -> list[Event]:
    data = {"raw_output": [1], "summary": summary, "knowledge_delta": {"lines": 3}}
    result = {"type": "tool_result", "tool": "count", "data": data}
    return build_events({"goal": "Count", "node_id": "node:a.py:f"}, [START, result, *more])


def test_built_events_replay_to_the_context_that_built_them() -> None:
    context = ContextManager({"goal": "Count", "agent_id": "count-1"})
    result = {"type": "tool_result", "tool_name": "count", "raw_output": {"lines": 3}}
    hub = PacketDelta(hub_context={"node:a.py:f": {"callers": 3}})
    events = build_events(context, [START, result, hub])
    assert replay(events) == context.packet
    assert [(event.type, event.turn) for event in events] == [
        ("agent_start", 0), ("turn_start", 1), ("tool_result", 1), ("context_update", 1),
    ]  # fmt: skip
    recorded = payload(events[2])
    assert isinstance(recorded, ToolResulted)
    assert (recorded.tool, recorded.raw_output) == ("count", {"lines": 3})
    assert {event.agent_id for event in events} == {"count-1"}


ENTRY = {"turn": 1, "tool": "count", "args": {}, "raw_output": [1], "packet_delta": {"a": 1}}


@pytest.mark.parametrize("events", [built("3 lines"), build_events("Count", [ENTRY])])
def test_the_packet_of_a_turn_is_the_one_before_its_result(events: list[Event]) -> None:
    packets = golden_packets(events)
    shown = packets["shown"]["1"]
    assert (shown["turn"], shown["recent_actions"], shown["knowledge"]) == (1, [], {})
    assert len(packets["final"]["recent_actions"]) == 1


def test_only_turns_and_results_are_built() -> None:
    with pytest.raises(InvalidEvent, match="did you mean 'tool_result'"):
        build_events({"goal": "Count"}, [{"type": "tool_resutl"}])
    with pytest.raises(InvalidEvent, match="cannot build a 'agent_end' event"):
        build_events({"goal": "Count"}, [{"type": "agent_end"}])


def test_a_golden_file_is_written_only_if_you_say_so(tmp_path: Path) -> None:
    golden = tmp_path / "count.packets.json"
    with pytest.raises(AssertionError, match=r"does not exist; .* update=True"):
        check_golden(built("3 lines"), golden)
    check_golden(built("3 lines"), golden, update=True)
    check_golden(built("3 lines"), golden)
    assert json.loads(golden.read_text()) == golden_packets(built("3 lines"))


def test_the_first_turn_that_differs_is_shown_with_each_difference(tmp_path: Path) -> None:
    golden, more = tmp_path / "count.packets.json", PacketDelta(turn=2)
    check_golden(built("3 lines", more), golden, update=True)
    with pytest.raises(AssertionError) as failed:
        check_golden(built("4 lines", more), golden)
    title, *changes = str(failed.value).splitlines()
    assert title.startswith("count.packets.json: the packet of turn 2 is different, and 1 other")
    assert [change.partition(":")[0] for change in changes] == ["  ~ /recent_actions/0"]
    assert "3 lines" in changes[0]
    assert "4 lines" in changes[0]


def test_a_turn_that_was_gained_differs_before_the_end(tmp_path: Path) -> None:
    golden = tmp_path / "count.packets.json"
    check_golden(built("3 lines"), golden, update=True)
    turns = [PacketDelta(turn=turn) for turn in (2, 10)]
    with pytest.raises(AssertionError, match="the packet of turn 2 is different, and 2 other"):
        check_golden(built("3 lines", *turns), golden)


@pytest.mark.parametrize("result", [{"error": "boom"}, {"delta": {"set_error": "boom"}}])
def test_an_error_is_recorded(result: dict[str, Any]) -> None:
    event = {"type": "tool_result", "tool": "count", "raw_output": None, **result}
    recorded = payload(build_events("Count", [event])[1])
    assert isinstance(recorded, ToolResulted)
    assert (recorded.outcome, recorded.error) == ("error", "boom")


def test_a_missing_turn_differs_too(tmp_path: Path) -> None:
    golden = tmp_path / "count.packets.json"
    check_golden(built("3 lines", PacketDelta(turn=2)), golden, update=True)
    with pytest.raises(AssertionError, match="the packet of turn 2 is different"):
        check_golden(built("3 lines"), golden)


ROOT = Path(__file__).parents[1]
MODULE = "import pytest\n\npytest.importorskip('no_such_package', reason='not installed')\n"
TEST = """import pytest


def test_it() -> None:
    pytest.skip('not installed')


@pytest.mark.needs('inotify')
def test_inotify() -> None:
    pass
"""
PROCESS = """import os, socket, subprocess, sys


def test_pure() -> None:
    pass


def test_command() -> None:
    subprocess.run([sys.executable, '-c', ''])


def test_fork() -> None:
    os.fork() or os._exit(0)


def test_connection() -> None:
    socket.create_connection(('127.0.0.1', 9))
"""


def said(folder: Path, *options: str, **environ: str) -> str:
    """What pytest prints of the tests in a folder."""
    words = ("-m", "pytest", "-rs", "-p", "tests.conftest", "--rootdir", str(folder), *options)
    done = subprocess.run(
        [sys.executable, *words, folder],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.slow
def test_what_is_missing_is_skipped_but_by_make_test_all(tmp_path: Path) -> None:
    (tmp_path / "test_module.py").write_text(MODULE)
    (tmp_path / "test_it.py").write_text(TEST)
    need_facility("inotify")
    assert "1 passed, 2 skipped" in said(tmp_path, TEST_ALL="")
    refused = said(tmp_path, "--continue-on-collection-errors", TEST_ALL="1")
    assert refused.count("skipped: not installed") >= 2
    assert "2 skipped" not in refused
    other_system = said(tmp_path, TEST_ALL="", **{POSIX_VARIABLE: "1"})
    assert "this system has no inotify" in other_system
    assert "3 skipped" in other_system


@pytest.mark.slow
def test_a_process_or_a_connection_in_a_quick_test_fails_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(PROCESS)
    found = said(tmp_path, "--quick")
    assert found.count("`make quick` runs no test with") >= 3, found
    assert "3 failed, 1 passed" in found
