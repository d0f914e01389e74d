"""Exclusion rules: git's ignore rules and index where there is git, else those of a plain walk."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from remora.errors import OutsideError
from remora.files.git_ignores import GitIgnores
from remora.files.git_listing import GitPaths, git_index, git_paths
from remora.files.patterns import IgnoreRules
from remora.files.walk import BUILD_FOLDERS, is_dependency_folder, is_tool_output
from remora.hub.members.outside_inputs import Witness, dot_git, is_repository, repository_at

_AGAIN_S = 30.0
_LONG_S = 2.0
_AGAIN_TIMES = 30
_OF_OTHERS = frozenset({".git", "pyvenv.cfg"})


class Reindexed(NamedTuple):
    """What another index tracks."""

    added: set[str]
    removed: set[str]
    submodules: bool
    """Whether there are others."""


class Rules(Protocol):
    """What the folder's own view of itself says; asked for what is not yet known only."""

    tracked: Mapping[str, frozenset[str]]
    """By folder, the Python files that belong whatever the rules say."""
    around: frozenset[str]
    """Every folder in which something is tracked, at any depth."""

    def moved(self) -> bool:
        """Whether anything outside the tree changed, so that these rules hold no more."""

    def indexed(self) -> Reindexed | None:
        """How the index differs from what it was at the last call; None if it was not written.

        Raises OutsideError: git's view is not to be had any more.
        """

    def read(self, folder: str) -> None:
        """`folder` has a `.gitignore`."""

    def forget(self) -> None:
        """What was read may have changed."""

    def ignored(self, folders: Sequence[str], files: Sequence[str]) -> set[str]:
        """Those that the rules leave out, their folder's own verdict aside. Raises OutsideError."""

    def rest(self) -> None:
        """A look is over: let go of what was held for it."""

    def closed(self, folder: str, marks: Iterable[str]) -> bool | None:
        """Whether what is in a folder, where `marks` are, makes all in it foreign.

        None: nothing in it could, and it will be told when that changes.
        """


def open_rules(root: Path) -> Rules:
    """Git's rules if git's view of `root` is to be had, as `project_files` decides it."""
    began = time.monotonic()
    try:
        return GitRules(root, git_paths(root))
    except OutsideError:
        took = time.monotonic() - began
        # one that is waited for in vain is not waited for all the time
        return WalkRules(root, _AGAIN_S if took < _LONG_S else _AGAIN_TIMES * took)


