"""Starts a daemon in a separate process that keeps running after the command has finished."""

import json
import os
import select
import subprocess
import time

from remora.bootstrap.invocation import Invocation, open_config
from remora.errors import OutsideError, RemoraError
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.spawn import FOLDER, command, detached, environment
from remora.hub.protocol import StatusResult
from remora.usecases.hub.target import HubTarget, hub_http_address, hub_paths_of

_START_S = 60.0
"""Seconds for a start (decision: a loaded machine needs a few)."""
READY = b"ready\n"
"""Message from a daemon to the command that started it."""
_LOOK_S = 0.05
"""Seconds between two looks at the daemon."""
_MOST_STARTS = 3
"""Maximum attempts. A killed daemon may hold its lock for a moment, and a new one then gives up."""


def start_hub(invocation: Invocation, target: HubTarget) -> StatusResult:
    """Start a daemon in the background and return its status.

    If a daemon is already running, return its status instead. Raises OutsideError if the daemon
    does not start or does not answer.
    """
    places = hub_paths_of(invocation, target)
    open_config(invocation, places.root)
    hub_http_address(target)
    until = time.monotonic() + _START_S
    started = 0
    while time.monotonic() < until:
        status = control.daemon_status(places)
        if status is not None:
            return status
        if control.running(places) is None:
            if started == _MOST_STARTS:
                break
            _spawn(invocation, places, target)
            started += 1
            continue
        time.sleep(_LOOK_S)
    raise OutsideError("the daemon is not responding", hint=_where_to_look(places))


def _spawn(invocation: Invocation, places: HubPaths, target: HubTarget) -> None:
    """Start the process, and wait until it is ready or fails."""
    words = command("remora.cli.main:main", *_words(invocation, places, target))
    process = subprocess.Popen(
        detached(words),
        cwd=FOLDER,
        env=environment(invocation.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        with process.stdout as pipe:
            output = _startup_output(pipe.fileno())
    except BaseException:
        process.kill()
        process.wait()
        raise
    has_failed = output not in (READY, b"")  # empty: another daemon started first
    if has_failed:
        process.kill()
    process.wait()  # the child has only started the daemon
    if has_failed:
        raise _failed(output, places)


def _words(invocation: Invocation, places: HubPaths, target: HubTarget) -> list[str]:
    words = ["hub", "start", "--foreground", "--detached", "--json", "--root", str(places.root)]
    words += ["--socket", str(places.socket)]
    if target.db is not None:
        words += ["--db", str(places.db)]
    if invocation.config_file is not None:
        words += ["--config", str((invocation.folder / invocation.config_file).absolute())]
    if target.http is not None:
        words += ["--http", target.http]
    return words


def _startup_output(pipe: int) -> bytes:
    output = b""
    until = time.monotonic() + _START_S
    while output != READY:
        readable, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        part = os.read(pipe, 1 << 16) if readable else b""
        if not part:
            break
        output += part
    return output


def _failed(output: bytes, places: HubPaths) -> RemoraError:
    try:
        error = json.loads(output)["error"]
        return OutsideError(error["message"], hint=error["hint"])
    except (ValueError, KeyError, TypeError):
        return OutsideError("the daemon could not start", hint=_where_to_look(places))


def _where_to_look(places: HubPaths) -> str:
    if places.log.exists():
        return f"see {places.log}"
    return "run `remora hub start --foreground` to see its output"
