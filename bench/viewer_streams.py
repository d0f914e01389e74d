"""A project with large streams, recorded by the product's writers, and an agent that keeps writing."""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import remora

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.chat import ToolSchema
from remora.ids import NodeKey, agent_id
from remora.memory.budget import fit
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, candidate
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    ContextUpdate,
    Head,
    ModelRequest,
    ModelResponse,
    Payload,
    RunEnd,
    RunStart,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.runs.project import Project
from remora.runs.records.agent_stream import job_end, job_start
from remora.runs.records.run_stream import open_run
from remora.trace.stream.line_builder import Identity
from tests.stream_writer import open_emitter

LIMIT = 12_000
"""Characters of a request."""
ERRORS = 3
"""Calls that fail before a failed agent ends."""
TOOLS = (
    ToolSchema(name="read_text", parameters={"properties": {"path": {"type": "string"}}}),
    ToolSchema(name="apply_fix", parameters={"properties": {"line": {"type": "integer"}}}),
)
TEXTS = [
    (str(path.name), path.read_text("utf-8").splitlines())
    for path in sorted(Path(remora.__file__).parent.glob("trace/*/*r.py"))[:8]
]
_Written = tuple[Payload, PacketDelta | None]


class Wanted(NamedTuple):
    """An agent to record, with the least number of bytes of its stream.

    `status` is that of its end. Without one, the stream has no end.
    """

    name: str
    size: int
    status: str | None = "failed"


def records_of(root: Path, environ: dict[str, str]) -> Project:
    return open_project(Invocation(environ=environ, folder=root, root=root))


def record_run(project: Project, run_id: str, wanted: Sequence[Wanted]) -> list[str]:
    """Record a run with a job for each agent, and return the IDs of the agents."""
    project.trace.create()
    jobs = [_job(run_id, each.name) for each in wanted]
    plan = {"jobs": [msgspec.to_builtins(job) for job in jobs], "operations": ["lint"]}
    with open_run(project, run_id) as run:
        run.append(RunStart(plan=plan, config={"model_name": "bench"}))
        for job, each in zip(jobs, wanted, strict=True):
            run.append(job_start(job))
            head = _record_agent(project, job, each)
            if each.status is not None:
                run.append(job_end(job, each.status, head))
        if all(each.status for each in wanted):
            run.append(RunEnd(totals={"failed": len(jobs)}))
    return [job.agent_id for job in jobs]


def _job(run_id: str, name: str) -> Job:
    node = f"node:src/shop/{name}.py:total"
    return Job(
        run_id=run_id,
        agent_id=agent_id("lint", run_id, NodeKey(node), 1),
        operation="lint",
        node_id=node,
        node_type="function",
        node_name="total",
        node_summary="def total(order: Order) -> Decimal",
        path=f"src/shop/{name}.py",
        qualname="total",
    )


def _record_agent(project: Project, job: Job, wanted: Wanted) -> Head:
    with AgentWriter(project, job, durability="none") as writer:
        path = project.trace.agent_stream(job.agent_id)
        while path.stat().st_size < wanted.size:
            writer.turn()
        if wanted.status == "failed":
            for _ in range(ERRORS):
                writer.turn(error="the text at this line is not the expected one")
        if wanted.status is not None:
            end = AgentEnd(status=wanted.status, stop_reason="max_turns")
            writer.emitter.emit(end, turn=writer.number)
        return writer.emitter.head