class GitRules:
    """Rules of `.gitignore` files, and what the index holds."""

    def __init__(self, root: Path, places: GitPaths) -> None:
        self._root = root
        resolved = root.resolve()
        within = (place for place in (resolved, *resolved.parents) if places.top in place.parents)
        self._levels = {place: repository_at(place) for place in within}
        self._top, self._own = places.top, dot_git(places.top)
        self._sources = [Witness(path) for path in places.sources]
        self._index = Witness(places.index_file)
        self._questions = GitIgnores(root)
        self._take_index()

    def _take_index(self) -> None:
        tracked, submodules = git_index(self._root)
        by_folder: dict[str, set[str]] = {}
        for path in tracked:
            names = by_folder.setdefault(path.rpartition("/")[0], set())
            if path.endswith(".py"):
                names.add(path)
        self.tracked: Mapping[str, frozenset[str]] = {
            folder: frozenset(paths) for folder, paths in by_folder.items() if paths
        }
        self.around = frozenset(_with_those_above(by_folder))
        self._submodules = frozenset(submodules)

    def moved(self) -> bool:
        levels = any(repository_at(place) != then for place, then in self._levels.items())
        sources = any(witness.moved() for witness in self._sources)
        return levels or sources or dot_git(self._top) != self._own

    def indexed(self) -> Reindexed | None:
        if not self._index.moved():
            return None
        before, submodules = self._all_tracked(), self._submodules
        self._take_index()
        after = self._all_tracked()
        return Reindexed(after - before, before - after, submodules != self._submodules)

    def _all_tracked(self) -> set[str]:
        return set().union(*self.tracked.values())

    def read(self, folder: str) -> None:
        """Git reads it itself."""

    def forget(self) -> None:
        """Nothing was read."""

    def ignored(self, folders: Sequence[str], files: Sequence[str]) -> set[str]:
        asked = [path for path in files if path not in self._in_folder_of(path)]
        made = {folder for folder in folders if folder.rpartition("/")[2] == "node_modules"}
        return made | self._ask([folder for folder in folders if folder not in made] + asked)

    def _in_folder_of(self, path: str) -> frozenset[str]:
        return self.tracked.get(path.rpartition("/")[0], frozenset())

    def _ask(self, paths: Sequence[str]) -> set[str]:
        """Git's verdicts; a path that it refuses, since it is no more what it was, is left out."""
        found: set[str] = set()
        rest = paths
        while rest:
            ignored, refused = self._questions.ignored(rest)
            found |= ignored
            if refused is None:
                break
            git_index(self._root)  # raises if it is not about this path
            found.add(refused)
            rest = rest[rest.index(refused) + 1 :]
        return found

    def rest(self) -> None:
        self._questions.close()

    def closed(self, folder: str, marks: Iterable[str]) -> bool | None:
        if folder == "":
            return None
        if not _OF_OTHERS.intersection(marks):
            return True if folder in self._submodules else None
        made = "pyvenv.cfg" in marks and is_dependency_folder(self._root, folder)
        own = folder not in self.around and ".git" in marks
        return made or (own and is_repository(self._root / folder))


class WalkRules:
    """Names of folders that tools make, and `.gitignore` files as far as they are within."""

    tracked: Mapping[str, frozenset[str]] = {}
    around: frozenset[str] = frozenset()

    def __init__(self, root: Path, again_s: float = _AGAIN_S) -> None:
        """After so many seconds git is asked again, where there is a repository."""
        self._root = root
        places = (root.resolve(), *root.resolve().parents)
        self._levels = {place: repository_at(place) for place in places}
        ours = [Path.home() / ".gitconfig", Path.home() / ".config/git/config"]
        above = [p / ".gitignore" for p in places[1:] if any(self._levels.values())]
        self._sources = [Witness(path) for path in (*ours, *above)]
        self._patterns = IgnoreRules()
        again = time.monotonic() + again_s
        # git may have failed for once: there was no memory, or no process to be had
        self._until = again if any(self._levels.values()) else math.inf

    def moved(self) -> bool:
        if time.monotonic() > self._until:
            return True
        levels = any(repository_at(place) != then for place, then in self._levels.items())
        return levels or any(witness.moved() for witness in self._sources)

    def indexed(self) -> Reindexed | None:
        return None

    def read(self, folder: str) -> None:
        self._patterns.read(self._root, f"{folder}/" if folder else "")

    def forget(self) -> None:
        self._patterns = IgnoreRules()

    def ignored(self, folders: Sequence[str], files: Sequence[str]) -> set[str]:
        match = self._patterns.matches
        left_out = {path for path in files if match(path, folder=False)}
        return left_out | {
            path
            for path in folders
            # a build/ may become a package: what is in it decides, each time
            if match(path, folder=True)
            or (path.rpartition("/")[2] not in BUILD_FOLDERS and is_tool_output(self._root, path))
        }

    def rest(self) -> None:
        """Do nothing."""

    def closed(self, folder: str, marks: Iterable[str]) -> bool | None:
        output = folder.rpartition("/")[2] in BUILD_FOLDERS
        if not output and "pyvenv.cfg" not in marks:
            return None
        made = "pyvenv.cfg" in marks and is_dependency_folder(self._root, folder)
        return made or (output and is_tool_output(self._root, folder))


def _with_those_above(folders: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for folder in folders:
        place = folder
        while place and place not in found:
            found.add(place)
            place = place.rpartition("/")[0]
    return found
