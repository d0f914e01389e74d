"""The command-line options and the paths that determine which Hub a command uses."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.errors import UsageError
from remora.hub.process.addresses import Addresses
from remora.hub.process.hub_paths import HubPaths, hub_paths
from remora.hub.store.owner_lock import lock_of

_MAX_READ = 1 << 16
_LOCK = re.compile(rb"\d{1,20}(?: remora hub\n)?")
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}\n")
_LOG = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ ")
_WAL = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}


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
    if target.db is not None and _is_foreign(target.db):
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


def root_above(invocation: Invocation, places: HubPaths) -> Path | None:
    """Return a parent folder that is probably the project root, or None if there is no such folder.

    A parent folder is a likely root if it has a Hub or a pyproject.toml. Returns None unless the
    current directory is the root only because there is no `--root`, git repository or remora.yaml.
    """
    root = places.root
    if (
        invocation.root is not None
        or (root / "remora.yaml").is_file()
        or root != invocation.folder.resolve()
    ):
        return None
    if any((place / ".git").exists() for place in (root, *root.parents)):
        return None
    for above in root.parents:
        has_hub = hub_paths(invocation.folders, above).db.exists()
        if has_hub or (above / "pyproject.toml").is_file():
            return above
    return None


def _is_foreign(db: Path) -> bool:
    from remora.hub.store.database_check import is_foreign  # imports the database code

    return is_foreign(db)


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
    """Return the first nonempty file that has the path of a hub file but was not created by a hub.

    Returns None if there is no such file. Nothing is written.
    """
    for path, is_ours in (
        (lock_of(places.db), _LOCK.fullmatch),
        (places.lock, _LOCK.fullmatch),
        (places.token, _TOKEN.fullmatch),
        (places.addresses, _is_addresses),
        (places.log, _LOG.match),
        (places.log.with_name(f"{places.log.name}.1"), _LOG.match),
        (places.db.with_name(f"{places.db.name}-wal"), lambda content: content.startswith(_WAL)),
    ):
        if _is_unrelated(path, is_ours):
            return path
    return places.marker if _is_not_folder(places.marker) else None


def _is_unrelated(path: Path, is_ours: Callable[[bytes], object]) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:  # a link, or unreadable
        return True
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return True
        content = stream.read(_MAX_READ)
    return bool(content) and not is_ours(content)


def _is_addresses(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=Addresses)
    except msgspec.MsgspecError:
        return False
    return True


def _is_not_folder(path: Path) -> bool:
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())
