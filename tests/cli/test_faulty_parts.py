"""Misbehaving tools and models cause a recorded error, a clear end and no changed file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Remora, tree, write
from tests.openai_server import answer, openai_server, send_json

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


def read_with(remora: Remora, project: Path, body: Any, status: int = 200) -> Done:
    """Analyze a function with a server that always answers the same."""
    # without a tokenizer to ask, what is sent is counted as its bytes
    settings = {"REMORA_MODEL__RETRIES": "0", "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}
    patient = Remora(remora.home, {**settings, **remora.environ})
    line = ("analyze", "-o", "steps", "--node", "read", "--json", "--model")
    with openai_server(lambda handler, *_: send_json(handler, body, status)) as server:
        return patient(*line, server.address, cwd=project)


def unusable(content: str, prompt_tokens: int = 1000, finish_reason: str = "stop") -> Any:
    """A chat completion that holds no call."""
    body = answer(text=content)
    body["choices"][0]["finish_reason"] = finish_reason
    return {**body, "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 5}}


def test_after_three_answers_that_are_not_calls_the_first_suggestion_is_taken(
    poor: Remora, project: Path
) -> None:
    before = tree(project)
    done = read_with(poor, project, unusable("I would rather not."))
    (job,) = done.document["jobs"]
    assert (done.code, job["status"], job["stop_reason"]) == (0, "verified", "verified")
    assert (job["decided_by"]["fallback"], job["decided_by"]["model"]) == (1, 0)
    assert done.document["model"] == "m"
    assert tree(project) == before


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(unusable("x" * 100_000), id="larger than a line of a stream holds"),
        pytest.param(
            unusable("\ud800", 10**30, "x" * 100_000),
            id="not UTF-8, an invented count, an endless word",
        ),
    ],
)
def test_whatever_a_server_says_is_recorded_and_can_be_read_again(
    poor: Remora, project: Path, body: Any
) -> None:
    done = read_with(poor, project, body)
    (job,) = done.document["jobs"]
    assert poor("show", "last", "--json", cwd=project).document == done.document
    assert poor("trace", "verify", cwd=project).code == 0
    assert poor("trace", "transcript", job["agent_id"], cwd=project).code == 0


def test_a_key_never_reaches_the_record(poor: Remora, project: Path) -> None:
    keyed = Remora(poor.home, {"REMORA_API_KEY": "sk-secret-123456"})
    body = {"error": {"message": "bad key sk-secret-123456"}}
    done = read_with(keyed, project, body, 401)
    assert (done.code, done.document["jobs"][0]["stop_reason"]) == (3, "model_error")
    assert "sk-secret-123456" not in done.out + done.err
    streams = (project / ".agentfs").rglob("*.jsonl")
    assert all("sk-secret-123456" not in path.read_text() for path in streams)


def test_a_server_that_does_not_read_all_exits_with_3(poor: Remora, project: Path) -> None:
    done = read_with(poor, project, unusable("no", prompt_tokens=1))
    assert done.code == 3, done.err
    assert "smaller than it reports" in done.document["jobs"][0]["error"]
