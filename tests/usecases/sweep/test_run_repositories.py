"""How many repositories of a sweep are run at the same time."""

import asyncio
from pathlib import Path

import pytest

from remora.runs.execution.run import NoObserver
from remora.usecases.sweep.run_repositories import SweepRun


@pytest.mark.parametrize(("engine", "at_once"), [("local", False), ("queue", True)])
def test_this_machine_runs_one_repository_at_a_time(engine: str, at_once: bool) -> None:
    roots = {name: Path("/nonexistent", name) for name in "abcde"}
    run = SweepRun("20260131-093000-1f2e3d", roots, {}, {}, engine)
    begun: list[str] = []

    def observe(name: str) -> NoObserver:
        begun.append(name)
        return NoObserver()

    async def first_end() -> int:
        async for _ in run.finish(observe):
            return len(begun)
        raise AssertionError("no end")

    assert (asyncio.run(first_end()) == len(roots)) is at_once
