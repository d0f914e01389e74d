"""Target hub of a command: its command-line options and paths."""

from dataclasses import dataclass
from pathlib import Path

from remora.bootstrap.invocation import Caller
from remora.errors import UsageError
from remora.hub.process.foreign_files import foreign_file
from remora.hub.process.hub_paths import HubPlaces, hub_places

_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}


@dataclass(frozen=True, kw_only=True)
class HubTarget:
    """Options of the command line."""

    db: Path | None = None
    socket: Path | None = None
    http: str | None = None


def places_of(caller: Caller, wish: HubTarget) -> HubPlaces:
    """Where the hub of this caller's root is.

    Raises UsageError, also where a database is named and other files stand there or beside it:
    whoever writes makes a database that cannot be right anew, in place.
    """
    if wish.db is not None and _is_foreign(wish.db):
        raise UsageError(
            f"--db {wish.db}: this is not a database of the Hub",
            hint="use another path; a missing file is created",
        )
    places = hub_places(caller.folders, caller.find_root(), db=wish.db, socket=wish.socket)
    foreign = foreign_file(places) if wish.db is not None else None
    if foreign is not None:
        raise UsageError(
            f"--db {wish.db}: {foreign} does not belong to the Hub",
            hint="use a folder without files of other programs",
        )
    return places


def root_above(caller: Caller, places: HubPlaces) -> Path | None:
    """The folder above that looks like the project, where the root is only the folder we are in:
    neither git nor a remora.yaml says where it is. One has a hub, or a pyproject.toml."""
    root = places.root
    if (
        caller.root is not None
        or (root / "remora.yaml").is_file()
        or root != caller.folder.resolve()
    ):
        return None
    if any((place / ".git").exists() for place in (root, *root.parents)):
        return None
    for above in root.parents:
        has_hub = hub_places(caller.folders, above).db.exists()
        if has_hub or (above / "pyproject.toml").is_file():
            return above
    return None


def _is_foreign(db: Path) -> bool:
    from remora.hub.store.file_guard import is_foreign  # with all that reads and writes it

    return is_foreign(db)


def http_address(said: str) -> tuple[str, int]:
    """`[HOST:]PORT`, HOST being this machine's loopback. Raises UsageError."""
    host, _, port = said.rpartition(":")
    host = host or "127.0.0.1"
    if host not in _LOOPBACK:
        raise UsageError(
            f"--http {said}: {host} is not a loopback address",
            hint="use 127.0.0.1 or [::1]",
        )
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--http {said}: expected [HOST:]PORT", hint="port 0 picks a free one")
    return _LOOPBACK[host], int(port)
