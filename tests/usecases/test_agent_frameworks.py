"""The examples for public agent frameworks: real tool loops, a real server, and verified streams."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.memory.events import AgentStart, ModelRequest, decode_event, payload
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.render import render
from tests.cli.conftest import Remora, user_without_weights, write
from tests.openai_server import Handler, answer, openai_server, send_json

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
TURNS = 25
SOURCE = "import os\n" + "".join(f"value_{n} = {n}\n" for n in range(60))

TOLD = """
import sys
from functools import wraps
import lint_tools
from lint_tools import INSTRUCTIONS
_, path, base_url, model = sys.argv
def told(function):
    @wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return str(error)
    return run
TOOLS = [told(each) for each in lint_tools.TOOLS]
"""
"""The tools with their errors as output. Pydantic AI ends the run at other errors."""
WITHOUT = {
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
server = OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key="none"))
Agent(server, tools=TOOLS, instructions=INSTRUCTIONS).run_sync(f"Fix the lint findings of {path}")
""",
    "openai_agents": """
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
server = OpenAIChatCompletionsModel(model, AsyncOpenAI(base_url=base_url, api_key="none"))
tools = [function_tool(each) for each in TOOLS]
agent = Agent(name="tidy", instructions=INSTRUCTIONS, tools=tools, model=server)
Runner.run_sync(agent, f"Fix the lint findings of {path}", max_turns=50)
""",
}
"""The same loops without Remora, for comparison."""
PACKAGES = {"pydantic_ai": "pydantic_ai", "openai_agents": "agents"}

OBSERVE = """
import os, sys
def see(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] != "127.0.0.1":
        with open(os.environ["OUTSIDE"], "a") as file:
            print(args[1], file=file)
        raise ConnectionRefusedError("only loopback")
sys.addaudithook(see)
"""


def decide(number: int) -> dict[str, Any]:
    """Lint, read and edit in turn. The first edit fixes the file, and the second one fails."""
    if number == TURNS:
        return answer(text="Removed the unused import.")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("lint", {"path": "a.py"}),
        ("read", {"path": "a.py", "first": 1, "last": 40}),
        ("edit", {"path": "a.py", "line": 1, "old": "import os" if number < 4 else "x", "new": ""}),
    ]
    return answer(calls[(number - 1) % 3])


@contextmanager
def scripted(
    see: Callable[[], None], script: Callable[[int], dict[str, Any] | None] = decide
) -> Iterator[Any]:
    """A server of chat completions. It calls `see` before it answers, and refuses if the script ends."""

    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        see()
        if (body := script(number)) is None:
            send_json(handler, {"error": {"message": "too many"}}, 400)
            return
        for call in body["choices"][0]["message"].get("tool_calls", ()):
            call["id"] += f"-{number}"
        send_json(handler, {**body, "id": f"answer-{number}", "created": 1})

    with openai_server(chat) as server:
        yield server


@dataclass(frozen=True)
class Recorded:
    """An example that ran once.

    `requests` are what the server got, and `seen` the last recorded messages at that moment.
    """

    name: str
    remora: Remora
    root: Path
    agent: str
    requests: list[dict[str, Any]]
    seen: list[list[dict[str, Any]] | None]
    full: list[dict[str, Any]]
    outside: Path

    def __call__(self, *args: str) -> Any:
        return self.remora(*args, cwd=self.root)

    @property
    def stream(self) -> Path:
        return self.root / ".agentfs" / "traces" / f"{self.agent}.jsonl"


def last_messages(root: Path) -> list[dict[str, Any]] | None:
    """The messages of the last event, if this is a request."""
    (path,) = (root / ".agentfs" / "traces").glob("*.jsonl")
    last = payload(decode_event(path.read_bytes().splitlines()[-1]))
    return last.messages if isinstance(last, ModelRequest) else None


