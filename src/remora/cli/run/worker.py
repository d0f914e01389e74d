"""The `worker` command, which runs the jobs of queued runs."""

import os

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import note
from remora.cli.app.project_context import config_of


@command(
    "worker", examples=("remora worker", "remora worker --concurrency 4", "remora worker --drain")
)
@click.option(
    "--concurrency", type=click.IntRange(min=1, max=256), metavar="N",
    help="Maximum concurrent jobs. [default: 2]",
)  # fmt: skip
@click.option("--drain", is_flag=True, help="Exit when the queue is empty.")
def worker(options: Options, *, concurrency: int | None, drain: bool) -> int:
    """Run jobs that `analyze --engine queue` puts into the database, until stopped.

    Start it on any machine that reaches the database of postgres.dsn. Secrets and the addresses of
    models come from this machine's own environment and configuration. SIGTERM and Ctrl-C stop it
    after the current event of each job; other workers, or the next one here, continue the jobs.
    """
    import asyncio
    import logging

    from remora.bootstrap.open_trace import require_extra

    require_extra("procrastinate", "queue")
    from remora.worker.queue_worker import work_on_queue

    _, config = config_of(options)
    if not options.quiet:
        logging.basicConfig(format="%(asctime)s %(message)s")
        logging.getLogger("remora.worker").setLevel(logging.INFO)
    note(options, "waiting for jobs; Ctrl-C stops the worker")
    asyncio.run(work_on_queue(config.postgres, os.environ, concurrency=concurrency, drains=drain))
    return 0
