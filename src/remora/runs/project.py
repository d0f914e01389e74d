"""A project, consisting of its root, its configuration and the folders for its records."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remora.operations.base import Operations
from remora.trace.trace_folder import TraceFolder

if TYPE_CHECKING:  # importing pydantic and the redaction rules takes longer than listing the runs
    from remora.config.schema import Config
    from remora.sandbox.interpreters import ProjectPython
    from remora.trace.redact.redactor import Redactor
    from remora.trace.stream.trace_store import TraceStore
    from remora.trace.verify.head_hmac import Signer


@dataclass(frozen=True, kw_only=True)
class Project:
    """An opened project.

    Streams are read from `trace` and written to the store that `open_store` returns. `cache` and
    `state` are the folders for this root in the user's cache and state folders.
    `install_key` is the secret that identifies the runs started by this installation. Everything
    written to a stream passes through `redact`. If the user has a signing key, `signer` signs new
    runs. `interpreter` is called only if project code must run. It raises UsageError if the user
    has not given consent. If `measures_models` is true, all choices of models count, because the
    run measures what they are worth. `surface` is recorded with each verdict.
    """

    root: Path
    config: "Config"
    operations: Operations
    trace: TraceFolder
    open_store: "Callable[[], TraceStore]"
    cache: Path
    state: Path
    install_key: bytes
    redact: "Redactor"
    signer: "Signer | None" = None
    interpreter: "Callable[[], ProjectPython] | None" = None
    measures_models: bool = False
    surface: Literal["cli", "web"] = "cli"

    @property
    def has_unfinished_accept(self) -> bool:
        """True if an interrupted `accept` or `revert` left a journal."""
        journal = self.state / "journal"
        return lexists(journal / "current") or lexists(journal / "branch.json")


class RecordedProject(Project):
    """A project opened only to read its records.

    `config`, `open_store`, `cache`, `install_key` and `redact` are loaded with `whole` on first use.
    """

    def __init__(
        self,
        root: Path,
        operations: Operations,
        trace: TraceFolder,
        state: Path,
        whole: Callable[[], Project],
    ) -> None:
        vars(self).update(root=root, operations=operations, trace=trace, state=state, _whole=whole)

    def __getattr__(self, name: str) -> Any:
        if name not in {"config", "open_store", "cache", "install_key", "redact"}:
            raise AttributeError(name)
        return getattr(vars(self)["_whole"](), name)


def root_name(root: Path) -> str:
    """Return a readable, unique folder name for a root."""
    digest = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    readable = "".join(c if c.isalnum() and c.isascii() else "-" for c in root.name.lower())
    return f"{readable[:24] or 'root'}-{digest[:16]}"
