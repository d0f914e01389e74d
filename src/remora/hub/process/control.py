"""Control of a daemon: status, running check and stop."""

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

from remora.errors import DiskError, HubDamaged, OutsideError
from remora.hub.process.addresses import read_addresses, remove
from remora.hub.process.hub_paths import HubPlaces, shown
from remora.hub.process.request import ask
from remora.hub.protocol import ChangedSince, Status, StatusResult, decode_status
from remora.hub.store.owner_lock import owner

_STOP_S = 10.0
_KILL_S = 5.0
_LOOK_S = 0.02
_ANSWER_S = 20.0


def running(places: HubPlaces) -> int | None:
    """The daemon's process id; None if there is none. The lock tells, not what was left behind."""
    return owner(places.lock)


def status(places: HubPlaces) -> StatusResult:
    """As `hub status` prints it, from the daemon, else from the database."""
    pid = running(places)
    status = daemon_status(places) if pid is not None else None
    return status if status is not None else _from_outside(places, pid)


def daemon_status(places: HubPlaces) -> StatusResult | None:
    """Return the daemon's own status; None if it does not answer (yet)."""
    for place in dict.fromkeys((_address(places), places.socket)):
        with suppress(OutsideError):
            answer = ask(place, Status())
            if answer.ok:
                return decode_status(answer.result)
    return None


def has_scanned(places: HubPlaces) -> bool:
    """True if the daemon has finished its initial scan, or does not answer."""
    try:
        answer = ask(_address(places), ChangedSince(generation=0), seconds=_ANSWER_S)
    except OutsideError:
        return True
    return answer.error is None or answer.error.code != "busy"


def notes(places: HubPlaces) -> tuple[str, ...]:
    """Return the problems that the daemon reports."""
    found = read_addresses(places.addresses)
    return found.notes if found is not None else ()


def stop(places: HubPlaces) -> int | None:
    """End the daemon and wait until it is gone; its process id, None if there was none.

    One that does not end when it is asked is killed: nothing is lost by that. Raises OutsideError.
    """
    pid = running(places)
    if pid is None:
        remove(places.addresses, places.token)
        return None
    if pid <= 0:
        raise OutsideError("the daemon's process id is unknown", hint=f"look at {places.lock}")
    for number, seconds in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, _KILL_S)):
        if _ended(places, pid, number, seconds):
            remove(places.addresses, places.token)
            return pid
    raise OutsideError(f"the hub (process {pid}) does not end", hint="end that process yourself")


def _ended(places: HubPlaces, pid: int, number: int, seconds: float) -> bool:
    """Signal the process that holds the lock, and no other that has its number by now; whether it
    is gone within so many seconds."""
    handle = None
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        if owner(places.lock) == pid:
            os.kill(pid, number)  # who holds the lock lives: the number is its own
        return _gone_within(places, pid, handle, seconds)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        raise OutsideError(f"the hub (process {pid}) is another user's") from error
    finally:
        if handle is not None:
            os.close(handle)


def _gone_within(places: HubPlaces, pid: int, handle: int | None, seconds: float) -> bool:
    if handle is not None:
        return bool(select.select([handle], [], [], seconds)[0])
    until = time.monotonic() + seconds
    while owner(places.lock) == pid and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return owner(places.lock) != pid


def _address(places: HubPlaces) -> Path:
    found = read_addresses(places.addresses)
    return places.socket if found is None else Path(found.socket)


def _from_outside(places: HubPlaces, pid: int | None) -> StatusResult:
    """Of a hub that is at rest, or that lives and does not answer: it has just begun, or hangs."""
    files, nodes, generation = _stored(places.db)
    return StatusResult(
        running=pid is not None,
        pid=pid,
        root=shown(places.root),
        db=shown(places.db),
        socket=shown(places.socket if pid is None else _address(places)),
        files=files,
        nodes=nodes,
        generation=generation,
        watcher="off",
        last_sweep=None,
        http=None,
        token_file=None,
    )


def _stored(db: Path) -> tuple[int | None, int | None, int | None]:
    from remora.hub.store.reader import open_snapshot  # with all that reads and writes it

    view = open_snapshot(db)
    if view is None:
        return None, None, None
    try:
        return len(view.paths()), sum(1 for _ in view.keys()), view.generation  # noqa: SIM118
    except (DiskError, HubDamaged):
        return None, None, None
    finally:
        view.close()
