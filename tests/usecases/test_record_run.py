"""Recording of another program's agent: what is written, in which order, and what is refused."""

import json
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import remora
from remora.errors import InvalidEvent, NotFound, UsageError
from remora.memory.canonical import canonical_sha256
from remora.memory.events import ModelRequest, ModelResponse, ToolResulted, decode_event, payload
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.postgres_server import PostgresServer

TOOLS = [{"name": "lint", "description": "Lint a file.", "parameters": {"type": "object"}}]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of a user without a configuration, whose streams are verified in the end."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    yield tmp_path / "project"
    streams = verify_all(TraceFolder(tmp_path / "project")).streams
    assert not [problem for stream in streams for problem in stream.problems]


def events(root: Path, agent: str) -> list[tuple[str, Any]]:
    lines = TraceFolder(root).agent_stream(agent).read_bytes().splitlines()
    return [(event.type, payload(event)) for event in map(decode_event, lines)]


def types(root: Path, agent: str) -> list[str]:
    return [kind for kind, _ in events(root, agent)]


def test_a_misspelled_key_of_a_view_is_named_and_the_call_waits_on(root: Path) -> None:
    with remora.record("Fix a.py", tools=TOOLS, root=root) as recording:
        recording.model_request()
        recording.model_response(calls=[("1", "lint", {})])
        with pytest.raises(InvalidEvent, match="'sumary' of a tool result"):
            recording.tool_result("1", "F401", view={"sumary": "1 finding"})
        recording.tool_result("1", "F401", view={"summary": "1 finding"})


def test_turns_are_recorded_in_order_and_verified(root: Path) -> None:
    with remora.record(
        "Fix a.py", instructions="One call.", tools=TOOLS, model="m", operation="fix", root=root
    ) as recording:
        assert recording.model_request() == [
            {"role": "system", "content": "One call."},
            {
                "role": "user",
                "content": "Goal: Fix a.py\nTarget: fix node:.:__module__\nTurn 1 of 50",
            },
        ]
        recording.model_response(calls=[("1", "lint", '{"path": "a.py"}')], raw={"any": "thing"})
        view = {"summary": "1 finding", "diagnostics": ["F401 line 1"], "knowledge_delta": {}}
        recording.tool_result("1", "a.py:1: F401", view=view)
        shown = recording.model_request()[1]["content"]
        recording.model_response("All done.")
    assert 'Done:\n1. lint(path="a.py") -> 1 finding\nFindings:\nF401 line 1' in shown
    assert types(root, recording.agent_id) == [
        *["agent_start", "turn_start", "model_request", "model_response", "tool_call"],
        *["tool_result", "turn_start", "model_request", "model_response"],
        *["submit_result", "agent_end"],
    ]
    run = TraceFolder(root).run_stream(recording.run_id).read_bytes().splitlines()
    assert [decode_event(line).type for line in run] == [
        *["run_start", "job_start", "job_end", "run_end"]
    ]


def test_the_packet_of_a_turn_is_the_one_that_was_sent(root: Path) -> None:
    with remora.record("Fix a.py", tools=TOOLS, limit=700, root=root) as recording:
        for number in range(9):
            recording.model_request()
            recording.model_response(calls=[("1", "lint", {"path": f"{number}.py"})])
            recording.tool_result("1", f"{number}.py:1: F401 `os` imported but unused")
    path = TraceFolder(root).agent_stream(recording.agent_id)
    sent = [p for _, p in events(root, recording.agent_id) if isinstance(p, ModelRequest)]
    assert any(request.trim for request in sent)
    for turn, request in enumerate(sent, 1):
        packet = remora.packet_at(path, turn)
        assert canonical_sha256(packet) == request.packet_sha256
        assert packet == remora.packet_at(path.read_bytes().splitlines(), turn)
    with pytest.raises(NotFound, match="no turn 10"):
        remora.packet_at(str(path), 10)


