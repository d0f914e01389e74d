"""Paths of a hub. They are in the user's cache and runtime folders, and never in the project."""

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from remora.config.user_folders import UserFolders
from remora.errors import ConfigError, UsageError

SOCKET_LIMIT = 103
"""Maximum bytes of a portable socket path: sun_path has 108 bytes on Linux, 104 elsewhere."""
_SHORT = Path("/tmp")  # noqa: S108 (the subfolder is checked before use)


class HubPaths(NamedTuple):
    """Paths of a hub. The files need not exist.

    All paths except `root` and `socket` are next to the database.
    """

    root: Path
    db: Path
    lock: Path
    """Lock file that the daemon holds while it runs. It contains the daemon's process id."""
    socket: Path
    addresses: Path
    """Addresses of the daemon, for commands that have only the path of the database."""
    token: Path
    log: Path


def hub_paths(
    folders: UserFolders,
    root: Path,
    *,
    db: str | Path | None = None,
    socket: str | Path | None = None,
) -> HubPaths:
    """Return the paths of the hub for `root`, which must be resolved.

    `db` and `socket` override the default paths. The default socket is different for each database.
    Raises UsageError if `socket` is too long.
    """
    own = folders.cache / "hub" / _name(root) / "hub.db"
    base = own if db is None else Path(db).absolute()
    return HubPaths(
        root=root,
        db=base,
        lock=_with_suffix(base, ".daemon"),
        socket=socket_path(folders, root, base)
        if socket is None
        else _check_socket(Path(socket).absolute()),
        addresses=_with_suffix(base, ".addresses"),
        token=_with_suffix(base, ".token"),
        log=_with_suffix(base, ".log"),
    )


def own_hub_paths(root: Path, db: str | Path | None, socket: str | Path | None) -> HubPaths | None:
    """Return the paths of this root's hub, or None if the current user has no home folder."""
    try:
        folders = UserFolders.of_this_process()
    except ConfigError:
        return None
    return hub_paths(folders, root, db=db, socket=socket)


def display_path(path: Path) -> str:
    """Return a path as a string for JSON. Bytes that are not valid UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")


def _with_suffix(db: Path, suffix: str) -> Path:
    return db.with_name(db.name + suffix)


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"\0".join(map(os.fsencode, paths))).hexdigest()


def _name(root: Path) -> str:
    """Return the name of the root, with a digest that makes it unique."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-")[:40] or "root"
    return f"{plain}-{_digest(root)[:16]}"


def socket_path(folders: UserFolders, *named_by: Path) -> Path:
    """Return the path of a socket of this user, with a name that depends on some paths."""
    name = f"{_digest(*named_by)[:16]}.sock"
    usual = folders.runtime / "hub" / name
    if len(os.fsencode(usual)) <= SOCKET_LIMIT:
        return usual
    return _SHORT / f"remora-{os.getuid()}" / name


def _check_socket(socket: Path) -> Path:
    if len(os.fsencode(socket)) > SOCKET_LIMIT:
        raise UsageError(
            f"the socket path {socket} is too long (maximum {SOCKET_LIMIT} bytes)",
            hint="use a shorter path",
        )
    return socket
