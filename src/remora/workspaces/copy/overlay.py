"""Overlay driver, which gives each worker a layer on top of a shared base.

Only changed files are copied and scanned.
"""

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
    """Provides overlayfs layers on top of the frozen `base`. They are mounted in the empty folder
    `place`.

    The mounts exist only in the mount namespace of a child process. Changes are kept in memory and
    are lost when this process exits.
    """

    def __init__(self, base: BaseSnapshot, place: Path) -> None:
        self._base = base
        self._layers = OverlayMounts(base.folder, place)

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """Yield a workspace equal to the base. Raises DiskError if no layer can be mounted."""
        names = self._names  # the first access prepares the base
        home = self._layers.add()
        try:
            yield Workspace(self._base, OverlayCopy(self._base, self._layers, home, names))
        finally:
            self._layers.drop(home)

    def close(self) -> None:
        self._layers.close()

    @cached_property
    def _names(self) -> _Names:
        try:
            for path, file in self._base.files.items():
                (self._base.folder / path).chmod(file.mode)
        except OSError as error:
            raise DiskError(f"cannot prepare the base for layers: {error}") from error
        return _by_folder(self._base.files)


class OverlayCopy:
    """A job's copy, stored in a layer.

    Only the upper folder of the layer is scanned for changes.
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
        self._scanned: dict[str, ScannedFile] = {}

    def state(self) -> CopyState:
        """Return the files that were written, and the files of the base that are missing.

        Raises HostError if the layer cannot be read.
        """
        listed: dict[str, frozenset[str]] = {}

        def visible(prefix: str, entries: FolderEntries) -> FolderEntries:
            """Drop the layer's whiteouts, which are entries that are not in the merged view."""
            listed[prefix] = frozenset(os.listdir(self.tree / prefix))  # noqa: PTH208 - only names
            return (entry for entry in entries if entry.name in listed[prefix])

        try:
            scan = scan_tree(self._written, self._scanned, visible)
        except OSError as error:
            raise HostError(f"the workspace cannot be read: {error}") from error
        self._scanned = scan.files
        return CopyState(scan.files, list(self._missing(listed, scan)), scan.unsupported)

    def reset(self) -> None:
        self._layers.renew(self._home)
        self._scanned = {}

    def _missing(self, listed: _Names, scan: TreeScan) -> Iterator[str]:
        """Yield the files of the base that were removed or replaced by something else."""
        folders = {*scan.folders, *scan.tool_caches}
        for prefix, there in listed.items():
            for name in self._names.get(prefix, ()):
                path = prefix + name
                other = folders if path in self._base.files else scan.files
                if name not in there or path in other:
                    yield from self._files_below(path)

    def _files_below(self, path: str) -> Iterator[str]:
        """Yield the files of the base at or under a path."""
        if path in self._base.files:
            yield path
        for name in self._names.get(path + "/", ()):
            yield from self._files_below(f"{path}/{name}")


def _by_folder(files: Iterable[str]) -> _Names:
    """Map each folder to the names in it. A folder is an empty string or ends with `/`."""
    found: dict[str, set[str]] = {}
    for path in files:
        parent, slash, name = path.rpartition("/")
        while name not in found.setdefault(parent + slash, set()):
            found[parent + slash].add(name)
            parent, slash, name = parent.rpartition("/")
    return {folder: frozenset(names) for folder, names in found.items()}
