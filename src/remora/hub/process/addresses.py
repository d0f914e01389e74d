"""Socket and problems of a running daemon, in a small file next to its database."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import DiskError

_TOKEN_BYTES = 32
_MAX_READ = 1 << 16


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Socket of a running daemon. `notes` describes its current problems."""

    socket: str
    notes: tuple[str, ...] = ()


def write_addresses(path: Path, addresses: Addresses) -> None:
    """Write the addresses atomically. Raises OSError on failure."""
    _write(path, msgspec.json.encode(addresses) + b"\n")


def read_addresses(path: Path) -> Addresses | None:
    """Return the addresses stored in a file.

    Returns None if the file is missing, unreadable or owned by another user.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, "rb") as stream:
            if os.fstat(file).st_uid != os.geteuid():
                return None
            return msgspec.json.decode(stream.read(_MAX_READ), type=Addresses)
    except (OSError, msgspec.DecodeError):
        return None


def make_token(path: Path) -> str:
    """Create an HTTP token, write it to a private file, and return it.

    Raises DiskError if the file cannot be written.
    """
    import secrets

    token = secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        _write(path, token.encode() + b"\n")
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


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}-{os.urandom(4).hex()}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    except OSError:
        remove(temporary)
        raise
