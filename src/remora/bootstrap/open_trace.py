"""Opens the streams of a project, in its folder or in a database, as `trace_store` says."""

import socket
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from remora.bootstrap.invocation import Invocation, open_config
from remora.errors import ConfigError, OutsideError, install_extra
from remora.files.git import git_output
from remora.regular_file import open_regular
from remora.runs.project import root_name
from remora.trace.content.private_files import disk_errors
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:  # a command that only reads records loads none of these
    from remora.config.schema import Config
    from remora.trace.postgres.database import Database
    from remora.trace.stream.trace_store import TraceStore

_VARIABLE = "REMORA_RUNNER__MEMORY__TRACE_STORE"
_MAX_READ = 1 << 20  # bytes of a configuration file, as when it is parsed
_databases: "WeakValueDictionary[tuple[str, bool], Database]" = WeakValueDictionary()
_opening = Lock()


class OpenedTrace(NamedTuple):
    """The folder that is read, and a function that returns the store that is written."""

    folder: TraceFolder
    open_store: "Callable[[], TraceStore]"


def open_trace(invocation: Invocation, root: Path, config: "Config") -> OpenedTrace:
    """Return the streams of a project.

    Raises DiskError if a folder is a link, and with `trace_store: postgres`, ConfigError if the
    extra is missing, and DatabaseError if the database cannot be used.
    """
    if config.runner.memory.trace_store == "postgres":
        return _open_database(invocation, root, config)
    from remora.trace.stream.jsonl_store import JsonlTraceStore

    folder = TraceFolder(root)
    folder.check()
    return OpenedTrace(folder, cache(partial(JsonlTraceStore, folder.path)))


def open_trace_folder(invocation: Invocation, root: Path) -> TraceFolder:
    """Return the streams of a project for reading.

    The configuration is only loaded if it may select a database, so records in a project's folder
    can be read even if it is invalid.
    """
    if _may_name_postgres(invocation, root):
        return open_trace(invocation, root, open_config(invocation, root)).folder
    folder = TraceFolder(root)
    folder.check()
    return folder


def describe_database(config: "Config") -> str:
    """Return the address of the database, and whether it has tables. Nothing is created.

    Raises ConfigError or DatabaseError if it cannot be used.
    """
    require_extra("psycopg", "postgres")
    from remora.trace.postgres.database import Database

    database = Database(config.postgres.dsn or "", patience_s=0)
    without = "" if database.has_tables() else "; `remora database init` creates its tables"
    database.close()
    return f"{database.address} answers{without}"


def require_extra(module: str, extra: str) -> None:
    """Raise ConfigError if a module of an extra is not installed."""
    try:
        import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"the extra {extra} is not installed ({error})", hint=install_extra(extra)
        ) from error


def _may_name_postgres(invocation: Invocation, root: Path) -> bool:
    project = invocation.config_file or root / "remora.yaml"
    files = (invocation.folders.config_file, project, root / "pyproject.toml")
    texts = (_read(path) for path in files if path.is_file())
    variable = invocation.environ.get(_VARIABLE, "")
    return "postgres" in variable or any(
        b"trace_store" in text and b"postgres" in text for text in texts
    )


def _read(path: Path) -> bytes:
    with disk_errors(path), open_regular(path) as file:
        return file.read(_MAX_READ)


def shared_database(dsn: str, *, is_durable: bool) -> "Database":
    """Return the connections that all projects in this process share.

    A worker opens a project for each shard.
    """
    from remora.trace.postgres.database import Database

    with _opening:
        found = _databases.get((dsn, is_durable))
        if found is None:
            found = _databases[dsn, is_durable] = Database(dsn, is_durable=is_durable)
        return found


def _open_database(invocation: Invocation, root: Path, config: "Config") -> OpenedTrace:
    require_extra("psycopg", "postgres")
    from remora.trace.postgres.copied_folder import CopiedTraceFolder
    from remora.trace.postgres.store import PostgresTraceStore

    settings = config.postgres
    database = shared_database(
        settings.dsn or "", is_durable=config.runner.memory.durability != "none"
    )
    key = project_key(root)
    name = f"{database.open()}-{sha256(key.encode()).hexdigest()[:12]}"
    copies = invocation.folders.cache / "roots" / root_name(root) / "postgres" / name
    folder = CopiedTraceFolder(root, copies, database, key)
    folder.create()
    return OpenedTrace(
        folder, cache(lambda: PostgresTraceStore(database, key, lease_s=settings.lease_s))
    )


_FIRST_COMMIT = ("rev-list", "--first-parent", "--max-parents=0", "HEAD")


def project_key(root: Path) -> str:
    """Return the key of the project in the folder `root`.

    All full clones of a git repository have the same key, which contains its first commit and the
    folder's path in the repository. Any other project's key contains the machine and the path. Only
    the first parents of merges count, so a merged history does not change the key.
    """
    try:
        shallow = git_output(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
        first = b"" if shallow else git_output(root, *_FIRST_COMMIT)
        folder = git_output(root, "rev-parse", "--show-prefix").removesuffix(b"\n")
    except OutsideError:
        first = folder = b""
    if not first:
        return f"{socket.gethostname()}:{root.resolve()}"
    return f"{first.strip().decode()}:{folder.decode('utf-8', 'backslashreplace')}"
