"""How long a plan is expected to take."""

import msgspec

from remora.agents.job import Job
from remora.bootstrap.operations import BUILT_IN
from remora.operations.base import Operation, Operations
from remora.runs.planning.plan import Plan
from remora.usecases.analyze.prepare_run import expected_seconds

OPERATIONS = Operations(
    [
        Operation(name="fixing", folder=each.folder, job_seconds=2.0, unit_seconds=0.5)
        if each.name == "lint"
        else each
        for each in BUILT_IN.all
    ]
)


def plan(operation: str, amount: int) -> Plan:
    job = Job(
        run_id="run-1", agent_id="a-1", operation=operation, node_id="node:a.py:f",
        node_type="function", node_name="f", node_summary="", path="a.py", qualname="f",
    )  # fmt: skip
    return Plan(jobs=(job,), amounts={"a-1": amount})


def test_time_is_that_of_starts_jobs_and_units_and_shared_work_counts_once() -> None:
    assert expected_seconds(plan("fixing", 10), OPERATIONS, ()) == 8.0
    each = next(one for one in BUILT_IN.all if one.name == "types")
    shared = msgspec.structs.replace(each, job_seconds=1.0, unit_seconds=0.5, shared_seconds=4.0)
    (first,) = plan("types", 0).jobs
    second = msgspec.structs.replace(first, agent_id="a-2", path="b.py")
    both = Plan(jobs=(first, second), amounts={"a-1": 10, "a-2": 4})
    assert expected_seconds(both, Operations([shared]), ()) == 14.0


def test_what_a_model_takes_is_not_known() -> None:
    assert expected_seconds(plan("own", 1), OPERATIONS, ()) == 1.2
    assert expected_seconds(plan("own", 1), OPERATIONS, {"own"}) is None
