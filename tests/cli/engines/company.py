"""A project, a database, and the processes of a company that works on it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).parents[3]
SHOP = ROOT / "examples" / "shop"
REMORA = [sys.executable, "-m", "remora"]
# dies with the job on a file, as a tool that takes all memory would let it
DEADLY = """
import os, signal
from remora.agents.loop.runner import AgentRunner

run = AgentRunner.run

async def dying(self):
    if self.job.path.endswith("pricing.py"):
        os.kill(os.getpid(), signal.SIGKILL)
    return await run(self)

AgentRunner.run = dying
"""
# calls itself another machine, with a cache of its own
DISTANT = """
import os
from remora.trace.postgres import owner

owner.this_machine = lambda: "another machine"
os.environ["XDG_CACHE_HOME"] += "-elsewhere"
"""
# has other code than the driver
OUTDATED = """
from remora.runs.execution import shard_task

shard_task.code_digest = lambda: "other"
"""
# loses the connection when it reports the end of a shard
UNREPORTED = """
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager

async def lost(self, *words, **named):
    raise ConnectorException

JobManager.finish_job = lost
"""
# each turn takes long enough to be killed in
SLOW = """
import time
from remora.agents.loop.runner import AgentRunner

execute = AgentRunner._execute_tool

async def slow(self, call):
    time.sleep(0.4)
    return await execute(self, call)

AgentRunner._execute_tool = slow
"""
LINT = ("analyze", "-o", "lint", "--yes", "--seed", "1")
BEGUN = """
SELECT 1 FROM streams WHERE turn > 0 AND owner IS NOT NULL AND NOT closed AND operation = 'lint'
"""
SECOND_RUN = """
SELECT 1 FROM streams WHERE closed AND run_id = (SELECT max(run_id) FROM streams)
    AND (SELECT count(DISTINCT run_id) FROM streams) = 2
"""
"""Finds an ended job of the run after the one at home."""
_MAIN = """
import sys
from remora.cli.main import main

sys.argv = ["remora", *sys.argv[1:]]
main()
"""


class Company:
    """A project, a database, and processes that use them."""

    def __init__(self, folder: Path, dsn: str, stack: ExitStack) -> None:
        self.project = folder / "shop"
        shutil.copytree(SHOP, self.project)
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
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
        self.dsn = dsn
        self._stack = stack
        self._popened = False
        self.messages = ""
        self.remora("database", "init")

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.project, env=self.environ, check=True)

    def remora(self, *words: str, code: int | None = 0, limit_s: float = 120) -> Any:
        """Run a command, which must end with `code` unless that is None."""
        done = subprocess.run(
            [*REMORA, *words, "--json"], check=False,
            cwd=self.project, env=self.environ, capture_output=True, text=True, timeout=limit_s,
        )  # fmt: skip
        assert code in (None, done.returncode), done.stderr + done.stdout + self.log
        if words[0] == "analyze":
            self.messages = done.stderr
        return json.loads(done.stdout)

    @property
    def progress(self) -> list[str]:
        """The lines that the last run has printed about jobs, without their numbers."""
        return sorted(re.findall(r"(?m)^\[ *\d+/\d+\] (.+)$", self.messages))

    @property
    def log(self) -> str:
        """The end of what processes have printed."""
        return (self.project.parent / "log").read_text()[-3000:] if self._popened else ""

    def start(self, *words: str, patch: str = "", dsn: str = "") -> "subprocess.Popen[bytes]":
        """Start a command, in an interpreter that runs `patch` first."""
        environ = {**self.environ, "REMORA_POSTGRES__DSN": dsn or self.dsn}
        return self._popen([sys.executable, "-c", patch + _MAIN, *words], environ)

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
            "ON streams.id = stream WHERE starts_with(name, 'traces/') GROUP BY streams.id"
        ):
            types = [json.loads(line)["type"] for line in bytes(lines).splitlines()]
            assert types.count("agent_end") == 1, name
            turns = [json.loads(line)["turn"] for line in bytes(lines).splitlines()]
            assert turns == sorted(turns), name
