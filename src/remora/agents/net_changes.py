"""The net effect of recorded changes of files."""

from collections.abc import Iterable

from msgspec.structs import replace

from remora.memory.events import Change


def net_changes(recorded: Iterable[Change]) -> tuple[Change, ...]:
    """Return one change per changed file, from its first to its last content, sorted by path."""
    found: dict[str, Change] = {}
    for change in recorded:
        first = found.get(change.path, change)
        found[change.path] = replace(change, before=first.before)
    changed = (change for change in found.values() if change.before != change.after)
    return tuple(sorted(changed, key=lambda change: change.path))
