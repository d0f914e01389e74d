"""A run that was stopped anywhere is brought to the end that it would have had."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from remora.agents.definition.agent import load_agent
from remora.agents.job import AgentResult, Job
from remora.bootstrap.open_project import open_project
from remora.errors import NotFound, RemoraError, StreamDamaged, StreamLocked, UsageError
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    Event,
    JobEnd,
    JobStart,
    ModelResponse,
    RunEnd,
    ToolCalled,
    payload,
)
from remora.models.protocol import Request
from remora.runs.continuation.resume import check_definition
from remora.runs.execution.base_files import BaseFilesCache
from remora.runs.execution.run import RunRequest
from remora.runs.records.attempts import read_attempts
from remora.runs.records.job_view import StreamState
from remora.runs.records.run_record import read_own_record, read_record
from remora.runs.records.run_stream import open_run
from remora.trace.read.reader import read_events
from remora.usecases.analyze.resume_run import prepare_resume
from remora.usecases.review.verdicts import accept
from tests.offered_calls import offered
from tests.runs.conftest import ONE_BY_ONE, RULES, UNUSED, Desk, Kept, Watching, first
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS, STEP_LINT
from tests.trace.past_files import files_at

MANY = "def guarded(x):\n" + "".join(
    f"    try:\n        x({n})\n    except KeyError:\n        raise ValueError({n})\n"
    for n in range(4)
)
FILES = {"a.py": MANY, "b.py": UNUSED, "ruff.toml": RULES}
RUN = "run-1"


class Stopped(BaseException):
    """What ends a run as a kill does: nothing of it comes to its end."""


class Fuse(Watching):
    """Stops the run when `burns` says so of an event, or of a job that ended."""

    def __init__(self, burns: Callable[[Event | AgentResult], bool]) -> None:
        super().__init__()
        self._burns = burns

    def event(self, job: Job, event: Event) -> None:
        super().event(job, event)
        if self._burns(event):
            raise Stopped

    def ended(self, job: Job, result: AgentResult) -> None:
        super().ended(job, result)
        if self._burns(result):
            raise Stopped


def after(count: int) -> Callable[[Event | AgentResult], bool]:
    """Burns down with so many events."""
    left = [count]

    def burns(what: Event | AgentResult) -> bool:
        left[0] -= isinstance(what, Event)
        return left[0] == 0

    return burns


def at(kind: str, number: int = 1) -> Callable[[Event | AgentResult], bool]:
    """Burns at the n-th event of a kind."""
    left = [number]

    def burns(what: Event | AgentResult) -> bool:
        left[0] -= isinstance(what, Event) and what.type == kind
        return left[0] == 0

    return burns


def choosing(request: Request) -> str:
    """Follows from what is shown: an edit, a look, or the end."""
    calls = offered(request)
    return calls[Random(f"f{calls}").randrange(len(calls))]


def stopped(
    desk: Desk, burns: Callable[[Event | AgentResult], bool], request: RunRequest = ONE_BY_ONE
) -> Desk:
    """A run that was stopped; or that has ended before."""
    desk.watching = Fuse(burns)
    try:
        desk.analyze(choosing, run_id=RUN, request=request)
    except BaseExceptionGroup as group:
        if group.split(Stopped)[1] is not None:
            raise
    desk.watching, desk.newest = Watching(), RUN
    return desk


def came_to(desk: Desk) -> list[Any]:
    """What each job came to, and its price; by node, because jobs begin in any order."""
    view = desk.view(RUN)
    assert (view.status, desk.problems()) == ("ended", [])
    jobs = sorted(view.jobs, key=lambda job: job.node_id)
    return [msgspec.structs.replace(job, stream=StreamState()) for job in jobs]


def agent_events(desk: Desk, agent_id: str) -> list[Event]:
    return list(read_events(desk.project.trace.agent_stream(agent_id)))


def start_of(desk: Desk, agent_id: str) -> AgentStart:
    found = payload(agent_events(desk, agent_id)[0])
    assert isinstance(found, AgentStart)
    return found


def shop(folder: Path) -> Desk:
    desk = Desk(folder)
    desk.write(FILES)
    return desk


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the run comes to that nobody stops."""
    desk = shop(tmp_path_factory.mktemp("whole"))
    desk.analyze(choosing, run_id=RUN, request=ONE_BY_ONE)
    return came_to(desk)


