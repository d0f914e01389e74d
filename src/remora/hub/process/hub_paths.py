"""Paths of one hub, in the user's cache and runtime folders, never in the project."""

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from remora.config.user_folders import UserFolders
from remora.errors import UsageError

SOCKET_LIMIT = 103
"""Maximum bytes of a socket's path on any system: sun_path has 104 on some, 108 on Linux."""
_SHORT = Path("/tmp")  # noqa: S108 (our folder in it is checked before use)


class HubPaths(NamedTuple):
    """Paths of one hub, not created here. All but `socket` are beside the database."""

    root: Path
    db: Path
    lock: Path
    """Held by the daemon as long as it runs; contains its process id."""
    socket: Path
    addresses: Path
    """Addresses of the daemon, for every command that knows the database."""
    token: Path
    log: Path
    marker: Path
    """A private folder for the watcher's marker only."""


def hub_paths(
    folders: UserFolders, root: Path, *, db: Path | None = None, socket: Path | None = None
) -> HubPaths:
    """Return the paths of the hub of `root` (resolved), or of the database `db`.

    Another database has another socket. Raises UsageError if `socket` is too long.
    """
    own = folders.cache / "hub" / _name(root) / "hub.db"
    base = own if db is None else db.absolute()
    return HubPaths(
        root=root,
        db=base,
        lock=_with_suffix(base, ".daemon"),
        socket=_own_socket(folders, root, base)
        if socket is None
        else _check_socket(socket.absolute()),
        addresses=_with_suffix(base, ".addresses"),
        token=_with_suffix(base, ".token"),
        log=_with_suffix(base, ".log"),
        marker=_with_suffix(base, ".marker"),
    )


def display_path(path: Path) -> str:
    """Return a path for JSON: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")


def _with_suffix(db: Path, suffix: str) -> Path:
    return db.with_name(db.name + suffix)


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(map(os.fsencode, paths))).hexdigest()


def _name(root: Path) -> str:
    """Return the root's name with a digest that makes it unique."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-")[:40] or "root"
    return f"{plain}-{_digest(root)[:16]}"


def _own_socket(folders: UserFolders, root: Path, db: Path) -> Path:
    name = f"{_digest(root, db)[:16]}.sock"
    usual = folders.runtime / "hub" / name
    if len(os.fsencode(usual)) <= SOCKET_LIMIT:
        return usual
    return _SHORT / f"remora-{os.getuid()}" / name


def _check_socket(socket: Path) -> Path:
    if len(os.fsencode(socket)) > SOCKET_LIMIT:
        raise UsageError(
            f"{socket} is too long for a socket (maximum {SOCKET_LIMIT} bytes)",
            hint="use a shorter path",
        )
    return socket
