"""Calls from other files, written beside the functions that they call.

`pyrefly infer` reads the types of parameters from the calls in a function's own file. In a copy of
the project, the code of each file that imports a name from `shop.py` is therefore added to
`shop.py`, in a function of its own, in which that name means the one of `shop.py`:

    def _remora_caller_0():
        import json
        ship(json.loads(text), 3)
"""

import ast
from collections.abc import Mapping
from copy import deepcopy

from remora.code.pytest_model.pytest_file import is_of_tests
from remora.operations.types.source.project_index import File, ProjectIndex
from remora.python_text import parse
from remora.tools.host.module_names import module_name

_MOST_LINES = 20_000
"""The lines that are added to a file at most."""


class Callers:
    """The files of a project, and the code that is added to each. Tests add nothing."""

    def __init__(self, index: ProjectIndex) -> None:
        self._files = {path: file for path, file in index.files.items() if not is_of_tests(path)}
        self._modules = {path: module_name(path) for path in self._files}

    def texts(self, paths: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of files with the code of other files that call their functions."""
        return {
            path: text + self._added(self._files[path])
            for path, text in paths.items()
            if path in self._files
        }

    def _added(self, file: File) -> str:
        lines, parts = 0, [""]
        for number, (path, other) in enumerate(self._files.items()):
            if path == file.path or not file.functions:
                continue
            imported = _Imported(
                file,
                self._modules[file.path],
                self._modules[path],
                is_package=path.endswith("/__init__.py"),
            )
            body = imported.body(other.source.tree)
            if not imported.names and not imported.modules:
                continue
            part = ast.unparse(
                ast.fix_missing_locations(_function(f"_remora_caller_{number}", body))
            )
            lines += part.count("\n")
            if lines > _MOST_LINES:
                break
            parts.append(part)
        return "\n\n".join(parts) + "\n" if len(parts) > 1 else ""


def _function(name: str, body: list[ast.stmt]) -> ast.FunctionDef:
    (node,) = parse(f"def {name}(): pass").body
    assert isinstance(node, ast.FunctionDef)
    node.body = body or node.body
    return node


class _Imported(ast.NodeTransformer):
    """Leaves out imports of a file's names, and names its module by which others refer to them."""

    def __init__(self, file: File, module: str, importer: str, *, is_package: bool) -> None:
        self._own = {*file.classes, *(each.name for each in file.functions if "." not in each.name)}
        self._module = module
        self._package = importer if is_package else importer.rpartition(".")[0]
        self.names: set[str] = set()
        self.modules: set[str] = set()

    def body(self, tree: ast.Module) -> list[ast.stmt]:
        changed = self.visit(deepcopy(tree))
        return list(changed.body)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        module = self._absolute(node)
        node.module, node.level = module, 0
        kept = []
        for alias in node.names:
            local = alias.asname or alias.name
            if alias.name == "*" or module == "__future__":
                continue
            if f"{module}.{alias.name}" == self._module:
                self.modules.add(local)
            elif local == alias.name and local in self._own and self._is_of_project(module):
                self.names.add(local)
            else:
                kept.append(alias)
        node.names = kept
        return node if kept else ast.Pass()

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
        parts = self._package.split(".")
        above = parts[: len(parts) - node.level + 1]
        return ".".join([*above, *([node.module] if node.module else [])])

    def _is_of_project(self, module: str) -> bool:
        return module.partition(".")[0] == self._module.partition(".")[0]
