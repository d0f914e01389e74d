"""Administration of a database by its owner: tables, rights, size and retention."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import msgspec
import psycopg
from psycopg import sql

from remora.errors import ConfigError, DatabaseError
from remora.trace.postgres.database import Connection, Database
from remora.trace.postgres.schema import (
    SCHEMA,
    add_partitions,
    grant_worker,
    install,
    partition_name,
)

# Months until now that have partitions, even if all of their streams were removed with others.
_MONTHS = """
SELECT month, count(DISTINCT run_id), count(streams.id), (
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
    WHERE relnamespace = to_regnamespace(%s)
        AND relname ~ ('^(events|contents)_' || to_char(month, 'YYYY_MM') || '$')
)
FROM (
    SELECT to_date(right(relname, 7), 'YYYY_MM') AS month FROM pg_inherits
    JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'events'::regclass AND relname ~ '^events_[0-9]{4}_[0-9]{2}$'
) AS partitions LEFT JOIN streams USING (month)
WHERE month <= now() AT TIME ZONE 'UTC' GROUP BY month ORDER BY month
"""
_ALL_BYTES = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'S')
"""
# The lines of a stream are in the month in which it was begun. Its contents are in that month and
# in all others until it was last written to. A month is needed as long as it has anything of a run
# with a stream that is young or being written. Workers write all columns except `month`, so a stream
# is young for some time after its month, and no stream of a later month goes with a month.
_NEEDED = """
WITH young AS (
    SELECT id, project, run_id FROM streams
    WHERE greatest(updated, (month + interval '1 month') AT TIME ZONE 'UTC')
        > now() - make_interval(days => %(days)s) OR lease_until > now()
)
SELECT DISTINCT to_char(needed, 'YYYY-MM') FROM streams,
    generate_series(month, greatest(least(updated, now()) AT TIME ZONE 'UTC', month),
        interval '1 month') AS needed
WHERE id IN (SELECT id FROM young)
    OR (project, run_id) IN (SELECT project, run_id FROM young)
"""
_FORGET = """
WITH touched AS (
    SELECT id, project, run_id FROM streams
    WHERE month = %(month)s
        OR %(month)s BETWEEN month AND (updated AT TIME ZONE 'UTC')::date
), going AS (
    DELETE FROM streams WHERE id IN (SELECT id FROM touched)
        OR month <= %(month)s AND (project, run_id) IN (SELECT project, run_id FROM touched)
    RETURNING project, name, next_seq, head
)
INSERT INTO expired (project, name, count, head) SELECT project, name, next_seq, head FROM going
"""


class Month(msgspec.Struct, frozen=True, kw_only=True):
    """The streams that were begun in a month."""

    month: str
    """The year and month, such as `2030-01`."""
    runs: int
    streams: int
    bytes: int
    """The size of their partitions."""


class DatabaseStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a database."""

    address: str
    bytes: int
    """The size of all tables in the schema."""
    months: tuple[Month, ...]
    """Its months, the oldest one first."""
    other_bytes: int
    """The size of the list of streams, the partitions of later months, and the queue."""


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `prune`."""

    dry_run: bool
    removed: tuple[Month, ...]
    """The months that were removed, or would be if `dry_run` is true."""
    kept: tuple[Month, ...]

    @property
    def bytes(self) -> int:
        return sum(month.bytes for month in self.removed)


class DatabaseOwner:
    """Statements that need the rights of the tables' owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def install(self, worker: str | None = None) -> None:
        """Create the missing tables and the partitions of the next year.

        The role `worker` may then read all streams and append to them. Raises DatabaseError, and
        ConfigError if there is no such role.
        """
        with self._transaction() as connection:
            install(connection)
            self._database.store_in(connection)
            if worker is not None:
                grant_worker(connection, worker)

    def status(self) -> DatabaseStatus:
        """Return the size of the tables. Raises DatabaseError."""
        with self._transaction() as connection:
            self._database.store_in(connection)
            row = connection.execute(_ALL_BYTES, [SCHEMA]).fetchone()
            months = _months(connection)
        size = 0 if row is None else int(row[0])
        return DatabaseStatus(
            address=self._database.address,
            bytes=size,
            months=tuple(months),
            other_bytes=size - sum(month.bytes for month in months),
        )

    def prune(self, keep_days: int, *, dry_run: bool = False) -> PruneReport:
        """Remove the months before this one whose runs were not written to for `keep_days`.

        Whole partitions are dropped. The heads of the removed streams are kept in the table
        `expired`. Raises DatabaseError.
        """
        with self._transaction() as connection:
            self._database.store_in(connection)
            if not dry_run:
                connection.execute("LOCK TABLE streams IN SHARE ROW EXCLUSIVE MODE")
            rows = connection.execute(_NEEDED, {"days": keep_days}).fetchall()
            needed = {row[0] for row in rows}
            months = _months(connection)
            going = [month for month in months[:-1] if month.month not in needed]
            if not dry_run:
                for month in going:
                    _drop(connection, month)
                add_partitions(connection)
        left = tuple(month for month in months if month not in going)
        return PruneReport(dry_run=dry_run, removed=tuple(going), kept=left)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Run the block in a transaction that does not wait long for a lock."""
        try:
            with self._database.connected() as connection, self._database.limited(connection):
                yield connection
        except psycopg.errors.UndefinedObject as error:
            raise ConfigError(
                str(error).splitlines()[0], hint="create the role first: CREATE ROLE ... LOGIN"
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseError(
                f"{self._database.address}: {str(error).splitlines()[0]}",
                hint="use the role that owns the tables",
            ) from error
        except psycopg.errors.UndefinedTable as error:
            raise DatabaseError(
                f"there are no tables of Remora in {self._database.address}",
                hint="create them with `remora database init`",
            ) from error
        except psycopg.Error as error:
            raise self._database.error(error) from error


def _months(connection: Connection) -> list[Month]:
    return [
        Month(month=f"{month:%Y-%m}", runs=runs, streams=streams, bytes=size)
        for month, runs, streams, size in connection.execute(_MONTHS, [SCHEMA]).fetchall()
    ]


def _drop(connection: Connection, month: Month) -> None:
    first = date.fromisoformat(f"{month.month}-01")
    connection.execute(_FORGET, {"month": first})
    for table in ("events", "contents"):
        name = sql.Identifier(partition_name(table, first))
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
