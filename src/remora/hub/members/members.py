"""Fast lookup of a project's members, the Python files that `project_files` lists."""

import stat as st
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from remora.errors import OutsideError
from remora.hub.file_limits import FILE_LIMIT
from remora.hub.file_stamp import Stamp
from remora.hub.members.folder_listing import SOURCES, lstat_below
from remora.hub.members.ignore_cache import IgnoreCache, RulesChanged
from remora.hub.members.tree_walk import Before, Walker, WalkResult

_T = TypeVar("_T")
_TRIES = 50


class Members:
    """The Python files of the project at `root`.

    These are the files that `files.project_files` returns, except tracked files in virtual
    environments and `node_modules`. Each call checks the ignore files and git's index and
    configuration. Git is queried only about new paths.

    Instances are thread-safe. Methods raise OutsideError if ignore files change faster than they
    can be read.
    """

    def __init__(
        self, root: Path, exclude: Sequence[str] = (), *, file_limit: int = FILE_LIMIT
    ) -> None:
        self.file_limit = file_limit
        """File size in bytes above which a file is listed but not read."""
        self._top = str(root)
        self._verdicts = IgnoreCache(root, exclude)
        self._surveyor = Walker(str(root), self._verdicts)
        self._unwatchable: dict[str, int] = {}
        self._surveyed = False
        self._lock = threading.RLock()
        self.version = 0
        """Increases whenever the set of folders to watch may have changed."""
        self.walked: frozenset[str] = frozenset()
        """The folders whose files were listed by the last walk of the whole tree."""

    def sweep(self) -> dict[str, Stamp]:
        """Return every member with its current Stamp. Symbolic links are not followed."""
        return self.survey().files

    def survey(self, starts: Iterable[str] = ("",), before: Before | None = None) -> WalkResult:
        """Walk the tree from the folders in `starts`. Call `before` before listing each folder."""
        folders = sorted(set(starts))
        with self._lock:
            return self._while_rules_hold(lambda: self._survey(folders, before))

    def belonging(self, paths: Iterable[str]) -> set[str]:
        """Return those of `paths` that are currently members."""
        modules = [path for path in paths if path.endswith(SOURCES)]
        with self._lock:
            return self._while_rules_hold(lambda: self._surveyor.belonging(modules))

    def has_moved(self) -> bool:
        """Return True if the set of folders to watch may have changed.

        This checks git's index and configuration, and nested environments and repositories.
        """
        with self._lock:
            version = self.version
            self._while_rules_hold(lambda: None)
            if self._verdicts.closed_folders_changed():
                self.version += 1
            return self.version != version

    def unwatchable(self) -> frozenset[str]:
        """Return the members that can change without a watcher event.

        These are hard-linked files and files in unreadable folders.
        """
        with self._lock:
            return frozenset(self._unwatchable)

    def has_other_names(self, path: str) -> bool:
        """Return True if a file has other hard links that may not be known yet."""
        about = lstat_below(self._top, path)
        if about is None or not st.S_ISREG(about.st_mode) or about.st_nlink == 1:
            return False
        return self._unwatchable.get(path) != about.st_ino

    def forget(self) -> None:
        with self._lock:
            self._verdicts.forget()
            self._surveyed = False
            self.version += 1

    def _while_rules_hold(self, ask: Callable[[], _T]) -> _T:
        """Return the result of `ask`, calling it again if the rules change in the meantime."""
        for _ in range(_TRIES):
            try:
                if self._verdicts.has_moved():
                    self.forget()
                if self._verdicts.index_changes():
                    self.version += 1
                if not self._surveyed:
                    self._walk_all(None)
                return ask()
            except RulesChanged:
                self.forget()
        raise OutsideError(
            f"the ignore files in {self._top} change faster than they can be read",
            hint="retry when they have stopped changing",
        )

    def _survey(self, starts: list[str], before: Before | None) -> WalkResult:
        if starts == [""]:
            return self._walk_all(before)
        found = self._surveyor.within(starts, before)
        self._unwatchable.update(found.unwatchable)
        return found

    def _walk_all(self, before: Before | None) -> WalkResult:
        self._verdicts.trim()
        closed_before, self._verdicts.closed_by_folder = self._verdicts.closed_by_folder, {}
        found = self._surveyor.within([""], before)
        if self._verdicts.ignore_file_vanished(found.listed):
            raise RulesChanged
        if self._surveyed and closed_before != self._verdicts.closed_by_folder:
            self.version += 1
        self._surveyed = True
        self._verdicts.end_first_walk()
        self._unwatchable = found.unwatchable
        self.walked = frozenset(found.listed)
        return found
