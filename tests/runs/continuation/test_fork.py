"""A fork is what its parent was before a turn's decision; a retry begins again with feedback."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from remora.agents.definition.agent import load_agent
from remora.agents.fork import fork_point_at, with_agent
from remora.bootstrap.operations import BUILT_IN
from remora.errors import Conflict, NotFound, StreamError, StreamLocked, UsageError
from remora.ids import agent_id
from remora.memory.events import AgentStart, Event, JobStart, Review, payload
from remora.memory.packet import packet_json
from remora.runs.continuation.fork import ForkResult
from remora.runs.records.agent_stream import ancestors, start_stream
from remora.runs.records.name_lookup import stream_named
from remora.runs.records.results import job_document, own_run
from remora.runs.records.run_listing import list_run_lines
from remora.runs.records.run_stream import open_run
from remora.runs.records.totals import totals_by_operation
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.reader import read_events
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.start_fork import ForkRequest, fork_agent
from remora.usecases.analyze.start_retry import retry_jobs
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import ONE_BY_ONE, RULES, TEN_TURNS, UNUSED, Desk, Kept, eager, first, last
from tests.runs.continuation.test_resume import at, stopped
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS, STEP_LINT
from tests.trace.past_files import files_at

RUN = "run-1"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("forked"))
    desk.write({"a.py": TEN_TURNS, "b.py": UNUSED, "ruff.toml": RULES})
    desk.analyze(eager, run_id=RUN, request=ONE_BY_ONE)
    return Kept(desk)


@pytest.fixture
def desk(kept: Kept) -> Desk:
    """After a run of three jobs, one of ten turns."""
    return kept.again()


def parent_of(desk: Desk) -> str:
    return max(desk.view(RUN).jobs, key=lambda job: job.counts.turns).agent_id


def events_of(desk: Desk, agent_id: str) -> list[Event]:
    return list(read_events(desk.project.trace.existing_agent(agent_id)))


def start_of(desk: Desk, agent_id: str) -> AgentStart:
    found = payload(events_of(desk, agent_id)[0])
    assert isinstance(found, AgentStart)
    return found


def fork(desk: Desk, agent_id: str, turn: int, **more: Any) -> ForkResult:
    model = more.pop("model", None)
    request = ForkRequest(agent_id=agent_id, turn=turn, **more)
    return fork_agent(desk.project, request, model)


def packet_of(desk: Desk, agent_id: str, turn: int, *, shown: bool) -> dict[str, Any]:
    packet = packet_json(packet_at(events_of(desk, agent_id), turn, shown=shown))
    assert packet.pop("agent_id") == agent_id
    return packet


def files_of(desk: Desk, agent_id: str, turn: int) -> dict[str, Any]:
    return files_at(desk.run_events(RUN), events_of(desk, agent_id), turn)


class TestAFork:
    def test_has_the_packet_and_files_of_every_turn(self, desk: Desk) -> None:
        parent = parent_of(desk)
        lines = desk.project.trace.agent_stream(parent).read_bytes()
        turns = max(event.turn for event in events_of(desk, parent))
        assert turns == 10
        for turn in range(turns + 1):
            made = fork(desk, parent, turn).job.agent_id
            for shown in (True, False):
                whole = packet_of(desk, parent, turn, shown=False)
                assert packet_of(desk, made, turn, shown=shown) == whole
            assert files_of(desk, made, turn) == files_of(desk, parent, turn - 1)
        assert desk.project.trace.agent_stream(parent).read_bytes() == lines
        assert desk.problems() == []

    def test_replays_from_its_own_stream_and_the_runs_base_alone(self, desk: Desk) -> None:
        parent = parent_of(desk)
        files = files_of(desk, parent, 3)
        made = fork(desk, parent, 4).job.agent_id
        desk.project.trace.agent_stream(parent).unlink()
        assert files_of(desk, made, 4) == files
        assert packet_of(desk, made, 4, shown=True)["turn"] == 4
        with pytest.raises(NotFound, match="no turn 3"):
            packet_at(events_of(desk, made), 3)

    def test_is_the_next_attempt_and_names_its_parents_line(self, desk: Desk) -> None:
        parent = parent_of(desk)
        made = fork(desk, parent, 2)
        line = events_of(desk, parent)[made.parent["seq"]]
        assert made.document() == {
            "agent_id": made.job.agent_id,
            "run_id": RUN,
            "parent": {
                "run_id": RUN, "agent_id": parent, "seq": line.seq, "hash": line.hash,
            },
            "attempt": 2,
        }  # fmt: skip
        assert line.turn == 2
        node = made.job.node_id
        named = hashlib.sha256(f"{RUN} {node} 2".encode()).hexdigest()[:12]
        assert made.job.agent_id == f"lint-{named}"
        (first_line,) = events_of(desk, made.job.agent_id)
        assert first_line.seq == 0
        started = [start.agent_id for start in desk.payloads(RUN, JobStart)]
        assert started[-1] == made.job.agent_id

    def test_of_a_fork(self, desk: Desk) -> None:
        parent = parent_of(desk)
        middle = fork(desk, parent, 3).job.agent_id
        desk.resume(eager, only=frozenset({middle}))
        made = fork(desk, middle, 5).job.agent_id
        assert packet_of(desk, made, 5, shown=False) == packet_of(desk, parent, 5, shown=False)
        assert files_of(desk, made, 5) == files_of(desk, parent, 4)
        again = fork(desk, made, 5).job.agent_id
        assert packet_of(desk, again, 5, shown=False) == packet_of(desk, parent, 5, shown=False)
        assert start_of(desk, again).decides
        with pytest.raises(NotFound, match="no turn 4"):
            fork(desk, made, 4)

    def test_is_refused_for_a_missing_turn_and_of_a_run_that_continues_or_is_not_ours(
        self, desk: Desk
    ) -> None:
        lines = len(desk.run_events(RUN))
        with pytest.raises(NotFound) as refused:
            fork(desk, parent_of(desk), 99)
        assert "the stream has turns 0 to" in refused.value.hint
        with open_run(desk.project, RUN), pytest.raises(StreamLocked):
            fork(desk, parent_of(desk), 1)
        (desk.project.state / "heads" / f"{RUN}.json").unlink()
        with pytest.raises(UsageError, match="belongs to another installation"):
            fork(desk, parent_of(desk), 1)
        assert len(desk.run_events(RUN)) == lines
        assert fork(desk, parent_of(desk), 1, trusted=True).job.attempt == 2

    def test_is_refused_where_a_content_is_gone(self, desk: Desk) -> None:
        parent = parent_of(desk)
        (changed,) = {
            change.after
            for change in fork_point_at(events_of(desk, parent), 6).changes
            if change.after
        }
        (desk.project.trace.objects.folder / changed[:2] / changed).unlink()
        streams = list(desk.project.trace.agent_streams())
        with pytest.raises(NotFound, match=r"content of a\.py"):
            fork(desk, parent, 6)
        assert list(desk.project.trace.agent_streams()) == streams


class TestAForkThatGoesOn:
    @pytest.mark.slow
    def test_a_fork_reaches_its_parents_result(self, desk: Desk) -> None:
        parent = desk.view(RUN).jobs[0]
        for turn in range(parent.counts.turns + 1):
            made = fork(desk, parent.agent_id, turn).job.agent_id
            desk.resume(eager, only=frozenset({made}))
            job = desk.view(RUN).jobs[0]
            assert (job.agent_id, job.status) == (made, parent.status)
            assert (job.counts.turns, job.proposal.changes) == (
                parent.counts.turns,
                parent.proposal.changes,
            )
        assert desk.problems() == []

    @pytest.mark.parametrize("turn", [0, 10])
    def test_what_it_fixed_is_counted_from_where_its_parent_began(
        self, desk: Desk, turn: int
    ) -> None:
        """Also where nothing was changed yet, and where nothing is left but to submit."""
        parent = max(desk.view(RUN).jobs, key=lambda job: job.counts.turns)
        assert parent.findings.before != parent.findings.after
        made = fork(desk, parent.agent_id, turn).job.agent_id
        desk.resume(eager, only=frozenset({made}))
        found = next(job for job in desk.view(RUN).jobs if job.node_id == parent.node_id)
        assert found.agent_id == made
        assert (found.findings.before, found.findings.after) == (
            parent.findings.before,
            parent.findings.after,
        )
        assert totals_by_operation(
            [job_document(found)], {}, BUILT_IN.totals
        ) == totals_by_operation([job_document(parent)], {}, BUILT_IN.totals)

    def test_a_resume_of_the_run_brings_forks_to_their_ends(self, desk: Desk) -> None:
        parent = parent_of(desk)
        made = [fork(desk, parent, turn).job.agent_id for turn in (2, 3)]
        desk.resume(eager)
        for name, turn in zip(made, (2, 3), strict=True):
            events = events_of(desk, name)
            assert (events[1].turn, events[-1].type) == (turn, "agent_end"), "no turn is repeated"
        assert desk.problems() == []

    def test_a_fork_may_use_another_model(self, desk: Desk) -> None:
        other = ScriptedModel(last, name="other")
        made = fork(desk, parent_of(desk), 3, model=other).job.agent_id
        wanted = desk.resume(model=other, only=frozenset({made}))
        assert wanted.models == ("other",)
        job = desk.job(RUN, "guarded")
        assert job.counts.turns == 3
        assert start_of(desk, made).model["name"] == "other"

    def test_an_agent_that_changed_proposes_again(self, desk: Desk) -> None:
        parent = parent_of(desk)
        made = fork(desk, parent, 3)
        start, redact = start_of(desk, made.job.agent_id), desk.project.redact
        assert start.decides
        lint = load_agent(STEP_LINT.folder, OPERATIONS, builtin=True)
        assert with_agent(start, lint, redact) == start
        before = replace(start, definition={**start.definition, "goal": "another"})
        now = with_agent(before, lint, redact)
        assert (now.decides, now.definition) == (False, start.definition)

    def test_a_fork_can_recall_its_parents_outputs(self, desk: Desk) -> None:
        parent = parent_of(desk)
        made = fork(desk, parent, 4).job.agent_id
        seen = list(ancestors(desk.project.trace, start_of(desk, made)))
        results = [event.turn for event in seen if event.type == "tool_result"]
        assert results == [1, 2, 3]
        (desk.project.trace.agent_stream(parent)).unlink()
        assert list(ancestors(desk.project.trace, start_of(desk, made))) == []


class TestARetry:
    def retry(self, desk: Desk, node: str = "guarded", **more: Any) -> str:
        wanted = retry_jobs(desk.caller(), desk.project, own_run(desk.project, RUN), node, **more)
        (made,) = wanted.only or frozenset()
        desk.resume(first, only=wanted.only)
        return made

    def test_pins_the_feedback_in_every_packet(self, desk: Desk) -> None:
        before = desk.job(RUN, "guarded")
        secret = "ghp_" + "a1B2c3D4e5F6" * 3
        made = self.retry(desk, feedback=f"keep the name; the token is {secret}")
        for path in (desk.project.trace.run_stream(RUN), desk.project.trace.agent_stream(made)):
            assert secret.encode() not in path.read_bytes()
        for turn in range(desk.job(RUN, "guarded").counts.turns):
            knowledge = packet_of(desk, made, turn, shown=True)["knowledge"]
            assert knowledge["feedback"]["value"].startswith("keep the name; the token is <secret:")
        (review,) = desk.payloads(RUN, Review)
        assert (review.verdict, review.agent_id) == ("retried", before.agent_id)
        assert (review.feedback or "").startswith("keep the name")
        assert review.head == before.stream.head
        assert start_of(desk, made).parent
        assert desk.problems() == []

    def test_without_feedback_it_gets_that_of_the_rejection(self, desk: Desk) -> None:
        reject(RUN, "guarded", root=desk.project, feedback="keep the name")
        made = self.retry(desk)
        job = desk.job(RUN, "guarded")
        assert (job.agent_id, job.attempt, job.review.state) == (
            made,
            2,
            "rejected",
        )  # it is the same
        assert start_of(desk, made).packet.knowledge["feedback"].value == "keep the name"
        assert desk.payloads(RUN, Review)[-1].feedback == "keep the name"

    def test_it_begins_on_what_the_file_is_now(self, desk: Desk) -> None:
        desk.write({"a.py": "# mine\n" + TEN_TURNS})
        made = self.retry(desk, feedback="again")
        start = start_of(desk, made)
        assert list(start.rebased) == ["a.py"]
        assert start.packet.knowledge["feedback"].value == "again"
        assert accept(RUN, "guarded", root=desk.project).conflicts == []
        assert desk.tree()["a.py"].startswith(b"# mine\n")

    @pytest.mark.slow
    def test_after_an_accept_there_may_be_nothing_left(self, desk: Desk) -> None:
        self.retry(desk)
        accept(RUN, "guarded", root=desk.project)
        self.retry(desk, feedback="once more")
        assert desk.job(RUN, "guarded").status == "no_change"
        assert desk.problems() == []

    def test_a_missing_node_or_unknown_is_refused(self, desk: Desk) -> None:
        lines = len(desk.run_events(RUN))
        with pytest.raises(NotFound):
            self.retry(desk, "nobody")
        desk.write({"a.py": "x = 1\n"})
        with pytest.raises(Conflict, match="guarded can no longer be found"):
            self.retry(desk)
        with pytest.raises(UsageError, match="characters"):
            self.retry(desk, feedback="x" * 10_001)
        assert len(desk.run_events(RUN)) == lines

    def test_a_job_that_is_not_over_is_refused(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        desk.write({"a.py": TEN_TURNS, "ruff.toml": RULES})
        stopped(desk, at("tool_call"))
        with pytest.raises(UsageError, match="guarded is interrupted"):
            self.retry(desk)


class TestWhichAttemptCounts:
    def test_a_fork_takes_its_parents_place_when_it_came_to_its_end(self, desk: Desk) -> None:
        parent = parent_of(desk)
        made = fork(desk, parent, 2).job.agent_id
        assert desk.job(RUN, "guarded").agent_id == parent
        assert stream_named(desk.project.trace, "guarded") == parent
        (line,) = list_run_lines(desk.project.trace)
        waiting = line.pending
        desk.resume(eager, only=frozenset({made}))
        assert desk.job(RUN, "guarded").agent_id == made
        assert stream_named(desk.project.trace, "guarded") == made
        (line,) = list_run_lines(desk.project.trace)
        assert line.pending == waiting
        assert desk.job(RUN, "guarded").review.state == "pending"
        accept(RUN, "guarded", root=desk.project)
        assert [review.agent_id for review in desk.payloads(RUN, Review)] == [made]
        # a retry does at once
        wanted = retry_jobs(desk.caller(), desk.project, own_run(desk.project, RUN), "guarded")
        (again,) = wanted.only or frozenset()
        job = desk.job(RUN, "guarded")
        assert (job.agent_id, job.status) == (again, "interrupted")


def test_a_compressed_stream_can_be_forked(desk: Desk) -> None:
    parent = parent_of(desk)
    packet = packet_of(desk, parent, 4, shown=False)
    trace = desk.project.trace
    for path in (trace.agent_stream(parent), trace.run_stream(RUN)):
        compress_stream(path)
        assert not path.exists()
    made = fork(desk, parent, 4).job.agent_id
    assert packet_of(desk, made, 4, shown=False) == packet
    desk.resume(eager, only=frozenset({made}))
    assert desk.job(RUN, "guarded").agent_id == made
    assert desk.problems() == []


def test_what_was_begun_as_its_command_was_killed_and_compressed_since_keeps_its_name(
    desk: Desk,
) -> None:
    """Nobody begins a second time in a stream that has begun."""
    parent, trace = parent_of(desk), desk.project.trace
    made = fork(desk, parent, 4).job
    orphan = replace(made, attempt=3, agent_id=agent_id(made.operation, RUN, made.node_id, 3))
    start_stream(desk.project, orphan, start_of(desk, made.agent_id), utc_now)
    compress_stream(trace.agent_stream(orphan.agent_id))
    assert fork(desk, parent, 4).job.attempt == 4
    assert [event.type for event in events_of(desk, orphan.agent_id)] == ["agent_start"]


def test_rules_of_folding_that_are_not_known_are_not_guessed_at(desk: Desk) -> None:
    parent = parent_of(desk)
    events = events_of(desk, parent)
    newer = replace(start_of(desk, parent), fold="fold/9")
    first_line = replace(events[0], data=msgspec.Raw(msgspec.json.encode(newer)))
    with pytest.raises(StreamError, match="fold/9"):
        fork_point_at([first_line, *events[1:]], 3)
