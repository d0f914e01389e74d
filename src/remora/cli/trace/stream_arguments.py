"""The streams and the signing key that the trace commands use."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remora.cli.app.options import Options
from remora.cli.app.project_context import invocation_of
from remora.errors import NotFound

if TYPE_CHECKING:  # each trace command needs one or none of these
    from remora.trace.trace_folder import TraceFolder
    from remora.trace.verify.head_hmac import Signer


def path_of(folder: "TraceFolder", name: str) -> Path:
    """Return the path of the stream of the agent or run with the full ID `name`.

    Raises NotFound if there is no such stream.
    """
    try:
        return folder.existing_agent(name)
    except NotFound:
        return folder.existing_run(name)


def signer_of(options: Options) -> "Signer | None":
    """Return the user's signing key, or None if there is no key.

    The project's configuration is not read, because a project must not be able to choose the key.
    Raises ConfigError or DiskError if the configured key cannot be used.
    """
    from remora.config.loading import load_config
    from remora.trace.verify.head_hmac import load_signer

    invocation = invocation_of(options)
    user = invocation.folders.config_file
    config = load_config(
        user_file=user if os.path.lexists(user) else None,
        project_file=None,
        environ=os.environ,
        flags={},
        operations=invocation.operations.settings,
    )[0]
    return load_signer(os.environ, config.runner.memory.signing_key_file)
