"""A project, consisting of its root, its configuration and the folders for its records."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from remora.operations.base import Operations
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:  # importing pydantic and the redaction rules takes longer than listing the runs
    from remora.config.schema import Config
    from remora.sandbox.interpreters import ProjectPython
    from remora.trace.redact.redactor import Redactor
    from remora.trace.stream.trace_store import TraceStore


@dataclass(frozen=True, kw_only=True)
class ProjectRecords:
    """A project as far as its records are read. Its configuration may be invalid.

    Streams are read from `trace`. `state` is the folder for this root in the user's state folder.
    """

    root: Path
    operations: Operations
    trace: TraceFolder
    state: Path

    @property
    def has_unfinished_accept(self) -> bool:
        """True if an interrupted `accept` or `revert` left a journal."""
        return lexists(self.state / "journal" / "current")


@dataclass(frozen=True, kw_only=True)
class Project(ProjectRecords):
    """An opened project.

    Streams are written to the store that `open_store` returns. `cache` is the folder for this root
    in the user's cache folder. `install_key` is the secret that identifies the runs started by this
    installation. Everything written to a stream passes through `redact`.
    `interpreter` is called only if project code must run. It raises UsageError if the user has not
    given consent. `surface` is recorded with each verdict.
    """

    config: "Config"
    open_store: "Callable[[], TraceStore]"
    cache: Path
    install_key: bytes
    redact: "Redactor"
    interpreter: "Callable[[], ProjectPython] | None" = None
    surface: Literal["cli", "web"] = "cli"


def root_name(root: Path) -> str:
    """Return a readable, unique folder name for a root."""
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    readable = "".join(c if c.isalnum() and c.isascii() else "-" for c in root.name.lower())
    return f"{readable[:24] or 'root'}-{digest[:16]}"
