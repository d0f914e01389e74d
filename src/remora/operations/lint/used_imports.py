"""Names that files of a project use from its modules."""

import re
from contextlib import suppress

from remora.errors import HostError
from remora.tools.tree import ToolTree

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_USE = re.compile(r"\b([A-Za-z_]\w*)[.:]([A-Za-z_]\w*)")
_UNUSED = re.compile(r"`([^`]+)` imported but unused")
_ALL = "*"
_FILES = ("py", "pyi", "rst", "md", "sh", "cfg", "toml")

ImportedNames = frozenset[tuple[str, str]]
"""Last part of a module's name, and a name in it or `*`."""


def imported_names(place: ToolTree) -> ImportedNames:
    """Return the names that code, docs or settings import from a module, or use as `module.name`."""
    found: set[tuple[str, str]] = set()
    paths = (path for kind in _FILES for path in place.files.glob(f"**/*.{kind}", look=place.left))
    for path in paths:
        body = ""
        with suppress(HostError):  # too large
            body = place.read(path).decode("utf-8", "replace")
        found.update(_USE.findall(body))
        for module, names in _FROM.findall(body):
            last = module.rpartition(".")[2]
            found.update((last, each) for each in re.findall(r"\w+|\*", names))
    return frozenset(found)


def is_used_elsewhere(path: str, message: str, names: ImportedNames) -> bool:
    """Return True if another file may need the import that a finding calls unused."""
    unused = _UNUSED.search(message)
    *folders, name = path.split("/")
    module = name.removesuffix(".py")
    if module == "__init__":
        module = folders[-1] if folders else ""
    if unused is None:
        return False
    imported, _, alias = unused[1].partition(" as ")
    bound = {alias} if alias else {imported.split(".")[0], imported.rpartition(".")[2]}
    return any((module, each) in names for each in (*bound, _ALL))
