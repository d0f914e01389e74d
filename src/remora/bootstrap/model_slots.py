"""Slots of model servers in the streams' database, which all processes that use it share.

A server has a row for each request that it may get at the same time. A process takes a row for a
few seconds by the database's clock, and renews it during the request, so the rows of a process that
died are soon free. Attempts that find no free row only read.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress

import psycopg

from remora.models.client.circuit_breaker import FAILURES, PAUSE_S
from remora.models.client.server_limits import Slot, Use
from remora.models.client.shared_limits import Taken
from remora.models.model_settings import RequestLimits
from remora.trace.postgres.database import Connection, Database
from remora.trace.postgres.leases import LeaseRenewal

_LEASE_S = 6
_CREATE_SERVERS = """
INSERT INTO model_servers (server, tokens)
SELECT server, coalesce(%(rate)s, 0) FROM unnest(%(servers)s::text[]) AS server ORDER BY server
ON CONFLICT DO NOTHING
"""
_CREATE_SLOTS = """
INSERT INTO model_slots (server, number)
SELECT server, number
FROM unnest(%(servers)s::text[]) AS server, generate_series(0, %(limit)s - 1) AS number
ORDER BY server, number ON CONFLICT DO NOTHING
"""
# A server that failed too often gets one request after its pause, in its first slot.
_TAKE = """
WITH slots AS (
    SELECT server, number, taken_until > now() AS busy
    FROM model_slots WHERE server = ANY(%(servers)s)
), loads AS (
    SELECT server, count(*) FILTER (WHERE busy) AS load,
        count(*) FILTER (WHERE number < %(limit)s) AS slots,
        bool_or(busy AND number = 0) AS first_busy
    FROM slots GROUP BY server
), servers AS (
    SELECT server, load, slots, CASE WHEN failures < %(failures)s THEN %(limit)s ELSE 1 END AS width,
        failing_until < now() AND (failures < %(failures)s OR NOT first_busy) AS works,
        %(rate)s::float IS NULL
            OR tokens + %(rate)s * extract(epoch FROM now() - filled) > 0 AS has_tokens
    FROM model_servers JOIN loads USING (server)
), free AS MATERIALIZED (
    SELECT slot.server, slot.number FROM model_slots AS slot JOIN servers USING (server)
    WHERE works AND has_tokens AND slot.number < width AND slot.taken_until <= now()
    ORDER BY load, server, number LIMIT 1 FOR UPDATE OF slot SKIP LOCKED
), taken AS (
    UPDATE model_slots AS slot
    SET owner = %(owner)s, taken_until = now() + make_interval(secs => %(lease_s)s)
    FROM free WHERE slot.server = free.server AND slot.number = free.number
    RETURNING slot.server, slot.number
), spent AS (
    UPDATE model_servers AS each
    SET tokens = least(%(rate)s, tokens + %(rate)s
            * greatest(0, extract(epoch FROM now() - filled))) - %(tokens)s,
        filled = greatest(filled, now())
    FROM taken WHERE each.server = taken.server AND %(rate)s::float IS NOT NULL
)
SELECT taken.server, taken.number, totals.slots, totals.works
FROM (SELECT sum(slots) AS slots, bool_or(works) AS works FROM servers) AS totals
LEFT JOIN taken ON true
"""
_GIVE_BACK = """
WITH freed AS (
    UPDATE model_slots SET owner = NULL, taken_until = '-infinity'
    WHERE server = %(server)s AND number = %(number)s AND owner = %(owner)s
)
UPDATE model_servers SET
    tokens = tokens - %(tokens)s,
    failures = CASE %(failed)s::bool WHEN true THEN failures + 1 WHEN false THEN 0 ELSE failures END,
    failing_until = CASE
        WHEN %(failed)s::bool AND failures + 1 >= %(failures)s
            THEN now() + make_interval(secs => %(pause_s)s)
        WHEN NOT %(failed)s::bool THEN '-infinity' ELSE failing_until END
WHERE server = %(server)s AND (%(is_limited)s OR %(failed)s::bool OR failures > 0)
"""
_RENEW = """
UPDATE model_slots SET taken_until = now() + make_interval(secs => %(lease_s)s)
FROM unnest(%(ids)s::bigint[], %(epochs)s::bigint[]) AS mine (owner, number)
WHERE model_slots.owner = mine.owner AND model_slots.number = mine.number
"""


class ModelSlots:
    """The slots of all processes. It is thread-safe, and keeps no connection while a job waits."""

    def __init__(self, database: Database, limits: RequestLimits) -> None:
        self._database = database
        self._limits = limits
        self._renewal = LeaseRenewal(database, _LEASE_S, _RENEW)
        self._created: set[str] = set()

    def take(self, servers: Sequence[str], tokens: int) -> Taken:
        """Take a slot at one of `servers`, at that with the fewest requests, if there is one.

        Raises DatabaseError.
        """
        owner = secrets.randbits(62)
        values = {
            "servers": list(servers),
            "limit": self._limits.max_concurrency,
            "rate": self._limits.tokens_per_second,
            "tokens": tokens,
            "failures": FAILURES,
            "owner": owner,
            "lease_s": _LEASE_S,
        }

        def work(connection: Connection) -> Taken:
            if not self._created.issuperset(servers):
                connection.execute(_CREATE_SERVERS, values)
                connection.execute(_CREATE_SLOTS, values)
                self._created.update(servers)
            row = connection.execute(_TAKE, values).fetchone()
            assert row is not None, "the totals are one row"
            server, number, slots, works = row
            if server is not None:
                return Taken(Slot(server, number, owner))
            if (slots or 0) < self._limits.max_concurrency * len(servers):
                self._created.clear()  # the tables are empty after a crash of the database
                return work(connection)
            return Taken(None, works)

        taken = self._database.run(work)
        if taken.slot is not None:
            self._renewal.add(owner, taken.slot.number)
        return taken

    def give_back(self, slot: Slot, use: Use) -> None:
        """Return a slot. If that fails, the slot is free after a few seconds."""
        self._renewal.remove(slot.owner)
        is_limited = self._limits.tokens_per_second is not None
        values = {
            **slot._asdict(),
            "tokens": use.tokens if is_limited else 0,
            "is_limited": is_limited,
            "failed": use.failed,
            "failures": FAILURES,
            "pause_s": PAUSE_S,
        }

        with suppress(psycopg.Error):
            self._database.once(lambda connection: connection.execute(_GIVE_BACK, values))

    def close(self) -> None:
        """Close all connections."""
        self._database.close()
