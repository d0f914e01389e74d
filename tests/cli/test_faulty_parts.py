"""Misbehaving tools and models cause a recorded error, a clear end and no changed file."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Remora, tree, write

AGENT = """\
name: own
operation: own
goal: Look at {node_name}
node_types: [module]
max_turns: 2
tools: [{name: look, script: look.pym, description: Looks.}]
candidates: next.pym
"""
NEXT = '''"""Only one thing to do, so no model is asked."""

actions = [{"tool": "look", "args": {}, "reason": "look"}]
{"result": None, "summary": "", "knowledge_delta": {}, "outcome": "success",
 "candidate_actions": actions}
'''
LOOPS = "while True:\n    pass\n1\n"
PRINTS = 'for i in range(100):\n    print("x" * 1000000)\n1\n'
RAISES = "1 / 0\n"
NONSENSE = '{"result": 1, "summary": 5, "outcome": "maybe"}\n'
HUGE = '"x" * 100000000\n'


def outcomes(root: Path, done: Done) -> list[dict[str, Any]]:
    """What the tool came to, turn by turn."""
    (job,) = done.document["jobs"]
    path = root / ".agentfs" / "traces" / f"{job['agent_id']}.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event["data"] for event in events if event["type"] == "tool_result"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LOOPS, marks=pytest.mark.slow, id="loops"),
        pytest.param(PRINTS, marks=pytest.mark.slow, id="prints 100 MB"),
        pytest.param(RAISES, id="raises"),
        pytest.param(NONSENSE, id="nonsense"),
        pytest.param(HUGE, id="huge"),
    ],
)
def test_a_tool_that_misbehaves_is_an_error_in_the_record(
    remora: Remora, project: Path, body: str
) -> None:
    own = {"agent.yaml": AGENT, "look.pym": f'"""Looks."""\n\n{body}', "next.pym": NEXT}
    write(project / ".remora" / "agents" / "own", own)
    before = tree(project)
    done = remora("analyze", "src", "-o", "own", "--json", cwd=project)
    assert done.code == 1, done.err
    assert done.document["jobs"][0]["status"] == "failed"
    assert {result["outcome"] for result in outcomes(project, done)} == {"error"}
    assert all(result["error"] for result in outcomes(project, done))
    assert tree(project) == before
    assert remora("trace", "verify", cwd=project).code == 0


class Answers(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that always answers the same."""

    status = 200
    body: Any = None

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "odd"}]} if self.path == "/v1/models" else None)

    def do_POST(self) -> None:
        self.heard = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known = self.path == "/v1/chat/completions"
        self._send(self.status if known else 404, self.body if known else None)

    def _send(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status if body is not None else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on our stderr."""


def answer(
    content: str, *, prompt_tokens: int = 1000, finish_reason: str = "stop"
) -> dict[str, Any]:
    """A chat completion that holds no call."""
    message = {"role": "assistant", "content": content}
    return {
        "model": "odd",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 5},
    }


@pytest.fixture
def server() -> Iterator[tuple[str, type[Answers]]]:
    answers = type("OwnAnswers", (Answers,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), answers) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/v1", answers
        http.shutdown()
        thread.join()


def read_with(remora: Remora, project: Path, address: str) -> Done:
    # without a tokenizer to ask, what is sent is counted as its bytes
    settings = {"REMORA_MODEL__RETRIES": "0", "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}
    patient = Remora(remora.home, {**settings, **remora.environ})
    line = ("analyze", "-o", "steps", "--node", "read", "--model", address, "--json")
    return patient(*line, cwd=project)


def test_after_two_answers_that_are_not_calls_rules_finish_the_job(
    poor: Remora, project: Path, server: tuple[str, type[Answers]]
) -> None:
    address, answers = server
    answers.body = answer("I would rather not.")
    before = tree(project)
    done = read_with(poor, project, address)
    assert done.code == 3, done.err
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("submitted", "model_error")
    assert job["error"] == "two bad calls in a row: the answer has no tool call"
    assert job["decided_by"]["fallback"] == 1
    assert done.document["model"] == "odd"
    assert tree(project) == before


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(answer("x" * 100_000), id="larger than a line of a stream holds"),
        pytest.param(
            answer("\ud800", prompt_tokens=10**30, finish_reason="x" * 100_000),
            id="not UTF-8, a count that nobody counted, an endless word",
        ),
    ],
)
def test_whatever_a_server_says_is_recorded_and_can_be_read_again(
    poor: Remora, project: Path, server: tuple[str, type[Answers]], body: Any
) -> None:
    address, answers = server
    answers.body = body
    done = read_with(poor, project, address)
    assert done.code == 3, done.err
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("submitted", "model_error")
    assert poor("show", "last", "--json", cwd=project).document == done.document
    assert poor("trace", "verify", cwd=project).code == 0
    assert poor("trace", "transcript", job["agent_id"], cwd=project).code == 0


def test_a_server_that_fails_every_time_exits_with_3(
    poor: Remora, project: Path, server: tuple[str, type[Answers]]
) -> None:
    address, answers = server
    answers.status, answers.body = 500, {"error": {"message": "out of memory"}}
    done = read_with(poor, project, address)
    assert done.code == 3, done.err
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("submitted", "model_error")
    assert "out of memory" in job["error"]


def test_a_key_never_reaches_the_record(
    poor: Remora, project: Path, server: tuple[str, type[Answers]]
) -> None:
    address, answers = server
    answers.status, answers.body = 401, {"error": {"message": "bad key sk-secret-123456"}}
    keyed = Remora(poor.home, {"REMORA_API_KEY": "sk-secret-123456"})
    done = read_with(keyed, project, address)
    assert done.code == 3
    assert "sk-secret-123456" not in done.out + done.err
    streams = (project / ".agentfs").rglob("*.jsonl")
    assert all("sk-secret-123456" not in path.read_text() for path in streams)


def test_a_server_that_does_not_read_all_exits_with_3(
    poor: Remora, project: Path, server: tuple[str, type[Answers]]
) -> None:
    address, answers = server
    answers.body = answer("no", prompt_tokens=1)
    done = read_with(poor, project, address)
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("submitted", "model_error")
    assert "smaller than it reports" in job["error"]
    assert done.code == 3


def test_a_server_that_stops_after_its_first_answer_exits_with_3(
    poor: Remora, project: Path, server: tuple[str, type[Answers]]
) -> None:
    address, answers = server
    answers.body = answer("I would rather not.")

    def once(self: Answers) -> None:
        Answers.do_POST(self)
        if b"Remove the lint findings" in self.heard:  # the agent asks: no longer a probe
            answers.status = 500

    answers.do_POST = once  # type: ignore[method-assign]
    done = read_with(poor, project, address)
    (job,) = done.document["jobs"]
    assert (job["status"], job["stop_reason"]) == ("submitted", "model_error")
    assert done.code == 3
