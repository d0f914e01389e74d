"""Arguments of a run, and the options that its agents get."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.config.schema import Config


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The arguments of `analyze`.

    `changed` is a git revision, or an empty string for HEAD. If it is None, unchanged nodes are
    also selected. `keys` limits the nodes to some keys. `proved` contains operations, each with a
    model that was measured to be better than rules for it, and decides there. If `strengthen` is
    true, tests are also proposed for functions that have tests which miss faults; use
    `strengthens`, because `changed` implies it.
    """

    paths: tuple[Path, ...] = ()
    operations: tuple[str, ...] = ()
    node: str | None = None
    changed: str | None = None
    keys: frozenset[str] | None = None
    max_nodes: int | None = None
    yes: bool = False
    concurrency: int | None = None
    unsafe_fixes: bool = False
    strengthen: bool = False
    max_turns: int | None = None
    seed: int | None = None
    engine: str = "local"
    proved: frozenset[tuple[str, str]] = frozenset()

    @property
    def strengthens(self) -> bool:
        """True if tests are also proposed for functions that have tests which miss faults."""
        return self.strengthen or self.changed is not None


def options_for(config: "Config", operation: str, request: RunRequest) -> dict[str, Any]:
    """Return the script options for an agent, taken from flags and the operation's settings."""
    configured = config.operations.get(operation)
    own = configured.model_dump(exclude={"max_turns"}, exclude_none=True) if configured else {}
    flags = {"unsafe_fixes": request.unsafe_fixes, "strengthen": request.strengthens}
    return flags | own
