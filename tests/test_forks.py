"""Work that is divided among forked processes."""

import os
from collections.abc import Sequence

import pytest

from remora import forks


def test_results_are_in_order_and_the_part_of_a_process_that_fails_is_done_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "_FEWEST", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    parent = os.getpid()

    def work(numbers: Sequence[int]) -> list[tuple[int, bool]]:
        if 6 in numbers and os.getpid() != parent:
            os._exit(1)
        return [(number, os.getpid() == parent) for number in numbers]

    here = {0, 1, 2, 5, 6}
    assert forks.map_in_processes(work, range(7)) == [(n, n in here) for n in range(7)]
