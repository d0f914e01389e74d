"""Lookup of the file that an imported dotted name refers to."""

from collections.abc import Collection

from remora.code.callgraph.abstract_values import MODULE, NAMESPACE, Value
from remora.ids import module_path

_INIT = "__init__.py"


class ModuleLookup:
    """The modules of a project. Folder paths end with `/`, and the root is an empty string."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = {module_path(path): path for path in paths}
        """Maps the path that a module has as a `.py` file to its file, which may be a stub."""
        self._folders = _all_folders(self._paths)
        self._roots = self._import_roots()
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
        if value[0] == NAMESPACE:
            return self._at(value[1], name)
        path = module_path(value[1])
        return self._at(_folder(path), name) if _is_init(path) else None

    def is_project_module(self, dotted: str) -> bool:
        top = dotted.partition(".")[0]
        return any(self._at(root, top) is not None for root in self._roots)

    def _search(self, importer_root: str, dotted: str) -> Value | None:
        namespace: Value | None = None
        for root in dict.fromkeys((importer_root, *self._roots)):
            found = self._at(root, dotted)
            if found is not None and found[0] == MODULE:
                return found
            namespace = namespace or found
        return namespace

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

    def _import_roots(self) -> tuple[str, ...]:
        """Return the folders that are likely to be import roots, shallowest first."""
        inits = (path for path in self._paths if _is_init(path))
        tops = {self._import_root(_folder(path)) for path in inits} | {"", "src/", "lib/"}
        return tuple(sorted(tops, key=lambda top: (top.count("/"), top)))


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
