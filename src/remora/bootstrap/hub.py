"""The Hub's daemon, wired: in this process, or in one of its own that outlives the command."""

import asyncio
import json
import logging
import os
import resource
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from remora.bootstrap.caller import Caller, open_config
from remora.bootstrap.hub_store import indexer_of, open_store
from remora.config import Config
from remora.errors import HubLocked, OutsideError, RemoraError, UsageError
from remora.hub.access import control
from remora.hub.access.places import HubPlaces, hub_places
from remora.hub.actions import workers
from remora.hub.actions.analyse import ScriptedAnalysis
from remora.hub.actions.cascade import reached
from remora.hub.daemon.daemon import Daemon, Parts, Settings
from remora.hub.daemon.lanes import LANE
from remora.hub.daemon.launch import FOLDER, command, environment, left_alone
from remora.hub.daemon.logfile import log_to
from remora.hub.members import Members
from remora.hub.ownership import Ownership
from remora.hub.protocol import StatusResult
from remora.hub.store import HubStore, is_foreign
from remora.hub.watcher import open_watcher

_START_S = 60.0
_READY = b"ready\n"
_RESTARTED = "REMORA_HUB_RESTARTED"
_LOCKED_S = 10.0
_LOOK_S = 0.05
_DESCRIPTORS = 8192
_SWITCH_S = 0.001
"""An answer that is there already waits so long for one that is being made."""
LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}


@dataclass(frozen=True, kw_only=True)
class HubWish:
    """What was said on the command line."""

    db: Path | None = None
    socket: Path | None = None
    http: str | None = None


def places_of(caller: Caller, wish: HubWish) -> HubPlaces:
    """Where the hub of this caller's root is.

    Raises UsageError, also where a database is named and another file stands there: whoever writes
    makes a database that cannot be right anew, in place.
    """
    if wish.db is not None and is_foreign(wish.db):
        raise UsageError(
            f"--db {wish.db}: this is no database of the Hub, and is left as it is",
            hint="name another file; one that is not there is made",
        )
    return hub_places(caller.folders, caller.find_root(), db=wish.db, socket=wish.socket)


def start_hub(caller: Caller, wish: HubWish) -> StatusResult:
    """A daemon in the background, or the one that runs. Raises OutsideError with its reason."""
    places = places_of(caller, wish)
    _settings(caller, places, wish)  # what is wrong is told before anything is started
    if control.running(places) is None:
        _spawn(caller, places, wish)
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        said = control.told(places)
        if said is not None:
            return said
        if control.running(places) is None:
            break
        time.sleep(_LOOK_S)
    raise OutsideError("the hub does not answer", hint=f"{places.log} says more")


def run_hub(
    caller: Caller, wish: HubWish, *, ready: Callable[[StatusResult], None], log_file: bool
) -> bool:
    """The daemon in this process, until it is stopped; False where one runs already.

    Replaces this process where it is better to begin anew. Raises OutsideError, ConfigError.
    """
    places = places_of(caller, wish)
    settings, config = _settings(caller, places, wish)
    try:
        ownership = Ownership(places.lock)
    except HubLocked:
        return False
    log_to(places.log if log_file else None)
    _allow_many_descriptors()
    sys.setswitchinterval(_SWITCH_S)
    daemon = Daemon(places, settings, ownership)
    outcome = asyncio.run(daemon.run(_opened(places, config), ready))
    ownership.close()
    if outcome == "restart":
        _begin_anew(caller)
    _end_unfinished()
    return True


def _end_unfinished() -> None:
    """Nobody waits any more for an answer that a thread is still making: Python would, at its end."""
    if any(thread.name.startswith(LANE) for thread in threading.enumerate()):
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def _opened(places: HubPlaces, config: Config) -> Parts:
    members = Members(places.root, config.exclude)
    store = _store(places)
    workers.load_all()
    analysis = ScriptedAnalysis()
    return Parts(
        store=store,
        indexer=indexer_of(places, store, members, analysis),
        open_watcher=lambda: open_watcher(places.root, members, marker=places.marker),
        newest_changes=lambda: partial(reached, analysis.taken()),
    )


def _store(places: HubPlaces) -> HubStore:
    """A command that is writing just now is waited for."""
    until = time.monotonic() + _LOCKED_S
    while True:
        try:
            return open_store(places)
        except HubLocked:
            if time.monotonic() > until:
                raise
        time.sleep(_LOOK_S)


def _settings(caller: Caller, places: HubPlaces, wish: HubWish) -> tuple[Settings, Config]:
    config = open_config(caller, places.root)
    restarted = caller.environ.get(_RESTARTED, "")
    settings = Settings(
        sweep_seconds=config.hub.sweep_seconds,
        idle_stop_minutes=config.hub.idle_stop_minutes,
        memory_mb=config.hub.memory_mb,
        http=None if wish.http is None else _http_address(wish.http),
        environment=environment(caller.environ),
        restarted=float(restarted) if restarted.replace(".", "", 1).isdigit() else None,
    )
    return settings, config


def _http_address(said: str) -> tuple[str, int]:
    """`[HOST:]PORT`, HOST being this machine's loopback. Raises UsageError."""
    host, _, port = said.rpartition(":")
    host = host or "127.0.0.1"
    if host not in LOOPBACK:
        raise UsageError(
            f"--http {said}: {host} is not this machine's loopback",
            hint="the hub answers on 127.0.0.1 or [::1] only",
        )
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--http {said}: expected [HOST:]PORT", hint="port 0 takes a free one")
    return LOOPBACK[host], int(port)


def _spawn(caller: Caller, places: HubPlaces, wish: HubWish) -> None:
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
        said = _first_words(starter.stdout.fileno())
    if said not in (_READY, b""):  # nothing: another one was quicker
        raise _failed(said, places)


def _words(caller: Caller, places: HubPlaces, wish: HubWish) -> list[str]:
    words = ["hub", "start", "--foreground", "--detached", "--json", "--root", str(places.root)]
    words += ["--db", str(places.db), "--socket", str(places.socket)]
    if caller.config_file is not None:
        words += ["--config", str((caller.folder / caller.config_file).absolute())]
    if wish.http is not None:
        words += ["--http", wish.http]
    return words


def _first_words(pipe: int) -> bytes:
    """What comes until it is ready or ends, or takes too long."""
    said = b""
    until = time.monotonic() + _START_S
    while said != _READY:
        readable, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        part = os.read(pipe, 1 << 16) if readable else b""
        if not part:
            break
        said += part
    return said


def _failed(said: bytes, places: HubPlaces) -> RemoraError:
    try:
        error = json.loads(said)["error"]
        return OutsideError(error["message"], hint=error["hint"])
    except (ValueError, KeyError, TypeError):
        return OutsideError("the hub could not start", hint=f"{places.log} says more")


def announce(status: StatusResult) -> None:  # noqa: ARG001 (every `ready` takes it)
    """Tell the command that started us, and let go of its streams."""
    with suppress(OSError):
        os.write(1, _READY)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _begin_anew(caller: Caller) -> None:
    """The same process, started again: its id stays, so whoever watches it sees nothing."""
    logging.shutdown()
    environ = {**caller.environ, _RESTARTED: f"{time.monotonic():.0f}"}
    argv = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, argv, environ)  # noqa: S606 (our own command line, no shell wanted)


def _allow_many_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
