"""Values of the options of `analyze`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remora.bootstrap.open_project import model_flags
from remora.errors import UsageError
from remora.runs.planning.run_request import RunRequest

_NEW_RUN_OPTIONS = {
    "paths": "PATH",
    "operations": "--operation",
    "node": "--node",
    "changed": "--changed",
    "max_nodes": "--max-nodes",
    "yes": "--yes",
    "unsafe_fixes": "--unsafe-fixes",
    "max_turns": "--max-turns",
    "seed": "--seed",
    "dry_run": "--dry-run",
}
"""Options that only a new run accepts, as they are written."""


@dataclass(frozen=True, kw_only=True)
class AnalyzeOptions:
    """The options of `analyze`. None means that an option was not given."""

    paths: tuple[Path, ...]
    operations: tuple[str, ...]
    node: str | None
    changed: str | None
    max_nodes: int | None
    yes: bool
    model: str | None
    concurrency: int | None
    engine: str
    unsafe_fixes: bool
    allow_unsandboxed: bool
    max_turns: int | None
    max_time: float | None
    seed: int | None
    dry_run: bool
    resume: str | None
    trust_run: bool

    def request(self) -> RunRequest:
        """Return the arguments of a new run. Raises UsageError for a file that is not Python."""
        for path in self.paths:
            if path.is_file() and path.suffix != ".py":
                raise UsageError(
                    f"{path} is not a Python file", hint="use .py files, or folders with .py files"
                )
        return RunRequest(
            paths=self.paths,
            operations=self.operations,
            node=self.node,
            changed=self.changed,
            max_nodes=self.max_nodes,
            yes=self.yes,
            concurrency=self.concurrency,
            unsafe_fixes=self.unsafe_fixes,
            max_turns=self.max_turns,
            seed=self.seed,
        )

    def flags(self) -> dict[str, Any]:
        """Return the settings that options override, keyed by configuration key."""
        return {
            "model.max_concurrency": self.concurrency,
            "workspace.allow_unsandboxed": True if self.allow_unsandboxed else None,
            **model_flags(self.model),
        }

    def check_for_resume(self) -> None:
        """Raise UsageError if an option was given that a resumed run cannot change."""
        given = [
            written
            for name, written in _NEW_RUN_OPTIONS.items()
            if getattr(self, name) not in (None, False, ())
        ]
        if given:
            raise UsageError(
                f"{', '.join(given)} cannot be combined with --resume: "
                "a resumed run keeps its settings",
                hint="omit these options, or start a new run without --resume",
            )
