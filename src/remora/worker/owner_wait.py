"""Wait for another worker that has claimed a stream."""

import logging
import time
from collections.abc import Callable

from remora.errors import StreamLocked

_log = logging.getLogger("remora.worker")
_LOGGED_AFTER_S = 60.0
_PATIENCE_S = 1800.0


class OwnerWait:
    """A wait that is over if the owner of a stream appends nothing for half an hour.

    The owner may be in a long step, for which its process renews the lease. It may also be a thread
    that hangs. A wait without events is logged once.
    """

    def __init__(
        self, count_events: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._count_events = count_events
        self._clock = clock
        self._count = -1
        self._since = 0.0
        self._is_logged = False

    def is_over(self, error: StreamLocked) -> bool:
        """Look at the stream that cannot be claimed because of `error`."""
        count, now = self._count_events(), self._clock()
        if count != self._count:
            self._count, self._since = count, now
        seconds = now - self._since
        if seconds > _LOGGED_AFTER_S and not self._is_logged:
            self._is_logged = True
            _log.warning("waiting since %d s: %s", seconds, error.message)
        return seconds > _PATIENCE_S
