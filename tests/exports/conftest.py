"""Streams of attempts that ask a model, for the tests of everything that exports them."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.chat import ToolCall, ToolSchema, Usage
from remora.exports.formats import export_chunks
from remora.exports.run_group import ExportCounts, RunGroup, all_groups
from remora.memory.budget import trim
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta, candidate, new_action
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    ContextUpdate,
    Event,
    Head,
    JobEnd,
    JobStart,
    ModelRequest,
    ModelResponse,
    Payload,
    Review,
    RunEnd,
    RunStart,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import Candidate, DecisionPacket, Fact
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.stream_writer import open_emitter
from tests.trace.conftest import folder

__all__ = ["folder"]

RUN = "run-1"
NODE = "node:src/a.py:f"
GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
TOOLS = (
    ToolSchema(
        name="fix",
        description="Fix one finding.",
        parameters={
            "type": "object",
            "properties": {"line": {"type": "integer"}, "note": {"type": "string"}},
        },
    ),
    ToolSchema(name="submit_result", parameters={"type": "object", "properties": {}}),
)
TWO = (candidate("fix", {"line": 1}, "first"), candidate("fix", {"line": 2}, "second"))


def made(number: int) -> str:
    """The answer that takes the candidate of TWO with this index."""
    return f'{{"tool":"fix","args":{{"line":{number + 1}}}}}'


class Attempt:
    """Plays the part of an agent in one attempt: appends, then applies."""

    def __init__(
        self,
        folder: TraceFolder,
        agent_id: str,
        *,
        asked: tuple[str, str] = ("lines/2", "grammar"),
        feedback: str | None = None,
        goal: str = "no findings",
    ) -> None:
        self.agent_id = agent_id
        self.renderer, self.strategy = asked
        self.packet = DecisionPacket(
            agent_id=agent_id,
            run_id=RUN,
            operation="lint",
            node_id=NODE,
            goal=goal,
            knowledge={"feedback": Fact(value=feedback, source_turn=0)} if feedback else {},
        )
        self.turn = 0
        self.requests: list[Event] = []
        self.writer = open_emitter(
            folder.agent_stream(agent_id),
            Identity(RUN, agent_id, "lint", NODE),
            blobs=folder.blobs,
            objects=folder.objects,
            clock=ticking(),
        )
        self.emit(
            AgentStart(
                packet=self.packet,
                tools=TOOLS,
                definition={"name": "linter", "description": "Keeps code clean."},
                model={"provider": "embedded", "name": "tiny"},
                renderer=self.renderer,
            )
        )

    def emit(self, payload: Payload, delta: PacketDelta | None = None) -> Event:
        event = self.writer.emit(payload, turn=self.turn, delta=delta)
        self.packet = apply(self.packet, event.packet_delta)
        return event

    def ask(self, candidates: Sequence[Candidate] = TWO, *, model: str = "") -> Event:
        """Begin a turn and send the request that the renderer makes, or send it to `model`."""
        self.turn += 1
        self.emit(TurnStart(), PacketDelta(turn=self.turn))
        self.emit(
            ContextUpdate(source="candidates"), PacketDelta(candidate_actions=tuple(candidates))
        )
        shown = trim(self.packet, 0)
        made = render(self.renderer, shown, TOOLS, self.strategy)
        tools = [msgspec.to_builtins(t) for t in TOOLS] if self.strategy == "tool_call" else []
        request = ModelRequest(
            messages=None if made.messages is None else msgspec.to_builtins(list(made.messages)),
            prompt=made.prompt,
            renderer=self.renderer,
            decoding={
                "strategy": self.strategy, "tools": tools,
                "max_tokens": 1, "temperature": 0.0, "seed": 7, "stop": ["<end_of_turn>"],
            },
            packet_sha256=canonical_sha256(shown),
            prompt_tokens=100,
            model=model,
        )  # fmt: skip
        self.requests.append(self.emit(request))
        return self.requests[-1]

    def answer(self, text: str, call: ToolCall | None = None) -> None:
        usage = Usage(prompt_tokens=100, completion_tokens=1, evaluated=40)
        self.emit(ModelResponse(text=text, call=call, usage=usage, finish_reason="stop"))

    def act(
        self, args: dict[str, Any], *, by: str = "model", choice: int | None = None, **result: Any
    ) -> None:
        digest = canonical_sha256(self.packet)
        self.emit(
            ToolCalled(
                tool="fix", args=args, decided_by=by, candidates=2, choice=choice,
                packet_sha256=digest,
            )
        )  # fmt: skip
        self.emit(
            ToolResulted(tool="fix", args=args, duration_ms=5, **result),
            PacketDelta(add_action=new_action("fix", args, "done", "success")),
        )

    def choose(self, number: int) -> None:
        """A whole turn in which the model takes the candidate with this index."""
        self.ask()
        self.answer(made(number))
        self.act({"line": number + 1}, choice=number, raw_output={"fixed": True})

    def fail(self, text: str = "no call") -> None:
        """A whole turn whose answer was no call."""
        self.ask()
        self.answer(text)
        self.emit(AgentError(kind="bad_call", message="not a call", packet_sha256="", trim=0))

    def end(self, *, verified: bool = True, status: str = "submitted") -> Head:
        checks = [{"name": "parses", "ok": verified, "detail": ""}]
        self.emit(SubmitResult(summary="it is done", checks=checks, verified=verified))
        self.emit(AgentEnd(status=status, stop_reason="submitted"))
        self.writer.close()
        return self.writer.head


class Run:
    """A run's own stream."""

    def __init__(self, folder: TraceFolder, run_id: str = RUN) -> None:
        self.folder = folder
        self.writer = open_emitter(
            folder.run_stream(run_id),
            Identity(run_id),
            blobs=folder.blobs,
            objects=folder.objects,
            clock=ticking(),
        )
        self.emit(RunStart(plan={"jobs": [{}]}, base={"commit": "c0ffee" * 6, "files": {}}))

    def emit(self, payload: Payload) -> Event:
        return self.writer.emit(payload, turn=0)

    def began(self, agent_id: str, number: int = 1) -> None:
        self.emit(JobStart(agent_id=agent_id, operation="lint", node_id=NODE, attempt=number))

    def ended(self, agent_id: str, head: Head) -> None:
        self.emit(
            JobEnd(agent_id=agent_id, operation="lint", node_id=NODE, status="submitted", head=head)
        )

    def said(self, agent_id: str, verdict: str, feedback: str | None = None) -> None:
        self.emit(Review(verdict=verdict, agent_id=agent_id, feedback=feedback))

    def close(self) -> None:
        self.emit(RunEnd(totals={"jobs": 1}))
        self.writer.close()


