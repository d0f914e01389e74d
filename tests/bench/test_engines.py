"""The benchmarks of engines and of large runs, with few and short jobs."""

import engines
import large_run
import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("postgres")  # skips without the server's programs
def test_the_engines_are_compared_with_local(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    few = {"SHARD": 2, "SHARDS": 2, "JOB_S": 0.01, "LOST_JOB_S": 8.0, "LEASE_S": 3, "ROUNDS": 1}
    for name, value in {**few, "LOOPED": 20, "ENGINES": ("local", "queue")}.items():
        monkeypatch.setattr(engines, name, value)
    assert engines.main().keys() == {
        "local / loop",
        "queue: job",
        "queue: killed node",
        "queue: silent node",
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("postgres")
def test_a_run_of_many_jobs_is_measured_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    for name, value in {"JOBS": 30, "ROUNDS": 1}.items():
        monkeypatch.setattr(large_run, name, value)
    found = large_run.main()
    assert found.keys() == {"driver, while jobs run", "worker", "driver, with the results", "runs"}
    assert min(found.values()) > 0
