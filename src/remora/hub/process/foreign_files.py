"""Search for other programs' files next to the database given as `--db`."""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from remora.hub.process.addresses import Addresses
from remora.hub.process.hub_paths import HubPaths
from remora.hub.store.owner_lock import lock_of

_MAX_READ = 1 << 16
_LOCK = re.compile(rb"\d{1,20}(?: remora hub\n)?")
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}\n")
_LOG = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ ")
_WAL = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


def foreign_file(places: HubPaths) -> Path | None:
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
        if _is_foreign(path, is_ours):
            return path
    return places.marker if _is_not_folder(places.marker) else None


def _is_foreign(path: Path, is_ours: Callable[[bytes], object]) -> bool:
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
