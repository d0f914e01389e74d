"""What any run saw can be had again: files and packet of every turn, from stream, objects and git."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from remora.agents.job import Job
from remora.ids import unescape_path
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, AgentStart, Event, ModelRequest, ToolCalled, payload
from remora.memory.prompt.render import render
from remora.models.protocol import Request
from remora.runs.planning.run_request import RunRequest
from remora.trace.read.reader import read_events
from remora.trace.read.state_at import packet_at
from remora.trace.verify.folder_check import verify_all
from remora.workspaces.copy.snapshot import BaseFile, BaseSnapshot, restore_base
from tests.offered_calls import offered
from tests.runs.conftest import CHOICE, CLEAN, RULES, UNUSED, Desk, Watching
from tests.scripted_model import ScriptedModel
from tests.trace.past_files import files_at

BARE = "def bare(x):\n    try:\n        x()\n    except:\n        pass\n"
NESTED = (
    "class A:\n    import os\n\n    def m(self):\n        import re\n\n"
    "        def inner():\n            import io\n\n        return inner\n"
)
LINES = UNUSED.replace("\n", "\r\n")
BROKEN = "def broken(:\n"
NAMES = st.sampled_from(["a.py", "pkg/b.py", "ü.py", "a%b.py", "c d.py"])
TEXTS = st.sampled_from([UNUSED, CHOICE, BARE, NESTED, LINES, CLEAN, BROKEN, UNUSED + CHOICE, ""])
FILES = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4)
EDITS = st.dictionaries(NAMES, TEXTS | st.none(), max_size=3)
State = dict[str, tuple[bytes, int]]
Get = Callable[[str], bytes]


class Choosing:
    """Chooses at random, or answers what is not a call."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, request: Request) -> str:
        return "?" if self._random.random() < 0.1 else self._random.choice(offered(request))


class Spying(Watching):
    """Remembers the workspace after each result: what the live run had before it."""

    def __init__(self, slots: Path) -> None:
        super().__init__()
        self._slots = slots
        self.saw: dict[tuple[str, int], State] = {}

    def event(self, job: Job, event: Event) -> None:
        super().event(job, event)
        if event.type in ("agent_start", "tool_result"):
            self.saw[event.agent_id, event.turn] = state_of(self._slots / "slot-0")


def state_of(folder: Path) -> State:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in folder.rglob("*")
        if path.is_file()
    }


def base_again(desk: Desk, run_id: str) -> BaseSnapshot:
    """The base from `run_start`, objects and git."""
    told = msgspec.json.decode(desk.run_events(run_id)[0].data)["base"]
    differing = {
        unescape_path(path): file and BaseFile(file["sha256"], file["mode"])
        for path, file in told["files"].items()
    }
    objects = desk.project.trace.objects
    return restore_base(
        desk.root, told["commit"], differing, objects.pieces, desk.folder / "restored"
    )


def restored(
    base: BaseSnapshot, events: tuple[list[Event], list[Event]], turn: int, get: Get
) -> State:
    """The workspace after a turn: the base, and on it what a run's and an agent's events say."""
    state: State = {path: (base.read(path) or b"", file.mode) for path, file in base.files.items()}
    for spelled, file in files_at(*events, turn).items():
        path = unescape_path(spelled)
        if file.sha256 is None:
            state.pop(path, None)
        else:
            state[path] = (get(file.sha256), file.mode)
    return state


def check_packets(events: list[Event], sent: list[Any]) -> None:
    """The packet of every decision has the hash it names; the one sent renders as it was sent."""
    start = payload(events[0])
    assert isinstance(start, AgentStart)
    for event in events:
        data = payload(event)
        if not isinstance(data, (ToolCalled, AgentError, ModelRequest)) or not data.packet_sha256:
            continue
        packet = packet_at(events, event.turn)
        assert canonical_sha256(packet) == data.packet_sha256
        if isinstance(data, ModelRequest):
            again = render(data.renderer, packet, start.tools, data.decoding["strategy"])
            assert again.messages == sent.pop(0).messages


def check_run(desk: Desk, run_id: str, spying: Spying, sent: list[Any]) -> None:
    assert verify_all(desk.project.trace).ok
    trace, run_events, base = desk.project.trace, desk.run_events(run_id), base_again(desk, run_id)
    agents = {name: list(read_events(trace.agent_stream(name))) for name, _ in spying.saw}
    for (name, turn), saw in spying.saw.items():
        again = restored(base, (run_events, agents[name]), turn, trace.objects.get)
        assert again == saw, f"{name} turn {turn}"
    for events in agents.values():
        check_packets(events, sent)
    assert sent == []


def empty(desk: Desk) -> None:
    """The user threw everything away but the records."""
    for path in sorted(desk.root.rglob("*"), reverse=True):
        if path.relative_to(desk.root).parts[0] not in (".git", ".agentfs"):
            path.unlink() if path.is_file() else path.rmdir()


def play(files: dict[str, str], edits: dict[str, str | None] | None, seed: int) -> int:
    """Run and compare; how many turns were compared. `edits` are made upon a commit."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.write({**files, "ruff.toml": RULES, ".gitignore": "ignored/\n"})
        if edits is not None:
            desk.commit()
            desk.write({p: t for p, t in edits.items() if t is not None or p in files})
        model = ScriptedModel(Choosing(seed))
        desk.watching = spying = Spying(desk.project.cache / "slots")
        wish = RunRequest(concurrency=1, unsafe_fixes=bool(seed % 2), max_turns=6)
        run_id = desk.analyze(model=model, request=wish)
        empty(desk)
        check_run(desk, run_id, spying, list(model.requests))
        return len(spying.saw)


def test_a_run_of_every_kind_of_file() -> None:
    files = {"a.py": UNUSED, "pkg/b.py": NESTED, "a%b.py": BARE + CHOICE, "ü.py": LINES}
    edits: dict[str, str | None] = {"a.py": CHOICE, "pkg/b.py": None, "c d.py": UNUSED}
    assert play(files, edits, seed=1) > 10


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=25, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(FILES, st.none() | EDITS, st.integers(0, 2**32))
def test_any_run(files: dict[str, str], edits: dict[str, str | None] | None, seed: int) -> None:
    play(files, edits, seed)
