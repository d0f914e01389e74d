"""FunctionGemma is used in its own format: over plain completions, and by native tool calls."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.models.embedded.weights import FILE
from tests.cli.conftest import Done, Remora
from tests.functiongemma_server import TEXT, completion_server, native_server
from tests.independent_server import independent_server
from tests.openai_server import Server

PLAIN = {
    "REMORA_MODEL__RENDERER": "functiongemma",
    "REMORA_RUNNER__DECISIONS": "model",
    "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000",
}
NATIVE = {**PLAIN, "REMORA_MODEL__DECODING": "tool_call"}


def analyze(user: Remora, root: Path, environ: dict[str, str], address: str) -> Done:
    wanted = ("analyze", "-o", "docstring", "--model", address, "--json")
    return replace(user, environ=environ)(*wanted, cwd=root)


def check_run(user: Remora, root: Path, done: Done) -> list[dict[str, Any]]:
    """Check that the answers were used and that the records are right; return the requests."""
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "verified"), done.err
    assert TEXT in user("diff", "last", cwd=root).out
    for command in ("verify", "replay"):
        checked = user("trace", command, "--all", cwd=root)
        assert checked.code == 0, checked.out
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
        done = analyze(poor, cart, NATIVE, server.address)
    requests = check_run(poor, cart, done)
    assert {one["renderer"] for one in requests} == {"functiongemma_tools/1"}
    assert {one["tool_choice"] for one in server.requests} == {"auto"}


def test_plain_completions(poor: Remora, cart: Path) -> None:
    with completion_server() as server:
        done = analyze(poor, cart, PLAIN, server.address)
    requests = check_run(poor, cart, done)
    assert {one["renderer"] for one in requests} == {"functiongemma/2"}
    assert all(one["messages"] is None for one in requests)


def test_a_server_without_completions_names_the_other_way(poor: Remora, cart: Path) -> None:
    with native_server("ollama") as server:
        done = analyze(poor, cart, PLAIN, server.address)
    assert done.code == 3
    assert "does not support plain completions" in done.error["message"]
    assert "model.decoding to tool_call" in done.error["hint"]


@pytest.mark.slow
def test_llama_cpp_accepts_the_requests(poor: Remora, cart: Path, models: Path) -> None:
    """The weights are of another model, so its answers are no calls, and the run says so."""
    with independent_server(models / FILE, context=1500) as address:
        done = analyze(poor, cart, {**PLAIN, "REMORA_MODEL__MAX_REQUESTS": "3"}, address)
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "no_change"), done.err
    assert job["invalid"] == 3
    assert poor("trace", "verify", "--all", cwd=cart).code == 0
