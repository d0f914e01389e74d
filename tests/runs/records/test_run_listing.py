"""All runs in one look, from their own streams alone."""

import json
from pathlib import Path

import pytest

from remora.runs.records import run_listing, stored_run_lines
from remora.runs.records.run_listing import list_run_lines
from remora.runs.retention.inventory import DAMAGE, take_inventory
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.line_builder import utc_now
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import CHOICE, Desk
from tests.trace.conftest import RUN, RunRecorder


def test_the_counts_are_those_of_the_jobs(ran: Desk) -> None:
    run_id = ran.newest
    ran.write({"b.py": CHOICE.replace("ValueError(1)", "ValueError(2)")})
    accept(run_id, root=ran.project, every=True)
    (run,) = list_run_lines(ran.project.trace)
    reviews = [job.review.state for job in ran.view(run_id).jobs]
    counted = [reviews.count(word) for word in ("pending", "accepted", "conflict")]
    assert [run.pending, run.accepted, run.conflicts] == counted == [0, 2, 1]


@pytest.mark.slow
def test_a_run_that_cannot_be_read_to_its_end_is_damaged_and_what_began_as_none_is_skipped(
    ran: Desk,
) -> None:
    sound, broken = ran.newest, ran.analyze()
    path = ran.project.trace.run_stream(broken)
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, b"{}\n", *rest]))
    listed = {run.run_id: run for run in list_run_lines(ran.project.trace)}
    assert listed[sound].status == "ended"
    assert (listed[broken].status, listed[broken].jobs) == ("damaged", 3)
    assert (listed[broken].pending, listed[broken].accepted) == (0, 0)
    path.write_bytes(b"".join([second, *rest]))
    assert [run.run_id for run in list_run_lines(ran.project.trace)] == [sound]


def test_the_stream_of_a_large_run_is_read_again_only_after_a_change(
    ran: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_run_lines, "_LARGE", 1)
    trace, run_id = ran.project.trace, ran.newest
    (before,) = list_run_lines(trace)
    read = list[str]()
    whole = run_listing.read_run_line

    def noted(path: Path) -> object:
        read.append(path.stem)
        return whole(path)

    monkeypatch.setattr(run_listing, "read_run_line", noted)
    assert list_run_lines(trace) == [before]
    assert read == []
    accept(run_id, root=ran.project, every=True)
    (after,) = list_run_lines(trace)
    assert (read, after.accepted, after.pending) == ([run_id], before.pending, 0)


def test_a_stored_run_that_was_killed_is_interrupted(
    ran: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_run_lines, "_LARGE", 1)
    run = RunRecorder(ran.project.trace)
    for status in ("running", "interrupted"):
        statuses = {line.run_id: line.status for line in list_run_lines(ran.project.trace)}
        assert statuses[RUN] == status
        run.writer.close()


def test_stored_entries_that_cannot_be_read_or_of_another_version_are_replaced(
    ran: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_run_lines, "_LARGE", 1)
    trace = ran.project.trace
    before = list_run_lines(trace)
    stored = trace.runs / "run_lines.json"
    right = stored.read_bytes()
    document = json.loads(right)
    for entry in document["lines"].values():
        del entry["line"]["pending"]
    other = json.dumps({**document, "format": 0}).encode()
    for content in (b"", b"[1]", b'{"format": 1, "lines": {"a.jsonl": {"line": 3}}}', other):
        stored.write_bytes(content)
        assert list_run_lines(trace) == before
        assert stored.read_bytes() == right
        assert stored.stat().st_mode & 0o777 == 0o600


def test_what_may_be_removed_is_read_from_the_streams(
    ran: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_run_lines, "_LARGE", 1)
    trace = ran.project.trace
    (before,) = list_run_lines(trace)
    assert before.pending
    stored = trace.runs / "run_lines.json"
    stored.write_text(stored.read_text().replace(f'"pending":{before.pending}', '"pending":0'))
    assert [line.pending for line in list_run_lines(trace)] == [0]
    (run,) = take_inventory(trace, utc_now()).runs
    assert "pending review" in run.hands_off


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_run_with_a_damaged_first_event_is_listed(ran: Desk, is_compressed: bool) -> None:
    trace, path = ran.project.trace, ran.project.trace.run_stream(ran.newest)
    if is_compressed:
        compress_stream(path)
    path = trace.existing_run(ran.newest)
    content = path.read_bytes()
    path.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])
    assert [(run.run_id, run.status) for run in list_run_lines(trace)] == [(ran.newest, "damaged")]
    (run,) = take_inventory(trace, utc_now()).runs
    assert run.hands_off == DAMAGE


@pytest.mark.parametrize("odd", [5, "lint", {"lint": 1}, None])
def test_a_record_with_odd_operations_or_an_odd_model_is_listed(ran: Desk, odd: object) -> None:
    path = ran.project.trace.run_stream(ran.newest)
    first, *rest = path.read_bytes().splitlines(keepends=True)
    event = json.loads(first)
    assert event["data"]["plan"]["operations"]
    event["data"]["plan"]["operations"] = event["data"]["config"]["model_name"] = odd
    path.write_bytes(b"".join([json.dumps(event).encode() + b"\n", *rest]))
    (run,) = list_run_lines(ran.project.trace)
    assert (run.operations, run.model) == ((), str(odd))
