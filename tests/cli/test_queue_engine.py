"""`analyze --engine queue` with real workers, a real queue and a real database."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"
REMORA = [sys.executable, "-m", "remora"]
# dies with the job on a file, as a tool that takes all memory would let it
DEADLY_WORKER = """
import os, signal, sys
from remora.agents.loop.runner import AgentRunner
from remora.cli.main import main

run = AgentRunner.run

async def dying(self):
    if self.job.path.endswith("pricing.py"):
        os.kill(os.getpid(), signal.SIGKILL)
    return await run(self)

AgentRunner.run = dying
sys.argv = ["remora", "worker"]
main()
"""
# calls itself another machine, with a cache of its own
DISTANT_WORKER = """
import os, sys
from remora.trace.postgres import owner

owner.this_machine = lambda: "another machine"
os.environ["XDG_CACHE_HOME"] += "-elsewhere"

from remora.cli.main import main
sys.argv = ["remora", "worker"]
main()
"""
# each turn takes long enough to be killed in
SLOW_WORKER = """
import sys, time
from remora.agents.loop.runner import AgentRunner
from remora.cli.main import main

execute = AgentRunner._execute_tool

async def slow(self, call):
    time.sleep(0.4)
    return await execute(self, call)

AgentRunner._execute_tool = slow
sys.argv = ["remora", "worker", "--concurrency", "2"]
main()
"""


class Company:
    """A project, a database, and processes that use them."""

    def __init__(self, folder: Path, dsn: str, stack: ExitStack) -> None:
        self.project = folder / "shop"
        shutil.copytree(SHOP, self.project)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        self.dsn = dsn
        self.environ = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "REMORA_RUNNER__MEMORY__TRACE_STORE": "postgres",
            "REMORA_POSTGRES__DSN": dsn,
            "REMORA_POSTGRES__LEASE_S": "3",
            "REMORA_MODEL": "none",
        }
        self._stack = stack
        self._popened = False
        self.remora("database", "init")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.project, check=True)

    def remora(self, *words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [*REMORA, *words, "--json"], check=False,
            cwd=self.project, env=self.environ, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        log = (self.project.parent / "log").read_text() if self._popened else ""
        assert done.returncode == code, done.stderr + done.stdout + log[-3000:]
        return json.loads(done.stdout)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        return self._popen([*REMORA, *words], self.environ)

    def worker(self, script: str | None = None, dsn: str = "") -> "subprocess.Popen[bytes]":
        environ = {**self.environ, "REMORA_POSTGRES__DSN": dsn or self.dsn}
        command = [*REMORA, "worker"] if script is None else [sys.executable, "-c", script]
        return self._popen(command, environ)

    def _popen(self, command: list[str], environ: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.project.parent / "log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=self.project, env=environ, stdout=log, stderr=log
            )
        self._popened = True
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn) as connection:
            connection.execute("SET search_path TO remora")
            return connection.execute(query).fetchall()

    def wait_for(self, query: str, seconds: float = 60) -> None:
        """Wait until the query finds a row."""
        end = time.monotonic() + seconds
        while not self.rows(query):
            assert time.monotonic() < end, query
            time.sleep(0.02)

    def change_sets(self, run: str) -> dict[str, str]:
        """Return the hash of each job's change set."""
        found = {}
        for job in self.remora("show", run)["jobs"]:
            (entry,) = self.rows(
                f"SELECT lines FROM events JOIN streams ON streams.id = stream "
                f"WHERE name = 'traces/{job['agent_id']}' ORDER BY seq DESC LIMIT 1"
            )
            last = json.loads(bytes(entry[0]).splitlines()[-1])
            assert last["type"] == "agent_end"
            found[f"{job['operation']} {job['node_id']}"] = last["data"]["change_set_sha256"]
        return found

    def check_streams(self) -> None:
        """Each stream has one end, an unbroken chain, and all its lines."""
        assert self.remora("trace", "verify", "--all")["ok"]
        for name, lines in self.rows(
            "SELECT name, string_agg(lines, '' ORDER BY seq) FROM events JOIN streams "
            "ON streams.id = stream WHERE starts_with(name, 'traces/') GROUP BY name"
        ):
            types = [json.loads(line)["type"] for line in bytes(lines).splitlines()]
            assert types.count("agent_end") == 1, name
            turns = [json.loads(line)["turn"] for line in bytes(lines).splitlines()]
            assert turns == sorted(turns), name


@pytest.fixture
def company(tmp_path: Path, dsn: str) -> Iterator[Company]:
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    with ExitStack() as stack:
        yield Company(tmp_path, dsn, stack)


