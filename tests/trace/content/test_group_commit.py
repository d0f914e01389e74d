"""Group commit and sync pool: shared calls, parallel syncs."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from remora.trace.content.group_commit import GroupCommit
from remora.trace.content.sync_pool import SyncPool


class Slow:
    """A slow action that records what was there when it began."""

    def __init__(self) -> None:
        self.written = 0
        self.safe = 0
        self.acts = 0
        self.at_once = 0
        self.error: Exception | None = None

    def __call__(self) -> None:
        self.at_once += 1
        assert self.at_once == 1
        self.acts += 1
        began_with = self.written
        time.sleep(0.005)
        self.at_once -= 1
        if self.error is not None:
            raise self.error
        self.safe = began_with


@pytest.fixture
def slow() -> Slow:
    return Slow()


def test_alone_each_call_acts(slow: Slow) -> None:
    commit = GroupCommit(slow)
    for _ in range(3):
        commit.run()
    assert slow.acts == 3


def test_a_call_returns_after_an_action_that_began_later(slow: Slow) -> None:
    commit, lock = GroupCommit(slow), threading.Lock()

    def write_and_wait(_: int) -> bool:
        with lock:
            slow.written += 1
            mine = slow.written
        commit.run()
        return slow.safe >= mine

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(write_and_wait, range(320)))
    assert slow.acts < 320 / 4, "who waited at once did not share"


def test_a_failure_reaches_only_the_threads_that_shared_the_call(slow: Slow) -> None:
    commit = GroupCommit(slow)
    slow.error = OSError(5, "Input/output error")
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(commit.run) for _ in range(8)]
        assert {type(done.exception()) for done in waiting} == {OSError}
    slow.error = None
    commit.run()


def test_a_pool_ends_all_acts_before_it_reports_a_failure() -> None:
    ended: list[int] = []

    def act(number: int) -> Callable[[], None]:
        def work() -> None:
            if number == 0:
                raise OSError(5, "Input/output error")
            time.sleep(0.01)
            ended.append(number)

        return work

    with pytest.raises(OSError, match="Input/output"):
        SyncPool().run([act(number) for number in range(6)])
    assert sorted(ended) == [1, 2, 3, 4, 5]


def test_a_pool_works_side_by_side() -> None:
    meeting = threading.Barrier(4, timeout=10)

    def meet() -> None:
        meeting.wait()

    SyncPool().run([meet] * 4)
