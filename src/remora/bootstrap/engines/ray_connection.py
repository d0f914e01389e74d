"""Process that hands the shards of a run to a Ray cluster.

It is a process of its own, because Ray's library prints to standard output, ends its process when
the cluster is lost, and adds the current folder to the import path of all workers. It reads an
order from standard input, and writes a line for each shard that has ended. When standard input is
closed, also because the driver was killed, it cancels the shards that have not ended.
"""

import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import msgspec

from remora.bootstrap.workers.ray_task import run_on_node
from remora.errors import OutsideError, RemoraError, UsageError
from remora.runs.execution.shard_task import ShardTask

_POLL_S = 0.2
_CANCEL_S = 20.0
_PATIENCE_S = 60.0
"""Time for which no node may be large enough for a shard: an autoscaler may be adding one."""
_TRIES = 50
"""Number of workers that may be lost with a shard. A job ends with an error long before."""
_JOB_MEMORY = 256 << 20
_OBJECT_STORE = 80 << 20
"""Nearly the least that Ray accepts: no results are kept in it."""


class RayOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The shards to run, the maximum number of concurrent jobs in each, and the model's name."""

    tasks: tuple[ShardTask, ...]
    concurrency: int
    model: str


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The end of a shard. `error` is empty if all its jobs ended."""

    number: int
    error: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The reason why no shards can be run any more."""

    message: str
    hint: str


def main() -> None:
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 (a device)
        os.dup2(nowhere.fileno(), 1)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=RayOrder)
    try:
        with _connected() as ray:
            for end in _RayShards(ray, order).run():
                _report(reports, end)
    except RemoraError as error:
        _report(reports, Failed(error.message, error.hint))


def _report(reports: BinaryIO, report: Ended | Failed) -> None:
    with suppress(BrokenPipeError):  # the driver was killed
        reports.write(msgspec.json.encode(report) + b"\n")


@contextmanager
def _connected() -> Iterator[Any]:
    """Connect to the cluster that RAY_ADDRESS names, or start one on this machine.

    Raises OutsideError or UsageError if there is no connection.
    """
    import ray

    address = os.environ.get("RAY_ADDRESS", "")
    if address.startswith("ray://"):
        raise UsageError(
            "RAY_ADDRESS is the address of a Ray Client server, which is not supported",
            hint="run `ray start --address=HOST:6379 --num-cpus=0` here, and use that address",
        )
    quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
    with tempfile.TemporaryDirectory(prefix="remora-ray-", ignore_cleanup_errors=True) as folder:
        local = {
            "object_store_memory": _OBJECT_STORE,
            "include_dashboard": False,
            "_temp_dir": folder,
        }
        try:
            ray.init(address=address or "local", **quiet, **({} if address else local))
        except Exception as error:
            place = f"with the Ray cluster at {address}" if address else "with Ray on this machine"
            raise OutsideError(
                f"cannot work {place}: {_first_line(error)}", hint=_connection_hint(address)
            ) from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _connection_hint(address: str) -> str:
    if not address:
        return "set TMPDIR to a folder with a short path and some space"
    return (
        "this machine must be a node of the cluster, with the same versions of Ray and Python "
        "and the same token; see docs/how-to/scale.md"
    )


class _RayShards:
    """The shards of an order, as tasks of a cluster. A task returns a short string only."""

    def __init__(self, ray: Any, order: RayOrder) -> None:
        self._ray = ray
        self._order = order
        self._open: dict[Any, int] = {}
        self._needs = self._find_needs()

    def run(self) -> Iterator[Ended]:
        """Run all shards, and yield their ends, until standard input is closed.

        Raises OutsideError if no node is large enough for a shard.
        """
        self._submit()
        fitted = time.monotonic()
        try:
            while self._open and not _input_is_closed():
                done, _ = self._ray.wait(list(self._open), timeout=_POLL_S)
                for task in done:
                    yield Ended(self._open.pop(task), self._error_of(task))
                if done or self._fits_a_node():
                    fitted = time.monotonic()
                elif time.monotonic() - fitted > _PATIENCE_S:
                    raise self._too_large()
        finally:
            self._cancel()

    def _submit(self) -> None:
        remote = self._ray.remote(run_on_node).options(
            num_cpus=self._needs["CPU"],
            memory=self._needs["memory"],
            resources={k: v for k, v in self._needs.items() if k not in {"CPU", "memory"}},
            max_retries=_TRIES,
            scheduling_strategy="SPREAD",
        )
        for task in self._order.tasks:
            words = msgspec.to_builtins(task)
            self._open[remote.remote(words, self._order.concurrency)] = task.number

    def _find_needs(self) -> dict[str, float]:
        jobs, server = self._order.concurrency, f"model:{self._order.model}"
        has_servers = any(server in offered for offered in self._nodes())
        return {"CPU": jobs, "memory": jobs * _JOB_MEMORY, **({server: 1} if has_servers else {})}

    def _nodes(self) -> list[Mapping[str, float]]:
        """Return the resources of each node that is alive."""
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _fits_a_node(self) -> bool:
        return any(
            all(offered.get(name, 0) >= amount for name, amount in self._needs.items())
            for offered in self._nodes()
        )

    def _too_large(self) -> OutsideError:
        wanted = {**self._needs, "memory": f"{self._order.concurrency * _JOB_MEMORY >> 20} MB"}
        listed = ", ".join(f"{name}: {amount}" for name, amount in wanted.items())
        return OutsideError(
            f"no node of the Ray cluster has what a shard needs ({listed})",
            hint="add a node, or lower --concurrency: each concurrent job needs a CPU",
        )

    def _error_of(self, task: Any) -> str:
        try:
            return str(self._ray.get(task))
        except Exception as error:  # noqa: BLE001 - whatever the task raised
            return _first_line(getattr(error, "cause", None) or error)

    def _cancel(self) -> None:
        """Cancel the tasks that have not ended. Their jobs end after the current event."""
        for task in self._open:
            self._ray.cancel(task)
        if self._open:
            self._ray.wait(list(self._open), num_returns=len(self._open), timeout=_CANCEL_S)


def _input_is_closed() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


if __name__ == "__main__":
    main()
