"""Runs the Hub's daemon in this process, and writes its log."""

import asyncio
import io
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from remora.bootstrap.invocation import Invocation, open_config
from remora.config.schema import Config
from remora.errors import HubLocked
from remora.hub.daemon.daemon import Daemon, DaemonParts, DaemonSettings
from remora.hub.daemon.link_scheduler import QUIET_S
from remora.hub.daemon.query_threads import THREAD_NAME
from remora.hub.index.indexer import Indexer
from remora.hub.members.members import Members
from remora.hub.process.addresses import remove
from remora.hub.process.hub_paths import HubPaths
from remora.hub.process.spawn import environment, tune_gc
from remora.hub.protocol import StatusResult
from remora.hub.store.owner_lock import OwnerLock
from remora.hub.watch.watcher import open_watcher
from remora.usecases.hub.index import store_when_free
from remora.usecases.hub.start_daemon import READY
from remora.usecases.hub.target import HubTarget, hub_http_address, hub_paths_of

MAX_BYTES = 1 << 20
"""Maximum bytes of the log file; one older file is kept."""
_FORMAT = "%(asctime)s %(levelname)-7s %(message)s"
_RESTARTED = "REMORA_HUB_RESTARTED"
_QUIET = "REMORA_HUB_QUIET"  # for tests, which use a shorter time
_DESCRIPTORS = 8192
"""Open files that the daemon may have, for its clients and folders."""
_SWITCH_S = 0.001
"""Thread switch interval in seconds: bounds how long a cached answer waits for a computation."""


def run_hub(
    invocation: Invocation,
    target: HubTarget,
    *,
    ready: Callable[[StatusResult], None],
    log_file: bool,
) -> bool:
    """Run the daemon in this process until it is stopped.

    Returns False if a daemon is already running. If the daemon needs a restart, this process is
    replaced by a new daemon. Raises OutsideError or ConfigError.
    """
    places = hub_paths_of(invocation, target)
    settings, config = _settings(invocation, places, target)
    try:
        ownership = OwnerLock(places.lock)
    except HubLocked:
        return False
    remove(places.addresses, places.token)  # of a killed daemon, whose port others may use now
    log_to(places.log if log_file else None)
    _allow_many_descriptors()
    sys.setswitchinterval(_SWITCH_S)
    tune_gc()
    daemon = Daemon(places, settings, ownership)  # owns it until this process exits
    outcome = asyncio.run(daemon.run(_open_parts(places, config), ready))
    if outcome == "restart":
        _restart(invocation)
    _end_unfinished()
    return True


def _end_unfinished() -> None:
    """Exit immediately if threads are still computing answers. A normal exit waits for them."""
    if any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate()):
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def _open_parts(places: HubPaths, config: Config) -> DaemonParts:
    members = Members(places.root, config.exclude, file_limit=config.hub.file_limit)
    store = store_when_free(places)
    return DaemonParts(
        store=store,
        indexer=Indexer(places.root, store, members),
        open_watcher=lambda: open_watcher(places.root, members),
    )


def _settings(
    invocation: Invocation, places: HubPaths, target: HubTarget
) -> tuple[DaemonSettings, Config]:
    config = open_config(invocation, places.root)
    quiet_s = _seconds(invocation, _QUIET)
    settings = DaemonSettings(
        sweep_seconds=config.hub.sweep_seconds,
        idle_stop_minutes=config.hub.idle_stop_minutes,
        memory_mb=config.hub.memory_mb,
        http=hub_http_address(target),
        environment=environment(invocation.environ),
        restarted=_seconds(invocation, _RESTARTED),
        quiet_s=QUIET_S if quiet_s is None else quiet_s,
    )
    return settings, config


def _seconds(invocation: Invocation, name: str) -> float | None:
    value = invocation.environ.get(name, "")
    return float(value) if value.replace(".", "", 1).isdigit() else None


def announce() -> None:
    """Notify the command that started this process, then redirect output to /dev/null."""
    with suppress(OSError):
        os.write(1, READY)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _restart(invocation: Invocation) -> None:
    """Replace this process with a new daemon, which has the same process ID."""
    logging.shutdown()
    environ = {**invocation.environ, _RESTARTED: f"{time.monotonic():.0f}"}
    argv = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, argv, environ)  # noqa: S606 (our own command line, no shell needed)


def _allow_many_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _PrivateFile(RotatingFileHandler):
    """Private log file that is never opened through a symbolic link.

    If the disk is full, log lines are lost, but nothing fails.
    """

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self.baseFilename, flags, 0o600)
        return io.TextIOWrapper(io.FileIO(file, "ab"), encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (inherited name)
        """Ignore the error, because there is no place to report it."""


def log_to(path: Path | None) -> None:
    """Log to `path`, or to standard error if `path` is None."""
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        try:
            handler = _PrivateFile(path, maxBytes=MAX_BYTES, backupCount=1)
        except OSError:
            handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.setLevel(logging.INFO)
    logging.getLogger("remora.hub").setLevel(logging.INFO)
    logging.getLogger().addHandler(handler)
