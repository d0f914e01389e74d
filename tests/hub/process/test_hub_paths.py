"""Where a hub keeps what it needs."""

import os
from pathlib import Path

import pytest

from remora.config.user_folders import UserFolders
from remora.errors import UsageError
from remora.hub.process.hub_paths import SOCKET_LIMIT, hub_paths


def folders(home: Path) -> UserFolders:
    return UserFolders(home / "config", home / "cache", home / "state", home / "run")


HOME = folders(Path("/home/u"))


def test_files_of_a_hub_are_in_the_users_folders_and_of_one_root() -> None:
    places = hub_paths(HOME, Path("/src/shop"))
    beside = [places.lock, places.addresses, places.token, places.log]
    assert {path.parent for path in beside} == {places.db.parent}
    assert len({places.db, *beside}) == 5
    assert places.db.is_relative_to(HOME.cache)
    assert places.socket.is_relative_to(HOME.runtime)
    one, other = (hub_paths(HOME, Path(root)) for root in ("/a/shop", "/b/shop"))
    assert not set(one[1:]) & set(other[1:])
    name = hub_paths(HOME, Path("/ü %:\n\udcff")).db.parent.name
    assert name.isascii()
    assert name.isprintable()


def test_a_named_database_or_socket_is_taken_as_it_is_or_refused() -> None:
    usual, other = hub_paths(HOME, Path("/a")), hub_paths(HOME, Path("/a"), db=Path("/x/my.db"))
    assert other.db == Path("/x/my.db")
    assert other.lock.parent == Path("/x")
    assert other.socket != usual.socket
    assert hub_paths(HOME, Path("/a"), socket=Path("/s/x.sock")).socket == Path("/s/x.sock")
    with pytest.raises(UsageError, match="too long"):
        hub_paths(HOME, Path("/a"), socket=Path("/" + "s" * 200))


@pytest.mark.parametrize("home", ["/h", "/" + "deep/" * 40])
def test_a_socket_is_never_too_long_for_the_system(home: str) -> None:
    places = hub_paths(folders(Path(home)), Path("/" + "a/" * 200))
    assert len(os.fsencode(places.socket)) <= SOCKET_LIMIT
