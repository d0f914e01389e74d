"""Runs a command of Remora in a process of its own, and returns its JSON document."""

import asyncio
import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio

from remora.bootstrap.invocation import Invocation
from remora.errors import NotFound, OutsideError, RemoraError
from remora.hub.process import spawn

_STOP_S = 2.5
"""Seconds that an interrupted run has to record its end before it is killed."""
_KILL_S = 0.5
"""Seconds after which a killed run is no longer waited for."""
STOP_S = _STOP_S + _KILL_S
"""Seconds within which a run has ended after its call was cancelled."""


async def document_of(
    invocation: Invocation, words: Sequence[str], given: bytes = b""
) -> dict[str, Any]:
    """Run a command in the project's root with `given` as its input, and return its JSON document.

    If the call is cancelled, the command is interrupted. Raises RemoraError with the command's own
    message if it fails, and NotFound if that is why.
    """
    common = ["--json", "--quiet", "--root", str(invocation.find_root())]
    if invocation.config_file is not None:
        common += ["--config", str(invocation.folder / invocation.config_file)]
    process = await asyncio.create_subprocess_exec(
        *spawn.tied(spawn.command("remora.cli.main:main", *common, *words)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=invocation.find_root(),
        env=dict(invocation.environ),
        start_new_session=True,
    )
    try:
        output, problems = await process.communicate(given)
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)
    try:
        document: dict[str, Any] = json.loads(output)
    except ValueError:
        raise OutsideError(f"the run ended without a result: {_last_line(problems)}") from None
    if "error" in document:
        error = document["error"]
        kind = NotFound if error["code"] == "not_found" else RemoraError
        raise kind(error["message"], hint=error.get("hint", ""))
    return document


async def _stop(process: Process) -> None:
    """Interrupt a process that still runs, and kill it if it does not end soon."""
    if process.returncode is not None:
        return
    for number, seconds in ((signal.SIGINT, _STOP_S), (signal.SIGKILL, _KILL_S)):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
                return


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no message"
