"""Whatever a model server answers, a run ends, is recorded, and leaves the user's files alone.

FunctionGemma is used in its own format: over plain completions, and by native tool calls.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from remora.models.embedded.known_models import DEFAULT
from tests.cli.conftest import Done, Remora, cart_project, check_records, tree
from tests.functiongemma_server import TEXT, completion_server, native_server
from tests.independent_server import independent_server
from tests.misbehaving_server import FAULTS
from tests.openai_server import Server, openai_server, send_json

PROJECT = '[project]\nname = "cart"\nrequires-python = ">=3.11"\n[tool.ty]\n'
TARGET = "cart.py:Cart.add"
QUICK = {
    "REMORA_MODEL__RETRIES": "1",
    "REMORA_RUNNER__DECISIONS": "model",
    "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000",
}
IMPATIENT = {**QUICK, "REMORA_MODEL__TIMEOUT_S": "0.1"}  # five times as long on this machine


class Added(NamedTuple):
    """The lines that an operation adds by rules alone, and with an answer that passes the checks."""

    by_rules: Sequence[str]
    answered: Sequence[str]


ADDED = {
    "docstring": Added([], ['        """Keep what a visitor picked."""']),
    "types": Added(
        [],  # rules write whole signatures or none
        ["    def add(self, item: str, count: int = 1) -> None:"],
    ),
}


class End(NamedTuple):
    """How a run with a fault ends.

    After invalid calls, the first suggestion is taken. If the model made no call at all, or failed,
    that is told. The job ends with what rules did, and also if a refused call is repeated.
    """

    code: int
    answers: Literal["used", "invalid", "repeated", "failed"]
    message: str = ""


USED = End(0, "used")
UNREACHABLE = "cannot reach the model server at "
ENDS = {
    "slow": End(3, "failed", "did not respond within 0.5 s; raise model.timeout_s"),
    "stops in the middle": End(3, "failed", UNREACHABLE),
    "prose": End(3, "invalid", "the answer has no tool call"),
    "half a call": End(3, "invalid", "the answer ends inside a string: "),
    "two calls": USED,
    "an unknown tool": End(3, "invalid", "unknown tool 'delete_files'"),
    "another tool's arguments": End(3, "invalid", " argument '"),
    "a number for a text": End(1, "repeated", "was called 3 times with the same result: "),
    "1 MB": End(3, "invalid", "more than 50,000 characters"),
    "1 MB of prose": End(3, "invalid", "the answer has 1,100,000 characters"),
    "nothing": End(3, "failed", "sent an unusable response: not JSON; check that there is an"),
    "busy once": USED,
    "busy": End(3, "failed", "returned status 429: too many requests; the server limits"),
    "fails": End(3, "failed", "returned status 500: out of memory; check the server's log"),
    "resets": End(3, "failed", UNREACHABLE),
    "dies": End(3, "failed", UNREACHABLE),
    "wrong key": End(3, "failed", "returned status 401: invalid key; no key was sent"),
    "replaced": End(3, "failed", "answers with the model 'other', and answered with 'm' before"),
    "truncates": End(3, "failed", "its context is smaller than it reports"),
    "counts too many tokens": USED,
    "counts less than none": USED,
    "counts in words": USED,
}
FAST = {
    ("docstring", "wrong key"),
    ("docstring", "truncates"),
    ("types", "prose"),
}
CASES = [
    pytest.param(*case, marks=() if case in FAST else pytest.mark.slow)
    for case in ((operation, fault) for operation in ADDED for fault in FAULTS)
]


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    return cart_project(tmp_path, {"pyproject.toml": PROJECT})


def analyze(user: Remora, root: Path, operation: str, fault: str) -> Done:
    quick = replace(user, environ={**(IMPATIENT if fault == "slow" else QUICK), **user.environ})
    with openai_server(FAULTS[fault]) as server:
        done = quick("analyze", "-o", operation, "--model", server.address, "--json", cwd=root)
    assert server.requests, done.err
    return done


def job_of(done: Done) -> dict[str, Any]:
    (job,) = done.document["jobs"]
    return dict(job)


def recorded_errors(user: Remora, root: Path) -> str:
    """Return the messages and hints of all errors in the job's stream."""
    events = user("trace", "show", TARGET, "--json", cwd=root).document["events"]
    errors = (each["data"] for each in events if each["type"] == "agent_error")
    return "\n".join(f"{each['message']}; {each['hint']}" for each in errors)


def added_lines(user: Remora, root: Path) -> Iterator[str]:
    """Yield the lines that the run would add to the user's files."""
    for line in user("diff", "last", cwd=root).out.splitlines():
        if line.startswith("+") and not line.startswith("+++"):
            yield line[1:]


def test_every_fault_has_an_end() -> None:
    assert set(ENDS) == set(FAULTS)


