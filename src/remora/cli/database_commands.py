"""The `database init`, `status` and `prune` commands."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, wrapped
from remora.cli.app.project_context import config_of
from remora.text import count, escape_line, size_text

if TYPE_CHECKING:
    from remora.trace.postgres.administration import DatabaseOwner, Month


@command(
    "init", examples=("remora database init", "remora database init --worker remora_worker --json")
)
@click.option("--worker", metavar="ROLE", help="Let this role read streams and append to them.")
def init(options: Options, *, worker: str | None) -> int:
    """Create the tables in the schema remora, and the partitions of the next year.

    With the extra queue, this includes the tables of the queue. Run it with a role that may create
    a schema. Existing tables are left as they are. A role given with --worker can append events,
    but neither change nor delete one.
    """
    with _open_owner(options) as owner:
        owner.install(worker)
        if find_spec("procrastinate") is not None:
            import asyncio

            from remora.engines.task_queue import install_queue

            asyncio.run(install_queue(_read_dsn(options), worker))
        address = owner.status().address
    document = {"address": address, "worker": worker}
    granted = f"; {worker} can append to streams" if worker else ""
    emit(options, document, wrapped(f"the tables in {address} are ready{granted}"))
    return 0


@command("status", examples=("remora database status", "remora database status --json"))
def status(options: Options) -> int:
    """Show the size of Remora's tables: streams and contents by the month in which they were begun.

    The other tables are the list of streams, the partitions of the months to come, and the queue.
    PostgreSQL's own catalogs and other schemas are not counted.
    """
    import msgspec

    with _open_owner(options) as owner:
        found = owner.status()
    head = f"{found.address}: {size_text(found.bytes)}"
    other = f"other tables: {size_text(found.other_bytes)}"
    lines = [escape_line(head), *map(_month_line, found.months), other]
    emit(options, msgspec.to_builtins(found), lines)
    return 0


@command(
    "prune",
    examples=("remora database prune --dry-run", "remora database prune --keep-days 90 --yes"),
)
@click.option(
    "--keep-days",
    type=click.IntRange(min=0),
    metavar="N",
    help="Days since the last event of a run. [default: runner.memory.retention.keep_days]",
)
@click.option("--dry-run", is_flag=True, help="Print what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Remove without asking.")
def prune(options: Options, *, keep_days: int | None, dry_run: bool, yes: bool) -> int:
    """Remove the months in which no run was written to for some days.

    This removes the runs of all projects in the database, with their events and contents, whether
    they were reviewed or not. A month is removed as a whole, and only when all of its runs are old
    enough. The heads of the removed streams are kept in the table remora.expired.
    """
    import msgspec

    from remora.errors import UsageError

    _, config = config_of(options)
    days = config.runner.memory.retention.keep_days if keep_days is None else keep_days
    if days is None:
        raise UsageError("runner.memory.retention.keep_days is null", hint="use --keep-days N")
    with _open_owner(options) as owner:
        done = owner.prune(days, dry_run=True)
        if done.removed and not dry_run:
            if not yes:
                raise UsageError(
                    f"{count(len(done.removed), 'month')} with {size_text(done.bytes)} could be "
                    "removed; nothing was removed",
                    hint="use --yes to remove them, --dry-run to list them",
                )
            done = owner.prune(days)
    would = "would be " if dry_run else ""
    lines = [f"{would}removed  {_month_line(month)}" for month in done.removed]
    lines += [f"kept  {_month_line(month)}" for month in done.kept]
    emit(
        options,
        {**msgspec.to_builtins(done), "bytes": done.bytes},
        lines or ["nothing to do; there are no streams"],
    )
    return 0


def _month_line(month: "Month") -> str:
    runs, streams = count(month.runs, "run"), count(month.streams, "stream")
    return f"{month.month}: {runs}, {streams}, {size_text(month.bytes)}"


@contextmanager
def _open_owner(options: Options) -> "Iterator[DatabaseOwner]":
    from remora.bootstrap.open_trace import require_extra

    require_extra("psycopg", "postgres")
    from remora.trace.postgres.administration import DatabaseOwner
    from remora.trace.postgres.database import Database

    with closing(Database(_read_dsn(options))) as database:
        yield DatabaseOwner(database)


def _read_dsn(options: Options) -> str:
    _, config = config_of(options)
    return config.postgres.dsn or ""
