"""Workers of the queue that can be killed or stopped while they run a job."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.cli.engines.company import SLOW, Company

MAY_WRITE = "may-write"
"""A file in the folder of the state. Without it, a successor does not append its first event."""
# gives a worker that was replaced time to write, before its successor's first append
LATE = f"""
import os
import time
from remora.trace.postgres.store import PostgresTraceStore

claim = PostgresTraceStore.claim
may_write = os.environ["XDG_STATE_HOME"] + "/{MAY_WRITE}"

def late(self, stream):
    claimed = claim(self, stream)
    while claimed.deaths and not os.path.exists(may_write):
        time.sleep(0.05)
    return claimed

PostgresTraceStore.claim = late
"""
_OWNERS = "SELECT owner FROM streams WHERE owner IS NOT NULL AND starts_with(name, 'traces/')"


class Workers:
    """Two workers of the queue."""

    def __init__(self, company: Company, patch: str = "") -> None:
        self._company = company
        self._patch = SLOW + patch
        self._workers: list[subprocess.Popen[bytes]] = []
        self.complete()

    def kill(self, kind: str) -> None:
        """Kill what runs a job: the `worker`, or the whole `node`."""
        worker = self._at_work()
        _signal_all([worker.pid, *(_descendants(worker.pid) if kind == "node" else ())])
        worker.wait()
        self._workers.remove(worker)

    def stop(self) -> None:
        self._at_work().send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        for worker in self._workers:
            worker.send_signal(signal.SIGCONT)

    def complete(self) -> None:
        while len(self._workers) < 2:
            self._workers.append(self._company.start("worker", patch=self._patch))

    def clean_up(self) -> None:
        """All others must have survived."""
        assert all(worker.poll() is None for worker in self._workers), self._company.log

    def _at_work(self) -> "subprocess.Popen[bytes]":
        owners = _owners_of_jobs(self._company)
        return next((w for w in self._workers if w.pid in owners), self._workers[0])


def _owners_of_jobs(company: Company) -> set[int]:
    """Return the processes that run jobs."""
    return {json.loads(row[0])["pid"] for row in company.rows(_OWNERS)}


def _signal_all(processes: Iterable[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except OSError:
        return []
    return children + [further for child in children for further in _descendants(child)]
