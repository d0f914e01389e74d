"""Which file a module's name means, seen from another file."""

from collections.abc import Collection

from remora.code.callgraph.abstract_values import MODULE, NAMESPACE, Value

_INIT = "__init__.py"


class Modules:
    """The modules of a project; folders end with `/`, the root is the empty string."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._folders = _folders(self._paths)
        self._roots = self._tops()
        self._found: dict[tuple[str, str], Value | None] = {}

    def absolute(self, importer: str, dotted: str) -> Value | None:
        """What `import dotted` means in the file `importer`; None: it is not of the project."""
        home = self._top(_folder(importer))
        asked = (home, dotted)
        if asked not in self._found:
            self._found[asked] = self._search(home, dotted)
        return self._found[asked]

    def relative(self, importer: str, level: int, dotted: str) -> Value | None:
        """What `from ..dotted import` means there."""
        folder = _folder(importer)
        for _ in range(level - 1):
            if not folder:
                return None
            folder = _folder(folder[:-1])
        return self._at(folder, dotted)

    def inside(self, value: Value, name: str) -> Value | None:
        """The submodule `name` of a package or namespace."""
        if value[0] == NAMESPACE:
            return self._at(value[1], name)
        path: str = value[1]
        return self._at(_folder(path), name) if _is_init(path) else None

    def is_ours(self, dotted: str) -> bool:
        """Whether the first part of `dotted` is a module of the project."""
        top = dotted.partition(".")[0]
        return any(self._at(root, top) is not None for root in self._roots)

    def _search(self, home: str, dotted: str) -> Value | None:
        spaces: Value | None = None
        for root in dict.fromkeys((home, *self._roots)):
            found = self._at(root, dotted)
            if found is not None and found[0] == MODULE:
                return found
            spaces = spaces or found
        return spaces

    def _at(self, folder: str, dotted: str) -> Value | None:
        if not dotted:
            return self._package(folder)
        path = folder + dotted.replace(".", "/")
        if f"{path}/{_INIT}" in self._paths:
            return (MODULE, f"{path}/{_INIT}")
        if f"{path}.py" in self._paths:
            return (MODULE, f"{path}.py")
        return (NAMESPACE, f"{path}/") if f"{path}/" in self._folders else None

    def _package(self, folder: str) -> Value | None:
        init = folder + _INIT
        return (MODULE, init) if init in self._paths else (NAMESPACE, folder)

    def _top(self, folder: str) -> str:
        """The folder from which the package that holds `folder` is imported."""
        while folder and folder + _INIT in self._paths:
            folder = _folder(folder[:-1])
        return folder

    def _tops(self) -> tuple[str, ...]:
        """Folders that are likely to be searched: those that hold packages, the nearest first."""
        inits = (path for path in self._paths if _is_init(path))
        tops = {self._top(_folder(path)) for path in inits} | {"", "src/", "lib/"}
        return tuple(sorted(tops, key=lambda top: (top.count("/"), top)))


def _folder(path: str) -> str:
    head, slash, _ = path.rpartition("/")
    return head + slash


def _is_init(path: str) -> bool:
    return path == _INIT or path.endswith("/" + _INIT)


def _folders(paths: Collection[str]) -> frozenset[str]:
    found: set[str] = set()
    for path in paths:
        folder = _folder(path)
        while folder and folder not in found:
            found.add(folder)
            folder = _folder(folder[:-1])
    return frozenset(found)
