"""Folders of the user, and the environment variables that contain API keys."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from remora.errors import ConfigError

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model": ("REMORA_API_KEY", "OPENAI_API_KEY"),
        "escalation": ("REMORA_ESCALATION_API_KEY",),
    }
)
"""For each section with an address: the variables that can contain its API key. The first one is
named in messages."""


def make_private(folder: Path) -> None:
    """Create `folder` and missing parents with mode 0700, regardless of the umask.

    Existing folders keep their mode. Raises OSError if a folder cannot be created.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for parent in reversed(missing):
        with suppress(FileExistsError):
            parent.mkdir(mode=0o700)
            parent.chmod(0o700)


class UserFolders(NamedTuple):
    """Absolute paths of a user's Remora folders. The folders are not created here."""

    config: Path
    cache: Path
    """Disposable."""
    state: Path
    """Not disposable."""
    runtime: Path
    """Lasts for one login session."""

    @property
    def config_file(self) -> Path:
        """The user's configuration file, which may not exist."""
        return self.config / "config.yaml"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "UserFolders":
        """Return the folders according to the XDG specification. Relative paths are ignored.

        If XDG_RUNTIME_DIR is not set, the runtime folder is inside the cache folder. Raises
        ConfigError if HOME is needed but is not an absolute path.
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
        """Return the folders for the environment of this process.

        Only library code that runs without a composition root needs this method. Raises ConfigError
        if HOME is needed but is not an absolute path.
        """
        return cls.from_environ(os.environ)


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        raise ConfigError("no home folder: HOME is not an absolute path", hint="set HOME")
    return Path(home)
