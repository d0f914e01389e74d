"""Walk through the folders of a project to find its Python files."""

from collections.abc import Callable
from typing import NamedTuple

from remora.hub.file_stamp import Stamp, stamp_of
from remora.hub.members.folder_listing import (
    Listing,
    is_folder,
    is_source,
    list_folder,
    lstat_below,
    marks_in,
    with_ancestors,
)
from remora.hub.members.ignore_cache import IgnoreCache

Before = Callable[[str], object]


class WalkResult(NamedTuple):
    """Files and folders found by a walk. Paths are raw, and the root is `""`."""

    files: dict[str, Stamp]
    """Every Python file that belongs to the project."""
    folders: set[str]
    """Every folder that can contain a member or contains a tracked file."""
    listed: set[str]
    """The subset of `folders` in which every file is a member unless it is ignored."""
    unwatchable: dict[str, int]
    """Inodes of the files that can change without a watcher event in their folder."""


class Walker:
    """Walks the tree level by level.

    Each level needs one git query, and all levels share one git process.
    """

    def __init__(self, top: str, verdicts: IgnoreCache) -> None:
        self._top = top
        self._verdicts = verdicts

    def within(self, starts: list[str], before: Before | None) -> WalkResult:
        """Walk the folders in `starts`. For `before`, see `Members.survey`.

        Raises RulesChanged if the ignore rules change during the walk.
        """
        found = WalkResult({}, set(), set(), {})
        try:
            level = self._open(starts)
            while level:
                listings = [self._enter(folder, found, before) for folder in level]
                level = self._add_level([listing for listing in listings if listing], found)
        finally:
            self._verdicts.stop_git()
        for folder in self._verdicts.tracked.keys() - found.listed:
            if starts == [""] or any(f"{folder}/".startswith(f"{start}/") for start in starts):
                self._take_tracked(folder, found, before)
        return found

    def belonging(self, paths: list[str]) -> set[str]:
        """Return those of `paths` that are files of the project.

        Raises RulesChanged if the ignore rules change in the meantime.
        """
        reachable: dict[str, bool] = {}
        candidates = [path for path in paths if self._is_file(path, reachable)]
        folders = {place for path in candidates for place in with_ancestors(_folder_of(path))}
        verdicts = self._verdicts
        try:
            verdicts.decide(folders, candidates)
        finally:
            verdicts.stop_git()
        out: set[str] = set()
        for folder in sorted(folders, key=lambda place: (place.count("/"), place)):
            if _folder_of(folder) in out or verdicts.folder_is_out(folder):
                out.add(folder)
            else:
                verdicts.compare_ignore_file(folder, marks_in(self._top, folder))
        return {
            path
            for path in candidates
            if not (verdicts.file_is_out(path) or _folder_of(path) in out) or verdicts.is_kept(path)
        }

    def _open(self, starts: list[str]) -> list[str]:
        self._verdicts.decide((folder for folder in starts if is_folder(self._top, folder)), ())
        return [folder for folder in starts if not self._verdicts.folder_is_out(folder)]

    def _enter(self, folder: str, found: WalkResult, before: Before | None) -> Listing | None:
        if before is not None:
            before(folder)
        if (listing := list_folder(self._top, folder)) is None:
            if is_folder(self._top, folder):  # it exists but is unreadable
                found.folders.add(folder)
            return None
        if self._verdicts.is_closed(folder, listing.marks):
            return None
        self._verdicts.compare_ignore_file(folder, listing.marks)
        found.folders.add(folder)
        found.listed.add(folder)
        return listing

    def _add_level(self, listings: list[Listing], found: WalkResult) -> list[str]:
        """Add the files of a level, and return the folders of the next level."""
        verdicts = self._verdicts
        verdicts.decide(
            (folder for listing in listings for folder in listing.folders),
            (path for listing in listings for path, _ in listing.files),
        )
        is_out = verdicts.file_is_out
        for listing in listings:
            for path, entry in listing.files:
                if is_out(path):
                    continue
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:  # it was deleted after the listing
                    continue
                found.files[path] = stamp_of(about)
                if about.st_nlink > 1:
                    found.unwatchable[path] = about.st_ino
        return [
            folder
            for listing in listings
            for folder in listing.folders
            if not verdicts.folder_is_out(folder)
        ]

    def _take_tracked(self, folder: str, found: WalkResult, before: Before | None) -> None:
        """Add the tracked files of a folder that is ignored or cannot be read."""
        if not self._is_reachable(folder, {}):
            return
        paths = [path for path in self._verdicts.tracked[folder] if self._verdicts.is_kept(path)]
        unreadable = folder in found.folders
        for place in with_ancestors(folder) if paths else ():
            if place not in found.folders:
                if before is not None:
                    before(place)
                found.folders.add(place)
        for path in paths:
            about = lstat_below(self._top, path)
            if about is not None and is_source(self._top, path):
                found.files[path] = stamp_of(about)
                if unreadable or about.st_nlink > 1:
                    found.unwatchable[path] = about.st_ino

    def _is_file(self, path: str, reachable: dict[str, bool]) -> bool:
        return is_source(self._top, path) and self._is_reachable(_folder_of(path), reachable)

    def _is_reachable(self, folder: str, known: dict[str, bool]) -> bool:
        """Return True if neither `folder` nor any parent folder is closed or a symbolic link."""
        # top-down, not recursive: a path can have two thousand folders
        for place in with_ancestors(folder) if folder not in known else ():
            if place not in known:
                above = place == "" or known[_folder_of(place)]
                known[place] = above and self._is_passable(place)
        return known[folder]

    def _is_passable(self, folder: str) -> bool:
        if folder.rpartition("/")[2] == "node_modules" or not is_folder(self._top, folder):
            return False
        marks = marks_in(self._top, folder)
        return not self._verdicts.is_closed(folder, marks)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