def test_a_trajectory_of_another_program_is_imported(root: Path) -> None:
    program = Path(__file__).parents[2] / "examples/import_trajectory.py"

    def run(*words: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=root, capture_output=True, text=True, check=True
        )
        return done.stdout

    agent = run(program, program.with_name("sample.traj")).strip()
    assert "proven: 2 streams" in run("-m", "remora", "trace", "verify")
    packet = remora.replay(TraceFolder(root).agent_stream(agent))
    assert [action.turn for action in packet.recent_actions] == [1, 2, 4, 5]
    assert packet.recent_actions[-1].args == {"command": "submit"}


def test_calls_of_one_answer_may_end_in_any_order_and_in_threads(root: Path) -> None:
    with remora.record("Try", root=root) as recording:
        recording.model_request()
        recording.model_response(calls=[(str(n), "lint", {"n": n}) for n in range(8)])
        threads = [
            threading.Thread(target=recording.tool_result, args=(str(n), n)) for n in range(8)
        ]
        for thread in reversed(threads):
            thread.start()
        for thread in threads:
            thread.join()
        assert len(recording.packet.recent_actions) == 8
    recorded = [one for _, one in events(root, recording.agent_id) if isinstance(one, ToolResulted)]
    assert sorted(one.args["n"] for one in recorded) == list(range(8))
    assert all(one.args["n"] == one.raw_output for one in recorded)


def test_calls_of_one_answer_may_have_the_same_id(root: Path) -> None:
    with remora.record("Try", root=root) as recording:
        recording.model_request()
        recording.model_response(calls=[("a", "t", {"n": 1}), ("a", "t", {"n": 2})])
        recording.tool_result("a", "one")
        recording.tool_result("a", "two")
        with pytest.raises(UsageError, match="no call 'a' waits"):
            recording.tool_result("a", "three")
    done = [data for kind, data in events(root, recording.agent_id) if kind == "tool_result"]
    assert [(data.args, data.raw_output) for data in done] == [({"n": 1}, "one"), ({"n": 2}, "two")]


@pytest.mark.parametrize(
    ("args", "recorded"),
    [(None, {}), ("null", {}), ("", {}), ("[]", {}), ([3], {"args": [3]}), ("{x", {"args": "{x"})],
)
def test_a_call_may_have_no_arguments(root: Path, args: Any, recorded: dict[str, Any]) -> None:
    with remora.record("Try", root=root) as recording:
        recording.model_request()
        recording.model_response(None, [("a", "t", args)])
        recording.model_request()
        recording.model_response(None, None)
    done = [data for kind, data in events(root, recording.agent_id) if kind == "tool_call"]
    assert done[0].args == recorded


@pytest.mark.parametrize(
    "args",
    [{f"k{n}": "v" * n for n in range(1000)}, {"k" * 20_000: 1}, {"a": [["x" * 300] * 50] * 20}],
)
def test_a_call_with_large_arguments_fits_the_next_request(root: Path, args: Any) -> None:
    with remora.record("Try", root=root) as recording:
        recording.model_request()
        recording.model_response(None, [("a", "t", args)])
        recording.tool_result("a", error="too large")
        assert "Error: too large" in recording.model_request()[-1]["content"]


def test_a_call_that_was_not_run_is_told_to_the_model(root: Path) -> None:
    with remora.record("Try", root=root) as recording:
        recording.model_request()
        recording.model_response(calls=[("1", "lint", "{not json")])
        shown = recording.model_request()[0]["content"]
        assert 'lint(args="{not json") -> error' in shown
        assert "Error: the tool was not run" in shown


def test_an_error_that_leaves_the_context_ends_the_run(root: Path) -> None:
    def ask() -> None:
        with remora.record("Try", model=bad, root=root) as recording:
            agents.append(recording.agent_id)
            recording.model_request()
            recording.model_response(bad, [(bad, bad, {})])
            raise ValueError(bad)

    agents: list[str] = []
    bad = "no server\udcff"
    with pytest.raises(ValueError, match="no server"):
        ask()
    assert types(root, agents[0])[-2:] == ["agent_error", "agent_end"]
    assert events(root, agents[0])[-1][1].error == "ValueError: no server\\udcff"
    texts = [path.read_text() for path in (root / ".agentfs").rglob("*.jsonl")]
    assert not any("$text" in text for text in texts), "names and messages are escaped"


