"""Estimates of plans from measured rates."""

from pathlib import Path

import pytest

from remora.agents.job import Job
from remora.operations.base import Operation, Operations
from remora.runs.planning.estimate import Estimate, add_estimates
from remora.runs.planning.measured_estimate import PlannedSpeed, estimate_plan
from remora.runs.planning.measured_rates import (
    Rate,
    RateUse,
    keep_rates,
    rates_of,
    read_rates,
    server_text,
)
from remora.runs.planning.plan import Plan

OPERATIONS = Operations(
    [
        Operation(name="write", folder=Path(), asks_writers=True),
        Operation(name="fix", folder=Path(), decides_by_rules=True, job_seconds=2.0),
    ]
)


def plan(operation: str, jobs: int) -> Plan:
    made = tuple(
        Job(
            run_id="r", agent_id=f"{operation}-{number}", operation=operation, node_id="a.py:f",
            node_type="function", node_name="f", node_summary="", path="a.py", qualname="f",
        )
        for number in range(jobs)
    )  # fmt: skip
    return Plan(jobs=made, amounts={job.agent_id: 1 for job in made})


def rate(  # noqa: PLR0913 (one argument per varied number)
    *,
    operation: str = "write",
    engine: str = "local",
    jobs: int = 20,
    at_once: float = 2.0,
    workers: int = 1,
    model: str = "m",
    shared: float = 0.0,
) -> Rate:
    """Jobs of 3 s, of which a model takes 2 s."""
    return Rate(
        use=RateUse(operation, "http://a/v1", model, engine),
        run_id="r", jobs=jobs, decisions=jobs * 2, prompt_tokens=jobs * 100,
        answer_tokens=jobs * 10, model_seconds=jobs * 2.0, rules_seconds=jobs * 1.0,
        shared_seconds=shared, at_once=at_once, workers=workers,
    )  # fmt: skip


def estimate(operation: str, jobs: int, *rates: Rate, speed: PlannedSpeed) -> Estimate:
    return estimate_plan(plan(operation, jobs), OPERATIONS, "openai", {operation: rates}, speed)


def test_measured_rates_are_multiplied_by_the_jobs() -> None:
    found = estimate("write", 100, rate(), speed=PlannedSpeed(2))
    assert (found.decisions, found.prompt_tokens, found.answer_tokens) == (200, 10_000, 1_000)
    assert (found.seconds, found.measured_jobs) == (150.0, 20)


def test_without_rates_a_server_is_unknown_and_rules_are_not() -> None:
    found = estimate("write", 100, speed=PlannedSpeed(2))
    assert (found.decisions, found.seconds, found.unmeasured) == (None, None, ("write",))
    found = estimate("fix", 100, speed=PlannedSpeed(2))
    assert (found.decisions, found.seconds, found.unmeasured) == (0, 200.0, ())


def test_the_first_measured_jobs_count_as_much_as_the_constants() -> None:
    few, many = rate(operation="fix", jobs=3), rate(operation="fix", jobs=297)
    assert estimate("fix", 100, few, speed=PlannedSpeed(2)).seconds == (200.0 + 150.0) / 2
    assert estimate("fix", 100, many, speed=PlannedSpeed(2)).seconds == 150.5


def test_constants_are_times_of_two_jobs_at_a_time() -> None:
    assert estimate("fix", 100, speed=PlannedSpeed(1)).seconds == 400.0
    assert estimate("fix", 100, speed=PlannedSpeed(16)).seconds == 200.0


@pytest.mark.parametrize(
    ("speed", "seconds"),
    [
        (PlannedSpeed(1), 300.0),
        (PlannedSpeed(16), 150.0),  # the server may not be able to do more
        (PlannedSpeed(2, workers=4), 100 * 2 / 2 + 100 * 1 / 2 / 4),
        (PlannedSpeed(2, workers=0), 150.0),
    ],
)
def test_more_workers_do_not_make_a_server_faster(speed: PlannedSpeed, seconds: float) -> None:
    assert estimate("write", 100, rate(), speed=speed).seconds == seconds


def test_work_that_jobs_share_is_done_once() -> None:
    assert estimate("write", 100, rate(shared=8.0), speed=PlannedSpeed(2)).seconds == 158.0


def test_rates_of_the_engine_and_of_the_newest_model_are_preferred() -> None:
    at_home, queued = rate(), rate(engine="queue", workers=4)
    on_ray, other = rate(engine="ray", workers=0), rate(model="other")
    known = [at_home, queued, on_ray, other]
    server = "http://a/v1"
    assert rates_of(known, "write", server, "m", "queue") == (queued,)
    assert rates_of(known, "write", server, "m", "ray") == (on_ray,)
    assert rates_of([at_home, on_ray], "write", server, "m", "queue") == (at_home,)
    assert rates_of(known, "write", server, None, "local") == (other,)
    assert rates_of(known, "write", "http://b/v1", None, "local") == ()


def test_only_the_newest_rates_are_kept(tmp_path: Path) -> None:
    for jobs in (100, 99, 101, 98):
        keep_rates(tmp_path, [rate(jobs=jobs)])
    keep_rates(tmp_path, [rate(model="other", jobs=1)] * 25)
    assert [each.jobs for each in read_rates(tmp_path)] == [99, 101, 98, *[1] * 20]
    assert [file.name for file in tmp_path.iterdir()] == ["measured_rates.json"]


def test_a_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "measured_rates.json").write_bytes(b'[{"jobs": ')
    assert read_rates(tmp_path) == ()
    keep_rates(tmp_path, [rate()])
    assert len(read_rates(tmp_path)) == 1


def test_sums_are_unknown_if_a_part_is() -> None:
    known, unknown = Estimate(decisions=1, seconds=2.0), Estimate(decisions=None, seconds=3.0)
    total = add_estimates([known, unknown])
    assert (total.decisions, total.seconds, total.prompt_tokens) == (None, 5.0, 0)


def test_addresses_are_kept_without_passwords() -> None:
    assert server_text("http://me:secret@a:1/v1/?key=b") == "http://a:1/v1"
