"""Cache of ignore decisions, which are valid until the ignore rules change."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from remora.errors import OutsideError
from remora.files.git_guard import check_ignore_file
from remora.files.patterns import IgnoreRules
from remora.files.project_files import is_private
from remora.hub.members.exclusion_rules import Rules, open_rules
from remora.hub.members.external_inputs import RememberedFile
from remora.hub.members.folder_listing import (
    MARKS,
    is_folder,
    is_source,
    lstat_below,
    with_ancestors,
)

_MAX_DECISIONS = 500_000  # paths, about 100 MB


class RulesChanged(Exception):
    """An ignore file changed, so all cached decisions are invalid."""


class IgnoreCache:
    """Cache of the ignore decision for each folder and file."""

    def __init__(self, root: Path, exclude: Sequence[str]) -> None:
        self._root = root
        self._top = str(root)
        self._excluded = IgnoreRules()
        self._excluded.add("", "\n".join(exclude))
        self._rules: Rules | None = None
        self._decisions: dict[str, bool] = {}  # a folder's key ends in a slash
        self._ignore_files: dict[str, RememberedFile] = {}
        self._settled = False
        self.closed_by_folder: dict[str, bool] = {}
        """Folders by path, True if closed, whose state can change without a watcher event."""

    @property
    def rules(self) -> Rules:
        if self._rules is None:
            self._rules = open_rules(self._root)
        return self._rules

    @property
    def tracked(self) -> Mapping[str, frozenset[str]]:
        return self.rules.tracked

    def has_moved(self) -> bool:
        """Return True if a change outside the tree has made all decisions invalid."""
        if not self.rules.has_moved():
            return False
        self._rules = None
        return True

    def index_changes(self) -> bool:
        """Return True if the git index changed and members may have changed without a file event.

        Raises RulesChanged if git fails.
        """
        try:
            index = self.rules.index_changes()
        except OutsideError:
            self._rules = None
            raise RulesChanged from None
        if index is None:
            return False
        # the rules were never queried for tracked paths
        matters = index.submodules
        for path in index.added:
            matters = (
                self._decisions.pop(path, False) or self._is_in_excluded_folder(path) or matters
            )
        for path in index.removed:
            self._decisions.pop(path, None)
            there = lstat_below(self._top, path) is not None
            matters = there or self._is_in_excluded_folder(path) or matters
        return matters

    def _is_in_excluded_folder(self, path: str) -> bool:
        folders = with_ancestors(path.rpartition("/")[0])
        return any(self._decisions.get(folder + "/", False) for folder in folders)

    def forget(self) -> None:
        self._decisions.clear()
        self._ignore_files.clear()
        self.closed_by_folder.clear()
        self._settled = False
        if self._rules is not None:
            self._rules.forget()

    def trim(self) -> None:
        """Discard all decisions if there are too many."""
        if len(self._decisions) > _MAX_DECISIONS:
            self._decisions.clear()

    def end_first_walk(self) -> None:
        """Record that all ignore files have been seen.

        From now on, a new ignore file counts as a change.
        """
        self._settled = True

    def compare_ignore_file(self, folder: str, marks: Iterable[str]) -> None:
        """Compare a folder's ignore file with its last known state.

        Raises RulesChanged if the file was created, changed or deleted.
        """
        witness = self._ignore_files.get(folder)
        if ".gitignore" in marks:
            if witness is None and not self._settled:
                path = self._root / folder / ".gitignore"
                check_ignore_file(path.parent)
                self._ignore_files[folder] = RememberedFile(path)
                self.rules.read(folder)
            elif witness is None or witness.has_moved():
                raise RulesChanged
        elif witness is not None:
            raise RulesChanged

    def ignore_file_vanished(self, listed: set[str]) -> bool:
        """Return True if a folder with a known ignore file is not in `listed`."""
        return not self._ignore_files.keys() <= listed

    def is_closed(self, folder: str, marks: Iterable[str]) -> bool:
        """Return True if a folder holds only other projects' code, like a virtual environment."""
        if (verdict := self.rules.is_closed(folder, marks)) is None:
            self.closed_by_folder.pop(folder, None)
            return False
        self.closed_by_folder[folder] = verdict
        return verdict

    def closed_folders_changed(self) -> bool:
        """Return True if a folder has become closed, or is no longer closed.

        This detects changes that cause no watcher event.
        """
        return any(
            bool(self.rules.is_closed(folder, MARKS)) != closed
            for folder, closed in self.closed_by_folder.items()
        )

    def decide(self, folders: Iterable[str], files: Iterable[str]) -> None:
        """Query the rules for paths that have no decision yet.

        Raises RulesChanged if git is no longer usable.
        """
        new_folders = self._undecided(folders, "/")
        new_files = self._undecided(files, "")
        if not new_folders and not new_files:
            return
        try:
            ignored = self.rules.find_ignored(new_folders, new_files)
        except OutsideError:
            self.stop_git()
            self._rules = None
            raise RulesChanged from None
        # git reads the disk itself and may have seen another file at this path
        for path in new_folders:
            if is_folder(self._top, path):
                self._decisions[path + "/"] = path in ignored
        for path in new_files:
            if is_source(self._top, path):
                self._decisions[path] = path in ignored

    def stop_git(self) -> None:
        if self._rules is not None:
            self._rules.stop_git()

    def _undecided(self, paths: Iterable[str], end: str) -> list[str]:
        """Return the paths that have no decision yet.

        Private paths and paths that match `exclude` are decided here and left out.
        """
        unknown: list[str] = []
        for path in paths:
            key = path + end
            if key in self._decisions or not path:
                continue
            if is_private(path) or self._excluded.matches(path, folder=bool(end)):
                self._decisions[key] = True
            else:
                unknown.append(path)
        return unknown

    def folder_is_out(self, folder: str) -> bool:
        """Return True if a folder is excluded or unknown."""
        return folder != "" and self._decisions.get(folder + "/", True)

    def file_is_out(self, path: str) -> bool:
        """Return True if a file is excluded or unknown. The file's folder is not checked."""
        return self._decisions.get(path, True)

    def is_kept(self, path: str) -> bool:
        """Return True if a file is tracked by git, and neither private nor matched by `exclude`.

        Such a file belongs to the project even if it is ignored.
        """
        tracked = self.tracked.get(path.rpartition("/")[0], ())
        return path in tracked and not is_private(path) and not self._excluded.ignores(path)
