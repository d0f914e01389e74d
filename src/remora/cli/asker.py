"""From the global options to who asks, and from where."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remora.bootstrap.caller import Caller
from remora.cli.options import Options


def caller_of(options: Options, flags: Mapping[str, Any] | None = None) -> Caller:
    """Who asks: this process's environment and folder, and what was said on the command line."""
    return Caller(
        environ=os.environ,
        folder=Path.cwd(),
        root=options.root,
        config_file=options.config,
        flags=flags or {},
    )
