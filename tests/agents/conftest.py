"""One agent on one node of a tiny project, written to a real stream and checked each time."""

import asyncio
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.agents.decision.query_settings import Deciding, QuerySettings, Rung
from remora.agents.definition.agent import Agent, load_agent
from remora.agents.fork import fork_point_at, fork_start
from remora.agents.inputs.hub_pull import NodeFacts, NoHub
from remora.agents.job import AgentResult, Job
from remora.agents.loop.dependencies import AgentDependencies
from remora.agents.loop.runner import AgentRunner
from remora.bootstrap.operations import BUILT_IN
from remora.chat import ToolCall
from remora.errors import ModelError
from remora.files.project_files import project_files
from remora.ids import agent_id, node_key
from remora.memory.events import Event, Payload, payload
from remora.memory.projection import replay
from remora.models.client.retry_policy import RequestLimits
from remora.models.embedded.embedded_model import EmbeddedModel
from remora.models.protocol import Capabilities, Model, Request, Strategy
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_base import RuffBase
from remora.tools.tree import ToolTree
from remora.trace.read.reader import read_events
from remora.trace.redact.redactor import Redactor
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import take_base
from tests.clock import ticking
from tests.models.conftest import weights_cache
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS, STEP_LINT
from tests.stream_writer import open_emitter

__all__ = ["weights_cache"]

RUN = "run-1"
REDACT = Redactor(key=bytes(32))
SOURCE = 'import os\n\n\ndef f():\n    """Eff."""\n    return 1\n\n\ndef g():\n    return 2\n'
SUBMIT = '{"tool":"submit_result","args":{}}'
LARGER = QuerySettings(renderer="long_track/1", strategy="grammar", limit=9000, decisions="model")
Answers = Sequence[str | ToolCall | ModelError] | Callable[[Request], str | ToolCall | ModelError]


@dataclass(frozen=True, kw_only=True)
class Play:
    """What is played: the agent, the file, how the model is asked."""

    agent: Agent
    answers: Answers = ()
    model: Model | None = None
    source: str | bytes = SOURCE
    node: str = "f"
    strategy: Strategy = "grammar"
    renderer: str = "lines/2"
    decisions: Deciding = "model"
    opening: bool = True
    max_requests: int = 100
    larger: Model | None = None
    limit: int = 3000
    max_turns: int = 12
    facts: NodeFacts = field(default_factory=NoHub)
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    python: ProjectPython | None = None


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of it, and what lies on disk."""

    result: AgentResult
    events: list[Event]
    runner: AgentRunner
    model: Model
    folder: TraceFolder
    after: bytes | None

    def payloads(self, kind: type[Payload]) -> list[Any]:
        return [data for event in self.events if isinstance(data := payload(event), kind)]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]


class Theatre:
    """A folder with a project in it, in which agents play."""

    def __init__(self, folder: Path, loop: asyncio.Runner) -> None:
        self.folder = folder
        self.loop = loop
        self.count = 0

    def agent(self, yaml: str, **scripts: str) -> Agent:
        """An agent of the project's own; `scripts` by name without `.pym`."""
        self.count += 1
        place = self.folder / f"agent-{self.count}"
        place.mkdir()
        (place / "agent.yaml").write_text(textwrap.dedent(yaml))
        for name, text in scripts.items():
            (place / f"{name}.pym").write_text(textwrap.dedent(text))
        return load_agent(place, BUILT_IN)

    def tool(
        self, script: str, *, grants: Sequence[str] = (), more: str = "", **further: str
    ) -> Agent:
        """An agent with the one tool `act`."""
        yaml = "name: own\noperation: own\ngoal: Look at {node_name}\ntools:\n"
        yaml += f"  - {{name: act, script: act.pym, grants: [{', '.join(grants)}]}}\n"
        return self.agent(yaml + textwrap.dedent(more), act=script, **further)

    def play(self, play: Play) -> Played:
        """Run it. The stream must verify, and fold to the packet that the runner holds."""
        self.count += 1
        root = self.folder / f"play-{self.count}" / "project"
        root.mkdir(parents=True)
        source = play.source if isinstance(play.source, bytes) else play.source.encode()
        (root / "mod.py").write_bytes(source)
        for name, text in play.files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        TraceFolder(root).create()
        played = self._played(play, root)
        assert (root / "mod.py").read_bytes() == source, "the user's file is untouched"
        return played

    def go_on(self, play: Play, played: Played, events: int) -> Played:
        """Run it again from its first `events` lines: all that a kill left."""
        self.count += 1
        place = self.folder / f"play-{self.count}"
        root = place / "project"
        shutil.copytree(played.folder.root, root)
        (stream,) = TraceFolder(root).agent_streams()
        stream.write_bytes(b"".join(stream.read_bytes().splitlines(keepends=True)[:events]))
        return self._played(play, root)

    def fork(self, play: Play, played: Played, turn: int) -> Played:
        """Run a second attempt, which begins before the decision of a turn."""
        self.count += 1
        root = self.folder / f"play-{self.count}" / "project"
        shutil.copytree(played.folder.root, root)
        return self._played(play, root, forked=(played.events, turn))

    def _played(
        self, play: Play, root: Path, forked: tuple[list[Event], int] | None = None
    ) -> Played:
        base = take_base(root, project_files(root), root.parent / "base")
        folder = TraceFolder(root)
        job = a_job(play.node, play.agent.definition.operation, attempt=2 if forked else 1)
        identity = Identity(RUN, job.agent_id, job.operation, job.node_id)
        clock = ticking()
        model = play.model or scripted(play.answers)
        path = folder.agent_stream(job.agent_id)
        with (
            SlotDriver(base, root.parent / "cache" / "slots").open() as workspace,
            closing(RuffBase(base.folder)) as ruff,
        ):
            writer = open_emitter(
                path, identity, blobs=folder.blobs, objects=folder.objects, clock=clock
            )
            ancestors: list[Event] = []
            if forked:
                point = fork_point_at(*forked)
                ancestors = forked[0][: point.seq + 1]
                writer.emit(fork_start(point, job), turn=0)
                writer.flush()
            seen: list[Event] = []
            stage = AgentDependencies(
                redact=REDACT,
                agent=play.agent,
                checks=BUILT_IN.checks,
                model=model,
                settings=QuerySettings(
                    renderer=play.renderer,
                    strategy=play.strategy,
                    limit=play.limit,
                    decisions=play.decisions,
                    opening=play.opening,
                    max_requests=play.max_requests,
                ),
                larger=Rung(play.larger, LARGER) if play.larger else None,
                emitter=writer,
                workspace=workspace,
                objects=folder.objects,
                blobs=folder.blobs,
                facts=play.facts,
                findings_before=Ruff(ToolTree(base.folder), ruff).check_file,
                ruff=partial(Ruff, base=ruff, is_like_base=workspace.has_settings_of_base),
                clock=clock,
                on_event=seen.append,
                max_turns=play.max_turns,
                options=play.options,
                python=play.python,
                recorded=list(read_events(path)),
                ancestors=ancestors,
                rebased={},
                answers=None,
                user_file=None,
            )
            runner = AgentRunner(job, stage)
            with writer:
                result = self.loop.run(runner.run(), context=copy_context())
            after = workspace.read("mod.py")
        events = list(read_events(path))
        assert [event.hash for event in seen] == [event.hash for event in events]
        assert verify_problems(folder) == []
        assert replay(events) == runner.context.packet
        return Played(
            result=result, events=events, runner=runner, model=model, folder=folder, after=after
        )


