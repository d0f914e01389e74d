"""What trace commands look into: a stream by its short name, the index, the signing key."""

import os
from pathlib import Path

from remora.bootstrap.invocation import open_config
from remora.cli.app.invocation import caller_of
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.config.loading import load_config
from remora.config.schema import MemoryConfig
from remora.errors import ConfigError, NotFound
from remora.trace.index.packet_reader import PacketReader
from remora.trace.index.queries import trace_queries
from remora.trace.read.store_queries import TraceQueries
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.head_signatures import Signer, load_signer


def path_of(folder: TraceFolder, name: str) -> Path:
    """The stream of an agent or a run, by its whole name. Raises NotFound."""
    try:
        return folder.existing_agent(name)
    except NotFound:
        return folder.existing_run(name)


def queries_of(options: Options, folder: TraceFolder) -> TraceQueries:
    """What answers questions about all streams, as the configuration says."""
    memory = _memory(options, folder)
    if memory is None:
        return trace_queries(folder, store="jsonl")
    store = "kv" if memory.trace_store == "kv" else "jsonl"
    return trace_queries(folder, store=store, indexing=memory.trace_indexing)


def reader_of(options: Options, folder: TraceFolder) -> PacketReader:
    """What finds the packet of any turn."""
    memory = _memory(options, folder)
    return PacketReader(folder, indexed=memory is not None and memory.trace_store == "kv")


def signer_of(options: Options) -> Signer | None:
    """The user's signing key. The project's file is not even read: it has no say in it.

    Raises ConfigError and DiskError for a key that is set and cannot be used.
    """
    user = caller_of(options).folders.config_file
    config = load_config(
        user_file=user if os.path.lexists(user) else None,
        project_file=None,
        environ=os.environ,
        flags={},
    )
    return load_signer(os.environ, config.runner.memory.signing_key_file)


def _memory(options: Options, folder: TraceFolder) -> MemoryConfig | None:
    """None where the configuration is wrong: looking back never needs it."""
    try:
        return open_config(caller_of(options), folder.root).runner.memory
    except ConfigError as error:
        note(options, f"without the index, for the configuration is wrong: {error.message}")
        return None
