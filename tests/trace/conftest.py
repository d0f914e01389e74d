"""Streams as a runner writes them, for tests of readers."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.chat import ToolSchema
from remora.ids import agent_id
from remora.memory.budget import trim
from remora.memory.canonical import canonical_sha256
from remora.memory.delta import PacketDelta, candidate, new_action
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Change,
    ContextUpdate,
    Event,
    Head,
    JobEnd,
    JobStart,
    ModelRequest,
    ModelResponse,
    Payload,
    RunEnd,
    RunStart,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import Constraints, DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.anchor_check import RunAnchors
from remora.trace.verify.content_check import ContentStores
from remora.trace.verify.stream_check import VerifyTarget
from tests.clock import ticking
from tests.stream_writer import open_emitter

RUN = "run-1"
NODE = "node:src/a.py:f"
AGENT = agent_id("lint", RUN, NODE, 1)
TOOLS = (ToolSchema(name="apply_fix", parameters={"properties": {"line": {"type": "integer"}}}),)
BASE = {"src/a.py": b"import os\nimport re\n", "src/gone.py": None}


def agent_identity(name: str = AGENT) -> Identity:
    return Identity(RUN, name, "lint", NODE)


class Recorder:
    """Writes an agent's stream as a runner does: appends, applies, and keeps each turn's packet and
    files."""

    def __init__(self, folder: TraceFolder, name: str = AGENT) -> None:
        self.folder = folder
        self.name = name
        self.reopen()
        self.packet = DecisionPacket(
            agent_id=name,
            run_id=RUN,
            operation="lint",
            node_id=NODE,
            goal="no findings",
            constraints=Constraints(max_turns=12, safety=("parses",)),
        )
        self.turn = 0
        self.files: dict[str, bytes | None] = dict(BASE)
        self.shown: dict[int, DecisionPacket] = {}
        self.full: dict[int, DecisionPacket] = {}
        self.left: dict[int, dict[str, bytes | None]] = {0: dict(self.files)}
        self.emit(AgentStart(packet=self.packet, tools=TOOLS, renderer="lines/2"))

    def reopen(self) -> None:
        """Open the stream, or continue it."""
        self.writer = open_emitter(
            self.folder.agent_stream(self.name),
            agent_identity(self.name),
            blobs=self.folder.blobs,
            objects=self.folder.objects,
            clock=ticking(),
        )

    def emit(self, payload: Payload, delta: PacketDelta | None = None) -> Event:
        event = self.writer.emit(payload, turn=self.turn, delta=delta)
        self.packet = apply(self.packet, event.packet_delta)
        return event

    def start_turn(self, *candidates: dict[str, Any]) -> None:
        self.turn += 1
        self.emit(TurnStart(), PacketDelta(turn=self.turn))
        offered = tuple(candidate("apply_fix", args, "a finding") for args in candidates)
        self.emit(ContextUpdate(source="candidates"), PacketDelta(candidate_actions=offered))

    def ask(self, steps: int = 0) -> tuple[str, int]:
        """Record a model request and its answer; return what a decision of this turn names."""
        self.full[self.turn] = self.packet
        self.shown[self.turn] = shown = trim(self.packet, steps)
        digest = canonical_sha256(shown)
        rendered = render("lines/2", shown, TOOLS, "grammar")
        self.emit(
            ModelRequest(
                messages=[msgspec.to_builtins(message) for message in rendered.messages or ()],
                prompt=rendered.prompt,
                renderer="lines/2",
                decoding={"strategy": "grammar"},
                packet_sha256=digest,
                trim=steps,
            )
        )
        self.emit(ModelResponse(text='{"tool":"apply_fix","args":{}}'))
        return digest, steps

    def decide(self, args: dict[str, Any], steps: int = 0) -> None:
        digest, _ = self.ask(steps)
        self.emit(
            ToolCalled(
                tool="apply_fix", args=args, decided_by="model", packet_sha256=digest, trim=steps
            )
        )

    def misunderstand(self, steps: int = 0) -> None:
        digest, _ = self.ask(steps)
        self.emit(
            AgentError(kind="bad_call", message="no call", packet_sha256=digest, trim=steps),
            PacketDelta(set_error="no call"),
        )
        self.end_turn()

    def result(
        self, changes: dict[str, bytes | None], raw_output: Any = None, **delta: Any
    ) -> None:
        recorded = tuple(self._change(p, self.files.get(p), c) for p, c in changes.items())
        self.files.update(changes)
        self.emit(
            ToolResulted(tool="apply_fix", raw_output=raw_output, changes=recorded),
            PacketDelta(
                add_action=new_action("apply_fix", {"turn": self.turn}, "fixed", "success"), **delta
            ),
        )
        self.end_turn()

    def end_turn(self) -> None:
        self.left[self.turn] = dict(self.files)
        self.writer.end_turn()

    def end(self) -> Head:
        changed = {p: c for p, c in self.files.items() if c != BASE.get(p)}
        change_set = tuple(self._change(p, BASE.get(p), c) for p, c in changed.items())
        self.emit(
            AgentEnd(
                status="submitted",
                stop_reason="submitted",
                change_set=change_set,
                change_set_sha256=canonical_sha256(change_set),
            )
        )
        self.writer.close()
        return self.writer.head

    def _change(self, path: str, before: bytes | None, after: bytes | None) -> Change:
        return Change(path=path, before=self._put(before), after=self._put(after), mode=0o644)

    def _put(self, content: bytes | None) -> str | None:
        return None if content is None else self.folder.objects.put(content)


def base_files(folder: TraceFolder) -> dict[str, Any]:
    """Return the base as in `run_start`, with its contents stored."""
    return {
        path: content and {"sha256": folder.objects.put(content), "mode": 0o644}
        for path, content in BASE.items()
    }


class RunRecorder:
    """Writes a run's own stream."""

    def __init__(self, folder: TraceFolder, run_id: str = RUN) -> None:
        self.writer = open_emitter(
            folder.run_stream(run_id),
            Identity(run_id),
            blobs=folder.blobs,
            objects=folder.objects,
            clock=ticking(),
        )
        if not self.writer.head.count:
            self.emit(RunStart(base={"commit": None, "files": base_files(folder)}))

    @classmethod
    def reopen(cls, folder: TraceFolder) -> "RunRecorder":
        """Open the run's stream, or continue it."""
        return cls(folder)

    def emit(self, payload: Payload) -> Event:
        return self.writer.emit(payload, turn=0)

    def job_start(self, name: str = AGENT) -> None:
        self.emit(JobStart(agent_id=name, operation="lint", node_id=NODE))

    def job_end(self, head: Head, name: str = AGENT) -> None:
        self.emit(
            JobEnd(agent_id=name, operation="lint", node_id=NODE, status="submitted", head=head)
        )

    def end(self) -> Head:
        self.emit(RunEnd(totals={"jobs": 1}))
        self.writer.close()
        return self.writer.head