def told(played: Played) -> list[tuple[Any, ...]]:
    """What the stream says, but for when: `recovered` and repeated requests aside."""
    kept: list[tuple[Any, ...]] = []
    for event in played.events:
        data = msgspec.json.decode(event.data)
        for name in ("duration_ms", "clock", "parent", "timestamp"):
            data.pop(name, None)
        for made in data.get("host_calls") or ():
            made.pop("duration_ms", None)
        told = (event.turn, event.type, data, msgspec.to_builtins(event.packet_delta))
        if event.type == "model_request" and kept and kept[-1] == told:
            continue  # asked again: the answer had not come
        kept.append(told)
    return kept


def check_every_cut(theatre: Theatre, play: Play) -> Played:
    whole = theatre.play(play)
    for count in range(len(whole.events)):
        again = theatre.go_on(play, whole, count)
        assert told(again) == told(whole), f"cut after {count} events"
        assert again.after == whole.after
        assert msgspec.structs.replace(again.result, head=whole.result.head) == whole.result
        assert again.runner.context.packet == whole.runner.context.packet
        assert [m for m in again.runner.messages if m["role"] == "assistant"] == [
            m for m in whole.runner.messages if m["role"] == "assistant"
        ]
    return whole


def verify_problems(folder: TraceFolder) -> list[str]:
    """What `trace verify` objects to, but for the run's stream, which is not played here."""
    found = [problem for stream in verify_all(folder).streams for problem in stream.problems]
    return [f"{p.line} {p.kind}: {p.detail}" for p in found if p.kind != "anchor"]


def of_job(job: Job) -> dict[str, Any]:
    """What a Submission says of its node, and how names are checked."""
    fields = ("path", "node_id", "node_name", "qualname")
    names = ToolTree(Path(__file__).parent).ruff.check_names
    return {"names": names, **{name: getattr(job, name) for name in fields}}


def a_job(node: str, operation: str, attempt: int = 1) -> Job:
    key = node_key("mod.py", node)
    return Job(
        run_id=RUN,
        agent_id=agent_id(operation, RUN, key, attempt),
        attempt=attempt,
        operation=operation,
        node_id=key,
        node_type="module" if node == "__module__" else "function",
        node_name=node,
        node_summary=f"def {node}()",
        path="mod.py",
        qualname=node,
    )


def scripted(answers: Answers, **capable: bool) -> ScriptedModel:
    return ScriptedModel(
        answers,
        capabilities=Capabilities(
            **{"grammar": True, "completions": True, "tools": True, **capable}
        ),
    )


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    """The one event loop of a test: a real model's connections live in it."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def theatre(tmp_path: Path, loop: asyncio.Runner) -> Theatre:
    """Where agents play."""
    return Theatre(tmp_path, loop)


@pytest.fixture(scope="session")
def lint() -> Agent:
    """The built-in lint agent."""
    return load_agent(STEP_LINT.folder, OPERATIONS, builtin=True)


@pytest.fixture
def embedded(weights_cache: Path, loop: asyncio.Runner) -> Iterator[EmbeddedModel]:
    """The real embedded model."""
    model = EmbeddedModel(weights_cache, exact=False, limits=RequestLimits(max_concurrency=1))
    yield model
    loop.run(model.aclose())
