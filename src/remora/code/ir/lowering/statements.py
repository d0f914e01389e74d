"""Lowering of simple statements, such as assignments, imports, `__all__` and `return`."""

import ast
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.calls import lower_call
from remora.code.ir.lowering.expressions import (
    assign_target,
    lower_expression,
    record_implicit_call,
    record_truth,
    write_attribute,
)
from remora.code.ir.lowering.narrowing import types_if
from remora.code.ir.lowering.parameters import lower_annotation
from remora.code.ir.model import ContainerWrite, Export
from remora.text import is_utf8

_Module = tuple[int, str]
_ALL = "__all__"
_COLLECT_IGNORE = frozenset(("collect_ignore", "collect_ignore_glob"))
_COPY_FUNCTIONS = frozenset(("list", "tuple", "sorted", "set"))
_NAME, _CONSTANT, _CALL = ast.Name, ast.Constant, ast.Call
_MAY_BE_PROPERTY = frozenset((ast.Call, ast.Name, ast.Attribute, ast.Subscript))


def lower_expression_statement(builder: IRBuilder, node: ast.Expr) -> None:
    value = node.value
    if value.__class__ is _CALL:
        builder.depth = 1
        lower_call(builder, value)
        builder.depth = 0
        if builder.exports is not None:
            _extend_exports_by_call(builder, value)
    elif value.__class__ is not _CONSTANT:
        lower_expression(builder, value)


def lower_assignment(builder: IRBuilder, node: ast.Assign) -> None:
    value = node.value
    term = lower_expression(builder, value)
    for target in node.targets:
        if target.__class__ is not _NAME:
            assign_target(builder, target, term)
            continue
        name = target.id
        builder.bind(name, ir.VALUE, term)
        if value.__class__ is _CALL and builder.scope.kind == ir.CLASS_SCOPE:
            record_implicit_call(builder, term, "__set_name__", value.lineno)
            builder.names.update((f"made {name}", f"made {unqualified_name(value)}"))
        if "property" in builder.names:
            _note_property(builder, name, value)
        if _is_dunder_all(builder, target):
            _assign_exports(builder, value)
        if name in _COLLECT_IGNORE:
            ignored = _evaluate(builder, value) or ()
            builder.names.update(f"ignore {file}" for file in ignored if isinstance(file, str))


def lower_augmented_assignment(builder: IRBuilder, node: ast.AugAssign) -> None:
    term = lower_expression(builder, node.value)
    target = node.target
    if _is_dunder_all(builder, target):
        _extend_exports(builder, node.value)
    if isinstance(node.op, ast.Add) and term is not None:
        if (base := lower_expression(builder, target)) is not None:
            builder.fills.append(
                ContainerWrite(
                    builder.scope_index, builder.statement, base, None, (ir.ELEMENT, term)
                )
            )
    elif not isinstance(target, ast.Name):
        lower_expression(builder, target)


def lower_annotated_assignment(builder: IRBuilder, node: ast.AnnAssign) -> None:
    annotation = lower_annotation(builder, node.annotation)
    value = None if node.value is None else lower_expression(builder, node.value)
    target = node.target
    if isinstance(target, ast.Name):
        builder.bind(target.id, ir.ANNOTATED, annotation, value)
        if node.value is not None and _is_dunder_all(builder, target):
            _assign_exports(builder, node.value)
    elif isinstance(target, ast.Attribute):
        write_attribute(builder, target.value, target.attr, value, annotation)


def lower_return(builder: IRBuilder, node: ast.Return) -> None:
    if node.value is not None and (term := lower_expression(builder, node.value)) is not None:
        builder.scope.results.append((builder.statement, term))


def lower_import(builder: IRBuilder, node: ast.Import) -> None:
    builder.imports.append(node)
    for alias in node.names:
        builder.names.update(alias.name.split("."))
        if alias.asname is not None:
            builder.bind(alias.asname, ir.IMPORT, alias.name)
        else:
            package = alias.name.partition(".")[0]
            builder.bind(package, ir.IMPORT, package, alias.name)


def lower_import_from(builder: IRBuilder, node: ast.ImportFrom) -> None:
    builder.imports.append(node)
    module = node.module or ""
    builder.names.update(module.split("."))
    source = (node.level, module)
    for alias in node.names:
        if (name := alias.name) == "*":
            builder.stars.append((node.level, module))
            continue
        builder.names.add(name)
        builder.bind(alias.asname or name, ir.IMPORT_FROM, source, name)


def lower_global(builder: IRBuilder, node: ast.Global) -> None:
    for name in node.names:
        builder.scope.outer[name] = builder.scopes[0]


def lower_nonlocal(builder: IRBuilder, node: ast.Nonlocal) -> None:
    for name in node.names:
        builder.scope.outer[name] = builder.scope.owner_of(name)


