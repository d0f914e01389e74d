"""Evaluation of a module's `__all__`."""

import ast

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.model import IMPORT, IMPORT_FROM, MODULE_SCOPE, Export
from remora.text import is_utf8

_Module = tuple[int, str]
_NAME = "__all__"
_COPY_FUNCTIONS = frozenset(("list", "tuple", "sorted", "set"))


def is_dunder_all(builder: IRBuilder, target: ast.expr) -> bool:
    """Return True if `target` is the module's `__all__`."""
    named = isinstance(target, ast.Name) and target.id == _NAME
    return named and builder.scope.kind == MODULE_SCOPE


def assign_exports(builder: IRBuilder, value: ast.expr) -> None:
    builder.exports = _evaluate(builder, value)


def extend_exports(builder: IRBuilder, value: ast.expr) -> None:
    """Record `__all__ += value`. If the value cannot be evaluated, `__all__` becomes unknown."""
    more = _evaluate(builder, value)
    builder.exports = None if builder.exports is None or more is None else builder.exports + more


def extend_exports_by_call(builder: IRBuilder, call: ast.Call) -> None:
    """Record `__all__.append(value)` and `__all__.extend(value)`."""
    func = call.func
    if (
        not isinstance(func, ast.Attribute)
        or not call.args
        or not is_dunder_all(builder, func.value)
    ):
        return
    if func.attr == "extend":
        extend_exports(builder, call.args[0])
    elif func.attr == "append":
        extend_exports(builder, ast.List([call.args[0]], ast.Load()))


def _evaluate(builder: IRBuilder, node: ast.expr) -> list[Export] | None:
    """Return the names in an `__all__` expression, and the modules whose `__all__` it includes.

    Return None if any part is unknown.
    """
    match node:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return _concatenate([_item(builder, item) for item in elts])
        case ast.BinOp(left, ast.Add(), right):
            return _concatenate([_evaluate(builder, each) for each in _summands(left, right)])
        case ast.Call(ast.Name(name), [given]) if name in _COPY_FUNCTIONS:
            return _evaluate(builder, given)
        case ast.Name(name):
            return _as_list(_imported_module(builder, name, of=_NAME))
        case ast.Attribute(base, attr) if attr == _NAME:
            return _as_list(_module(builder, base))
    return None


def _summands(*sides: ast.expr) -> list[ast.expr]:
    """Return the operands of nested sums from left to right, without recursion."""
    found: list[ast.expr] = []
    pending = [*reversed(sides)]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
            pending += [each.right, each.left]
        else:
            found.append(each)
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
    return [each for part in known for each in part] if len(known) == len(parts) else None


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
    if bind.kind == IMPORT and not of:
        return 0, bind.term
    if bind.kind != IMPORT_FROM or (of and bind.extra != of):
        return None
    level, module = bind.term
    return level, ".".join(part for part in (module, "" if of else bind.extra) if part)
