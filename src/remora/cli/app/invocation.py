"""From the global options to who asks, and from where."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remora.bootstrap.invocation import Caller
from remora.cli.app.options import Options
from remora.errors import DiskError


def caller_of(options: Options, flags: Mapping[str, Any] | None = None) -> Caller:
    """Who asks: this process's environment and folder, and what was said on the command line."""
    return Caller(
        environ=os.environ,
        folder=_folder(),
        root=options.root,
        config_file=options.config,
        flags=flags or {},
    )


def _folder() -> Path:
    """Where we are. Raises DiskError where that was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise DiskError(
            "the current directory no longer exists", hint="change to another directory and repeat"
        ) from None
