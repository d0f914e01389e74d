"""Engines: what it costs to hand out jobs, and how soon those of a lost node are continued.

Jobs have a known duration: in all processes, an agent waits and then ends with an error. Its stream
is claimed, written, closed and recorded as always, so the rest of the time is that of Remora.
"""

import asyncio
import json
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.agents.job import Job
from remora.runs.execution.engine import run_locally
from tests.cli.engines.company import DISTANT, Company
from tests.postgres_server import MISSING, PostgresServer, find_programs

JOB_S = 0.05
SHARD = 100
"""Jobs of a shard. Product shards have up to 200."""
SHARDS = 4
"""Shards of the long run. A run of one shard is subtracted from it, and so are start and end."""
ROUNDS = 3
LOST_JOB_S, LEASE_S = 2.0, 10
LOOPED, LOOPED_SUM = 2_000, 50_000
LOCAL, QUEUE = "local", "queue"
ENGINES = (LOCAL, QUEUE) if find_spec("procrastinate") else (LOCAL,)
_FILES = "src/measured"
_TIMED = """
import asyncio
from remora.agents.loop.runner import AgentRunner
from remora.errors import RemoraError
from remora.runs.execution import engine

engine.SHARD_JOBS = engine._FEWEST = %d

async def timed(self):
    await asyncio.sleep(%s)
    return await self.give_up(RemoraError("only measured"))

AgentRunner.run = timed
"""


def main() -> dict[str, float]:
    """Return the figures that have an aim."""
    found = {"local / loop": _loop()}
    if find_programs() is None:
        print(f"left out: {MISSING}")
        return found
    server = PostgresServer().start()
    try:
        with _company(server, "overhead", LEASE_S) as company:
            found |= _overhead(company)
        if QUEUE in ENGINES:
            for name, number in (("killed", signal.SIGKILL), ("silent", signal.SIGSTOP)):
                with _company(server, f"queue_{name}", LEASE_S) as company:
                    found[f"queue: {name} node"] = _lost_node(company, name, number)
    finally:
        server.remove()
    return found


def _loop() -> float:
    """Return the CPU time of `run_locally` over that of a plain loop, for jobs of a millisecond."""
    jobs = [_job(number) for number in range(LOOPED)]

    async def work(_: Job) -> None:
        sum(range(LOOPED_SUM))
        await asyncio.sleep(0)

    async def plain() -> None:
        for job in jobs:
            await work(job)

    async def engine() -> None:
        await run_locally(jobs, work, 1)

    pairs = [(_seconds(engine), _seconds(plain)) for _ in range(ROUNDS)]
    best = [min(each) for each in zip(*pairs, strict=True)]  # other processes only slow it down
    return _printed("local, over a plain loop (jobs of 1 ms)", [best[0] / best[1]], "x", "<= 1.02")


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    asyncio.run(work())
    return time.process_time() - begun


def _job(number: int) -> Job:
    return Job(
        run_id="r", agent_id=f"a-{number}", operation="lint", node_id=f"n{number}", node_type="",
        node_name="", node_summary="", path="", qualname="",
    )  # fmt: skip


def _overhead(company: Company) -> dict[str, float]:
    """Measure runs of one shard and of several, one job at a time, whose engines alternate."""
    patch = _TIMED % (SHARD, JOB_S)
    if QUEUE in ENGINES:
        company.start("worker", "--concurrency", "1", patch=patch)
    short: dict[str, list[float]] = {name: [] for name in ENGINES}
    long: dict[str, list[float]] = {name: [] for name in ENGINES}
    for _ in range(ROUNDS):
        for engine in ENGINES:
            short[engine].append(_run(company, engine, f"{_FILES}/shard_0", patch))
            long[engine].append(_run(company, engine, _FILES, patch))
    jobs = SHARD * (SHARDS - 1)
    start = {name: min(short[name]) for name in ENGINES}  # other processes only slow it down
    job = {name: (min(long[name]) - start[name]) / jobs * 1000 for name in ENGINES}
    _printed("local, Remora's own time for a job", [job[LOCAL] - JOB_S * 1000], "ms", "")
    found = {}
    for name in ENGINES[1:]:
        found[f"{name}: job"] = _printed(
            f"{name}, more for a job in a shard of {SHARD}", [job[name] - job[LOCAL]], "ms", "<= 10"
        )
        _printed(f"{name}, more for a run of {SHARD} jobs", [start[name] - start[LOCAL]], "s", "")
    return found


def _run(company: Company, engine: str, files: str, patch: str) -> float:
    """Return the seconds between the first and the last event of a run."""
    words = ("analyze", files, "-o", "lint", "--yes", "--quiet", "--concurrency", "1")
    driver = company.start(*words, "--engine", engine, patch=patch)
    assert driver.wait(600) == 1, company.log  # all jobs end with an error
    lines = _newest_run(company)
    first, last = (datetime.fromisoformat(json.loads(one)["timestamp"]) for one in lines)
    return (last - first).total_seconds()


def _newest_run(company: Company) -> tuple[bytes, bytes]:
    """Return the first and the last line of the newest run."""
    rows = company.rows(
        "SELECT lines FROM events WHERE stream = (SELECT id FROM streams "
        "WHERE starts_with(name, 'runs/') ORDER BY name DESC LIMIT 1) ORDER BY seq"
    )
    return bytes(rows[0][0]).splitlines()[0], bytes(rows[-1][0]).splitlines()[-1]


def _lost_node(company: Company, name: str, number: signal.Signals) -> float:
    """Return the seconds until another machine has claimed a job of a lost node's shard."""
    patch = _TIMED % (SHARD, LOST_JOB_S)

    def start(more: str) -> Any:
        return company.start("worker", "--concurrency", "1", patch=more + patch)

    lost = start("")
    words = ("analyze", f"{_FILES}/shard_0", "-o", "lint", "--yes", "--quiet", "--concurrency", "1")
    company.start(*words, "--engine", QUEUE, patch=patch)
    company.wait_for(
        "SELECT 1 FROM streams WHERE owner IS NOT NULL AND NOT closed "
        "AND starts_with(name, 'traces/')"
    )
    start(DISTANT)
    time.sleep(5)  # until the other one is ready
    begun = time.monotonic()
    lost.send_signal(number)
    company.wait_for(
        "SELECT 1 FROM streams WHERE starts_with(name, 'traces/') "
        "AND owner LIKE '%another machine%'",
        120,
    )
    seconds = time.monotonic() - begun
    return _printed(
        f"queue, {name} node, until another one has its jobs",
        [seconds],
        "s",
        f"<= {LEASE_S + 15}",
    )


@contextmanager
def _company(server: PostgresServer, name: str, lease_s: int) -> Iterator[Company]:
    """Yield a project with a file for each job."""
    with TemporaryDirectory(prefix="engines-") as folder, ExitStack() as stack:
        company = Company(Path(folder), server.new_database(name), stack)
        company.environ["REMORA_POSTGRES__LEASE_S"] = str(lease_s)
        for shard in range(SHARDS):
            place = company.project / _FILES / f"shard_{shard}"
            place.mkdir(parents=True)
            for number in range(SHARD):
                (place / f"module_{number}.py").write_text("import os\n")
        company.git("add", "-A")
        company.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "measured")
        yield company


def _printed(name: str, values: list[float], unit: str, aim: str) -> float:
    """Print the median with the least and the greatest value, and return it."""
    median = statistics.median(values)
    told = f"{name:52} {median:8.2f} {unit:3} ({min(values):.2f} to {max(values):.2f})"
    print(f"{told}   (aim {aim})" if aim else told, flush=True)
    return median


if __name__ == "__main__":
    main()