def test_steps_out_of_order_are_refused_and_leave_no_event(root: Path) -> None:
    with remora.record("Try", root=root) as recording:
        with pytest.raises(UsageError, match="no open request"):
            recording.model_response("hello")
        with pytest.raises(UsageError, match="no call '7' waits"):
            recording.tool_result("7", "out")
        recording.model_request()
        recording.model_response(calls=[("1", "lint", {})])
        recording.tool_result("1")
        with pytest.raises(UsageError, match="no call '1' waits"):
            recording.tool_result("1")
        before = types(root, recording.agent_id)
        assert before.count("tool_result") == before.count("model_response") == 1


def test_secrets_are_neither_recorded_nor_shown(root: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with remora.record(f"Use {key}", instructions=f"Keep {key}", root=root) as recording:
        shown = [recording.model_request()]
        recording.model_response(key, [("1", "lint", {"key": key})], raw={"key": key})
        recording.tool_result("1", {"found": key}, view={"summary": key})
        shown.append(recording.model_request())
        recording.model_response(key)
    assert key not in json.dumps(shown)
    for path in (root / ".agentfs").rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_wrong_arguments_are_named(root: Path) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"limit": 50}, "exceed the limit of 50 tokens"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"operation": "Über"}, "cannot be the name of an operation"),
        ({"operation": "lint"}, "is an operation of Remora's"),
        ({"tools": [{"title": "lint"}]}, "tools: "),
    )
    for wrong, told in cases:
        with pytest.raises(UsageError, match=told), remora.record("Try", root=root, **wrong) as one:
            one.model_request()


def test_old_parts_of_the_packet_go_before_the_instructions(root: Path) -> None:
    with remora.record("Try", instructions="Be brief.", limit=700, root=root) as recording:
        for number in range(30):
            system, user = recording.model_request()
            assert system["content"] == "Be brief."
            assert len(user["content"].encode()) < 700
            recording.model_response(calls=[(str(number), f"tool_{number}", {"n": number})])
            recording.tool_result(str(number), {"value": f"result-{number}" * 9})


@pytest.mark.slow
def test_a_killed_program_loses_no_event(root: Path) -> None:
    program = (
        "import os, signal, remora\n"
        "with remora.record('Try', operation='fix') as recording:\n"
        "    recording.model_request()\n"
        "    recording.model_response('', [('1', 'lint', {})])\n"
        "    print(recording.agent_id, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    recorded = events(root, done.stdout.strip())
    assert [kind for kind, _ in recorded[-2:]] == ["model_response", "tool_call"]
    assert isinstance(recorded[-2][1], ModelResponse)


@pytest.mark.slow
def test_a_recording_in_a_database(
    root: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"record_{secrets.token_hex(4)}"
    dsn = postgres.new_database(name)
    monkeypatch.setenv("REMORA_RUNNER__MEMORY__TRACE_STORE", "postgres")
    monkeypatch.setenv("REMORA_POSTGRES__DSN", dsn)

    def stored() -> list[str]:
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT lines FROM remora.events ORDER BY 1").fetchall()
        return [decode_event(line).type for (lines,) in rows for line in bytes(lines).splitlines()]

    with remora.record("Try", root=root) as recording:
        recording.model_request()
        assert "model_request" in stored(), "before the model can see it"
        recording.model_response(calls=[("1", "lint", {})])
        recording.tool_result("1", "a.py:1: F401")
    assert stored().count("agent_end") == 1


def test_remora_does_not_continue_a_run_of_another_program(root: Path) -> None:
    with remora.record("Tidy.", root=root, operation="tidy") as recording:
        recording.model_request()
        recording.model_response("done")
    attempts = (
        lambda: remora.resume(recording.run_id, root=root),
        lambda: remora.retry(recording.run_id, ".", root=root),
        lambda: remora.fork(recording.agent_id, 0, root=root),
    )
    for attempt in attempts:
        with pytest.raises(UsageError, match="another program recorded the run") as error:
            attempt()
        assert error.value.hint == "start that program again"