def run_python(
    remora: Remora, root: Path, place: Path, *args: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program that can only connect to this machine."""
    write(place, {"observed/sitecustomize.py": OBSERVE})
    extra = {"PYTHONPATH": f"{place / 'observed'}:{EXAMPLES}", "OUTSIDE": str(place / "outside")}
    return subprocess.run(
        [sys.executable, *args],
        cwd=root,
        env={**remora.environment, **extra},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def require(name: str) -> None:
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{name} is not installed; `make setup-all` installs it")


@pytest.fixture(scope="module", params=sorted(WITHOUT))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    name: str = request.param
    require(name)
    place = tmp_path_factory.mktemp(name)
    remora = user_without_weights(place / "home")
    root = write(place / "project", {"a.py": SOURCE, "remora.yaml": ""})
    seen: list[list[dict[str, Any]] | None] = []
    with scripted(lambda: seen.append(last_messages(root))) as server:
        example = str(EXAMPLES / f"{name}_memory.py")
        done = run_python(remora, root, place, example, "a.py", server.address, "m")
    assert done.returncode == 0, done.stderr
    assert (root / "a.py").read_text() == SOURCE.removeprefix("import os\n")
    text, agent = done.stdout.splitlines()
    assert text == "Removed the unused import."
    plain = write(place / "plain", {"a.py": SOURCE})
    with scripted(lambda: None) as full:
        write(place, {"without.py": TOLD + WITHOUT[name]})
        without = str(place / "without.py")
        done = run_python(remora, plain, place, without, "a.py", full.address, "m")
    assert done.returncode == 0, done.stderr
    return Recorded(
        name, remora, root, agent, server.requests, seen, full.requests, place / "outside"
    )


def test_the_model_sees_what_is_in_the_stream_and_nothing_else(recorded: Recorded) -> None:
    sent = [request["messages"] for request in recorded.requests]
    assert len(sent) == TURNS
    by_role = [{m["role"]: m["content"] for m in messages} for messages in sent]
    assert [list(roles) for roles in by_role] == [["system", "user"]] * TURNS
    was = [{m["role"]: m["content"] for m in messages or ()} for messages in recorded.seen]
    assert was == by_role, "each request was in the stream before it was sent"
    first = payload(decode_event(recorded.stream.read_bytes().splitlines()[0]))
    assert isinstance(first, AgentStart)
    told = {one.name: (one.description, one.parameters) for one in first.tools}
    assert told.keys() == {"lint", "read", "edit"}
    for request in recorded.requests:
        got = [tool["function"] for tool in request["tools"]]
        assert {one["name"]: (one["description"], one["parameters"]) for one in got} == told
    assert not recorded.outside.exists(), "nothing connects outside"


def test_each_turns_packet_gives_the_bytes_that_were_sent(recorded: Recorded) -> None:
    for number, request in enumerate(recorded.requests, 1):
        shown = recorded("trace", "packet", recorded.agent, "--turn", str(number)).document
        packet = msgspec.convert(shown, DecisionPacket)
        messages = render("packet/1", packet, (), "tool_call").messages or ()
        sent = {m["role"]: m["content"].encode() for m in request["messages"]}
        assert {m.role: m.content.encode() for m in messages} == sent


def test_requests_stay_small_while_the_history_grows(
    recorded: Recorded, record_property: Callable[[str, object], None]
) -> None:
    def size(request: dict[str, Any]) -> int:
        return len(json.dumps(request["messages"]).encode())

    ours, theirs = [*map(size, recorded.requests)], [*map(size, recorded.full)]
    assert len(ours) == len(theirs) == TURNS
    assert all(before < after for before, after in pairwise(theirs))
    assert ours[11] < theirs[11] / 2
    assert max(ours[12:]) < 1.05 * max(ours[:12]), "after ten actions a packet grows no more"
    assert ours[-1] < theirs[-1] / 4
    record_property(
        "measured",
        f"{recorded.name}: messages of turns 6, 12 and 25: {ours[5]}, {ours[11]}, {ours[24]} bytes "
        f"with packets, {theirs[5]}, {theirs[11]}, {theirs[24]} with the history",
    )


def test_the_run_is_verified_and_shown_like_any_other(recorded: Recorded) -> None:
    verified = recorded("trace", "verify", "--json")
    assert verified.code == 0, verified.out
    assert recorded("trace", "list", "--json").document["streams"][0]["turns"] == TURNS
    told = recorded("trace", "transcript", recorded.agent).out
    assert all(f"== turn {number} ==" in told for number in range(1, TURNS + 1))
    assert "line 1 is 'value_0 = 0'" in told, "the error of a tool"
    assert recorded("trace", "show", recorded.agent).code == 0
    job = recorded("show", "--json").document["jobs"][0]
    assert (job["status"], job["turns"], job["why"]) == (
        "no_change",
        TURNS,
        "Removed the unused import.",
    )


def test_a_changed_byte_is_found(recorded: Recorded) -> None:
    good = recorded.stream.read_bytes()
    place = good.index(b"Removed the unused import.")
    line = good[:place].count(b"\n") + 1
    try:
        recorded.stream.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        verified = recorded("trace", "verify", recorded.agent)
        assert verified.code == 1
        assert f"line {line}: chain: the line does not match its hash" in verified.out
    finally:
        recorded.stream.write_bytes(good)


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_bad_calls_parallel_calls_and_a_refusing_server(name: str, tmp_path: Path) -> None:
    require(name)
    remora = user_without_weights(tmp_path / "home")
    root = write(tmp_path / "project", {"a.py": SOURCE, "remora.yaml": ""})
    script = {
        1: answer(("lint", {"wrong": 1})),
        2: answer(("lint", {"path": "a.py"}), ("read", {"path": "a.py", "first": 1, "last": 2})),
    }
    with scripted(lambda: None, script.get) as server:
        example = str(EXAMPLES / f"{name}_memory.py")
        done = run_python(remora, root, tmp_path, example, "a.py", server.address, "m")
    assert done.returncode == 1
    assert "400" in done.stderr
    shown = [request["messages"][-1]["content"] for request in server.requests]
    assert "lint(wrong=1) -> error" in shown[1]
    assert "Error: " in shown[1]
    assert "the tool was not run" not in shown[1], "the model is told the reason"
    assert 'lint(path="a.py") -> 2 findings' in shown[2]
    assert "Code:\na.py 1-2\n1| import os\n2| value_0 = 0" in shown[2]
    assert remora("trace", "verify", cwd=root).code == 0
    (stream,) = remora("trace", "list", "--json", cwd=root).document["streams"]
    assert (stream["status"], stream["turns"]) == ("error", 3)
