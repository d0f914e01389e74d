"""Tracks changes in an agent's workspace, as recorded in events."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from remora.ids import escape_path, unescape_path
from remora.memory.events import Change
from remora.trace.content.objects import ObjectStore
from remora.workspaces.copy.changes import Change as FileChange
from remora.workspaces.copy.changes import FileState, changes_between
from remora.workspaces.copy.workspace import Workspace


class ChangeTracker:
    """Tracks file changes in the workspace, and stores the contents of changed files in `objects`.

    A tracker is truthy if any file differs from the base.
    """

    def __init__(self, workspace: Workspace, objects: ObjectStore) -> None:
        self._workspace = workspace
        self._objects = objects
        self._snapshot: dict[str, FileState] = {}

    def __bool__(self) -> bool:
        return bool(self._snapshot)

    def restore(self, recorded: Iterable[Change]) -> None:
        """Restore files to their last recorded state.

        This undoes the effects of a call whose result was not recorded. Raises NotFound or
        StreamDamaged if the content of a file cannot be read.
        """
        self.write(recorded)
        self._snapshot = self._workspace.snapshot()

    def write(self, recorded: Iterable[Change]) -> None:
        """Give files their last recorded content. Raises whatever `restore` raises."""
        files: dict[str, tuple[bytes | None, int]] = {}
        for spelled, change in {change.path: change for change in recorded}.items():
            content = None if change.after is None else self._objects.get(change.after)
            files[unescape_path(spelled)] = content, change.mode
        self._workspace.set_files(files)

    def keep(self) -> tuple[Change, ...]:
        """Store the contents of files that changed since the last call, and return the changes.

        Contents must be stored before any event refers to them.
        """
        workspace, now = self._workspace, self._workspace.snapshot()
        found = changes_between(self._snapshot, now, workspace.base)
        for change in found:
            for content in (workspace.base_bytes(change.path), workspace.read(change.path)):
                if content is not None:
                    self._objects.put(content)
        self._snapshot = now
        return _recorded(found)

    def change_set(self) -> tuple[Change, ...]:
        return _recorded(changes_between({}, self._snapshot, self._workspace.base))

    def contents(self) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return the base content and the current content of each changed file, keyed by path."""
        workspace = self._workspace
        return {path: (workspace.base_bytes(path), workspace.read(path)) for path in self._snapshot}


def _recorded(changes: Sequence[FileChange]) -> tuple[Change, ...]:
    """Convert changes to the recorded form. Paths are escaped as in node keys."""
    return tuple(
        Change(path=escape_path(c.path), before=c.before, after=c.after, mode=c.mode)
        for c in changes
    )


def net_changes(recorded: Iterable[Change]) -> tuple[Change, ...]:
    """Return one change per changed file, from its first to its last content, sorted by path."""
    found: dict[str, Change] = {}
    for change in recorded:
        first = found.get(change.path, change)
        found[change.path] = replace(change, before=first.before)
    changed = (change for change in found.values() if change.before != change.after)
    return tuple(sorted(changed, key=lambda change: change.path))