class AgentWriter:
    """An agent that asks a model each turn. Its turns are as long as those of a real one."""

    def __init__(self, project: Project, job: Job, *, durability: Any = "turn") -> None:
        self.number = 0
        self.memory = ContextManager({"goal": "Tidy total", "node_id": job.node_id})
        self.emitter = open_emitter(
            project.trace.agent_stream(job.agent_id),
            Identity(job.run_id, job.agent_id, job.operation, job.node_id),
            blobs=project.trace.blobs,
            durability=durability,
        )
        start = AgentStart(packet=self.memory.packet, tools=TOOLS, renderer="lines/2")
        self.emitter.emit(start, turn=0)

    def __enter__(self) -> "AgentWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.emitter.close()

    def turn(self, error: str | None = None) -> None:
        """Append all events of the next turn."""
        for written in chain(self.asked(), self.answered(error)):
            self.append(written)
        self.emitter.end_turn()

    def append(self, written: _Written) -> None:
        payload, delta = written
        event = self.emitter.emit(payload, turn=self.number, delta=delta)
        self.memory.packet = apply(self.memory.packet, event.packet_delta)

    def asked(self) -> Iterator[_Written]:
        """Yield the events of the next turn until a model is asked. Append each before the next."""
        self.number += 1
        turn = self.number
        yield TurnStart(), PacketDelta(turn=turn)
        facts = {f"node:src/shop/part_{turn % 7}.py:total": {"signature": "def total(order)"}}
        yield ContextUpdate(source="hub", value=facts), PacketDelta(hub_context=facts)
        self._offered = tuple(
            candidate("read_text", {"path": _text(turn + n)[0]}, "a caller") for n in range(3)
        )
        yield ContextUpdate(source="candidates"), PacketDelta(candidate_actions=self._offered)
        fitted = fit(self.memory.packet, LIMIT, _size)
        self._shown: dict[str, Any] = {
            "packet_sha256": canonical_sha256(fitted.packet),
            "trim": fitted.trim,
        }
        yield (
            ModelRequest(
                messages=[msgspec.to_builtins(message) for message in _rendered(fitted.packet)],
                renderer="lines/2",
                decoding={"strategy": "grammar"},
                prompt_tokens=900 + turn % 400,
                **self._shown,
            ),
            None,
        )

    def answered(self, error: str | None = None) -> Iterator[_Written]:
        """Yield the other events of the turn."""
        yield ModelResponse(text='{"tool":"read_text","args":{}}'), None
        call: dict[str, Any] = {"tool": "read_text", "args": self._offered[0].args}
        yield ToolCalled(**call, decided_by="model", **self._shown), None
        path, text = _text(self.number)
        outcome: dict[str, Any] = (
            {"outcome": "error", "error": error} if error else {"outcome": "success"}
        )
        result = ToolResulted(
            **call, **outcome, raw_output={"path": path, "text": text}, duration_ms=3
        )
        yield result, self.memory.delta_for(msgspec.structs.asdict(result))


def _text(number: int) -> tuple[str, str]:
    """Return the name and a part of a real file, which has some KB."""
    name, lines = TEXTS[number % len(TEXTS)]
    first = (number * 7) % max(1, len(lines) - 100)
    return name, "\n".join(lines[first : first + 200])


def _rendered(packet: DecisionPacket) -> Sequence[Any]:
    return render("lines/2", packet, TOOLS, "grammar").messages or ()


def _size(packet: DecisionPacket) -> int:
    return sum(len(message.content) for message in _rendered(packet))


def keep_writing(root: Path, run_id: str, turns: int) -> None:
    """Append turns to a new stream at random moments, when stdin has a line.

    Print the agent's ID, and then the turn, a part of its row and the time at which the event with
    it was written: `row` for the first event, and `outcome` for the last.
    """
    import os

    project, job = records_of(root, dict(os.environ)), _job(run_id, "live")
    moments = random.Random(16)
    with AgentWriter(project, job) as writer:
        print(job.agent_id, flush=True)
        sys.stdin.readline()
        for _ in range(turns):
            for part, events in (("row", writer.asked()), ("outcome", writer.answered())):
                time.sleep(moments.uniform(0, 0.4))
                written = time.time()
                for event in events:
                    if part == "outcome" or isinstance(event[0], TurnStart):
                        written = time.time()
                    writer.append(event)
                print(writer.number, part, written, flush=True)
            writer.emitter.end_turn()
        sys.stdin.readline()


if __name__ == "__main__":
    keep_writing(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
