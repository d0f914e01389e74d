"""The workers of the queue beside the store, which is Procrastinate's."""

from typing import Any

from psycopg import Connection

_HAS_QUEUE = "SELECT to_regclass('procrastinate_workers') IS NOT NULL"
_COUNT = """
SELECT count(*) FROM procrastinate_workers
WHERE last_heartbeat > clock_timestamp() - make_interval(secs => %s)
"""


def count_queue_workers(connection: Connection[Any], lease_s: int) -> int:
    """Return the number of workers that gave a sign of life in the last `lease_s` seconds."""
    if connection.execute(_HAS_QUEUE).fetchone() != (True,):
        return 0
    row = connection.execute(_COUNT, [lease_s]).fetchone()
    return 0 if row is None else int(row[0])
