"""Recipe for RUF012: annotates mutable class attributes with `ClassVar`."""

import ast
import builtins
from collections.abc import Iterator
from copy import deepcopy

from remora.code.edit.edits import Edit
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    Statements,
    are_alike,
)
from remora.tools.host.ruff.finding import Finding

_SUBSCRIPTED = 9
"""Minor version of the first Python 3 in which `list` can be subscripted."""
_MEMBER_BASES = {"NamedTuple", "TypedDict", "Protocol", "Structure", "Union"}
_BUILT_IN = frozenset(name for name, kind in vars(builtins).items() if isinstance(kind, type))
_PLAIN_MODULES = {
    *("abc", "argparse", "ast", "cmd", "code", "collections", "collections.abc", "contextlib"),
    *("html.parser", "http.server", "io", "json", "logging", "logging.handlers", "string"),
    *("threading", "unittest", "xml.sax.handler"),
}
"""Modules of the standard library whose classes do not make fields of annotated attributes."""
_SIMPLE = {str: "str", int: "int", float: "float", bool: "bool", bytes: "bytes"}


def annotate(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """Return the edits that annotate an attribute, unless instances may have their own value."""
    at = source.position(finding["line"], finding["column"])
    around = source.enclosing(at)
    statement = next((node for node in reversed(around) if isinstance(node, ast.stmt)), None)
    owner = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)
    if owner is None or not _may_annotate(source, owner):
        return None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name) as target]):
            if name in source.written_attributes or source.conventions.is_written(name):
                return None
            end = source.span(target)[1]
            known = _type(statement.value) if _can_subscript(source) else None
            if known is None and not source.once(_is_annotated):
                return None
            edit = Edit(end, end, f": ClassVar[{known}]" if known else ": ClassVar")
        case ast.AnnAssign(target=ast.Name(id=name)) if _is_plain(source, owner):
            if name in source.written_attributes or source.conventions.is_written(name):
                return None
            start, stop = source.span(statement.annotation)
            edit = Edit(start, stop, f"ClassVar[{source.body[start:stop]}]")
        case _:
            return None
    return RecipeFix((edit,), frozenset({("typing", "ClassVar")}))


def _may_annotate(source: PythonSource, owner: ast.ClassDef) -> bool:
    """Return True if `ClassVar` can be used, and if nothing says that instances have values."""
    return (
        _can_import(source)
        and not _has_members(source, owner)
        and not is_of_tests(source.path)
        and not _sets_any_attribute(owner)
    )


def _can_import(source: PythonSource) -> bool:
    """Return True if nothing but `typing.ClassVar` has the name `ClassVar`."""
    return "ClassVar" not in source.bound_names and all(
        module == "typing" and top
        for module, name, top in source.imported_names
        if name == "ClassVar"
    )


def _is_annotated(source: PythonSource) -> bool:
    """Return True if a file has annotations."""
    return any(
        isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None)
        or (isinstance(node, ast.arg) and node.annotation is not None)
        for node in source.nodes
    )


def _sets_any_attribute(owner: ast.ClassDef) -> bool:
    """Return True if a class sets attributes of its instances whose names are not in its code."""
    for node in ast.walk(owner):
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[_, name, *_]):
                if not isinstance(name, ast.Constant):
                    return True
            case ast.Call(func=ast.Name(id="vars"), args=[ast.Name()]):
                return True
            case ast.Attribute(attr="__dict__"):
                return True
    return False


def _has_members(source: PythonSource, owner: ast.ClassDef) -> bool:
    """Return True if the attributes of a class are members of an enumeration or named fields."""
    bases = [*_bases(source, owner)]
    return any(name in _MEMBER_BASES or name.endswith(("Enum", "Flag")) for name in bases)


def _is_plain(source: PythonSource, owner: ast.ClassDef) -> bool:
    """Return True if an annotation in a class certainly does not make a field of its instances.

    Classes of other modules may be models, whose annotated attributes are fields.
    """
    known = source.once(_classes)
    names = [*_bases(source, owner)]
    above = [owner, *(known[name] for name in names if name in known)]
    imported = {
        (each.asname or each.name): node.module or ""
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and node.level == 0
        for each in node.names
    }
    return not any(each.decorator_list or each.keywords for each in above) and all(
        name in known
        or (name in _BUILT_IN and name not in source.bound_names and name not in imported)
        or imported.get(name) in _PLAIN_MODULES
        for name in names
    )


def _bases(source: PythonSource, owner: ast.ClassDef) -> Iterator[str]:
    """Yield the last part of the name of each base class, also of those in the same file."""
    known = source.once(_classes)
    waiting, seen = [owner], {owner.name}
    while waiting:
        for base in waiting.pop().bases:
            outer = base.value if isinstance(base, ast.Subscript) else base
            name = outer.attr if isinstance(outer, ast.Attribute) else getattr(outer, "id", "?")
            yield name
            if name in known and name not in seen and isinstance(outer, ast.Name):
                seen.add(name)
                waiting.append(known[name])


def _classes(source: PythonSource) -> dict[str, ast.ClassDef]:
    """Return the classes of a file by name, without those whose name is defined twice."""
    found: dict[str, list[ast.ClassDef]] = {}
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            found.setdefault(node.name, []).append(node)
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def _can_subscript(source: PythonSource) -> bool:
    """Return True if `list[str]` can be evaluated as an annotation."""
    return source.conventions.oldest >= _SUBSCRIPTED or ("__future__", "annotations", True) in (
        source.imported_names
    )


def _type(value: ast.expr) -> str | None:
    """Return the type of a literal whose items all have one simple type."""
    match value:
        case ast.List(elts=items) if (inner := _common(items)) is not None:
            return f"list[{inner}]"
        case ast.Set(elts=items) if (inner := _common(items)) is not None:
            return f"set[{inner}]"
        case ast.Dict(keys=keys, values=values):
            key = _common([each for each in keys if each is not None]) if None not in keys else None
            inner = _common(values)
            return f"dict[{key}, {inner}]" if key and inner else None
    return None


def _common(items: list[ast.expr]) -> str | None:
    kinds = {
        _SIMPLE.get(type(each.value)) if isinstance(each, ast.Constant) else None for each in items
    }
    return kinds.pop() if len(kinds) == 1 else None


def _keeps(before: PythonSource, after: PythonSource) -> bool:
    """Return True if only annotations and the import of `ClassVar` differ."""
    return are_alike(before, after, _without_annotations)


def _without_annotations(statements: Statements) -> str:
    module = ast.Module(body=deepcopy(statements), type_ignores=[])
    return ast.dump(_WithoutAnnotations().visit(module))


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.Assign(targets=[node.target], value=node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if node.module == "typing":
            node.names = [each for each in node.names if each.name != "ClassVar"]
            node.names.sort(key=lambda each: each.name)
        return node if node.names else None


CLASS_VARIABLES = Recipe(codes=("RUF012",), fix=annotate, keeps=_keeps)
