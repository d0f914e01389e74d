"""What the report of a worker means for it."""

from typing import Any

import pytest

from remora.engines.worker_report import WorkerReport
from remora.runs.execution.shard_task import code_digest
from remora.usecases.workers.check_workers import check_report

GOOD: dict[str, Any] = {
    "host": "build1",
    "pid": 7,
    "python": "3.11.7",
    "code": code_digest(),
    "database": "db/remora",
    "role": "worker",
    "may_append": True,
    "clock_ahead_s": 3600.0,  # leases run on the server's clock
    "isolation": 3,
    "git": "git version 2.39.5",
    "free_bytes": 72_000_000_000,
    "model": "qwen",
}


def test_a_good_worker_passes() -> None:
    check = check_report(WorkerReport(**GOOD))
    assert check.ok
    assert check.detail == (
        "build1:7: same Remora and ruff; Python 3.11.7; role worker at db/remora; "
        "clock differs by 3600.0 s; L3, bubblewrap; git version 2.39.5; 72.0 GB free; model qwen"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"code": "other"}, "another version of Remora or ruff"),
        ({"database_error": "no route to host"}, "no route to host"),
        ({"may_append": False}, "may not append events"),
        ({"changes": ("UPDATE",)}, "may change stored events (UPDATE)"),
        ({"model_error": "no server", "model_is_needed": True}, "no server"),
        ({"error": "ModuleNotFoundError: remora"}, "ModuleNotFoundError: remora"),
    ],
)
def test_a_worker_that_cannot_run_shards_or_must_not_is_a_fault(
    wrong: dict[str, Any], said: str
) -> None:
    check = check_report(WorkerReport(**{**GOOD, **wrong}))
    assert (check.ok, check.needed) == (False, True)
    assert said in check.detail
    assert check.hint


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"git": ""}, "git does not work"),
        ({"isolation": 1}, "isolation only L1, Landlock"),
        ({"free_bytes": 200_000_000}, "only 0.2 GB free"),
    ],
)
def test_a_worker_that_can_do_less_is_a_warning(wrong: dict[str, Any], said: str) -> None:
    check = check_report(WorkerReport(**{**GOOD, **wrong}))
    assert (check.ok, check.needed) == (False, False)
    assert said in check.detail


def test_a_model_that_is_not_needed_may_be_missing() -> None:
    check = check_report(WorkerReport(**{**GOOD, "model_error": "no weights"}))
    assert check.ok
    assert check.detail.endswith("no model: rules only")
