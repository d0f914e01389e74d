"""Streams with turns of every kind, for tests of queries."""

from typing import Any

import msgspec

from remora.ids import agent_id
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Event,
    ModelRequest,
    Payload,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.stream_writer import open_emitter

RUN, NODE, OTHER = "run-1", "node:src/a.py:A.f", "node:src/b.py:g"


class Agent:
    """Writes an agent's stream, turn by turn."""

    def __init__(
        self,
        folder: TraceFolder,
        run: str = RUN,
        operation: str = "lint",
        node: str = NODE,
        attempt: int = 1,
    ) -> None:
        self.name = agent_id(operation, run, node, attempt)
        self.path = folder.agent_stream(self.name)
        self._folder = folder
        self._identity = Identity(run, self.name, operation, node)
        self._clock = ticking()
        self.reopen()
        self.turn = 0
        self.packet = DecisionPacket(agent_id=self.name, run_id=run, goal="g" * 200)
        self.emit(AgentStart(packet=self.packet, attempt=attempt))

    def reopen(self) -> None:
        """Open the stream, or continue it."""
        self.writer = open_emitter(
            self.path,
            self._identity,
            blobs=self._folder.blobs,
            objects=self._folder.objects,
            durability="none",
            clock=self._clock,
        )

    def emit(self, payload: Payload, delta: PacketDelta | None = None) -> Event:
        event = self.writer.emit(payload, turn=self.turn, delta=delta)
        self.packet = apply(self.packet, event.packet_delta)
        return event

    def start_turn(self) -> None:
        self.turn += 1
        self.emit(TurnStart(), PacketDelta(turn=self.turn))

    def decide(self, tool: str = "apply_fix", by: str = "rule", tokens: int | None = None) -> None:
        digest = canonical_sha256(self.packet)
        if tokens is not None:
            self.emit(ModelRequest(prompt="?", prompt_tokens=tokens, packet_sha256=digest))
        self.emit(ToolCalled(tool=tool, decided_by=by, packet_sha256=digest))

    def result(self, tool: str = "apply_fix", output: Any = None, **said: Any) -> Event:
        action = new_action(tool, {"turn": self.turn}, "done", said.get("outcome", "success"))
        return self.emit(
            ToolResulted(tool=tool, raw_output=output, **said),
            PacketDelta(add_action=action, update_knowledge={f"k{self.turn}": "v" * 99}),
        )

    def whole_turn(
        self, tool: str = "apply_fix", output: Any = None, by: str = "rule", **said: Any
    ) -> Event:
        self.start_turn()
        self.decide(tool, by)
        return self.result(tool, output, **said)

    def failed_turn(self) -> None:
        self.start_turn()
        self.emit(AgentError(kind="bad_call", message="no call"), PacketDelta(set_error="no call"))

    def end(self, status: str = "submitted") -> None:
        self.emit(AgentEnd(status=status, stop_reason=status))
        self.writer.close()


class World:
    """Two runs: a job with a retry, another operation, another node, an interrupted agent."""

    def __init__(self, folder: TraceFolder) -> None:
        self.folder = folder
        self.first = Agent(folder)
        self.first.whole_turn(output='he said "Grüße"\nand left', duration_ms=7)
        self.first.whole_turn("read_code", output="é" * 40_000 + " Needle", outcome="partial")
        self.first.whole_turn("run_check", outcome="error")
        self.first.end("failed")
        self.second = Agent(folder, attempt=2)
        self.second.start_turn()
        self.second.decide(by="model", tokens=321)
        self.second.result(output="first")
        self.second.result(output="second")  # a call that was repeated
        self.second.failed_turn()
        self.second.end()
        self.doc = Agent(folder, operation="docstring")
        self.doc.whole_turn("write_docstring")
        self.doc.end()
        self.odd = Agent(folder, node="node:a:3#2@b.py:f")
        self.odd.whole_turn()
        self.odd.end()
        self.open = Agent(folder, run="run-2", node=OTHER)
        self.open.whole_turn(by="fallback")
        self.open.start_turn()
        self.open.decide("never_done")
        self.open.writer.close()

    @property
    def agents(self) -> list[Agent]:
        return [self.first, self.second, self.doc, self.odd, self.open]

    def lines(self, agent: Agent) -> list[bytes]:
        return agent.path.read_bytes().splitlines()


def parsed(line: bytes) -> dict[str, Any]:
    """Return a line as any JSON parser decodes it."""
    said: dict[str, Any] = msgspec.json.decode(line)
    return said
