"""Lookup of the file that an imported dotted name refers to."""

import sys
from collections.abc import Collection
from itertools import takewhile

from remora.code.callgraph.abstract_values import MODULE, NAMESPACE, Value
from remora.code.folders import BESIDE
from remora.ids import module_path

_INIT = "__init__.py"
_SOURCES = ("src/", "lib/", "python/")
"""Folders that hold a project's packages, and are no package."""


class ModuleLookup:
    """The modules of a project. Folder paths end with `/`, and the root is an empty string."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = {module_path(path): path for path in paths}
        """Maps the path that a module has as a `.py` file to its file, which may be a stub."""
        self._folders = _all_folders(self._paths)
        tops = (self._import_root(_folder(path)) for path in self._paths if _is_init(path))
        self._roots = frozenset(("", *_SOURCES, *tops))
        """Folders that are likely to be import roots."""
        self._holders = self._find_holders()
        """Maps the names of modules and folders to the folders that hold them and may be roots."""
        self._found: dict[tuple[str, str], Value | None] = {}

    def absolute(self, importer: str, dotted: str) -> Value | None:
        """Return the project module that `import dotted` loads in `importer`, or None."""
        root = self._import_root(_folder(importer))
        key = (root, dotted)
        if key not in self._found:
            self._found[key] = self._search(root, dotted)
        return self._found[key]

    def relative(self, importer: str, level: int, dotted: str) -> Value | None:
        """Return the project module that `from ..dotted import …` loads in `importer`, or None."""
        folder = _folder(importer)
        for _ in range(level - 1):
            if not folder:
                return None
            folder = _folder(folder[:-1])
        return self._at(folder, dotted)

    def submodule(self, value: Value, name: str) -> Value | None:
        if value[0] != NAMESPACE:
            path = module_path(value[1])
            return self._at(_folder(path), name) if _is_init(path) else None
        found = self._at(value[1], name)
        if found is not None and found[0] == MODULE:
            return found
        # other roots may have parts of the same namespace
        dotted = ((root, value[1].removeprefix(root) + name) for root in _around(value[1]))
        others = (self._search(root, path.replace("/", ".")) for root, path in dotted)
        return next((value for value in others if value is not None), found)

    def is_project_module(self, dotted: str) -> bool:
        return not self._roots.isdisjoint(self._holders.get(dotted.partition(".")[0], ()))

    def _search(self, own: str, dotted: str) -> Value | None:
        """Return the module at the nearest root of `own`, or None if several are equally near."""
        found: dict[tuple[object, ...], list[Value]] = {}
        for root in sorted(self._holders.get(dotted.partition(".")[0], ())):
            value = self._at(root, dotted)
            if value is not None and self._is_importable(own, root, dotted, value):
                rank = (value[0] == NAMESPACE, *self._distance(own, root))
                found.setdefault(rank, []).append(value)
        nearest = found[min(found)] if found else []
        return nearest[0] if len(nearest) == 1 or (nearest and nearest[0][0] == NAMESPACE) else None

    def _is_importable(self, own: str, root: str, dotted: str, value: Value) -> bool:
        """Return True if imports may find a module in a folder, such as that of a script or tests."""
        if root == own or root in self._roots:
            return True
        if dotted.partition(".")[0] in sys.stdlib_module_names:
            return False
        if value[0] == NAMESPACE:
            return "." in dotted or root.endswith(_SOURCES)
        return own.startswith(root) or BESIDE.isdisjoint(root.split("/"))

    def _distance(self, own: str, root: str) -> tuple[bool, bool, int, bool, bool]:
        """Return how far a root is from a file's own, for a comparison with other roots."""
        parts, is_around = root.split("/")[:-1], own.startswith(root)
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(own.split("/"), parts, strict=False))
        is_known = is_around or root in self._roots
        is_beside = not BESIDE.isdisjoint(parts)
        return not is_around, not is_known, -len(list(pairs)), is_beside, root not in _SOURCES

    def _find_holders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in (*self._paths, *self._folders):
            folder, last = _folder(path.rstrip("/")), path.rstrip("/").rpartition("/")[2]
            name = last.removesuffix(".py")
            # gitingest runs in `src`, which has an `__init__.py`: 5 of 20 changes had unknown callers
            is_run_in = folder == "src/" and name not in sys.stdlib_module_names
            if is_run_in or folder + _INIT not in self._paths:
                found.setdefault(name, set()).add(folder)
        return found

    def _at(self, folder: str, dotted: str) -> Value | None:
        if not dotted:
            return self._package(folder)
        path = folder + dotted.replace(".", "/")
        for file in (f"{path}/{_INIT}", f"{path}.py"):
            if file in self._paths:
                return (MODULE, self._paths[file])
        return (NAMESPACE, f"{path}/") if f"{path}/" in self._folders else None

    def _package(self, folder: str) -> Value | None:
        init = folder + _INIT
        return (MODULE, self._paths[init]) if init in self._paths else (NAMESPACE, folder)

    def _import_root(self, folder: str) -> str:
        while folder and folder + _INIT in self._paths:
            folder = _folder(folder[:-1])
        return folder


def _around(folder: str) -> list[str]:
    """Return a folder and all folders around it, the nearest first."""
    parts = folder.split("/")
    return ["".join(f"{part}/" for part in parts[:end]) for end in range(len(parts) - 1, -1, -1)]


def _folder(path: str) -> str:
    head, slash, _ = path.rpartition("/")
    return head + slash


def _is_init(path: str) -> bool:
    return path == _INIT or path.endswith("/" + _INIT)


def _all_folders(paths: Collection[str]) -> frozenset[str]:
    found: set[str] = set()
    for path in paths:
        folder = _folder(path)
        while folder and folder not in found:
            found.add(folder)
            folder = _folder(folder[:-1])
    return frozenset(found)
