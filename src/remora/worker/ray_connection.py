"""Process that hands the shards of a run to a Ray cluster.

It is a process of its own, because Ray's library prints to standard output, ends its process when
the cluster is lost, and adds the current folder to the import path of all workers. It reads an
order from standard input, then the numbers of shards that lost their workers, and writes a line for
each shard that has ended. When standard input is closed, also because the driver was killed, it
cancels the shards that have not ended.
"""

import os
import secrets
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from remora.engines.ray_messages import Ended, Failed, RayOrder
from remora.errors import OutsideError, RemoraError, UsageError
from remora.runs.execution.shard_task import ShardTask
from remora.worker.ray_task import run_on_node

_POLL_S = 0.2
_ANSWER_S = 10.0
_CANCEL_S = 20.0
_PATIENCE_S = 60.0
"""Time for which no node may be large enough for a shard: an autoscaler may be adding one."""
_TRIES = 50
"""Number of workers that may be lost with a shard. A job ends with an error long before."""
_JOB_MEMORY = 256 << 20
_OBJECT_STORE = 80 << 20
"""Nearly the least that Ray accepts: no results are kept in it."""


def main() -> None:
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 (a device)
        os.dup2(nowhere.fileno(), 1)
    lines = _InputLines()
    order = msgspec.json.decode(lines.next(timeout_s=None), type=RayOrder)
    try:
        with _connected() as ray:
            for each in _RayShards(ray, order, lines).run():
                _report(reports, each)
    except RemoraError as error:
        _report(reports, Failed(error.message, error.hint))


class _InputLines:
    """The lines of standard input."""

    def __init__(self) -> None:
        self._read = b""
        self.are_closed = False

    def next(self, *, timeout_s: float | None) -> bytes:
        """Return the next line, or nothing if there is none in time or the input is closed."""
        while b"\n" not in self._read:
            if self.are_closed or not select.select([0], [], [], timeout_s)[0]:
                return b""
            chunk = os.read(0, 1 << 20)
            self.are_closed = not chunk
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return line


def _report(reports: BinaryIO, report: Ended | Failed) -> None:
    with suppress(BrokenPipeError):  # the driver was killed
        reports.write(msgspec.json.encode(report) + b"\n")


@contextmanager
def _connected() -> Iterator[Any]:
    """Connect to the cluster that RAY_ADDRESS names, or start one on this machine.

    Raises OutsideError or UsageError if there is no connection.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if address.startswith("ray://"):
        raise UsageError(
            "RAY_ADDRESS is the address of a Ray Client server, which is not supported",
            hint="run `ray start --address=HOST:6379 --num-cpus=0` here, and use that address",
        )
    _check_listens(address)
    with tempfile.TemporaryDirectory(prefix="remora-ray-", ignore_cleanup_errors=True) as folder:
        local = {} if address else _local_cluster(Path(folder))
        import ray  # reads the variables of its token

        try:
            ray.init(
                address=address or "local", log_to_driver=False, logging_level="CRITICAL", **local
            )
        except Exception as error:
            place = f"with the Ray cluster at {address}" if address else "with Ray on this machine"
            raise OutsideError(
                f"cannot work {place}: {_first_line(error)}", hint=_connection_hint(address)
            ) from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _check_listens(address: str) -> None:
    """Raise OutsideError if nothing listens at HOST:PORT. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():  # `auto`
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise OutsideError(
            f"nothing answers at the address of the Ray cluster, {address}: {error}",
            hint="check RAY_ADDRESS, and that the cluster runs, with `ray status`",
        ) from error


def _local_cluster(folder: Path) -> dict[str, Any]:
    """Return the options of a cluster in a private folder, which requires a token of its own."""
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    os.environ.pop("RAY_AUTH_TOKEN", None)  # it would be preferred
    return {
        "object_store_memory": _OBJECT_STORE,
        "include_dashboard": False,
        "_temp_dir": str(folder),
    }


def _connection_hint(address: str) -> str:
    if not address:
        return "set TMPDIR to a folder with a short path and some space"
    return (
        "this machine must be a node of the cluster, with the same versions of Ray and Python "
        "and the same token; see docs/how-to/scale.md"
    )


class _RayShards:
    """The shards of an order, as tasks of a cluster. A task returns a short string only.

    `lost` are the numbers of shards whose workers are silent. Ray itself notices a machine that was
    unplugged after minutes only.
    """

    def __init__(self, ray: Any, order: RayOrder, lost: _InputLines) -> None:
        self._ray = ray
        self._order = order
        self._lost = lost
        self._needs = self._find_needs()
        self._task = ray.remote(
            num_cpus=self._needs["CPU"],
            resources={k: v for k, v in self._needs.items() if k not in {"CPU", "memory"}},
            max_retries=_TRIES,
            scheduling_strategy="SPREAD",
        )(run_on_node)
        self._open: dict[Any, ShardTask] = {}
        self._replaced = 0

    def run(self) -> Iterator[Ended]:
        """Run all shards, and yield their ends, until standard input is closed.

        Raises OutsideError if no node is large enough for a shard.
        """
        for shard in self._order.tasks:
            self._submit(shard)
        fitted = time.monotonic()
        try:
            while self._open and not self._lost.are_closed:
                self._replace_lost()
                done, _ = self._ray.wait(list(self._open), timeout=_POLL_S)
                for task in done:
                    yield Ended(self._open.pop(task).number, self._error_of(task))
                if done or self._fits_a_node():
                    fitted = time.monotonic()
                elif time.monotonic() - fitted > _PATIENCE_S:
                    raise self._too_large()
        finally:
            self._cancel()

    def _submit(self, shard: ShardTask) -> None:
        """Run a shard in a new task.

        Ray asks a node for a worker once for all waiting tasks with equal needs, and a stopped node
        does not answer. So a task that replaces a lost one needs some more bytes of memory.
        """
        task = self._task.options(memory=self._needs["memory"] + self._replaced)
        self._open[task.remote(msgspec.to_builtins(shard), self._order.concurrency)] = shard

    def _replace_lost(self) -> None:
        """Run lost shards in new tasks."""
        while line := self._lost.next(timeout_s=0):
            self._replaced += 1
            for task, shard in list(self._open.items()):
                if shard.number == int(line):
                    self._ray.cancel(task)
                    self._submit(self._open.pop(task))

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


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


if __name__ == "__main__":
    main()
