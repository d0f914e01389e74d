"""Where a daemon can be asked: written in one step, for one user, believed only if it is ours."""

from pathlib import Path

import pytest

from remora.errors import DiskError
from remora.hub.process.addresses import (
    Addresses,
    make_token,
    read_addresses,
    remove,
    write_addresses,
)

SAID = Addresses(socket="/s", notes=("a note",))


def test_a_written_address_is_read(tmp_path: Path) -> None:
    path = tmp_path / "addresses"
    write_addresses(path, SAID)
    assert read_addresses(path) == SAID
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"socket": 1}', b"\xff"])
def test_an_unreadable_address_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "addresses"
    if content is not None:
        path.write_bytes(content)
    assert read_addresses(path) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    write_addresses(tmp_path / "real", SAID)
    (tmp_path / "addresses").symlink_to(tmp_path / "real")
    assert read_addresses(tmp_path / "addresses") is None


def test_a_token_is_new_each_time_and_for_one_user(tmp_path: Path) -> None:
    path = tmp_path / "token"
    first, second = make_token(path), make_token(path)
    assert first != second
    assert path.read_text() == f"{second}\n"
    assert len(second) >= 43
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DiskError, match="token"):
        make_token(tmp_path / "missing" / "token")
    remove(tmp_path / "nothing")
