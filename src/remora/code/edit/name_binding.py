"""Names that code binds and reads, and the imports that provide them elsewhere."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.syntax.hidden_uses import names_in, names_with

_BUILTINS = frozenset(dir(builtins))


def root_name(node: ast.expr) -> str:
    """Return the name of the object whose part the code is, or an empty string."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, imports or defines in its own scope."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import() | ast.ImportFrom():
            module = ast.Module(body=[statement], type_ignores=[])
            return {imported.bound.partition(".")[0] for imported in imported_names(module)}
    return {*names_with(ast.Store, statement)}


def free_names(nodes: Iterable[ast.AST], *, builtin: bool = False) -> set[str]:
    """Return the names that the code reads and that are not its own variables.

    Builtins are included only if `builtin` is true.
    """
    found: set[str] = set()
    for node in nodes:
        found |= {*names_with(ast.Load, node)} - _inner_names(node)
    return found if builtin else found - _BUILTINS


def _inner_names(node: ast.AST) -> set[str]:
    """Return the names bound by comprehensions, lambdas and functions within the code."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.comprehension):
            found |= names_in(inner.target)
        elif isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, ast.FunctionDef | ast.ClassDef):
            found |= {name for statement in inner.body for name in bound_names(statement)}
    return found


@lru_cache(maxsize=16)  # all functions of a file need the same trees
def importable_names(tree: ast.Module, module: str, *, is_package: bool) -> Mapping[str, Imported]:
    """Map each top-level name of a module to the import that provides it elsewhere.

    Names that the module imports are imported from where it imports them.
    """
    found: dict[str, Imported] = {}
    for statement in _top_level(tree.body):
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = Imported(module, name, name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = Imported(module, name, name)
            case ast.Import() | ast.ImportFrom():
                for imported in imported_names(ast.Module(body=[statement], type_ignores=[])):
                    found[imported.bound.partition(".")[0]] = _absolute(
                        imported, module, is_package
                    )
    return found


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            yield from _top_level(statement.body)


def _absolute(imported: Imported, module: str, is_package: bool) -> Imported:
    """Return an import of `module` without leading dots."""
    level = len(imported.module) - len(imported.module.lstrip("."))
    if not level:
        return imported
    parts = module.split(".") if is_package else module.split(".")[:-1]
    above = parts[: len(parts) - level + 1]
    return imported._replace(module=".".join([*above, *filter(None, [imported.module[level:]])]))


def import_statements(names: Iterable[str], known: Mapping[str, Imported]) -> tuple[str, ...]:
    return tuple(known[name].statement() for name in sorted(names) if name in known)
