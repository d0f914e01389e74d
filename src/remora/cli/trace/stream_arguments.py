"""The streams, the index and the signing key that the trace commands use."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.errors import ConfigError, NotFound

if TYPE_CHECKING:  # each trace command needs one or none of these
    from remora.config.schema import MemoryConfig
    from remora.trace.index.packet_reader import PacketReader
    from remora.trace.read.store_queries import TraceQueries
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


def queries_of(options: Options, folder: "TraceFolder") -> "TraceQueries":
    """Return the query interface selected by the configuration."""
    from remora.bootstrap.invocation import is_configured
    from remora.trace.index.queries import trace_queries

    if not is_configured(invocation_of(options), folder.root):
        return trace_queries(folder)
    memory = _memory(options, folder)
    if memory is None:
        return trace_queries(folder, store="jsonl")
    store = "jsonl" if memory.trace_store == "jsonl" else "kv"
    return trace_queries(folder, store=store, indexing=memory.trace_indexing)


def reader_of(options: Options, folder: "TraceFolder") -> "PacketReader":
    """Return a reader for the packet of any turn."""
    from remora.bootstrap.invocation import is_configured
    from remora.trace.index.packet_reader import PacketReader

    if not is_configured(invocation_of(options), folder.root):
        return PacketReader(folder, indexed=True)
    memory = _memory(options, folder)
    return PacketReader(folder, indexed=memory is not None and memory.trace_store != "jsonl")


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
    )
    return load_signer(os.environ, config.runner.memory.signing_key_file)


def _memory(options: Options, folder: "TraceFolder") -> "MemoryConfig | None":
    """Return the memory settings, or None if the configuration is invalid.

    Records must be readable even if the configuration is invalid.
    """
    from remora.bootstrap.invocation import open_config

    try:
        return open_config(invocation_of(options), folder.root).runner.memory
    except ConfigError as error:
        note(
            options, f"the index is not used, because the configuration is invalid: {error.message}"
        )
        return None
