"""The task on a node of a Ray cluster, which Ray finds by its name in the node's installation."""

from typing import Any


def run_on_node(words: dict[str, Any], concurrency: int) -> str:
    """Run the shard in `words`, and return why some of its jobs did not end, or an empty string.

    The cancellation of the task, and SIGTERM from a node that is stopped, interrupt the jobs at the
    end of an event and release their streams.
    """
    import asyncio
    import os
    import signal

    from remora.errors import RemoraError
    from remora.worker.ray_worker import run_shard_until_signal

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        received = asyncio.run(run_shard_until_signal(words, concurrency))
    except RemoraError as error:
        return error.with_hint
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received is not None:  # handled again, by Ray
        os.kill(os.getpid(), received)
        return "interrupted"
    return ""
