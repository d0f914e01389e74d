"""Arguments of a run, and the options that its agents get."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.config.schema import Config


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The arguments of `analyze`.

    `changed` is a git revision, or an empty string for HEAD. If it is None, unchanged nodes are
    also selected. `keys` limits the nodes to some keys. `proved` contains operations, each with a
    model that was measured to be better than rules for it, and decides there. `missed` has the
    functions whose tests miss faults, and the lines of these faults, by path and qualname: agents
    add to these tests.
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
    missed: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    max_turns: int | None = None
    seed: int | None = None
    engine: str = "local"
    proved: frozenset[tuple[str, str]] = frozenset()


def options_for(config: "Config", operation: str, request: RunRequest) -> dict[str, Any]:
    """Return the script options for an agent, taken from flags and the operation's settings."""
    configured = config.operations.get(operation)
    own = configured.model_dump(exclude={"max_turns"}, exclude_none=True) if configured else {}
    flags = {"unsafe_fixes": request.unsafe_fixes, "missed": request.missed}
    return flags | own
