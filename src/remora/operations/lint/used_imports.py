"""Imports that a project needs although their names are not used in the file."""

import ast
import re
from contextlib import suppress

from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.tools.host.ruff.finding import Finding
from remora.tools.host.text_lines import split_lines
from remora.tools.tree import ToolTree

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_USE = re.compile(r"\b([A-Za-z_]\w*)[.:]([A-Za-z_]\w*)")
_UNUSED = re.compile(r"`([^`]+)` imported but unused")
_EXAMPLE = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[ \t](.*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_ALL = "*"
_FILES = ("py", "pyi", "rst", "md", "sh", "cfg", "toml")

ImportedNames = frozenset[tuple[str, str]]
"""Last part of a module's name, and a name in it or `*`."""


def names_from_modules(place: ToolTree) -> ImportedNames:
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


def is_used_elsewhere(path: str, finding: Finding, body: str, names: ImportedNames) -> bool:
    """Return True if another file may need the import that a finding calls unused."""
    *folders, name = path.split("/")
    module = name.removesuffix(".py")
    if module == "__init__":
        module = folders[-1] if folders else ""
    bound = bound_names(finding, body)
    return bool(bound) and any((module, each) in names for each in (*bound, _ALL))


def is_used_in_examples(finding: Finding, body: str) -> bool:
    """Return True if a line after `>>>` has the name of an import that a finding calls unused."""
    used = {word for line in _EXAMPLE.findall(body) for word in _WORD.findall(line)}
    return not used.isdisjoint(bound_names(finding, body))


def bound_names(finding: Finding, body: str) -> set[str]:
    """Return the names by which the import that a finding calls unused may be known.

    The message does not say that `from a import b as c` binds `c`, but the finding is at `c`.
    """
    unused = _UNUSED.search(finding["message"])
    if unused is None:
        return set()
    imported = unused[1]
    line = split_lines(body)[finding["line"] - 1]
    name = line[finding["column"] - 1 : finding["end_column"] - 1]
    is_alias = name.isidentifier() and name != imported.rpartition(".")[2]
    return {name} if is_alias else {imported.split(".")[0], imported.rpartition(".")[2]}


def runs_code(place: ToolTree, path: str, message: str) -> bool:
    """Return True if an unused import is of a module of the project that calls something on import.

    An example is a module that changes `sys.path`.
    """
    unused = _UNUSED.search(message)
    module = unused[1].replace(".", "/") if unused is not None else ""
    beside = path.rpartition("/")[0]
    for folder in dict.fromkeys((beside, "", "src")):
        found = f"{folder}/{module}.py".lstrip("/")
        if module and place.files.exists(found):
            tree = parse_text(place.text_or_empty(found))
            return isinstance(tree, ast.Module) and any(map(_is_call, tree.body))
    return False


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
