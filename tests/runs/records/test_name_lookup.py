"""Short names: what they mean, and what is told where they mean nothing or too much."""

from datetime import UTC, datetime, tzinfo
from typing import Any, Self

import msgspec
import pytest

from remora.errors import NotFound, RemoraError, UsageError
from remora.memory.events import Head, Payload, RunStart, TurnStart
from remora.runs.records.name_lookup import run_named, stream_named
from remora.runs.records.results import jobs_named, read_run
from remora.runs.records.run_listing import list_run_lines
from remora.trace.read.blobs import NullBlobSink
from remora.trace.stream.line_builder import Identity, build_line, line_template, utc_now
from remora.usecases.analyze import prepare_run
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed

TWO = UNUSED + "\n\n" + UNUSED.replace("def load", "def store")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(
        tmp_path_factory.mktemp("shop"), {"a.py": TWO, "b.py": UNUSED, "ruff.toml": RULES}
    )


@pytest.fixture
def shop(kept: Kept) -> Desk:
    """A project after a run."""
    return kept.again()


def test_a_node_of_the_newest_run_names_its_agent(shop: Desk) -> None:
    newest = shop.analyze()
    folder = shop.project.trace
    agent = shop.job(newest, "store").agent_id
    for name in ("store", "a.py:store", "node:a.py:store", "a.py:st*", agent, agent[:-2]):
        assert stream_named(folder, name) == agent, name
    assert stream_named(folder, "last") == run_named(folder, "last") == newest


def test_the_last_run_is_the_newest_also_if_the_clock_went_back(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Past(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2020, 1, 1, tzinfo=tz)

    monkeypatch.setattr(prepare_run, "datetime", Past)
    newest = shop.analyze(clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    assert run_named(shop.project.trace, "last") == newest
    assert list_run_lines(shop.project.trace)[-1].run_id == newest


def test_a_name_of_several_nodes_or_none_is_refused_with_the_nearest(shop: Desk) -> None:
    run_id = shop.newest
    with pytest.raises(UsageError) as caught:
        stream_named(shop.project.trace, "load")
    assert all(
        job.agent_id in caught.value.hint
        for job in shop.view(run_id).jobs
        if job.node_id.endswith(":load")
    )
    with pytest.raises(NotFound) as refused:
        stream_named(shop.project.trace, "stroe")
    assert "a.py:store" in refused.value.hint


def test_a_file_without_a_job_of_its_own_names_the_jobs_in_it(shop: Desk) -> None:
    view = shop.view(shop.newest)
    job = shop.job(shop.newest, "store")
    assert jobs_named(msgspec.structs.replace(view, jobs=[job]), "a.py") == [job]


def test_a_damaged_newest_run_hides_no_agent(shop: Desk) -> None:
    run_id = shop.newest
    agent = shop.job(run_id, "store").agent_id
    with shop.project.trace.run_stream(run_id).open("ab") as file:
        file.write(b"{}\n")
    assert stream_named(shop.project.trace, "store") == agent
    assert stream_named(shop.project.trace, agent) == agent


def forge(shop: Desk, payload: Payload) -> str:
    """Write a run that is newer than all others and begins with any event."""
    name = "20991231-235959-forged"
    line, _ = build_line(
        line_template(Identity(name), NullBlobSink(), clock=utc_now),
        Head(),
        payload,
        turn=0,
        delta=None,
    )
    shop.project.trace.run_stream(name).write_bytes(line)
    return name


def test_a_forged_plan_is_damaged_and_hides_no_agent(shop: Desk) -> None:
    agent = shop.job(shop.newest, "store").agent_id
    plans: tuple[dict[str, Any], ...] = (
        {"jobs": 5},
        {"jobs": [5]},
        {"jobs": [{"operation": []}]},
        {"jobs": [{"node_id": {}}]},
        {"jobs": [{"nodes": 5}]},
        {"jobs": [{"nodes": [5]}]},
        {"operations": 5},
        {"skipped": "x"},
        {"findings": []},
        {"unreadable": 5},
    )
    others = (RunStart(config={"model_name": []}), RunStart(base={"commit": 5}))
    for start in (*(RunStart(plan=plan) for plan in plans), *others):
        forged = forge(shop, start)
        assert stream_named(shop.project.trace, agent) == agent
        with pytest.raises(NotFound):
            stream_named(shop.project.trace, "stroe")
        with pytest.raises(RemoraError, match="run_start"):
            read_run(shop.project, forged)


def test_last_is_the_newest_run_and_no_other_stream(shop: Desk) -> None:
    newest = shop.newest
    forge(shop, TurnStart())
    assert run_named(shop.project.trace, "last") == newest
