"""Work that is divided among forked processes."""

import os
import signal
from collections.abc import Sequence

import pytest

from remora import forks


@pytest.mark.parametrize("is_stuck", [False, True])
def test_results_are_in_order_and_the_part_of_a_process_that_fails_is_done_here(
    monkeypatch: pytest.MonkeyPatch, is_stuck: bool
) -> None:
    """Some parents ignore SIGCHLD, which their children inherit."""
    monkeypatch.setattr(forks, "_FEWEST", 2)
    monkeypatch.setattr(forks, "_LONGEST_MS", 300 if is_stuck else 60_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    parent = os.getpid()

    def work(numbers: Sequence[int]) -> list[tuple[int, bool]]:
        if 6 in numbers and os.getpid() != parent:
            signal.pause() if is_stuck else os._exit(1)
        return [(number, os.getpid() == parent) for number in numbers]

    here = {0, 1, 2, 5, 6}
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN if is_stuck else signal.SIG_DFL)
    try:
        found = forks.map_in_processes(work, range(7))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert [number for number, _ in found] == [*range(7)]
    late = {3, 4} if is_stuck else set[int]()  # on a busy machine
    assert {number for number, is_here in found if is_here} - late == here
