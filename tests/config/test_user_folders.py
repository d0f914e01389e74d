"""A user's folders follow the XDG specification."""

import os
from pathlib import Path

import pytest

from remora.config.user_folders import UserFolders, make_private
from remora.errors import ConfigError


def test_below_home_where_nothing_else_is_said() -> None:
    folders = UserFolders.from_environ({"HOME": "/home/u", "XDG_CACHE_HOME": ""})
    assert tuple(map(str, folders)) == (
        "/home/u/.config/remora",
        "/home/u/.cache/remora",
        "/home/u/.local/state/remora",
        "/home/u/.cache/remora/run",
    )
    assert folders.config_file == Path("/home/u/.config/remora/config.yaml")


def test_the_variables() -> None:
    environ = {
        f"XDG_{name}": f"/x/{name}" for name in ("CONFIG_HOME", "CACHE_HOME", "STATE_HOME")
    } | {"XDG_RUNTIME_DIR": "/x/RUN"}
    expected = ("/x/CONFIG_HOME/remora", "/x/CACHE_HOME/remora", "/x/STATE_HOME/remora")
    assert tuple(map(str, UserFolders.from_environ(environ))) == (*expected, "/x/RUN/remora")


def test_relative_values_are_ignored() -> None:
    named = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
    home = {"HOME": "/h"}
    relative = dict.fromkeys(named, "rel/ative")
    assert UserFolders.from_environ(home | relative) == UserFolders.from_environ(home)


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "rel"}, {"HOME": "~"}])
def test_no_home(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="HOME"):
        UserFolders.from_environ(environ)


def test_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/mine")
    assert UserFolders.of_this_process().cache == Path("/x/mine/remora")
    assert UserFolders.of_this_process() == UserFolders.from_environ(os.environ)


def test_what_is_made_is_for_its_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    for mask in (0, 0o777):
        before = os.umask(mask)
        try:
            make_private(there / str(mask) / "b" / "c")
            make_private(there / str(mask) / "b" / "c")
        finally:
            os.umask(before)
        made = [there / str(mask), there / str(mask) / "b", there / str(mask) / "b" / "c"]
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert there.stat().st_mode & 0o777 == 0o755
