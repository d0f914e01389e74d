"""Messages between the driver and its process that is connected to a Ray cluster."""

import msgspec

from remora.engines.worker_report import WorkerReport
from remora.runs.execution.shard_task import ShardTask


class RayOrder(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The shards to run, the maximum number of concurrent jobs in each, and the model's name."""

    tasks: tuple[ShardTask, ...]
    concurrency: int
    model: str


class RayReports(msgspec.Struct, frozen=True, tag=True):
    """The order to have each node report about itself."""


class Reported(msgspec.Struct, frozen=True, tag=True):
    """The report of a node."""

    report: WorkerReport


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The end of a shard. `error` is empty if all its jobs ended."""

    number: int
    error: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The reason why no shards can be run any more."""

    message: str
    hint: str
