"""Kill matrix: processes and servers are killed at random times while jobs run.

REMORA_KILL_ROUNDS is the number of rounds for each kind. REMORA_KILL_SEED repeats the
rounds of an earlier test.
"""

import json
import os
import random
import secrets
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.engines.company import BEGUN, LINT, Company
from tests.cli.engines.killed_workers import LATE, MAY_WRITE, Workers
from tests.postgres_server import PostgresServer, required_server

ROUNDS = int(os.environ.get("REMORA_KILL_ROUNDS", "10"))
HITS = 0.6
"""Share of the rounds in which the kill must hit a running job."""
KINDS = ("worker", "node", "driver", "postmaster", "stop")
RUNNING = """
SELECT 1 FROM streams WHERE owner IS NOT NULL AND NOT closed AND starts_with(name, 'traces/')
"""
TAKEN_OVER = """
SELECT name, next_seq, head FROM streams
WHERE deaths > 0 AND NOT closed AND run_id = (SELECT max(run_id) FROM streams)
"""
HEADS = """
SELECT name, next_seq, head FROM streams WHERE next_seq > 0 AND starts_with(name, 'traces/')
"""
# each run has several shards
DRIVER = """
from remora.runs.execution import engine

engine.SHARD_JOBS = 4
"""
# the store without the check of the epoch
MUTANT = """
from remora.trace.postgres import store

condition = "AND epoch = %(epoch)s"
assert condition in store._APPEND
store._APPEND = store._APPEND.replace(condition, "")
"""


