"""Wait for the owner of a stream, with a clock of the test."""

import pytest

from remora.errors import StreamLocked
from remora.worker.shard_worker import OwnerWait

ERROR = StreamLocked("traces/lint-1 is being written by process 7 on vm")


def test_it_is_over_half_an_hour_after_the_last_event(caplog: pytest.LogCaptureFixture) -> None:
    now, events = [0.0], [3]
    wait = OwnerWait(lambda: events[0], lambda: now[0])
    assert not wait.is_over(ERROR)
    now[0] = 1790
    assert not wait.is_over(ERROR)
    events[0] = 4
    now[0] = 1810
    assert not wait.is_over(ERROR)
    now[0] = 1810 + 1790
    assert not wait.is_over(ERROR)
    now[0] = 1810 + 1810
    assert wait.is_over(ERROR)
    assert caplog.messages == [f"waiting since 1790 s: {ERROR.message}"]