BEGUN = """
SELECT 1 FROM streams WHERE turn > 0 AND owner IS NOT NULL AND NOT closed AND operation = 'lint'
"""
LINT = ("analyze", "-o", "lint", "--yes", "--seed", "1")


@pytest.fixture
def at_home(company: Company) -> dict[str, str]:
    """The change sets of a run without workers."""
    return company.change_sets(company.remora(*LINT)["run_id"])


def test_workers_make_the_same_changes(company: Company, at_home: dict[str, str]) -> None:
    role = f"worker_{secrets.token_hex(4)}"
    with psycopg.connect(company.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    company.remora("database", "init", "--worker", role)
    company.worker(dsn=company.dsn.replace("user=owner", f"user={role}"))
    done = company.remora(*LINT, "--engine", "queue")
    assert company.change_sets(done["run_id"]) == at_home
    company.check_streams()


@pytest.mark.slow
@pytest.mark.parametrize("is_published", [True, False], ids=["url", "bundle"])
def test_another_machine_fetches_the_repository(
    company: Company, at_home: dict[str, str], *, is_published: bool
) -> None:
    if is_published:
        origin = company.project.parent / "origin.git"
        company.git("clone", "-q", "--bare", ".", str(origin))
        company.git("remote", "add", "origin", f"file://{origin}")
        company.git("fetch", "-q", "origin")
    hidden = company.project / "src" / "shop" / "not_committed.py"
    hidden.write_text("import os\n")  # uncommitted files come by hash
    company.worker(DISTANT_WORKER)
    done = company.remora(*LINT, "--engine", "queue")
    assert set(company.change_sets(done["run_id"]).items()) > set(at_home.items())
    company.check_streams()


@pytest.mark.slow
def test_the_jobs_of_a_killed_worker_are_continued_elsewhere(
    company: Company, at_home: dict[str, str]
) -> None:
    killed = company.worker(SLOW_WORKER)
    driver = company.start(*LINT, "--engine", "queue")
    company.wait_for(BEGUN)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert company.rows(BEGUN), "the kill hit no job"
    company.worker()
    assert driver.wait(60) == 0
    assert company.change_sets("last") == at_home
    company.check_streams()


@pytest.mark.slow
def test_a_worker_that_is_stopped_gives_its_jobs_back(
    company: Company, at_home: dict[str, str]
) -> None:
    stopped = company.worker(SLOW_WORKER)
    driver = company.start(*LINT, "--engine", "queue")
    company.wait_for(BEGUN)
    stopped.send_signal(signal.SIGTERM)
    stopped.wait(20)
    assert not company.rows(
        "SELECT name FROM streams WHERE owner IS NOT NULL AND name LIKE 'traces/%'"
    )
    company.worker()
    assert driver.wait(60) == 0
    assert company.change_sets("last") == at_home
    company.check_streams()


@pytest.mark.slow
def test_a_killed_driver_is_resumed_without_repeating_finished_jobs(
    company: Company, at_home: dict[str, str]
) -> None:
    company.worker(SLOW_WORKER)
    driver = company.start(*LINT, "--engine", "queue")
    company.wait_for(
        "SELECT 1 FROM streams WHERE closed AND run_id = (SELECT max(run_id) FROM streams)"
    )
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = dict(company.rows("SELECT name, next_seq FROM streams WHERE closed"))
    done = company.remora("analyze", "--resume", "last", "--engine", "queue")
    assert company.change_sets(done["run_id"]) == at_home
    after = dict(company.rows("SELECT name, next_seq FROM streams"))
    assert before.items() <= after.items()
    company.check_streams()


@pytest.mark.slow
def test_a_second_driver_is_refused_by_name(company: Company) -> None:
    company.worker(SLOW_WORKER)
    driver = company.start(*LINT, "--engine", "queue")
    company.wait_for("SELECT 1 FROM streams WHERE closed")
    refused = company.remora("analyze", "--resume", "last", "--engine", "queue", code=3)
    assert f"process {driver.pid} on" in refused["error"]["message"]
    assert driver.wait(60) == 0


@pytest.mark.slow
def test_a_job_that_kills_three_workers_ends_with_an_error(company: Company) -> None:
    driver = company.start(*LINT, "--engine", "queue")
    for _ in range(5):
        worker = company.worker(DEADLY_WORKER)
        while worker.poll() is None and driver.poll() is None:
            time.sleep(0.1)
    assert driver.wait(60) == 1
    jobs = {job["node_id"]: job for job in company.remora("show", "last")["jobs"]}
    assert jobs.pop("node:src/shop/pricing.py:__module__")["error"] == "its worker died 3 times"
    assert {job["status"] for job in jobs.values()} == {"submitted"}
    company.check_streams()
