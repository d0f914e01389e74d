"""Layers over a base, one per worker: only what a job changes is ever copied or looked at."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from remora.errors import DiskError, HostError
from remora.sandbox.layers import OverlayMounts
from remora.workspaces.copy.scan import CopyState, FolderEntries, ScannedFile, TreeScan, scan_tree
from remora.workspaces.copy.snapshot import BaseSnapshot
from remora.workspaces.copy.workspace import Workspace

_Names = Mapping[str, frozenset[str]]


class OverlayDriver:
    """Hands out layers (overlayfs) over the frozen `base`; they are mounted at `place`, an empty
    folder of ours in which nobody else sees them.

    What jobs change is in memory, and gone with us whatever ends us. The base's folder is what the
    layers lie over: its files get the rights that they have in the project.
    """

    def __init__(self, base: BaseSnapshot, place: Path) -> None:
        self._base = base
        self._layers = OverlayMounts(base.folder, place)

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """A workspace equal to the base. Raises DiskError if there can be no layer."""
        names = self._names  # the first time, the base is made ready for layers
        home = self._layers.add()
        try:
            yield Workspace(self._base, OverlayCopy(self._base, self._layers, home, names))
        finally:
            self._layers.drop(home)

    def close(self) -> None:
        """End the process that keeps the layers."""
        self._layers.close()

    @cached_property
    def _names(self) -> _Names:
        try:
            for path, file in self._base.files.items():
                (self._base.folder / path).chmod(file.mode)
        except OSError as error:
            raise DiskError(f"cannot make the base ready for layers: {error}") from error
        return _by_folder(self._base.files)


class OverlayCopy:
    """What a job wrote, over a base whose names are known by folder.

    Where something was written, the layer holds a folder too: only these are looked at, and the
    whole as the job sees it says what is there and what is not.
    """

    def __init__(
        self, base: BaseSnapshot, layers: OverlayMounts, home: Path, names: _Names
    ) -> None:
        self.tree = home / "tree"
        self._written = home / "layer" / "upper"
        self._base = base
        self._layers = layers
        self._home = home
        self._names = names
        self._known: dict[str, ScannedFile] = {}

    def state(self) -> CopyState:
        """The files that were written, and those that are gone. Raises HostError."""
        listed: dict[str, frozenset[str]] = {}

        def shown(prefix: str, entries: FolderEntries) -> FolderEntries:
            """Those that the job sees; others are the layer's own marks of what is gone."""
            listed[prefix] = frozenset(os.listdir(self.tree / prefix))  # noqa: PTH208 - only names
            return (entry for entry in entries if entry.name in listed[prefix])

        try:
            seen = scan_tree(self._written, self._known, shown)
        except OSError as error:
            raise HostError(f"the workspace cannot be read: {error}") from error
        self._known = seen.files
        return CopyState(seen.files, list(self._gone(listed, seen)), seen.unsupported)

    def reset(self) -> None:
        """Bring every file back to the base. Raises DiskError."""
        self._layers.renew(self._home)
        self._known = {}

    def _gone(self, listed: _Names, seen: TreeScan) -> Iterator[str]:
        """Files of the base that are not there, or something else is."""
        folders = {*seen.folders, *seen.tool_caches}
        for prefix, there in listed.items():
            for name in self._names.get(prefix, ()):
                path = prefix + name
                other = folders if path in self._base.files else seen.files
                if name not in there or path in other:
                    yield from self._below(path)

    def _below(self, path: str) -> Iterator[str]:
        """The files of the base at a path, or beneath it."""
        if path in self._base.files:
            yield path
        for name in self._names.get(path + "/", ()):
            yield from self._below(f"{path}/{name}")


def _by_folder(files: Iterable[str]) -> _Names:
    """The names in each folder (empty, or ending in `/`) that leads to files."""
    found: dict[str, set[str]] = {}
    for path in files:
        above, slash, name = path.rpartition("/")
        while name not in found.setdefault(above + slash, set()):
            found[above + slash].add(name)
            above, slash, name = above.rpartition("/")
    return {folder: frozenset(names) for folder, names in found.items()}
