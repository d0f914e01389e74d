"""The documents that commands print: exactly these keys."""

from typing import Any

import msgspec
import pytest

from remora.agents.job import AgentResult, Job
from remora.errors import NotFound
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.results import run_document
from remora.runs.records.run_listing import list_run_lines, place_text
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import CHOICE, RULES, UNUSED, Desk, Kept, analyzed, last

JOB = {
    "agent_id", "operation", "node_id", "status", "turns", "decided_by", "max_packet_tokens",
    "raw_bytes", "files_changed", "error",
}  # fmt: skip
TOTALS = {"jobs", "verified", "no_change", "failed", "error", "interrupted", "skipped"}


FILES = {"a.py": UNUSED, "b.py": CHOICE, "bad.py": "(", "ruff.toml": RULES}


@pytest.fixture
def shop(desk: Desk) -> Desk:
    desk.write(FILES)
    return desk


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(tmp_path_factory.mktemp("ran"), FILES, last)


@pytest.fixture
def ran(kept: Kept) -> Desk:
    """After a run in which the model chose the last candidate: to submit."""
    return kept.again()


@pytest.mark.slow
def test_a_runs_document(ran: Desk) -> None:
    run_id = ran.newest
    document = run_document(ran.project, ran.view(run_id))
    assert set(document) >= {"run_id", "root", "model", "jobs", "totals"}
    assert (document["run_id"], document["model"]) == (run_id, "scripted")
    assert document["root"] == str(ran.root)
    assert all(set(job) >= JOB for job in document["jobs"])
    totals = document["totals"]
    assert set(totals) == TOTALS | {
        "skipped_nodes",
        "unreadable",
        "decisions",
        "gates",
        "by_model",
        "operations",
    }
    assert sum(totals.pop("decisions").values()) == sum(job["turns"] for job in document["jobs"])
    gates = totals.pop("gates")
    assert gates["proof"] == "checked"
    assert [(gate["name"], bool(gate["missing"])) for gate in gates["results"]] == [
        ("ruff", False), ("pytest", True),
    ]  # fmt: skip
    part = totals.pop("by_model")
    assert (part["turns"], part["requests"], part["refused"], part["added"]) == (1, 1, 0, 0)
    (lint,) = totals.pop("operations")
    assert (lint["operation"], lint["jobs"], lint["verified"]) == ("lint", 3, 2)
    assert totals == {
        "jobs": 3, "verified": 2, "no_change": 1, "failed": 0, "error": 0, "interrupted": 0,
        "skipped": 1, "skipped_nodes": 1, "unreadable": [{"path": "bad.py", "detail": "line 1: '(' was never closed"}],
    }  # fmt: skip


def test_a_jobs_numbers_are_those_of_its_stream_and_its_diff_is_its_own(ran: Desk) -> None:
    run_id = ran.newest
    document = run_document(ran.project, ran.view(run_id))
    jobs = {job["node_id"].rpartition(":")[2]: job for job in document["jobs"]}
    load, guarded = jobs["load"], jobs["guarded"]
    assert load["decided_by"] == {"rule": 3, "model": 0, "fallback": 0, "escalation": 0}
    assert (load["turns"], load["files_changed"], load["error"]) == (3, ["a.py"], None)
    assert guarded["decided_by"] == {"rule": 1, "model": 1, "fallback": 0, "escalation": 0}
    assert 0 < guarded["max_packet_tokens"] < 3000
    assert guarded["raw_bytes"] > 100
    assert load["why"] is None
    (left,) = [job for job in document["jobs"] if job["status"] == "no_change"]
    assert left["why"] == "1 finding: B904; 0 with a safe fix"
    results = {
        job.node_id: result
        for (job, result) in zip(ran.view(run_id).jobs, document["jobs"], strict=True)
    }
    assert len(results) == 3
    text = job_diff(ran.project, ran.job(run_id, "load"))
    assert text.startswith("--- a/a.py\n+++ b/a.py\n")
    assert "-    import re\n" in text
    assert "import os" not in [line[1:] for line in text.splitlines() if line[:1] == "-"]


def test_live_and_recorded_counts_agree(shop: Desk) -> None:
    ended: dict[str, AgentResult] = {}

    class Kept(type(shop.watching)):  # type: ignore[misc]
        def ended(self, job: Job, result: AgentResult) -> None:
            ended[job.agent_id] = result

    shop.watching = Kept()
    run_id = shop.analyze()
    for job in shop.view(run_id).jobs:
        result = ended[job.agent_id]
        assert job.status == result.status
        assert (job.outcome.stop_reason, job.outcome.error) == (result.stop_reason, result.error)
        assert (job.counts, job.proposal.changes) == (result.counts, result.change_set)
        assert job.stream.head == result.head


def test_the_list_of_runs(shop: Desk) -> None:
    assert list_run_lines(shop.project.trace) == []
    one, other = shop.analyze(), shop.analyze(last)
    runs = shop.project.trace.runs  # what lies among the runs and is none is skipped
    (runs / "empty.jsonl").write_bytes(b"")
    (runs / "text.jsonl").write_bytes(b"hello\n")
    (runs / "folder.jsonl").mkdir()
    accept(one, "load", root=shop.project)
    reject(one, "guarded", root=shop.project)
    listed: list[dict[str, Any]] = msgspec.to_builtins(list_run_lines(shop.project.trace))
    assert {run["run_id"] for run in listed} == {one, other}
    assert all(
        list(run)[6:-3] == ["failed", "pending", "accepted", "rejected", "reverted", "conflicts"]
        for run in listed
    )
    files = ("a", "b/c.py"), ("d", "b/d.py"), ("e", "b/d.py"), ("f", "b/e.py")
    assert place_text(files[:2]) == "a, d"
    assert place_text(files) == "b"
    assert place_text([*files, ("g", "g.py")]) == "b, g.py"
    by_id = {run["run_id"]: run for run in listed}
    assert {k: by_id[one][k] for k in ("status", "jobs", "pending", "accepted")} == {
        "status": "ended", "jobs": 3, "pending": 1, "accepted": 1,
    }  # fmt: skip
    assert (by_id[other]["pending"], by_id[other]["accepted"]) == (2, 0)


def test_an_ended_job_whose_stream_was_removed_is_damaged(ran: Desk) -> None:
    run_id = ran.newest
    with pytest.raises(NotFound) as caught:
        ran.view(run_id[:-1])
    assert run_id in caught.value.message, "the nearest"
    job = ran.job(run_id, "load")
    ran.project.trace.agent_stream(job.agent_id).unlink()
    found = ran.job(run_id, "load")
    assert (found.status, found.review.state, found.stream.damaged) == ("error", "", True)
    assert (
        found.outcome.error
        == f"the stream of {job.agent_id} was removed; see `remora trace verify`"
    )
