"""Plans the repositories of a sweep, each in a process of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress

import msgspec

from remora.usecases.sweep.bounded_work import as_completed
from remora.usecases.sweep.repository_plan import FAILED, PlanTask, RepositoryPlan

_COMMAND = (sys.executable, "-P", "-m", "remora.usecases.sweep.plan_repository")
_END_S = 10.0
"""Time for a process to remove its files when it is ended."""


def plan_all(tasks: Sequence[PlanTask]) -> AsyncGenerator[RepositoryPlan, None]:
    """Plan repositories on all cores, and yield each plan as soon as it is known.

    A process that dies, for example because a repository needs too much memory, fails only its own
    repository. If the iterator is closed, the processes are ended.
    """
    return as_completed(_plan_in_process, tasks, os.cpu_count() or 1)


async def _plan_in_process(task: PlanTask) -> RepositoryPlan:
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches only this process, which ends the others
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(msgspec.json.encode(task) + b"\n")  # not closed: the process would end
    try:
        output, problem = await asyncio.gather(process.stdout.read(), process.stderr.read())
        await process.wait()
    finally:
        if process.returncode is None:
            await _end(process)
    if process.returncode == 0:
        return msgspec.json.decode(output, type=RepositoryPlan)
    lines = problem.decode(errors="replace").strip().splitlines() or ["no message"]
    code = process.returncode or 0
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return RepositoryPlan(
        name=task.repository.name,
        root=str(task.repository.root),
        state=FAILED,
        error=f"planning ended with {ended}: {lines[-1]}",
        hint=f"plan it alone with `remora analyze --dry-run --root {task.repository.root}`",
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and those that it has started, after it has removed its files."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
