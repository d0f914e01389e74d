"""All runs in one look, from their own streams alone."""

import json

import pytest

from remora.runs.records.run_listing import list_run_lines
from remora.runs.retention.inventory import DAMAGE, take_inventory
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.line_builder import utc_now
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import CHOICE, Desk


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