class Rounds:
    """Rounds with one company, whose database holds all of them."""

    def __init__(self, company: Company, server: PostgresServer) -> None:
        self.company = company
        self.workers: Workers
        self.takeovers: list[float] = []
        """Seconds until a job of a killed or stopped worker was continued."""
        self._server = server
        self._heads: set[tuple[str, int, str]] = set()
        self._may_write = Path(company.environ["XDG_STATE_HOME"]) / MAY_WRITE
        self._home = company.remora(*LINT)["run_id"]
        self._at_home = self._change_sets(self._home)
        self._may_write.touch()

    def run_all(self, kind: str, number: int, seed: str) -> int:
        """Run rounds, and return how many of them hit a running job."""
        chance, hits = random.Random(seed), 0
        for this in range(number):
            try:
                hits += self.run(kind, chance)
            except BaseException as error:
                error.add_note(f"seed: {seed}, round {this}")
                raise
        return hits

    def run(self, kind: str, chance: random.Random) -> bool:
        """Run a round, check it, and return True if a running job was hit."""
        driver = self.company.start(*LINT, "--engine", "queue", patch=DRIVER)
        self.company.wait_for(BEGUN, 120)
        time.sleep(chance.uniform(0, 1))
        self._look_at_heads()
        while driver.poll() is None and not self.company.rows(RUNNING):
            time.sleep(0.01)
        if kind == "driver":
            driver.kill()
            assert driver.wait() == -signal.SIGKILL
            is_hit = bool(self.company.rows(RUNNING))
            time.sleep(chance.uniform(0, 1))
            resume = ("analyze", "--resume", "last", "--engine", "queue")
            driver = self.company.start(*resume, patch=DRIVER)
        else:
            is_hit = self._strike(kind, chance)
        self._wait(driver)
        time.sleep(chance.uniform(0, 0.5))  # for a late writer
        self._check()
        self.workers.clean_up()
        return is_hit

    def _strike(self, kind: str, chance: random.Random) -> bool:
        """Kill or stop something, and return True if a running job was hit."""
        if kind == "postmaster":
            is_hit = bool(self.company.rows(RUNNING))
            self._server.kill()
            time.sleep(chance.uniform(0, 2))
            self._server.start()
            return is_hit
        if kind == "stop":
            self._may_write.unlink()
            self.workers.stop()
        else:
            self.workers.kill(kind)
        is_hit, began = bool(self.company.rows(RUNNING)), time.monotonic()
        self.workers.complete()
        if is_hit and self._is_taken_over():
            self.takeovers.append(time.monotonic() - began)
        if kind == "stop":
            self._wake()
        return is_hit

    def _is_taken_over(self) -> bool:
        end = time.monotonic() + 120
        while not self.company.rows(TAKEN_OVER):
            assert time.monotonic() < end, self.company.log
            if not self.company.rows(RUNNING):
                return False  # its jobs have ended
            time.sleep(0.1)
        return True

    def _wake(self) -> None:
        """Continue the stopped worker, before its successor has appended anything."""
        before = self.company.rows(TAKEN_OVER)
        self.workers.go_on()
        end = time.monotonic() + 1.2
        while time.monotonic() < end:
            now = {name: (count, head) for name, count, head in self.company.rows(HEADS)}
            for name, count, head in before:
                assert now[name] == (count, head), f"a replaced worker wrote to {name}"
            time.sleep(0.05)
        self._may_write.touch()

    def _wait(self, driver: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + 240
        while driver.poll() is None:
            assert time.monotonic() < end, self.company.log
            self._look_at_heads()
            time.sleep(0.1)
        assert driver.returncode == 0, self.company.log

    def _look_at_heads(self) -> None:
        """Remember the number of acknowledged events of each stream, and the last hash."""
        self._heads |= set(self.company.rows(HEADS))

    def _change_sets(self, run: str) -> dict[str, str]:
        """Return the hash of each job's change set. Only `agent_end` has one."""
        last_lines = (
            "SELECT DISTINCT ON (name) node_id, lines FROM events JOIN streams ON streams.id = "
            f"stream WHERE run_id = '{run}' AND starts_with(name, 'traces/') ORDER BY name, seq DESC"
        )
        return {
            node: json.loads(bytes(lines).splitlines()[-1])["data"]["change_set_sha256"]
            for node, lines in self.company.rows(last_lines)
        }

    def _steps(self, run: str, node: str) -> str:
        """Return the events of a job, without their times and hashes, one per line."""
        query = (
            "SELECT lines FROM events JOIN streams ON streams.id = stream WHERE run_id = "
            f"'{run}' AND node_id = '{node}' AND starts_with(name, 'traces/') ORDER BY name, seq"
        )
        events = [
            json.loads(line)
            for (lines,) in self.company.rows(query)
            for line in bytes(lines).splitlines()
        ]
        return "\n".join(f"{e['turn']} {e['type']} {json.dumps(e['data'])}" for e in events)

    def _check(self) -> None:
        self.company.check_streams()
        (run,) = self.company.rows("SELECT max(run_id) FROM streams")
        changed = self._change_sets(run[0])
        different = [node for node in self._at_home if changed.get(node) != self._at_home[node]]
        assert changed == self._at_home, "\n".join(
            f"{node} in {run_id}:\n{self._steps(run_id, node)}"
            for node in different
            for run_id in (self._home, run[0])
        )
        assert not self.company.rows(RUNNING)
        streams = {
            name: [json.loads(line) for line in bytes(lines).splitlines()]
            for name, lines in self.company.rows(
                "SELECT name, string_agg(lines, '' ORDER BY seq) FROM events JOIN streams "
                "ON streams.id = stream WHERE starts_with(name, 'traces/') GROUP BY name"
            )
        }
        for name, count, head in self._heads:
            assert streams[name][count - 1]["hash"] == head, f"{name} lost events"
        for name, events in streams.items():
            ends = Counter(event["turn"] for event in events if event["type"] == "turn_end")
            assert set(ends.values()) <= {1}, f"{name} repeated a turn"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = required_server()
    yield server
    server.remove()


@pytest.fixture
def rounds(patch: str, tmp_path: Path, server: PostgresServer) -> Iterator[Rounds]:
    """Rounds whose workers run `patch` first."""
    pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")
    with ExitStack() as stack:
        company = Company(tmp_path, server.new_database(f"kills_{secrets.token_hex(6)}"), stack)
        rounds = Rounds(company, server)
        rounds.workers = Workers(company, patch)
        yield rounds


@pytest.mark.slow
@pytest.mark.timeout(120 + 120 * ROUNDS)
@pytest.mark.parametrize(
    ("kind", "patch"),
    [pytest.param(kind, LATE if kind == "stop" else "", id=kind) for kind in KINDS],
)
def test_kills_lose_and_repeat_nothing(
    kind: str, rounds: Rounds, record_property: Callable[[str, object], None]
) -> None:
    seed = os.environ.get("REMORA_KILL_SEED") or secrets.token_hex(4)
    began = time.monotonic()
    hits = rounds.run_all(kind, ROUNDS, f"{seed} {kind}")
    seconds = time.monotonic() - began
    longest = f", continued within {max(rounds.takeovers):.1f} s" if rounds.takeovers else ""
    record_property(
        "measured",
        f"{kind}: {hits} of {ROUNDS} rounds hit a running job, seed {seed}, "
        f"{seconds / ROUNDS:.1f} s each{longest}",
    )
    assert hits >= HITS * ROUNDS


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("patch", [LATE + MUTANT])
def test_a_store_that_ignores_epochs_is_found(rounds: Rounds) -> None:
    with pytest.raises(AssertionError, match="a replaced worker wrote to"):
        rounds.run_all("stop", 5, secrets.token_hex(4))
