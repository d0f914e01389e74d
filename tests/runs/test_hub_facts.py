"""Hub facts in a run: in packets, and for jobs whose node was edited."""

import asyncio
from collections.abc import Iterable
from threading import Thread

import pytest
from msgspec.structs import replace

from remora.agents.job import Job
from remora.code.file_analysis import read_facts
from remora.errors import OutsideError
from remora.hub.client import Context, HubClient
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from remora.memory.events import ContextUpdate, Event, Review, ToolResulted, payload
from remora.runs.execution.run import RunRequest
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.session import execute_plan
from remora.usecases.hub import fact_source
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import RULES, UNUSED, Desk, Watching, first
from tests.scripted_model import ScriptedModel

FILES = {"a.py": UNUSED, "ruff.toml": RULES}
LOAD = "node:a.py:load"


def updates(desk: Desk, run_id: str, node: str) -> list[tuple[Event, ContextUpdate]]:
    """What the Hub said to the agent on a node."""
    path = desk.project.trace.existing_agent(desk.job(run_id, node).agent_id)
    return [
        (event, data)
        for event in read_events(path)
        if isinstance(data := payload(event), ContextUpdate) and data.source == "hub"
    ]


def states(desk: Desk, run_id: str) -> dict[str, str]:
    return {job.node_id.rpartition(":")[2]: job.review.state for job in desk.view(run_id).jobs}


def test_without_a_hub_packets_hold_what_the_file_says(desk: Desk) -> None:
    desk.write(FILES)
    run_id = desk.analyze()
    told, *more = updates(desk, run_id, "load")
    event, update = told
    assert event.turn == 1
    assert update.value[LOAD]["source_hash"]
    assert (update.value[LOAD]["callers"], update.value[LOAD]["fresh"]) == (None, True)
    assert event.packet_delta is not None
    assert event.packet_delta.hub_context == {
        LOAD: {"flags": ["type hints missing"], "complexity": 1}
    }
    # the fix is made in the workspace: from then on its own facts are
    assert [found.value[LOAD].get("own_facts") for _, found in more] in ([], ["workspace"])
    assert desk.problems() == []


def test_the_first_run_that_a_model_drives_builds_the_index_and_shows_callers(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = {"use.py": "from a import load\n\n\ndef main():\n    return load()\n"}
    driven = {"remora.yaml": "model: {base_url: http://127.0.0.1:9/v1}\n"}
    desk.write({**FILES, **caller, **driven})
    monkeypatch.setattr(fact_source, "TURN_S", 30.0)
    run_id = desk.analyze(request=RunRequest(node="load", concurrency=1))
    (event, _), *_ = updates(desk, run_id, "load")
    assert event.packet_delta is not None
    assert isinstance(event.packet_delta.hub_context, dict)
    shown = event.packet_delta.hub_context[LOAD]
    assert (shown["call"], shown["callers"]) == ("use.py:5: return load()", ["use.py:main"])
    assert desk.problems() == []


class Slow(HubClient):
    """Answers when it is allowed to, as it is told."""

    def __init__(self, *callers: tuple[()] | None) -> None:
        self.may_answer = asyncio.Event()
        self.answers = list(callers)

    async def get_context(self, nodes: Iterable[str], *, links: bool = True) -> Context:
        await self.may_answer.wait()
        (node,) = (
            NodeQueries(MemorySnapshot({"a.py": read_facts("a.py", UNUSED.encode())}))
            .context([LOAD])
            .values()
        )
        return Context({LOAD: replace(node, callers=self.answers.pop(0))})


def test_facts_that_come_too_late_are_there_in_a_later_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fact_source, "TURN_S", 0.01)

    async def turns() -> None:
        client = Slow(None, ())
        facts = fact_source.FactsAhead(client)
        assert await facts.get_context([LOAD]) == {}
        client.may_answer.set()
        await facts.look_up([LOAD], Thread())
        assert (await facts.get_context([LOAD]))[LOAD].callers == ()
        assert not client.answers
        assert (await facts.get_context([LOAD]))[LOAD].callers == ()

    asyncio.run(turns())


