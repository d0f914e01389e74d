"""Exclusion rules, based on git if it is usable, and otherwise on a plain directory walk."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from remora.errors import OutsideError
from remora.files.git_ignores import GitIgnores
from remora.files.git_listing import GitPaths, git_index, git_paths
from remora.files.patterns import IgnoreRules
from remora.files.walk import BUILD_FOLDERS, is_dependency_folder, is_tool_output
from remora.hub.members.external_inputs import RememberedFile, dot_git, is_repository, repository_at
from remora.hub.members.folder_listing import SOURCES, with_ancestors

_AGAIN_S = 60.0
_FOREIGN_MARKS = frozenset({".git", "pyvenv.cfg"})


class Reindexed(NamedTuple):
    """Difference between two states of the git index."""

    added: set[str]
    removed: set[str]
    submodules: bool
    """True if the set of submodules changed."""


def open_rules(root: Path) -> "Rules":
    """Return the git rules if git can list `root`, or otherwise the rules for a plain walk."""
    try:
        return GitRules(root, git_paths(root))
    except OutsideError:
        return WalkRules(root)


class GitRules:
    """Ignore rules and index of git. They are queried only for paths without a cached decision."""

    def __init__(self, root: Path, places: GitPaths) -> None:
        self._root = root
        resolved = root.resolve()
        folders = (place for place in (resolved, *resolved.parents) if places.top in place.parents)
        self._levels = {place: repository_at(place) for place in folders}
        self._top, self._own = places.top, dot_git(places.top)
        self._sources = [RememberedFile(path) for path in places.sources]
        self._index = RememberedFile(places.index_file)
        self._questions = GitIgnores(root)
        self._take_index()

    def _take_index(self) -> None:
        tracked, submodules = git_index(self._root)
        by_folder: dict[str, set[str]] = {}
        for path in tracked:
            names = by_folder.setdefault(path.rpartition("/")[0], set())
            if path.endswith(SOURCES):
                names.add(path)
        self.tracked: Mapping[str, frozenset[str]] = {
            folder: frozenset(paths) for folder, paths in by_folder.items() if paths
        }
        """Tracked Python files by folder. They belong to the project even if they are ignored."""
        self._around = frozenset(chain.from_iterable(map(with_ancestors, by_folder)))
        self._submodules = frozenset(submodules)

    def has_moved(self) -> bool:
        """Return True if a change outside the tree has made these rules outdated."""
        levels = any(repository_at(place) != before for place, before in self._levels.items())
        sources = any(witness.has_moved() for witness in self._sources)
        return levels or sources or dot_git(self._top) != self._own

    def index_changes(self) -> Reindexed | None:
        """Return the changes to the git index since the last call, or None if there are none.

        Raises OutsideError if git fails.
        """
        if not self._index.has_moved():
            return None
        before, submodules = self._all_tracked(), self._submodules
        self._take_index()
        after = self._all_tracked()
        return Reindexed(after - before, before - after, submodules != self._submodules)

    def _all_tracked(self) -> set[str]:
        return set().union(*self.tracked.values())

    def read(self, folder: str) -> None:
        """Do nothing, because git reads the file itself."""

    def forget(self) -> None:
        """Do nothing, because no files are cached."""

    def find_ignored(self, folders: Sequence[str], files: Sequence[str]) -> set[str]:
        """Return the paths that the rules ignore. Raises OutsideError if git fails."""
        unknown = [p for p in files if p not in self.tracked.get(p.rpartition("/")[0], ())]
        modules = {folder for folder in folders if folder.rpartition("/")[2] == "node_modules"}
        return modules | self._ask([f for f in folders if f not in modules] + unknown)

    def _ask(self, paths: Sequence[str]) -> set[str]:
        """Return the ignored paths.

        The result includes paths that git refuses because they have just changed.
        """
        found: set[str] = set()
        remaining = paths
        while remaining:
            ignored, refused = self._questions.ignored(remaining)
            found |= ignored
            if refused is None:
                break
            git_index(self._root)  # raises if the error is not about this path
            found.add(refused)
            remaining = remaining[remaining.index(refused) + 1 :]
        return found

    def stop_git(self) -> None:
        """Stop the git process at the end of a walk."""
        self._questions.close()

    def is_closed(self, folder: str, marks: Iterable[str]) -> bool | None:
        """Return True if a folder contains only code of other projects.

        False and None both mean that this is not the case. After None, a watcher reports any change
        to the result.
        """
        if folder == "":
            return None
        if not _FOREIGN_MARKS.intersection(marks):
            return True if folder in self._submodules else None
        is_environment = "pyvenv.cfg" in marks and is_dependency_folder(self._root, folder)
        own = folder not in self._around and ".git" in marks
        return is_environment or (own and is_repository(self._root / folder))


class WalkRules:
    """Rules for projects without git, based on `.gitignore` files and the names of tool output
    folders.
    """

    tracked: Mapping[str, frozenset[str]] = {}

    def __init__(self, root: Path) -> None:
        """Create rules that, if the root is in a repository, expire to retry git."""
        self._root = root
        places = (root.resolve(), *root.resolve().parents)
        self._levels = {place: repository_at(place) for place in places}
        ours = [Path.home() / ".gitconfig", Path.home() / ".config/git/config"]
        ignore_files = [p / ".gitignore" for p in places[1:] if any(self._levels.values())]
        self._sources = [RememberedFile(path) for path in (*ours, *ignore_files)]
        self._patterns = IgnoreRules()
        again = time.monotonic() + _AGAIN_S
        # git may have failed once for lack of memory or processes
        self._until = again if any(self._levels.values()) else math.inf

    def has_moved(self) -> bool:
        if time.monotonic() > self._until:
            return True
        levels = any(repository_at(place) != before for place, before in self._levels.items())
        return levels or any(witness.has_moved() for witness in self._sources)

    def index_changes(self) -> Reindexed | None:
        return None

    def read(self, folder: str) -> None:
        self._patterns.read(self._root, f"{folder}/" if folder else "")

    def forget(self) -> None:
        self._patterns = IgnoreRules()

    def find_ignored(self, folders: Sequence[str], files: Sequence[str]) -> set[str]:
        match = self._patterns.matches
        left_out = {path for path in files if match(path, folder=False)}
        return left_out | {
            path
            for path in folders
            # a build/ folder may become a package, so its content is checked each time
            if match(path, folder=True)
            or (path.rpartition("/")[2] not in BUILD_FOLDERS and is_tool_output(self._root, path))
        }

    def stop_git(self) -> None:
        """Do nothing."""

    def is_closed(self, folder: str, marks: Iterable[str]) -> bool | None:
        output = folder.rpartition("/")[2] in BUILD_FOLDERS
        if not output and "pyvenv.cfg" not in marks:
            return None
        is_environment = "pyvenv.cfg" in marks and is_dependency_folder(self._root, folder)
        return is_environment or (output and is_tool_output(self._root, folder))


Rules = GitRules | WalkRules
