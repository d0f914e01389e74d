"""Where a user's own files lie: configuration, cache, state, runtime."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from remora.errors import ConfigError


def make_private(folder: Path) -> None:
    """Make `folder` and what is missing above it, each for its user alone whatever the umask.

    What is there already stays as it is. Raises OSError.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        with suppress(FileExistsError):
            one.mkdir(mode=0o700)
            one.chmod(0o700)


class UserFolders(NamedTuple):
    """Remora's folders of one user, all absolute; none of them is made here.

    `cache` can be deleted, `state` must not be, `runtime` lasts as long as a login.
    """

    config: Path
    cache: Path
    state: Path
    runtime: Path

    @property
    def config_file(self) -> Path:
        """The user's configuration file, whether or not there is one."""
        return self.config / "config.yaml"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "UserFolders":
        """By the XDG specification: variables that are not absolute paths are ignored.

        Without a runtime folder it lies in the cache. Raises ConfigError without a home.
        """

        def folder(variable: str, below_home: str) -> Path:
            named = environ.get(variable, "")
            parent = Path(named) if named.startswith("/") else _home(environ) / below_home
            return parent / "remora"

        cache = folder("XDG_CACHE_HOME", ".cache")
        named = environ.get("XDG_RUNTIME_DIR", "")
        return cls(
            config=folder("XDG_CONFIG_HOME", ".config"),
            cache=cache,
            state=folder("XDG_STATE_HOME", ".local/state"),
            runtime=Path(named) / "remora" if named.startswith("/") else cache / "run",
        )

    @classmethod
    def of_this_process(cls) -> "UserFolders":
        """Those of the user as whom this process runs: for what is used as a library, where no
        composition root hands them down. Raises ConfigError without a home."""
        return cls.from_environ(os.environ)


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        raise ConfigError("no home folder: HOME is not an absolute path", hint="set HOME")
    return Path(home)
