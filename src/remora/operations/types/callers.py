"""Calls from other files, written beside the functions that they call.

`pyrefly infer` reads the types of parameters from the calls in a function's own file. In a copy of
the project, the code of each file that imports a name from `shop.py` is therefore added to
`shop.py`, in a function of its own, in which that name means the one of `shop.py`:

    def _remora_caller_0():
        import json
        ship(json.loads(text), 3)
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from textwrap import indent

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.judges.types.project_index import File, ProjectIndex
from remora.python_text import parse
from remora.tools.host.module_names import module_name

_MOST_LINES = 20_000
"""Maximum lines that are added to a file (decision)."""


class Callers:
    """Adds the code of calling files to files, and keeps it for the next time. Tests add nothing."""

    def __init__(self) -> None:
        self._cached_parts: dict[tuple[str, str], tuple[str, str]] = {}
        """For a file and one that calls it: the text of the caller and the code that it adds."""

    def with_callers(self, paths: Collection[str], index: ProjectIndex) -> dict[str, str]:
        """Return the texts of files with the code of other files that call their functions."""
        files = {path: file for path, file in index.files.items() if not is_of_tests(path)}
        importers: dict[str, list[str]] = defaultdict(list)
        for path, file in files.items():
            for word in file.imported_words:
                importers[word].append(path)
        found = {}
        for path in files.keys() & set(paths):
            names = {*files[path].own_names, module_name(path).rpartition(".")[2]}
            near = {other for name in names for other in importers.get(name, ())} - {path}
            found[path] = files[path].source.text + self._added(files, path, sorted(near))
        return found

    def _added(self, files: Mapping[str, File], path: str, near: Iterable[str]) -> str:
        lines, parts = 0, [""]
        for number, other in enumerate(near if files[path].functions else ()):
            text = files[other].source.text
            if self._cached_parts.get((path, other), ("", ""))[0] != text:
                self._cached_parts[path, other] = text, _caller_code(files[path], other, text)
            part = self._cached_parts[path, other][1]
            lines += part.count("\n")
            if lines > _MOST_LINES:
                break
            parts += [f"def _remora_caller_{number}():\n{part}"] if part else []
        return "\n\n".join(parts) + "\n" if len(parts) > 1 else ""


def _caller_code(file: File, other: str, text: str) -> str:
    """Return the code of another file, indented, or nothing if it does not import the file."""
    imported = _Imported(file, other)
    with suppress(RecursionError):
        tree = imported.visit(parse(text))
        if imported.imports_names or imported.modules:
            return indent(ast.unparse(tree) or "pass", "    ")
    return ""


class _Imported(ast.NodeTransformer):
    """Removes the imports of a file's names, and replaces `shop.ship` by `ship`."""

    def __init__(self, file: File, importer: str) -> None:
        self._own = file.own_names
        self._module = module_name(file.path)
        name = module_name(importer)
        is_package = importer.endswith("/__init__.py")
        self._package = name if is_package else name.rpartition(".")[0]
        self.imports_names = False
        self.modules: set[str] = set()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        module = self._absolute(node)
        node.module, node.level = module, 0
        kept = []
        for alias in node.names:
            local = alias.asname or alias.name
            if alias.name == "*" or module == "__future__":
                continue
            if f"{module}.{alias.name}".lstrip(".") == self._module:
                self.modules.add(local)
            elif local == alias.name and local in self._own and self._is_of_project(module):
                self.imports_names = True
            else:
                kept.append(alias)
        node.names = kept
        if not kept:
            return ast.Pass()
        return node if module else ast.Import(kept)  # `from . import other` at the root

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        for alias in node.names:
            if alias.name == self._module:
                self.modules.add(alias.asname or alias.name)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node.value) in self.modules and node.attr in self._own:
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".") if self._package else []
        above = parts[: len(parts) - node.level + 1]
        return ".".join([*above, *([node.module] if node.module else [])])

    def _is_of_project(self, module: str) -> bool:
        return module.partition(".")[0] == self._module.partition(".")[0]
