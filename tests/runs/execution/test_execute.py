"""A run: its base and plan are kept before anything happens, its jobs are streams, its end is told."""

import asyncio
import errno
import hashlib
import os

import pytest

from remora.agents.job import Job
from remora.agents.loop.agent_start import first_context
from remora.agents.loop.dependencies import AgentDependencies
from remora.chat import Answer
from remora.errors import DiskError, ModelError, StreamError
from remora.memory.context import ContextManager
from remora.memory.events import (
    AgentError,
    AgentStart,
    JobEnd,
    JobStart,
    RunEnd,
    RunStart,
    ToolCalled,
    payload,
)
from remora.models.protocol import Request
from remora.runs.execution.run import RunRequest
from remora.runs.project import root_name
from remora.trace.read.reader import last_event, read_events
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.session import execute_plan
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import (
    CHOICE,
    ONE_BY_ONE,
    RULES,
    SHOP,
    TEN_TURNS,
    UNUSED,
    Desk,
    first,
    last,
)
from tests.scripted_model import ScriptedModel

WISH = RunRequest(unsafe_fixes=True, seed=7, max_turns=9, concurrency=1)


@pytest.fixture
def shop(desk: Desk) -> Desk:
    desk.write(SHOP)
    return desk


class TestStreams:
    def test_every_job_is_a_stream_anchored_in_the_runs_which_tells_beginning_and_end(
        self, ran: Desk
    ) -> None:
        run_id = ran.newest
        ends = ran.payloads(run_id, JobEnd)
        assert len(ends) == 3
        for end in ends:
            path = ran.project.trace.agent_stream(end.agent_id)
            newest = last_event(path)
            assert newest is not None
            assert end.head.hash == newest.hash
            assert end.head.count == newest.seq + 1
        assert ran.problems() == []
        types = [event.type for event in ran.run_events(run_id)]
        assert types == ["run_start", *["job_start", "job_end"] * 3, "gates", "run_end"]
        (end,) = ran.payloads(run_id, RunEnd)
        assert end.totals == {"jobs": 3, "submitted": 3}
        assert all(
            (e.agent_id, e.operation, e.node_id, e.turn) == ("", "", "", 0)
            for e in ran.run_events(run_id)
        )

    @pytest.mark.slow
    def test_the_observer_is_notified(self, shop: Desk) -> None:
        run_id = shop.analyze(request=RunRequest(concurrency=1))
        told = shop.watching.told
        assert told[0] == ("planned", run_id)
        assert [what for what, _ in told[1:7]] == ["began", "ended"] * 3
        assert {what for what, _ in told[7:]} == {"judging"}
        assert sum(event.type == "agent_end" for event in shop.watching.events) == 3

    def test_the_plan_and_the_settings_are_on_record(self, shop: Desk) -> None:
        run_id = shop.analyze(request=WISH)
        (start,) = shop.payloads(run_id, RunStart)
        assert [job["node_id"] for job in start.plan["jobs"]] == [
            "node:a.py:__module__", "node:a.py:load", "node:b.py:guarded",
        ]  # fmt: skip
        assert start.plan["operations"] == ["lint"]
        assert start.config["unsafe_fixes"] is True
        assert (start.config["seed"], start.config["max_turns"]) == (7, 9)
        assert start.config["model_name"] == "scripted"
        assert len(start.install) == 64
        for job in shop.view(run_id).jobs:
            event = next(iter(read_events(shop.project.trace.agent_stream(job.agent_id))))
            started = payload(event)
            assert isinstance(started, AgentStart)
            assert started.packet.constraints.max_turns == 9, "agents know their limits"


class TestTheLastTurn:
    """What was mended is not lost because there is more than the turns suffice for."""

    def test_is_for_handing_in_what_was_corrected(self, desk: Desk) -> None:
        desk.write({"a.py": TEN_TURNS, "ruff.toml": RULES})
        run_id = desk.analyze(first, request=RunRequest(concurrency=1, max_turns=6))
        (job,) = desk.view(run_id).jobs
        assert (job.status, job.counts.turns) == ("verified", 6)
        assert (job.findings.before, job.findings.after) == ({"B904": 7}, {"B904": 3})
        stream = read_events(desk.project.trace.agent_stream(job.agent_id))
        calls = [p for event in stream if isinstance(p := payload(event), ToolCalled)]
        assert [(call.tool, call.decided_by) for call in calls[-2:]] == [
            ("edit_line", "model"), ("submit_result", "rule"),
        ]  # fmt: skip
        accept(run_id, root=desk.project, every=True)
        assert desk.tree()["a.py"].count(b" from ") == 4
        # nothing was corrected after the first one; a project's own limits hold
        desk.write({"remora.yaml": "operations: {lint: {max_turns: 1}}\n"})
        (job,) = desk.view(desk.analyze(first)).jobs
        assert (job.status, job.outcome.stop_reason) == ("failed", "max_turns")


