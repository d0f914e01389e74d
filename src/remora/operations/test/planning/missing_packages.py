"""Packages that a module imports and that are not installed in the project's environment."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from remora.python_text import literal
from remora.regular_file import read_regular
from remora.sandbox.interpreters import ProjectPython

_MAX_BYTES = 1 << 20  # maximum size of a text file of an environment
_MAPPING = re.compile(r"(?m)^MAPPING(?:: [^=]+)? = (\{.*\})$")
"""The packages of an editable installation, in the module that finds them."""


class InstalledPackages:
    """The top-level packages of an environment, as far as its files show.

    No interpreter is started. Without an environment whose packages are all known, every package
    counts as installed. `python` is the interpreter, and `tree` the project's folder.
    """

    def __init__(self, python: ProjectPython | None, tree: Path) -> None:
        self._python = python.python if python is not None else None
        self._tree = tree

    def lacks(self, tree: ast.Module) -> bool:
        """Return True if a module imports a package on its own that is not installed."""
        known = self._names
        return bool(known) and any(name not in known for name in _imported(tree))

    @cached_property
    def _names(self) -> frozenset[str]:
        try:
            return self._find_names()
        except OSError:  # the file may name any package
            return frozenset()

    def _find_names(self) -> frozenset[str]:
        prefix = self._python.parent.parent if self._python is not None else None
        if prefix is None or not _is_closed(prefix):
            return frozenset()
        folders = [*prefix.glob("lib*/python*/site-packages")]
        editable: list[str] = []
        for folder in tuple(folders):
            for file in folder.glob("__editable__*.py"):
                found = _MAPPING.search(_text(file))
                if found is None:
                    return frozenset()  # the finder may know any package
                editable += literal(found[1])
            for file in folder.glob("*.pth"):
                lines = _text(file).splitlines()
                folders += [Path(line.rstrip()) for line in lines if line.startswith("/")]
        own = (self._tree, self._tree / "src", self._tree / "lib")
        found_names = (name for folder in (*folders, *own) for name in _packages(folder))
        return frozenset((*found_names, *editable, *sys.stdlib_module_names))


def _is_closed(prefix: Path) -> bool:
    """Return True for a virtual environment that does not use the packages of its interpreter."""
    text = _text(prefix / "pyvenv.cfg")
    settings: Mapping[str, str] = {
        key.strip(): value.strip().lower()
        for line in text.splitlines()
        for key, _, value in [line.partition("=")]
    }
    return settings.get("include-system-site-packages") == "false"


def _text(file: Path) -> str:
    return read_regular(file, _MAX_BYTES).decode(errors="replace")


def _packages(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        for each in folder.iterdir():
            if each.is_dir() or each.suffix in (".py", ".so", ".pyd"):
                yield each.name.partition(".")[0]


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the packages that a module needs when it is imported."""
    for one in tree.body:
        match one:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
