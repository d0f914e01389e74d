"""The tool `analyze`: a run in a process of its own, which ends with the call."""

import asyncio
import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio

from remora.bootstrap.invocation import Invocation
from remora.errors import OutsideError, RemoraError, UsageError
from remora.hub.process import spawn
from remora.ids import LAST
from remora.mcp.answer_page import answer_text
from remora.mcp.project_data import ProjectRedactor

_MAX_TIME_S = 300.0
"""Seconds after which a run ends if the client does not set `max_time`."""
_STOP_S = 2.5
"""Seconds that an interrupted run has to record its end before it is killed."""
_KILL_S = 0.5
"""Seconds after which a killed run is no longer waited for."""
STOP_S = _STOP_S + _KILL_S
"""Seconds within which a run has ended after its call was cancelled."""


async def analyze(
    invocation: Invocation, project: ProjectRedactor, arguments: Mapping[str, Any]
) -> str:
    """Run agents, and return the run's document and how a person reviews its changes.

    If the call is cancelled, the run is interrupted. Raises UsageError if `changed` is an option,
    and RemoraError with the run's own message if it fails.
    """
    process = await asyncio.create_subprocess_exec(
        *spawn.tied(spawn.command("remora.cli.main:main", *_words(invocation, arguments))),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=invocation.folder,
        env=dict(invocation.environ),
        start_new_session=True,
    )
    try:
        output, problems = await process.communicate()
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)
    try:
        document = json.loads(output)
    except ValueError:
        raise OutsideError(f"the run ended without a result: {_last_line(problems)}") from None
    if "error" in document:
        error = document["error"]
        raise RemoraError(error["message"], hint=error.get("hint", ""))
    command = ("remora", "show", document.get("run_id") or LAST)
    clean = await asyncio.to_thread(lambda: project.redact.clean(document))
    return answer_text(clean | _next_steps(document), command, ("jobs",))


def _words(invocation: Invocation, arguments: Mapping[str, Any]) -> list[str]:
    words = ["--json", "--quiet", "--root", str(invocation.find_root())]
    if invocation.config_file is not None:
        words += ["--config", str(invocation.config_file)]
    words += ["analyze", f"--max-time={arguments.get('max_time', _MAX_TIME_S)}"]
    words += [f"--operation={each}" for each in arguments.get("operations", ())]
    if (revision := arguments.get("changed")) is not None:
        if revision.startswith("-"):  # click would take it for the next option
            raise UsageError(f"{revision!r} is not a git revision", hint="name a branch or commit")
        words.append(f"--changed={revision}")
    return [*words, "--", *arguments.get("paths", ())]


def _next_steps(document: Mapping[str, Any]) -> dict[str, str]:
    if not document.get("jobs"):
        return {"next": "nothing to do: no symbol needs work"}
    run = document["run_id"]
    return {
        "next": f"read remora://diff/{run}; only a person can accept, with `remora review {run}`"
    }


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