def play_agent(folder: TraceFolder, name: str = AGENT) -> Recorder:
    """Record a whole job: four turns, one with a bad call, two changes, one long output."""
    agent = Recorder(folder, name)
    agent.start_turn({"line": 1}, {"line": 2}, {"line": 3})
    agent.decide({"line": 1}, steps=1)
    agent.result(
        {"src/a.py": b"import re\n"},
        raw_output={"log": "é" * 40_000 + "\nend"},
        update_knowledge={"F401": "line=1"},
    )
    agent.start_turn({"line": 2})
    agent.misunderstand()
    agent.start_turn({"line": 2})
    agent.decide({"line": 2})
    agent.result({"src/a.py": b"", "src/new.py": b"x = 1\n"}, set_error=None)
    agent.start_turn()
    agent.decide({})
    agent.result({})
    return agent


def play_run(folder: TraceFolder) -> tuple[RunRecorder, Recorder]:
    """Record a run of one job; both end."""
    run = RunRecorder(folder)
    run.job_start()
    agent = play_agent(folder)
    run.job_end(agent.end())
    run.end()
    return run, agent


def rechained(lines: list[bytes]) -> bytes:
    """Return a stream of these lines (without newlines) with every hash corrected, as a forger
    would."""
    previous, stream = "0" * 64, b""
    for line in lines:
        body = line[:-75]
        previous = sha256(previous.encode() + body).hexdigest()
        stream += body + b',"hash":"' + previous.encode() + b'"}\n'
    return stream


def target(folder: TraceFolder, path: Path, *, of_run: bool = False) -> VerifyTarget:
    """Return a verification target for a stream by itself."""
    anchors = RunAnchors() if of_run else None
    return VerifyTarget(path=path, stores=ContentStores(folder), anchors=anchors)


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    """A new project's `.agentfs/`."""
    made = TraceFolder(tmp_path)
    made.create()
    return made