def everything(folder: TraceFolder) -> Any:
    return lambda: all_groups(folder)


def only(group: RunGroup) -> Any:
    return lambda: (group,)


def rows(folder: TraceFolder, form: Any, groups: Any = None) -> list[dict[str, Any]]:
    """The rows of a format, each from its own line of JSON."""
    return [json.loads(piece) for piece in exported(folder, form, groups)[0]]


def exported(
    folder: TraceFolder, form: Any, groups: Any = None
) -> tuple[list[bytes], ExportCounts]:
    tally = ExportCounts()
    found = list(export_chunks(folder, groups or everything(folder), form, tally))
    assert all(piece.endswith(b"\n") and piece.count(b"\n") == 1 for piece in found)
    return found, tally


def flip(path: Path, word: bytes) -> None:
    """Change one letter of a recorded word, as no writer would."""
    data = path.read_bytes()
    assert word in data
    path.write_bytes(data.replace(word, word[:-1] + bytes([word[-1] ^ 1]), 1))


@pytest.fixture
def golden(tmp_path: Path) -> TraceFolder:
    """The run of the golden streams, and agents of no run: FunctionGemma's and one of history."""
    folder = TraceFolder(tmp_path / "golden")
    folder.root.mkdir()
    folder.create()
    for path in sorted(GOLDEN.glob("*.jsonl")):
        first = next(iter(read_events(path)))
        name = first.agent_id or first.run_id
        place = folder.agent_stream(name) if first.agent_id else folder.run_stream(name)
        if path.stem in ("run", "lint-0", "lint-1", "lint-2", "functiongemma", "history"):
            shutil.copy(path, place)
    return folder