@pytest.mark.slow
def test_findings_alike_in_one_line_are_reported_apart_by_column(desk: Desk) -> None:
    """Else the third would be the same call for the third time, which ends a job."""
    source = "def first(x):\n    return x.a == None or x.b == None or x.c == None\n"
    desk.write({"a.py": source, "ruff.toml": 'lint.select = ["E711"]\n'})
    run_id = desk.analyze(first, request=WISH)
    (job,) = desk.view(run_id).jobs
    assert (job.status, job.findings.before, job.findings.after) == ("verified", {"E711": 3}, {})
    accept(run_id, root=desk.project, every=True)
    assert desk.tree()["a.py"].count(b" is None") == 3


class TestConcurrency:
    @pytest.mark.parametrize("wanted", [1, 3])
    def test_no_more_at_a_time_than_wished(self, desk: Desk, wanted: int) -> None:
        desk.write({f"m{n}.py": CHOICE for n in range(5)} | {"ruff.toml": RULES})
        running = most = 0
        met = asyncio.Event()

        class Slow(ScriptedModel):
            async def ask(self, request: Request) -> Answer:
                nonlocal running, most
                running += 1
                most = max(most, running)
                if running == wanted:
                    met.set()
                await asyncio.wait_for(met.wait(), 20)  # a loaded machine is in no hurry
                await asyncio.sleep(0.01)
                running -= 1
                return await super().ask(request)

        desk.analyze(model=Slow(last), request=RunRequest(concurrency=wanted))
        assert most == wanted


