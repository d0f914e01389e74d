"""A project as runs see it: its root, its configuration, and where its records lie."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remora.config.schema import Config
from remora.operations.base import Operations
from remora.sandbox.interpreters import ProjectPython
from remora.trace.redact.redactor import Redactor
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.head_signatures import Signer


@dataclass(frozen=True, kw_only=True)
class Project:
    """`cache` and `state` are the user's folders for this root alone; `install_key` is the
    secret by which this installation knows its own runs. What enters a stream passes `redact`.
    New runs are signed by `signer`, where the user has a key. `interpreter` is asked only where code
    of the project must be run; it raises UsageError without consent."""

    root: Path
    config: Config
    operations: Operations
    trace: TraceFolder
    cache: Path
    state: Path
    install_key: bytes
    redact: Redactor
    signer: Signer | None = None
    interpreter: Callable[[], ProjectPython] | None = None


def root_name(root: Path) -> str:
    """The name of a root in the user's folders: readable, and unlike any other's."""
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    readable = "".join(c if c.isalnum() and c.isascii() else "-" for c in root.name.lower())
    return f"{readable[:24] or 'root'}-{digest[:16]}"
