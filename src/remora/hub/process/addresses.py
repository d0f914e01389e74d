"""Addresses and problems of a running daemon, in a small file next to its database."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import DiskError
from remora.hub.process.hub_paths import HubPaths
from remora.regular_file import READ_NO_FOLLOW, replace_file

_TOKEN_BYTES = 32
_MAX_READ = 1 << 16


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Socket and URL of a running daemon. `notes` describes its current problems."""

    socket: str
    http: str | None = None
    notes: tuple[str, ...] = ()


def write_addresses(path: Path, addresses: Addresses) -> None:
    """Write the addresses atomically. Raises OSError on failure."""
    replace_file(path, msgspec.json.encode(addresses) + b"\n")


def read_addresses(path: Path) -> Addresses | None:
    """Return the addresses stored in a file.

    Returns None if the file is missing, unreadable or not private to this user.
    """
    try:
        return msgspec.json.decode(_read_private(path), type=Addresses)
    except (OSError, msgspec.DecodeError):
        return None


def sockets_of(places: HubPaths) -> tuple[Path, ...]:
    """Return the sockets at which a daemon may listen, the most likely first.

    A daemon that was started with another `--socket` has written its own.
    """
    found = read_addresses(places.addresses)
    own = () if found is None else (Path(found.socket),)
    return tuple(dict.fromkeys((*own, places.socket)))


def read_token(path: Path) -> str | None:
    """Return the token stored in a file, or None in the cases of `read_addresses`."""
    try:
        token = _read_private(path).removesuffix(b"\n").decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return token if token.isprintable() else None


def make_token(path: Path) -> str:
    """Create an HTTP token, write it to a private file, and return it.

    Raises DiskError if the file cannot be written.
    """
    import secrets

    token = secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        replace_file(path, token.encode() + b"\n")
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror}") from error
    return token


def remove(*paths: Path) -> None:
    """Remove a daemon's files.

    Files that cannot be removed are harmless, because only the lock indicates that a daemon is
    running.
    """
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _read_private(path: Path) -> bytes:
    """Return the start of a file. Raises OSError if other users may have read or written it."""
    with os.fdopen(os.open(path, READ_NO_FOLLOW), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(f"{path} is not private")
        return file.read(_MAX_READ)
