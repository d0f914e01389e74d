"""Announcement of appended events to waiting readers."""

import threading
import time

from remora.trace.postgres.database import Database

_PAUSE_S = 0.1
_IDLE_S = 5.0


class Announcer:
    """Sends announcements in a thread, at most ten in a second however much is appended.

    A notification within the transaction of an append would let all writers of the database wait
    for each other.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._change = threading.Condition()
        self._pending = False
        self._thread: threading.Thread | None = None

    def announce(self) -> None:
        """Announce soon that events were appended."""
        with self._change:
            self._pending = True
            if self._thread is None:
                name = "remora-announcer"
                self._thread = threading.Thread(target=self._run, daemon=True, name=name)
                self._thread.start()
            self._change.notify()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._pending, timeout=_IDLE_S)
                if not self._pending:
                    self._thread = None
                    return
                self._pending = False
            self._database.announce()
            time.sleep(_PAUSE_S)