@pytest.mark.parametrize(("operation", "fault"), CASES)
def test_a_run_with_a_faulty_server_is_recorded(
    poor: Remora, cart: Path, operation: str, fault: str
) -> None:
    before = tree(cart)
    done = analyze(poor, cart, operation, fault)
    end, added = ENDS[fault], ADDED[operation]
    is_failure = end.answers in ("failed", "repeated")
    lines = added.answered if end.answers == "used" else added.by_rules
    endings = {"used": "no_change", "failed": "error"}
    status = "verified" if lines else endings.get(end.answers, "failed")
    job = job_of(done)
    code = 0 if end.answers == "repeated" and lines else end.code
    assert (done.code, job["status"]) == (code, status), done.err
    assert not is_failure or end.message in job["error"]
    assert "Traceback" not in done.err
    assert list(added_lines(poor, cart)) == lines
    assert end.answers == "repeated" or end.message in recorded_errors(poor, cart)
    assert tree(cart) == before
    verified = poor("trace", "verify", "--all", cwd=cart)
    assert verified.code == 0, verified.out


@pytest.mark.slow
def test_the_trace_shows_what_was_answered_and_kept(poor: Remora, cart: Path) -> None:
    analyze(poor, cart, "docstring", "busy once")
    shown = poor("trace", "show", TARGET, cwd=cart).out
    assert 'model_response  write_docstring(summary="Keep what a visitor picked.")' in shown
    analyze(poor, cart, "docstring", "replaced")
    lines = poor("show", "last", cwd=cart).out.splitlines()
    (again,) = (line for line in lines if line.startswith("  remora retry "))
    assert re.search(rf" {TARGET} --model http://127.0.0.1:\d+/v1$", again)
    done = poor(*shlex.split(again)[1:], cwd=cart)
    assert (done.code, "cannot reach" in done.err or "retrying" in done.err) == (3, True), done
    analyze(poor, cart, "docstring", "a number for a text")
    shown = poor("trace", "show", TARGET, cwd=cart).out
    assert shown.count("tool_result     write_docstring: error") == 3


def test_a_key_never_reaches_the_record(poor: Remora, cart: Path) -> None:
    key = "sk-secret-123456"
    said = {"error": {"message": f"bad key {key}"}}
    keyed = replace(poor, environ={**QUICK, **poor.environ, "REMORA_API_KEY": key})
    with openai_server(lambda handler, *_: send_json(handler, said, 401)) as server:
        done = keyed("analyze", "-o", "docstring", "--model", server.address, "--json", cwd=cart)
    assert (done.code, job_of(done)["stop_reason"]) == (3, "model_error")
    assert key not in done.out + done.err
    streams = (cart / ".agentfs").rglob("*.jsonl")
    assert all(key not in path.read_text() for path in streams)


PLAIN = {**QUICK, "REMORA_MODEL__RENDERER": "functiongemma"}
NATIVE = {**PLAIN, "REMORA_MODEL__DECODING": "tool_call"}


def in_own_format(user: Remora, root: Path, environ: dict[str, str], address: str) -> Done:
    wanted = ("analyze", "-o", "docstring", "--model", address, "--json")
    return replace(user, environ=environ)(*wanted, cwd=root)


def check_run(user: Remora, root: Path, done: Done) -> list[dict[str, Any]]:
    """Check that the answers were used and that the records are right; return the requests."""
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "verified"), done.err
    assert TEXT in user("diff", "last", cwd=root).out
    check_records(user, root)
    events = user("trace", "show", "cart.py:Cart.add", "--json", cwd=root).document["events"]
    return [event["data"] for event in events if event["type"] == "model_request"]


@pytest.mark.parametrize(
    "serve",
    [lambda: native_server("vllm"), lambda: native_server("ollama")],
    ids=["vllm", "ollama"],
)
def test_native_tool_calls(
    poor: Remora, cart: Path, serve: "type[AbstractContextManager[Server]]"
) -> None:
    with serve() as server:
        done = in_own_format(poor, cart, NATIVE, server.address)
    requests = check_run(poor, cart, done)
    assert {one["renderer"] for one in requests} == {"functiongemma_tools/2"}
    assert {one["tool_choice"] for one in server.requests} == {"auto"}


def test_plain_completions(poor: Remora, cart: Path) -> None:
    with completion_server() as server:
        done = in_own_format(poor, cart, PLAIN, server.address)
    requests = check_run(poor, cart, done)
    assert {one["renderer"] for one in requests} == {"functiongemma/3"}
    assert all(one["messages"] is None for one in requests)


def test_a_server_without_completions_names_the_other_way(poor: Remora, cart: Path) -> None:
    with native_server("ollama") as server:
        done = in_own_format(poor, cart, PLAIN, server.address)
    assert done.code == 3
    assert "does not support plain completions" in done.error["message"]
    assert "model.decoding to tool_call" in done.error["hint"]


@pytest.mark.slow
def test_llama_cpp_accepts_the_requests(poor: Remora, cart: Path, models: Path) -> None:
    """The weights are of another model, so its answers are no calls, and the run says so."""
    with independent_server(models / DEFAULT.file, context=1500) as address:
        done = in_own_format(poor, cart, {**PLAIN, "REMORA_MODEL__MAX_REQUESTS": "3"}, address)
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "no_change"), done.err
    assert job["invalid"] == 3
    assert poor("trace", "verify", "--all", cwd=cart).code == 0
