"""The command-line options and the paths that determine which Hub a command uses."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.errors import UsageError
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.hub.store.owner_lock import is_lock, lock_of

_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}
Progress = Callable[[int, int], None]
"""Called with the number of finished items, such as files that were read, and the total."""


@dataclass(frozen=True, kw_only=True)
class HubTarget:
    """The command-line options that select a Hub."""

    db: Path | None = None
    socket: Path | None = None
    http: str | None = None


def hub_paths_of(invocation: Invocation, target: HubTarget) -> HubPaths:
    """Return the paths of the project's Hub.

    Raises UsageError if the root, the database or the socket path is invalid. Also raises
    UsageError if a file that the Hub would create next to `--db` already exists and belongs to
    another program, because the Hub would overwrite that file.
    """
    from remora.hub.store.hub_database import is_foreign  # imports the database code

    if target.db is not None and is_foreign(target.db):
        raise UsageError(
            f"--db {target.db}: not a Hub database",
            hint="choose another path; if the file does not exist, it is created",
        )
    places = hub_paths(
        invocation.folders, invocation.find_root(), db=target.db, socket=target.socket
    )
    foreign = _foreign_file(places) if target.db is not None else None
    if foreign is not None:
        raise UsageError(
            f"--db {target.db}: {foreign} is not a Hub file",
            hint="use a folder without files from other programs",
        )
    return places


def hub_http_address(target: HubTarget) -> tuple[str, int] | None:
    """Return the address on which a daemon serves HTTP, if it does.

    Raises UsageError if the address is invalid, and ConfigError if the extra is missing.
    """
    if target.http is None:
        return None
    from remora.bootstrap.open_trace import require_extra  # imports code that reads streams

    address = http_address(target.http)
    for module in ("starlette", "uvicorn"):
        require_extra(module, "ui")
    return address


def http_address(value: str) -> tuple[str, int]:
    """Parse an address in the form `[HOST:]PORT`.

    Raises UsageError if the address is invalid or if HOST is not a loopback address.
    """
    host, _, port = value.rpartition(":")
    host = host or "127.0.0.1"
    if host not in _LOOPBACK:
        raise UsageError(
            f"--http {value}: {host} is not a loopback address", hint="use 127.0.0.1 or [::1]"
        )
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--http {value}: expected [HOST:]PORT", hint="use port 0 for a free port")
    return _LOOPBACK[host], int(port)


def _foreign_file(places: HubPaths) -> Path | None:
    """Return a file that has the path of a Hub file, although no Hub has used this database."""
    if places.db.exists() or is_lock(lock_of(places.db)):
        return None
    beside = (places.lock, places.addresses, places.token, places.log)
    named = [places.db.with_name(places.db.name + end) for end in (".lock", ".log.1", "-wal")]
    return next((path for path in (*named, *beside) if os.path.lexists(path)), None)
