"""A run of 100,000 jobs: peak memory of the driver and of a worker, and the time of `remora runs`.

The plan is recorded as a run that has not begun any job, which is then resumed.
Workers take its shards from the queue, but a job only claims its stream, appends `agent_end` and
releases it.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace

from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.ids import NodeKey, agent_id
from remora.models.protocol import NoModel
from remora.runs.execution.execute import keep_base, record_start
from remora.runs.execution.run import RunRequest
from remora.runs.records.run_stream import open_run
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.session import create_records, settings_to_record
from tests.cli.engines.company import REMORA, Company
from tests.postgres_server import MISSING, PostgresServer, find_programs

JOBS = 100_000
JOBS_OF_FILE = 100
WORKERS = 2
ROUNDS = 3
# the stream of a job gets only its end
_SHORT = """
from remora.worker import shard_worker
from remora.memory.events import AgentEnd
from remora.runs.records.agent_stream import agent_emitter

async def end(self, job):
    with agent_emitter(self._run.prepared.project, job) as emitter:
        emitter.emit(AgentEnd(status="no_change", stop_reason="no_change"), turn=0)

shard_worker._ShardJobs._work = end
"""


def main() -> dict[str, float]:
    """Return the figures that have an aim."""
    if find_programs() is None:
        print(f"left out: {MISSING}")
        return {}
    server = PostgresServer().start()
    try:
        with TemporaryDirectory(prefix="large-run-") as folder, ExitStack() as stack:
            company = Company(Path(folder), server.new_database("large"), stack)
            _record(company)
            return {**_driver(company), "runs": _list_runs(company)}
    finally:
        server.remove()


def _record(company: Company) -> None:
    """Record a plan of `JOBS` jobs on functions that do not exist."""
    root = company.project
    invocation = Invocation(environ=company.environ, folder=root, root=root)
    prepared = prepare(invocation, RunRequest(operations=("lint",), paths=(root / "src",)))
    assert prepared.base is not None
    project, run_id = prepared.project, prepared.run_id
    create_records(project)
    plan = replace(prepared.plan, jobs=tuple(_job(run_id, number) for number in range(JOBS)))
    keep_base(project, prepared.base)
    with open_run(project, run_id) as stream:
        record_start(stream, project, plan, settings_to_record(prepared, NoModel()), prepared.base)
    prepared.close()


def _job(run_id: str, number: int) -> Job:
    path, name = f"src/shop/generated/module_{number // JOBS_OF_FILE}.py", f"read_value_{number}"
    node = f"node:{path}:{name}"
    return Job(
        run_id=run_id,
        agent_id=agent_id("lint", run_id, NodeKey(node), 1),
        operation="lint",
        node_id=node,
        node_type="function",
        node_name=name,
        node_summary=f"def {name}(store: Store, key: str, default: int | None = None) -> int",
        path=path,
        qualname=name,
    )


def _driver(company: Company) -> dict[str, float]:
    """Run all jobs, and return the peaks of the driver in MB, while it plans and afterwards."""
    workers = [company.start("worker", patch=_SHORT) for _ in range(WORKERS)]
    begun = time.monotonic()
    driver = company.start("analyze", "--resume", "last", "--quiet", "--engine", "queue")
    ended = f"SELECT 1 FROM streams WHERE starts_with(name, 'runs/') AND next_seq = {2 + 2 * JOBS}"
    peak = _peak(driver.pid)
    while not company.rows(ended):
        assert driver.poll() is None, company.log
        time.sleep(1)
        peak = max(peak, _peak(driver.pid))
    ran = time.monotonic()
    found = {"driver, while jobs run": peak}
    found["worker"] = max(_peak(worker.pid) for worker in workers)
    _, status, used = os.wait4(driver.pid, 0)
    driver.returncode = os.waitstatus_to_exitcode(status)
    assert driver.returncode == 0, company.log
    found["driver, with the results"] = used.ru_maxrss / 1024
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    for name, megabytes in found.items():
        print(f"{name:28} {megabytes:8.0f} MB   (aim < 500)")
    printed = time.monotonic()
    print(f"jobs {ran - begun:.0f} s, results {printed - ran:.0f} s", flush=True)
    return found


def _peak(pid: int) -> float:
    """Return the peak memory of a process in MB, or 0 if it has ended."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return max(peaks, default=0) / 1024


def _list_runs(company: Company) -> float:
    """Return the seconds that `remora runs` takes at best."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run(
            [*REMORA, "runs"], check=True,
            cwd=company.project, env=company.environ, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        seconds.append(time.perf_counter() - begun)
    print(f"remora runs {min(seconds):.2f} s ({seconds[0]:.2f} s at first)   (aim <= 1)")
    return min(seconds)


if __name__ == "__main__":
    main()