@pytest.fixture(scope="module")
def kept_half(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(stopped(shop(tmp_path_factory.mktemp("half")), at("tool_result", 3)))


@pytest.fixture
def half(kept_half: Kept) -> Desk:
    """The first job was stopped as its third call had come to a result."""
    return kept_half.again()


class TestItComesToTheSame:
    @pytest.mark.parametrize("events", [4, pytest.param(17, marks=pytest.mark.slow)])
    def test_after_some_events(self, tmp_path: Path, whole: list[Any], events: int) -> None:
        desk = stopped(shop(tmp_path), after(events))
        desk.resume(choosing)
        assert came_to(desk) == whole

    @pytest.mark.slow
    def test_when_two_jobs_were_under_way(self, tmp_path: Path, whole: list[Any]) -> None:
        desk = stopped(shop(tmp_path), after(12), RunRequest(concurrency=2))
        desk.resume(choosing)
        assert came_to(desk) == whole

    @pytest.mark.slow
    def test_with_the_working_tree_gone_but_for_the_jobs_files(
        self, tmp_path: Path, whole: list[Any]
    ) -> None:
        """Rules and all come from the record: the base is not taken again."""
        desk = shop(tmp_path)
        desk.commit()
        stopped(desk, after(12))
        desk.write({"ruff.toml": None, "new.py": "import os\n"})
        desk.resume(choosing)
        assert came_to(desk) == whole


def answers(desk: Desk) -> int:
    """How many requests have an answer in the streams."""
    streams = list(desk.project.trace.agent_streams())
    return sum(e.type == ModelResponse.type for path in streams for e in read_events(path))


class TestNothingIsDoneTwice:
    @pytest.mark.slow
    @pytest.mark.parametrize("where", [("tool_result", 8), ("model_response", 1)])
    def test_no_finished_turn_or_job_and_no_answer_that_had_come(
        self, tmp_path: Path, whole: list[Any], where: tuple[str, int]
    ) -> None:
        desk = stopped(shop(tmp_path), at(*where))
        asked = answers(desk)
        model = ScriptedModel(choosing)
        desk.resume(model=model)
        assert came_to(desk) == whole
        assert asked > 0
        assert len(model.requests) + asked == answers(desk)

    @pytest.mark.slow
    def test_a_call_without_a_result_is_made_again_and_not_decided_again(
        self, tmp_path: Path, whole: list[Any]
    ) -> None:
        desk = stopped(shop(tmp_path), at("tool_call", 3))
        desk.resume(choosing)
        assert came_to(desk) == whole
        (job, *_) = whole
        calls = [e for e in agent_events(desk, job.agent_id) if e.type == ToolCalled.type]
        assert [call.turn for call in calls] == list(range(1, job.counts.turns + 1))

    @pytest.mark.slow
    def test_a_second_job_start_says_that_it_continues_and_the_end_comes_once(
        self, half: Desk
    ) -> None:
        half.resume(choosing)
        starts = [start.agent_id for start in half.payloads(RUN, JobStart)]
        assert Counter(starts) == {**dict.fromkeys(starts, 1), starts[0]: 2}
        for job in half.view(RUN).jobs:
            types = [event.type for event in agent_events(half, job.agent_id)]
            assert types.count(AgentEnd.type) == 1
            assert types[-1] == AgentEnd.type
        # the run that ended is left alone
        lines = len(half.run_events(RUN))
        project = open_project(half.caller())
        assert prepare_resume(half.caller(), project, read_own_record(project, RUN)).nothing_to_do
        assert len(half.run_events(RUN)) == lines


class TestWhatWasNotToldIsTold:
    @pytest.mark.slow
    def test_an_agents_end(self, tmp_path: Path, whole: list[Any]) -> None:
        desk = stopped(shop(tmp_path), at("agent_end"))
        assert desk.payloads(RUN, JobEnd) == []
        model = ScriptedModel(choosing)
        desk.resume(model=model)
        assert came_to(desk) == whole
        first_end = desk.payloads(RUN, JobEnd)[0]
        assert first_end.head.count == len(agent_events(desk, first_end.agent_id))

    @pytest.mark.slow
    def test_the_runs_end_needs_no_model(self, tmp_path: Path, whole: list[Any]) -> None:
        ends = [0]

        def burns(what: Event | AgentResult) -> bool:
            ends[0] += isinstance(what, AgentResult)
            return ends[0] == 3

        desk = stopped(shop(tmp_path), burns)
        assert desk.payloads(RUN, RunEnd) == []
        wanted = desk.resume([])
        assert wanted.models == ()
        assert came_to(desk) == whole
        (end,) = desk.payloads(RUN, RunEnd)
        assert end.totals == {"jobs": 3, "submitted": 3}


class TestAgentsThatHardlyBegan:
    @pytest.mark.parametrize(
        "left", [b'{"v":1,"seq":0', pytest.param(None, marks=pytest.mark.slow)]
    )
    def test_the_stream_is_torn_or_gone(
        self, half: Desk, whole: list[Any], left: bytes | None
    ) -> None:
        (path,) = half.project.trace.agent_streams()
        if left is None:
            path.unlink()
        else:
            path.write_bytes(left)
        half.resume(choosing)
        assert came_to(half) == whole

    @pytest.mark.slow
    def test_the_last_line_is_torn(self, half: Desk, whole: list[Any]) -> None:
        (path,) = half.project.trace.agent_streams()
        path.write_bytes(path.read_bytes()[:-10])
        half.resume(choosing)
        assert came_to(half) == whole
        types = [event.type for event in read_events(path)]
        assert types.count("recovered") == 1

    @pytest.mark.parametrize(("number", "damage"), [(0, b"{"), (-1, b"{"), (1, b"turn")])
    def test_a_damaged_stream_holds_up_no_other_job(
        self, half: Desk, number: int, damage: bytes
    ) -> None:
        """Of a broken line or of a wrong hash."""
        (path,) = half.project.trace.agent_streams()
        lines = path.read_bytes().splitlines(keepends=True)
        lines[number] = lines[number].replace(damage, b"{{" if damage == b"{" else b"tern")
        path.write_bytes(b"".join(lines))
        with pytest.raises(StreamDamaged):
            half.resume(choosing)
        assert len(half.payloads(RUN, JobEnd)) == 2
        assert half.payloads(RUN, RunEnd) == []
        assert path.read_bytes() == b"".join(lines)
        assert [job.stream.damaged for job in half.view(RUN).jobs] == [True, False, False]


class TestAFileThatMovedOn:
    EDITED = "# mine\n" + MANY

    @pytest.mark.slow
    def test_a_new_agent_begins_on_what_it_is_now(self, half: Desk) -> None:
        half.write({"a.py": self.EDITED})
        old = half.job(RUN, "guarded")
        (path,) = half.project.trace.agent_streams()
        lines = path.read_bytes()
        half.resume(choosing)
        new = half.job(RUN, "guarded")
        assert new.attempt == old.attempt + 1
        assert came_to(half)
        start = start_of(half, new.agent_id)
        assert start.parent is not None
        (begun, *_) = agent_events(half, old.agent_id)
        assert (start.parent["agent_id"], start.parent["hash"]) == (old.agent_id, begun.hash)
        assert (list(start.rebased), start.packet.turn, start.first_turn) == (["a.py"], 0, 0)
        events = half.run_events(RUN), agent_events(half, new.agent_id)
        base = files_at(*events, 0)["a.py"]
        assert half.project.trace.objects.get(base.sha256 or "") == self.EDITED.encode()
        # the old one stays interrupted and is anchored
        assert path.read_bytes() == lines
        (end,) = [end for end in half.payloads(RUN, JobEnd) if end.agent_id == old.agent_id]
        assert end.status == "interrupted"
        assert end.head.count == lines.count(b"\n")
        assert half.problems() == []

    @pytest.mark.slow
    def test_its_change_set_fits_the_users_file_as_it_is(self, half: Desk) -> None:
        half.write({"a.py": self.EDITED})
        half.resume(first)
        assert half.job(RUN, "guarded").status == "verified"
        done = accept(RUN, root=half.project, every=True)
        assert done.conflicts == []
        assert half.tree()["a.py"].startswith(b"# mine\n")
        assert b"from" in half.tree()["a.py"]

    @pytest.mark.slow
    def test_a_job_that_never_began_begins_on_what_it_is_now(self, half: Desk) -> None:
        half.write({"b.py": "# mine\n" + UNUSED})
        half.resume(first)
        job = half.job(RUN, "load")
        start = start_of(half, job.agent_id)
        assert (job.attempt, start.parent, list(start.rebased)) == (1, None, ["b.py"])
        assert came_to(half)

    @pytest.mark.slow
    def test_stopped_again_it_continues_on_that(self, half: Desk) -> None:
        half.write({"a.py": self.EDITED})
        half.watching = Fuse(at("tool_result", 2))
        with pytest.raises(BaseExceptionGroup):
            half.resume(choosing)
        half.watching = Watching()
        half.resume(choosing)
        assert half.job(RUN, "guarded").attempt == 2
        assert came_to(half)

    @pytest.mark.parametrize(
        "now", ["def other():\n    return 1\n", pytest.param(None, marks=pytest.mark.slow)]
    )
    def test_a_missing_node_is_reported(self, half: Desk, now: str | None) -> None:
        half.write({"a.py": now})
        half.resume(choosing)
        job = half.job(RUN, "guarded")
        assert (job.status, job.outcome.stop_reason) == ("error", "tool_error")
        assert "can no longer be found" in (job.outcome.error or "")
        assert came_to(half)


class TestItIsRefused:
    def test_while_it_continues(self, half: Desk) -> None:
        with open_run(half.project, RUN), pytest.raises(StreamLocked, match="process"):
            half.resume(choosing)

    def test_where_the_run_is_not_ours(self, half: Desk) -> None:
        (half.project.state / "heads" / f"{RUN}.json").unlink()
        with pytest.raises(UsageError, match="belongs to another installation"):
            half.resume(choosing)
        project = open_project(half.caller())
        trusted = read_own_record(project, RUN, trusted=True)
        assert prepare_resume(half.caller(), project, trusted).models == ("scripted",)

    def test_no_model_is_needed_if_none_is_recorded(self, half: Desk) -> None:
        trace = half.project.trace
        for path in (trace.existing_run(RUN), *trace.agent_streams()):
            text = path.read_text().replace('"model_name":"scripted"', '"model_name":null')
            path.write_text(text.replace('"name":"scripted"', '"name":null'))
        project = open_project(half.caller())
        assert prepare_resume(half.caller(), project, read_record(project, RUN)).models == ()

    def test_where_a_strangers_stream_names_no_commit_or_a_file_or_run_elsewhere(
        self, half: Desk
    ) -> None:
        start = read_attempts(half.run_events(RUN)).start
        wrong: tuple[Any, ...] = ("--output=/tmp/x", "HEAD", 7, "")
        for commit in wrong:
            other = msgspec.structs.replace(start, base={**start.base, "commit": commit})
            with pytest.raises(StreamDamaged, match="invalid commit"):
                BaseFilesCache(half.project, RUN, other).of({})
        digest = half.project.trace.objects.put(b"x")
        for path in ("../out", "/tmp/out", "a/../../out"):
            files = {path: {"sha256": digest, "mode": 0o644}}
            with pytest.raises(RemoraError):
                BaseFilesCache(half.project, RUN, start).of(files)
        for name in ("..", "../..", "a/b", ""):
            with pytest.raises(NotFound):
                BaseFilesCache(half.project, name, start)

    def test_where_the_agent_is_another_one_now(self, half: Desk) -> None:
        (path,) = half.project.trace.agent_streams()
        found = payload(next(read_events(path)))
        assert isinstance(found, AgentStart)
        lint = load_agent(STEP_LINT.folder, OPERATIONS, builtin=True)
        check_definition(found, lint, half.project.redact)
        other = {**found.definition, "goal": "another", "scripts": {"other.pym": "0"}}
        start = msgspec.structs.replace(found, definition=other)
        with pytest.raises(UsageError, match=r"changed since .* started: goal, scripts"):
            check_definition(start, lint, half.project.redact)


class TestTheRunsOwnSettings:
    @pytest.mark.slow
    def test_hold_whatever_the_configuration_says_today(self, tmp_path: Path) -> None:
        desk = stopped(shop(tmp_path), at("tool_result", 2), RunRequest(concurrency=1, max_turns=4))
        desk.write({"remora.yaml": "runner: {max_turns: 2}\nmodel: {max_requests: 5}\n"})
        wanted = desk.resume(choosing)
        assert wanted.run.request.max_turns == 4
        assert wanted.run.project.config.model.max_requests == 100
        assert {end.attempt for end in desk.payloads(RUN, JobEnd)} == {1}
        (load,) = [job for job in desk.view(RUN).jobs if job.node_id.endswith(":load")]
        assert start_of(desk, load.agent_id).packet.constraints.max_turns == 4
