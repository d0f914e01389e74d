"""How the jobs of a run are divided among workers."""

import pytest

from remora.runs.execution.engine import shard_size


@pytest.mark.parametrize(
    ("jobs", "size"), [(1, 20), (45, 20), (400, 50), (1_600, 200), (100_000, 200)]
)
def test_a_small_run_also_has_work_for_several_workers(jobs: int, size: int) -> None:
    assert shard_size(jobs) == size
