"""Arguments of a run."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The arguments of `analyze`.

    `changed` is a git revision, or an empty string for HEAD. If it is None, unchanged nodes are
    also selected. `since` is a commit with the same meaning, on which an earlier run has worked,
    and `also` contains keys of nodes that are selected although they have not changed. `keys`
    limits the nodes to some keys. `proved` contains operations, each with a model that was measured
    to be better than rules for it, and decides there. If `strengthen` is true, tests are also
    proposed for functions that have tests which miss faults; use `strengthens`, because `changed`
    implies it. `watched` is true for the runs of `remora watch`.
    """

    paths: tuple[Path, ...] = ()
    operations: tuple[str, ...] = ()
    node: str | None = None
    changed: str | None = None
    since: str | None = None
    also: frozenset[str] = frozenset()
    keys: frozenset[str] | None = None
    max_nodes: int | None = None
    yes: bool = False
    concurrency: int | None = None
    unsafe_fixes: bool = False
    strengthen: bool = False
    max_turns: int | None = None
    seed: int | None = None
    engine: str = "local"
    watched: bool = False
    proved: frozenset[tuple[str, str]] = frozenset()

    @property
    def strengthens(self) -> bool:
        """True if tests are also proposed for functions that have tests which miss faults."""
        return self.strengthen or self.changed is not None
