"""Paths of one hub, in the user's cache and runtime folders, never in the project."""

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from remora.config.user_folders import UserFolders
from remora.errors import UsageError

SOCKET_LIMIT = 103
"""Bytes of a socket's path that every system takes: sun_path holds 104 on some, 108 on Linux."""
_SHORT = Path("/tmp")  # noqa: S108 (a folder of ours in it is checked by who opens it)


class HubPlaces(NamedTuple):
    """The paths of one hub. All but `socket` lie beside the database; none is made here."""

    root: Path
    db: Path
    lock: Path
    """Held by the daemon as long as it lives; holds its process id."""
    socket: Path
    addresses: Path
    """Where the daemon can be asked, for every command that knows the database."""
    token: Path
    log: Path
    marker: Path
    """A folder of its own, in which nothing but a watcher's marker is written."""


def hub_places(
    folders: UserFolders, root: Path, *, db: Path | None = None, socket: Path | None = None
) -> HubPlaces:
    """The places of the hub of `root` (absolute and resolved), or of the one that `db` names.

    A database elsewhere is another hub, with a socket of its own. Raises UsageError for a `socket`
    that is too long for the system.
    """
    own = folders.cache / "hub" / _name(root) / "hub.db"
    base = own if db is None else db.absolute()
    return HubPlaces(
        root=root,
        db=base,
        lock=_beside(base, ".daemon"),
        socket=_own_socket(folders, root, base) if socket is None else _checked(socket.absolute()),
        addresses=_beside(base, ".addresses"),
        token=_beside(base, ".token"),
        log=_beside(base, ".log"),
        marker=_beside(base, ".marker"),
    )


def shown(path: Path) -> str:
    """A path as JSON can tell it: what is not UTF-8 is replaced."""
    return os.fsencode(path).decode(errors="replace")


def _beside(db: Path, suffix: str) -> Path:
    return db.with_name(db.name + suffix)


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(map(os.fsencode, paths))).hexdigest()


def _name(root: Path) -> str:
    """The root's name where people look, and what makes it one of a kind."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-")[:40] or "root"
    return f"{plain}-{_digest(root)[:16]}"


def _own_socket(folders: UserFolders, root: Path, db: Path) -> Path:
    name = f"{_digest(root, db)[:16]}.sock"
    usual = folders.runtime / "hub" / name
    if len(os.fsencode(usual)) <= SOCKET_LIMIT:
        return usual
    return _SHORT / f"remora-{os.getuid()}" / name


def _checked(socket: Path) -> Path:
    if len(os.fsencode(socket)) > SOCKET_LIMIT:
        raise UsageError(
            f"{socket} is too long for a socket (maximum {SOCKET_LIMIT} bytes)",
            hint="use a shorter path",
        )
    return socket
