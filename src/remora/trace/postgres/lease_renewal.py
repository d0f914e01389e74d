"""Renewal of a store's leases while it does not append."""

import threading
from contextlib import suppress

import psycopg

from remora.trace.postgres.database import Database

_RENEW = """
UPDATE streams SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
FROM unnest(%(ids)s::bigint[], %(epochs)s::bigint[]) AS mine (stream, claimed)
WHERE id = mine.stream AND epoch = mine.claimed AND owner IS NOT NULL
"""


class LeaseRenewal:
    """Renews all leases in a thread, three times per lease. The thread runs while there are any.

    A renewal that fails is tried again at the next time. A lease that was lost is found by the next
    append.
    """

    def __init__(self, database: Database, lease_s: int) -> None:
        self._database = database
        self._lease_s = lease_s
        self._leases: dict[int, int] = {}
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, stream: int, epoch: int) -> None:
        with self._change:
            self._leases[stream] = epoch
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="remora-leases")
                self._thread.start()

    def remove(self, stream: int) -> None:
        with self._change:
            self._leases.pop(stream, None)
            self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: not self._leases, timeout=self._lease_s / 3)
                if not self._leases:
                    self._thread = None
                    return
                leases = dict(self._leases)
            self._renew(leases)

    def _renew(self, leases: dict[int, int]) -> None:
        values = {"lease_s": self._lease_s, "ids": list(leases), "epochs": list(leases.values())}
        with suppress(psycopg.Error):
            self._database.once(lambda connection: connection.execute(_RENEW, values))