class TestBase:
    def test_without_git_every_file_is_kept(self, ran: Desk) -> None:
        run_id = ran.newest
        (start,) = ran.payloads(run_id, RunStart)
        assert start.base["commit"] is None
        assert set(start.base["files"]) == {"a.py", "b.py", "ruff.toml"}
        for path, told in start.base["files"].items():
            content = ran.project.trace.objects.get(told["sha256"])
            assert content == (ran.root / path).read_bytes()
            assert told["mode"] == (ran.root / path).stat().st_mode & 0o777

    @pytest.mark.slow
    def test_with_git_only_what_differs_is_and_the_commit(self, shop: Desk) -> None:
        shop.commit()
        shop.write({"a.py": UNUSED + "\n", "new.py": UNUSED, "ruff.toml": RULES, "b.py": None})
        run_id = shop.analyze()
        (start,) = shop.payloads(run_id, RunStart)
        assert start.base["commit"] == shop.git("rev-parse", "HEAD")
        files = start.base["files"]
        assert files["b.py"] is None, "deleted"
        assert set(files) == {"a.py", "b.py", "new.py"}
        assert files["new.py"]["sha256"] == hashlib.sha256(UNUSED.encode()).hexdigest()
        # the commit is kept alive, and recordings are no business of git's
        assert (
            shop.git("rev-parse", f"refs/remora/{root_name(shop.root)}/{run_id}")
            == start.base["commit"]
        )
        assert "agentfs" not in shop.git("status", "--porcelain")

    def test_contents_lie_there_before_the_stream_names_them(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The stream cannot be opened: what it would have named is there already."""
        prepared = shop.prepare()
        shop.project.trace.create()
        (shop.project.trace.run_stream(prepared.run_id)).mkdir()
        with pytest.raises((DiskError, StreamError)):
            asyncio.run(execute_plan(prepared, ScriptedModel(first), shop.watching, utc_now))
        prepared.close()
        kept = hashlib.sha256(UNUSED.encode()).hexdigest()
        assert shop.project.trace.objects.get(kept) == UNUSED.encode()


class TestFaults:
    @pytest.mark.slow
    def test_what_the_machine_or_a_model_refuses_costs_only_its_part(self, shop: Desk) -> None:
        def breaks(_: Request) -> str:
            raise OSError(errno.ELOOP, "Too many links", "b.py")

        load = CHOICE.replace("guarded", "load").replace("    try", "    import re\n\n    try")
        shop.write({"a.py": load})
        run_id = shop.analyze(breaks)
        broken = shop.job(run_id, "guarded")
        assert (broken.status, broken.outcome.stop_reason) == ("error", "tool_error")
        assert "Too many links: 'b.py'; check the free disk space" in (broken.outcome.error or "")
        assert shop.view(run_id).status == "failed"
        run_id = shop.analyze(lambda _: ModelError("gone", hint="start it"))
        by_node = {job.node_id: job for job in shop.view(run_id).jobs}
        unchanged, fixed = by_node["node:b.py:guarded"], by_node["node:a.py:load"]
        assert (unchanged.status, unchanged.outcome.stop_reason) == ("error", "model_error")
        assert (fixed.status, fixed.outcome.stop_reason) == ("verified", "model_error"), (
            "rules fixed it"
        )
        assert unchanged.outcome.error == fixed.outcome.error == "gone; start it"
        assert shop.view(run_id).status == "ended"

    @pytest.mark.parametrize("fault", [RecursionError("too deep\nfor us"), MemoryError()])
    def test_a_fault_of_ours_costs_its_job_alone(
        self, shop: Desk, caplog: pytest.LogCaptureFixture, fault: Exception
    ) -> None:
        def breaks(request: Request) -> str:
            if "guarded" in str(request.messages):
                raise fault
            return first(request)

        run_id = shop.analyze(breaks, request=ONE_BY_ONE)
        by_node = {job.node_id: job for job in shop.view(run_id).jobs}
        broken = by_node.pop("node:b.py:guarded")
        assert (broken.status, broken.outcome.stop_reason) == ("error", "tool_error")
        told = " ".join(f"{type(fault).__name__}: {fault}".split()).rstrip(": ")
        assert (broken.outcome.error or "").startswith(
            f"a fault in Remora: {told} (test_execute.py:"
        )
        assert (broken.outcome.error or "").endswith("; please report it; -v shows the traceback")
        stream = list(read_events(shop.project.trace.agent_stream(broken.agent_id)))
        (told_of,) = [p for e in stream if isinstance(p := payload(e), AgentError)]
        assert broken.outcome.error == f"{told_of.message}; {told_of.hint}"
        assert {job.status for job in by_node.values()} == {"verified"}
        assert shop.view(run_id).status == "ended"
        assert shop.problems() == []
        (record,) = caplog.records
        assert record.exc_info is not None
        assert record.exc_info[1] is fault

    @pytest.mark.slow
    def test_what_no_stream_can_tell_is_raised_when_the_other_jobs_are_done(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def breaks(job: Job, stage: AgentDependencies) -> ContextManager:
            if job.node_id.endswith("__module__"):
                raise RecursionError("too deep")
            return first_context(job, stage)

        monkeypatch.setattr("remora.agents.loop.runner.first_context", breaks)
        with pytest.raises(RecursionError):
            shop.analyze(request=RunRequest(concurrency=2), run_id="broken-1")
        statuses = {job.node_id: job.status for job in shop.view("broken-1").jobs}
        assert statuses.pop("node:a.py:__module__") not in ("verified", "error")
        assert set(statuses.values()) == {"verified"}
        monkeypatch.undo()
        shop.resume(run_id="broken-1")
        assert {job.status for job in shop.view("broken-1").jobs} == {"verified"}

    def test_a_model_that_cannot_answer_as_configured_starts_nothing(self, shop: Desk) -> None:
        shop.write({"remora.yaml": "model: {decoding: grammar}\n"})
        from remora.models.protocol import Capabilities

        model = ScriptedModel([], capabilities=Capabilities())
        with pytest.raises(ModelError, match="does not support grammars"):
            shop.analyze(model=model)
        assert not (shop.root / ".agentfs").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_root_that_nobody_may_write(self, shop: Desk) -> None:
        shop.root.chmod(0o500)
        try:
            with pytest.raises(DiskError):
                shop.analyze()
        finally:
            shop.root.chmod(0o700)

    def test_recordings_through_a_link_are_refused(self, shop: Desk) -> None:
        (shop.folder / "elsewhere").mkdir()
        (shop.root / ".agentfs").symlink_to(shop.folder / "elsewhere")
        with pytest.raises(DiskError):
            shop.analyze()
        assert list((shop.folder / "elsewhere").iterdir()) == []


class TestCancelled:
    def test_a_run_that_is_stopped_is_interrupted_and_sound(self, desk: Desk) -> None:
        desk.write({f"m{n}.py": CHOICE for n in range(4)} | {"ruff.toml": RULES})
        before = desk.tree()
        prepared = desk.prepare(RunRequest(concurrency=1))

        async def stopped() -> None:
            asked = asyncio.Event()

            class Waiting(ScriptedModel):
                async def ask(self, request: Request) -> Answer:
                    if self.requests:
                        asked.set()
                        await asyncio.sleep(60)
                    return await super().ask(request)

            run = asyncio.create_task(execute_plan(prepared, Waiting(last), desk.watching, utc_now))
            await asked.wait()
            run.cancel()
            await run

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(stopped())
        prepared.close()
        view = desk.view(prepared.run_id)
        assert view.status == "interrupted"
        assert [job.status for job in view.jobs] == ["no_change", "interrupted"]
        assert desk.payloads(prepared.run_id, RunEnd) == []
        assert len(desk.payloads(prepared.run_id, JobStart)) == 2
        assert desk.problems() == []
        assert desk.tree() == before


def told(desk: Desk, run_id: str) -> dict[str, list[tuple[str, object]]]:
    """Every agent's decisions and what they came to, without times and ids."""
    found: dict[str, list[tuple[str, object]]] = {}
    for job in desk.view(run_id).jobs:
        events = read_events(desk.project.trace.agent_stream(job.agent_id))
        found[job.node_id] = [(event.type, event.packet_delta) for event in events]
    return found


def test_the_same_answers_make_the_same_run(ran: Desk) -> None:
    one, other = ran.newest, ran.analyze(request=ONE_BY_ONE)
    assert told(ran, one) == told(ran, other)
