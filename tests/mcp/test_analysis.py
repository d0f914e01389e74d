"""The tool `analyze`: a call that is cancelled interrupts its run, and waits for its end."""

import asyncio
import os
import time
from pathlib import Path

import anyio
import pytest
from mcp_types import CallToolResult

from remora.bootstrap.invocation import Invocation
from remora.mcp.analysis import analyze
from remora.mcp.project_data import ProjectRedactor
from remora.usecases.command_document import STOP_S
from tests.cli.conftest import write
from tests.mcp.processes import family, is_alive
from tests.mcp.project import connected, error_of, invocation_in


@pytest.mark.slow
def test_a_cancelled_call_returns_when_its_run_has_ended(tmp_path: Path, home: Path) -> None:
    root = write(tmp_path, {f"m{n}.py": "import os\n" for n in range(100)})
    began_before = family(os.getpid())

    async def cancelled() -> tuple[float, list[int]]:
        """Return the seconds that the call took to return, and the processes that are left."""
        async with anyio.create_task_group() as calls:
            await _begin_run(calls, invocation_in(root, home), root)
            started = family(os.getpid()) - began_before
            assert started
            calls.cancel_scope.cancel()
            began = time.monotonic()
        return time.monotonic() - began, [pid for pid in started if is_alive(pid)]

    spent, left = asyncio.run(cancelled())
    assert left == []
    assert spent < STOP_S


@pytest.mark.parametrize("option", ["--model=http://127.0.0.1:1/v1", "--yes", "-h", "--config=x"])
def test_a_revision_is_not_an_option(tmp_path: Path, home: Path, option: str) -> None:
    root = write(tmp_path, {"a.py": "import os\n"})

    async def run() -> CallToolResult:
        async with connected(invocation_in(root, home), allow_run=True) as client:
            return await client.call_tool("analyze", {"changed": option})

    assert f"{option!r} is not a git revision" in error_of(asyncio.run(run()))
    assert not (root / ".agentfs").exists()


async def _begin_run(calls: anyio.abc.TaskGroup, invocation: Invocation, root: Path) -> None:
    calls.start_soon(analyze, invocation, ProjectRedactor(invocation), {})
    while not _is_begun(root):  # noqa: ASYNC110 (no event tells that a process has written a file)
        await anyio.sleep(0.05)


def _is_begun(root: Path) -> bool:
    return any(root.glob(".agentfs/runs/*.jsonl"))
