"""Start a daemon in a process of its own, which outlives the command."""

import json
import os
import select
import subprocess
import time

from remora.bootstrap.hub_target import HubTarget, http_address, places_of
from remora.bootstrap.invocation import Caller, open_config
from remora.errors import OutsideError, RemoraError
from remora.hub.process import control
from remora.hub.process.hub_paths import HubPlaces
from remora.hub.process.spawn import FOLDER, command, environment, left_alone
from remora.hub.protocol import StatusResult

_START_S = 60.0
READY = b"ready\n"
"""Message of a daemon to the command that started it."""
_LOOK_S = 0.05
_MOST_STARTS = 3
"""One that was killed holds its lock a moment longer: who starts meanwhile gives way to it."""


def start_hub(caller: Caller, wish: HubTarget) -> StatusResult:
    """A daemon in the background, or the one that runs. Raises OutsideError with its reason."""
    places = places_of(caller, wish)
    _check(caller, places, wish)
    until = time.monotonic() + _START_S
    started = 0
    while time.monotonic() < until:
        status = control.daemon_status(places)
        if status is not None:
            return status
        if control.running(places) is None:
            if started == _MOST_STARTS:
                break
            _spawn(caller, places, wish)
            started += 1
            continue
        time.sleep(_LOOK_S)
    raise OutsideError("the daemon does not answer", hint=_where_to_look(places))


def _check(caller: Caller, places: HubPlaces, wish: HubTarget) -> None:
    """Check the configuration and options before anything is started."""
    open_config(caller, places.root)
    if wish.http is not None:
        http_address(wish.http)


def _spawn(caller: Caller, places: HubPlaces, wish: HubTarget) -> None:
    """Start it, and wait until it says that it can be asked, or why not."""
    words = command("remora.cli.main:main", *_words(caller, places, wish))
    with subprocess.Popen(
        left_alone(words),
        cwd=FOLDER,
        env=environment(caller.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as starter:
        assert starter.stdout is not None
        output = _first_words(starter.stdout.fileno())
    if output not in (READY, b""):  # nothing: another one was quicker
        raise _failed(output, places)


def _words(caller: Caller, places: HubPlaces, wish: HubTarget) -> list[str]:
    words = ["hub", "start", "--foreground", "--detached", "--json", "--root", str(places.root)]
    words += ["--socket", str(places.socket)]
    if wish.db is not None:
        words += ["--db", str(places.db)]
    if caller.config_file is not None:
        words += ["--config", str((caller.folder / caller.config_file).absolute())]
    if wish.http is not None:
        words += ["--http", wish.http]
    return words


def _first_words(pipe: int) -> bytes:
    """What comes until it is ready or ends, or takes too long."""
    output = b""
    until = time.monotonic() + _START_S
    while output != READY:
        readable, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        part = os.read(pipe, 1 << 16) if readable else b""
        if not part:
            break
        output += part
    return output


def _failed(output: bytes, places: HubPlaces) -> RemoraError:
    try:
        error = json.loads(output)["error"]
        return OutsideError(error["message"], hint=error["hint"])
    except (ValueError, KeyError, TypeError):
        return OutsideError("the daemon could not start", hint=_where_to_look(places))


def _where_to_look(places: HubPlaces) -> str:
    if places.log.exists():
        return f"{places.log} says more"
    return "`remora hub start --foreground` shows what it says"