class Answering(HubClient):
    """Answers for one node, and forever looks for another."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def get_context(self, nodes: Iterable[str], *, links: bool = True) -> Context:
        answer = Context()
        match next(iter(nodes)):
            case "known":
                answer.source, answer.generation = "socket", 7
            case "slow":
                await self.may_answer.wait()
        return answer


@pytest.mark.parametrize("keys", [["known", "other"], ["other", "known"]])
def test_the_source_of_facts_does_not_depend_on_the_order_of_nodes(keys: list[str]) -> None:
    found = asyncio.run(fact_source.FactsAhead(Answering()).get_context(keys))
    assert (found.source, found.generation) == ("socket", 7)


def test_no_look_up_outlives_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_source, "TURN_S", 0.01)

    async def turn() -> None:
        facts = fact_source.FactsAhead(Answering())
        await facts.get_context(["slow"])
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        facts.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(turn())


@pytest.mark.slow
def test_with_hub_enabled_false_no_source_is_asked(desk: Desk) -> None:
    desk.write({**FILES, "remora.yaml": "hub: {enabled: false}\n"})
    run_id = desk.analyze()
    assert updates(desk, run_id, "load") == []
    assert states(desk, run_id) == {"load": "pending", "__module__": "pending"}


def test_with_hub_enabled_true_a_daemon_must_run(desk: Desk) -> None:
    desk.write({**FILES, "remora.yaml": "hub: {enabled: true}\n"})
    with pytest.raises(OutsideError, match="no daemon is running") as refused:
        desk.analyze()
    assert refused.value.exit_code == 3
    assert "remora hub start" in refused.value.hint
    assert list(desk.project.trace.run_streams()) == []


class Meddling(Watching):
    """The user edits a file as soon as an agent has done something."""

    def __init__(self, desk: Desk, edits: list[dict[str, str | bytes | None]]) -> None:
        super().__init__()
        self.desk = desk
        self.edits = edits

    def event(self, job: Job, event: Event) -> None:
        super().event(job, event)
        if event.type == ToolResulted.type and job.node_id == LOAD and self.edits:
            self.desk.write(self.edits.pop(0))


def meddled(desk: Desk, *edits: dict[str, str | bytes | None]) -> str:
    desk.write(FILES)
    request = RunRequest(concurrency=1, node="load")
    prepared = desk.prepare(request)
    work = execute_plan(prepared, ScriptedModel(first), Meddling(desk, [*edits]), utc_now)
    try:
        asyncio.run(work)
    finally:
        prepared.close()
    desk.newest = prepared.run_id
    return prepared.run_id


EDITED = UNUSED.replace("return 1", "return 2")


class TestStale:
    def test_the_agent_learns_of_the_edit_and_its_change_set_is_not_applied(
        self, desk: Desk
    ) -> None:
        run_id = meddled(desk, {"a.py": EDITED})
        event, update = updates(desk, run_id, "load")[-1]
        assert event.turn == 2
        assert update.value[LOAD]["changed_by_user"] is True
        assert event.packet_delta is not None
        context = event.packet_delta.hub_context
        assert isinstance(context, dict)
        assert context[LOAD]["changed_by_user"] is True
        assert states(desk, run_id) == {"load": "stale"}
        before = desk.tree()
        said = accept(run_id, "load", root=desk.project)
        assert (said.accepted, desk.tree()) == ([], before)
        (conflict,) = said.conflicts
        assert conflict["node_id"] == LOAD
        assert "you changed this node while the agent worked" in conflict["detail"]
        assert [review.verdict for review in desk.payloads(run_id, Review)] == ["conflict"]
        assert states(desk, run_id) == {"load": "stale"}
        assert desk.problems() == []
        assert reject(run_id, "load", root=desk.project).rejected == [LOAD]
        assert states(desk, run_id) == {"load": "rejected"}

    @pytest.mark.slow
    def test_an_edit_elsewhere_in_the_file_is_merged(self, desk: Desk) -> None:
        run_id = meddled(desk, {"a.py": "# mine\n" + UNUSED})
        assert states(desk, run_id) == {"load": "pending"}
        assert accept(run_id, "load", root=desk.project).accepted == [LOAD]
        assert (desk.root / "a.py").read_text().startswith("# mine\n")

    def test_a_removed_node_is_changed_and_a_reverted_edit_does_not_count(self, desk: Desk) -> None:
        run_id = meddled(desk, {"a.py": "import os\n"})
        assert states(desk, run_id) == {"load": "stale"}
        assert accept(run_id, root=desk.project, every=True).conflicts
        desk.write(FILES)
        assert states(desk, run_id) == {"load": "stale"}
        assert accept(run_id, "load", root=desk.project).accepted == [LOAD]
