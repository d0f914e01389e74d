"""Invocation of a command: environment, current directory and global options."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.cli.app.options import Options
from remora.errors import DiskError

if TYPE_CHECKING:
    from remora.bootstrap.invocation import Invocation


def invocation_of(options: Options, flags: Mapping[str, Any] | None = None) -> "Invocation":
    """Return the environment, current directory and options of this process."""
    from remora.bootstrap.invocation import Invocation

    return Invocation(
        environ=os.environ,
        folder=_folder(),
        root=options.root,
        config_file=options.config,
        flags=flags or {},
    )


def _folder() -> Path:
    """Return the current directory. Raises DiskError if it no longer exists."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise DiskError(
            "the current directory no longer exists",
            hint="change to another directory and try again",
        ) from None
