"""Messages between the driver and its process that is connected to a Ray cluster."""

import msgspec

from remora.runs.execution.shard_task import ShardTask


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