def lower_delete(builder: IRBuilder, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            builder.bind(target.id, ir.DELETED, None)
        elif isinstance(target, ast.Subscript):
            record_implicit_call(
                builder, lower_expression(builder, target.value), "__delitem__", target.lineno
            )
            lower_expression(builder, target.slice)
        else:
            lower_expression(builder, target)


def lower_assert(builder: IRBuilder, node: ast.Assert) -> None:
    branches = builder.counted_scope.branches + 1
    record_truth(builder, node.test, lower_expression(builder, node.test))
    if node.msg is not None:
        lower_expression(builder, node.msg)
    builder.counted_scope.branches = branches  # radon does not count branches inside `assert`
    builder.types[-1] |= types_if(builder, node.test, holds=True)


def unqualified_name(node: Any) -> str:
    """Return `c` for `a.b.c`, `c[…]` and `c(…)`, or "" for anything else."""
    kind = node.__class__
    while kind is ast.Call or kind is ast.Subscript:
        node = node.func if kind is ast.Call else node.value
        kind = node.__class__
    if kind is ast.Attribute:
        return node.attr  # type: ignore[no-any-return]
    return node.id if kind is _NAME else ""


def _note_property(builder: IRBuilder, name: str, value: ast.expr) -> None:
    if value.__class__ in _MAY_BE_PROPERTY and unqualified_name(value) == "property":
        builder.names.add(f"property {name}")


def _is_dunder_all(builder: IRBuilder, target: ast.expr) -> bool:
    """Return True if `target` is the module's `__all__`."""
    named = isinstance(target, ast.Name) and target.id == _ALL
    return named and builder.scope.kind == ir.MODULE_SCOPE


def _assign_exports(builder: IRBuilder, value: ast.expr) -> None:
    builder.exports = _evaluate(builder, value)


def _extend_exports(builder: IRBuilder, value: ast.expr) -> None:
    """Record `__all__ += value`. If the value cannot be evaluated, `__all__` becomes unknown."""
    more = _evaluate(builder, value)
    builder.exports = None if builder.exports is None or more is None else builder.exports + more


def _extend_exports_by_call(builder: IRBuilder, call: ast.Call) -> None:
    """Record `__all__.append(value)` and `__all__.extend(value)`."""
    func = call.func
    if (
        not isinstance(func, ast.Attribute)
        or not call.args
        or not _is_dunder_all(builder, func.value)
    ):
        return
    if func.attr == "extend":
        _extend_exports(builder, call.args[0])
    elif func.attr == "append":
        _extend_exports(builder, ast.List([call.args[0]], ast.Load()))


def _evaluate(builder: IRBuilder, node: ast.expr) -> list[Export] | None:
    """Return the names in an `__all__` expression, and the modules whose `__all__` it includes.

    Return None if any part is unknown.
    """
    match node:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return _concatenate([_item(builder, item) for item in elts])
        case ast.BinOp(left, ast.Add(), right):
            return _concatenate([_evaluate(builder, summand) for summand in _summands(left, right)])
        case ast.Call(ast.Name(name), [given]) if name in _COPY_FUNCTIONS:
            return _evaluate(builder, given)
        case ast.Name(name):
            return _as_list(_imported_module(builder, name, of=_ALL))
        case ast.Attribute(base, attr) if attr == _ALL:
            return _as_list(_module(builder, base))
    return None


def _summands(*sides: ast.expr) -> list[ast.expr]:
    """Return the operands of nested sums from left to right, without recursion."""
    found: list[ast.expr] = []
    pending = [*reversed(sides)]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Add):
            pending += [operand.right, operand.left]
        else:
            found.append(operand)
    return found


def _item(builder: IRBuilder, item: ast.expr) -> list[Export] | None:
    if isinstance(item, ast.Starred):
        return _evaluate(builder, item.value)
    match item:
        case ast.Constant(str(name)) if is_utf8(name):
            return [name]
    return None


def _concatenate(parts: list[list[Export] | None]) -> list[Export] | None:
    known = [part for part in parts if part is not None]
    return [export for part in known for export in part] if len(known) == len(parts) else None


def _as_list(module: _Module | None) -> list[Export] | None:
    return None if module is None else [module]


def _module(builder: IRBuilder, node: ast.expr) -> _Module | None:
    """Return (level, dotted name) for the module that `a.b` refers to, or None."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    found = _imported_module(builder, node.id) if isinstance(node, ast.Name) else None
    return None if found is None else (found[0], ".".join([found[1], *reversed(attributes)]))


def _imported_module(builder: IRBuilder, name: str, *, of: str = "") -> _Module | None:
    """Return the module imported as `name`, or None.

    If `of` is given, return the module in `from module import of as name`.
    """
    binds = builder.scopes[0].binds.get(name)
    if not binds:  # submodules are attributes of their package
        return (1, name) if not of and builder.path.rpartition("/")[2] == "__init__.py" else None
    bind = binds[-1]
    if bind.kind == ir.IMPORT and not of:
        return 0, bind.term
    if bind.kind != ir.IMPORT_FROM or (of and bind.extra != of):
        return None
    level, module = bind.term
    return level, ".".join(part for part in (module, "" if of else bind.extra) if part)
