"""A project, consisting of its root, its configuration and the folders for its records."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from remora.errors import RemoraError
from remora.operations.base import Operations
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:  # importing pydantic and the redaction rules takes longer than listing the runs
    from remora.config.schema import Config
    from remora.sandbox.interpreters import ProjectPython
    from remora.trace.redact.redactor import Redactor
    from remora.trace.stream.trace_store import TraceStore


@dataclass(frozen=True, kw_only=True)
class ProjectRecords:
    """A project as far as its records are read. Its configuration may be invalid."""

    root: Path
    operations: Operations
    trace: TraceFolder
    """The streams."""
    state: Path
    """The folder for this root in the user's state folder."""

    @property
    def has_unfinished_accept(self) -> bool:
        """True if an interrupted `accept` or `revert` left a journal."""
        return lexists(self.state / "journal" / "current")


@dataclass(frozen=True, kw_only=True)
class Project(ProjectRecords):
    """An opened project."""

    config: "Config"
    open_store: "Callable[[], TraceStore]"
    """Opens the store that streams are written to."""
    cache: Path
    """The folder for this root in the user's cache folder."""
    install_key: bytes
    """The secret that identifies runs of this installation."""
    redact: "Redactor"
    """Cleans all that is written to a stream."""
    interpreter: "Callable[[], ProjectPython]"
    """Finds the interpreter for project code. Raises UsageError without consent."""
    surface: Literal["cli", "web"] = "cli"
    """Recorded with each verdict."""

    def find_python(self) -> "tuple[ProjectPython | None, str]":
        """Return the project's interpreter, or None and why its code is not run."""
        try:
            return self.interpreter(), ""
        except RemoraError as error:
            return None, error.with_hint


def root_name(root: Path) -> str:
    """Return a readable, unique folder name for a root."""
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    readable = "".join(c if c.isalnum() and c.isascii() else "-" for c in root.name.lower())
    return f"{readable[:24] or 'root'}-{digest[:16]}"
