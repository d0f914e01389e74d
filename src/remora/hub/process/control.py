"""Control of a daemon: blocking requests, its status, whether it is running, and stopping it."""

import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import DiskError, HubDamaged, OutsideError
from remora.hub.process.addresses import read_addresses, remove, sockets_of
from remora.hub.process.hub_paths import HubPaths, display_path
from remora.hub.process.socket_listener import is_ours
from remora.hub.protocol import (
    Answer,
    ChangedSince,
    Request,
    Status,
    StatusResult,
    decode_answer,
    request_line,
)
from remora.hub.store.owner_lock import owner

_STOP_S = 10.0
_KILL_S = 5.0
_LOOK_S = 0.02
_ANSWER_S = 20.0


def running(places: HubPaths) -> int | None:
    """Return the daemon's process id, or None if no daemon holds the lock."""
    return owner(places.lock)


def status(places: HubPaths) -> StatusResult:
    """Return the status that `hub status` prints.

    The status comes from the daemon, or from the database if no daemon answers.
    """
    pid = running(places)
    status = daemon_status(places) if pid is not None else None
    return status if status is not None else _from_outside(places, pid)


def daemon_status(places: HubPaths) -> StatusResult | None:
    with suppress(OutsideError):
        answer = ask(places, Status())
        if answer.ok:
            return msgspec.json.decode(answer.result, type=StatusResult)
    return None


def has_scanned(places: HubPaths) -> bool:
    """Return True if the daemon has finished its initial scan or does not answer."""
    try:
        answer = ask(places, ChangedSince(generation=0), seconds=_ANSWER_S)
    except OutsideError:
        return True
    return answer.error is None or answer.error.code != "busy"


def notes(places: HubPaths) -> tuple[str, ...]:
    found = read_addresses(places.addresses)
    return found.notes if found is not None else ()


def stop(places: HubPaths) -> int | None:
    """Stop the daemon, by force if necessary.

    Returns its process id, or None if no daemon was running. Raises OutsideError if the daemon
    cannot be stopped.
    """
    if (pid := running(places)) is None:
        remove(places.addresses, places.token)
        return None
    if pid <= 0:
        raise OutsideError("the daemon's process id is unknown", hint=f"check {places.lock}")
    for number, seconds in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, _KILL_S)):
        if _end_process(places, pid, number, seconds):
            remove(places.addresses, places.token)
            return pid
    raise OutsideError(f"the daemon (process {pid}) does not exit", hint="kill the process")


def _end_process(places: HubPaths, pid: int, number: int, seconds: float) -> bool:
    """Send a signal to the process that holds the lock.

    Returns True if it exits within `seconds`.
    """
    try:
        if owner(places.lock) == pid:
            os.kill(pid, number)  # the lock's owner is alive, so the process id is not reused
    except ProcessLookupError:
        return True
    except PermissionError as error:
        raise OutsideError(f"the daemon (process {pid}) belongs to another user") from error
    until = time.monotonic() + seconds
    while (is_there := owner(places.lock) == pid) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return not is_there


def _from_outside(places: HubPaths, pid: int | None) -> StatusResult:
    """Return the status of a daemon that is not running or does not answer."""
    files, nodes, generation = _stored_counts(places.db)
    return StatusResult(
        running=pid is not None,
        pid=pid or None,
        root=display_path(places.root),
        db=display_path(places.db),
        socket=display_path(places.socket if pid is None else sockets_of(places)[0]),
        files=files,
        nodes=nodes,
        generation=generation,
        watcher="off",
        last_sweep=None,
        http=None,
        token_file=None,
    )


def _stored_counts(db: Path) -> tuple[int | None, int | None, int | None]:
    from remora.hub.store.reader import StoredSnapshot, read_snapshot  # imports the database code

    def count(view: StoredSnapshot) -> tuple[int, int, int]:
        return len(view.paths()), sum(1 for _ in view.keys()), view.generation  # noqa: SIM118

    with suppress(DiskError, HubDamaged):
        return read_snapshot(db, count) or (None, None, None)
    return None, None, None


def ask(places: HubPaths, request: Request, *, seconds: float = 5.0) -> Answer:
    """Send a request to the daemon over its socket and return its answer.

    Raises OutsideError if the daemon belongs to another user, or if it does not respond within
    `seconds`.
    """
    *others, last = sockets_of(places)
    for place in others:
        with suppress(OutsideError):
            return _ask_at(place, request, seconds)
    return _ask_at(last, request, seconds)


def _ask_at(place: Path, request: Request, seconds: float) -> Answer:
    with connect(place, request, seconds) as line, line.makefile("rb") as received:
        try:
            return decode_answer(received.readline())
        except (OSError, msgspec.DecodeError) as error:
            raise _not_responding(place, error) from error


def connect(place: Path, request: Request, seconds: float | None = None) -> socket.socket:
    """Send a request to the daemon, and return the connection for reading the answer.

    Raises OutsideError if the daemon does not respond or belongs to another user.
    """
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(seconds)
        line.connect(os.fspath(place))
        if is_ours(line):
            line.sendall(request_line(request))
            return line
    except OSError as error:
        line.close()
        raise _not_responding(place, error) from error
    line.close()
    raise OutsideError(f"a process of another user is listening on {place}")


def _not_responding(place: Path, error: Exception) -> OutsideError:
    return OutsideError(f"no daemon is responding at {place}: {error}")
