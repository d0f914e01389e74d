"""What a module says that `import *` of it gives: its `__all__`."""

import ast

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.model import IMPORT, IMPORT_FROM, MODULE_SCOPE, Export

_Module = tuple[int, str]
_NAME = "__all__"
_COPYING = frozenset(("list", "tuple", "sorted", "set"))


def is_dunder_all(to: IRBuilder, target: ast.expr) -> bool:
    """Whether it is the `__all__` of the module."""
    named = isinstance(target, ast.Name) and target.id == _NAME
    return named and to.scope.kind == MODULE_SCOPE


def assign_exports(to: IRBuilder, value: ast.expr) -> None:
    """`__all__ = value`."""
    to.exports = _read(to, value)


def extend_exports(to: IRBuilder, value: ast.expr) -> None:
    """`__all__ += value`; where it cannot be read, nothing is known of the whole."""
    more = _read(to, value)
    to.exports = None if to.exports is None or more is None else to.exports + more


def extend_exports_by_call(to: IRBuilder, call: ast.Call) -> None:
    """`__all__.append(value)` or `__all__.extend(value)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not call.args or not is_dunder_all(to, func.value):
        return
    if func.attr == "extend":
        extend_exports(to, call.args[0])
    elif func.attr == "append":
        extend_exports(to, ast.List([call.args[0]], ast.Load()))


def _read(to: IRBuilder, node: ast.expr) -> list[Export] | None:
    """Names, and modules whose `__all__` is meant; null if any of it is made otherwise."""
    match node:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return _joined([_item(to, item) for item in elts])
        case ast.BinOp(left, ast.Add(), right):
            return _joined([_read(to, each) for each in _summands(left, right)])
        case ast.Call(ast.Name(name), [given]) if name in _COPYING:
            return _read(to, given)
        case ast.Name(name):
            return _of(_imported(to, name, of=_NAME))
        case ast.Attribute(base, attr) if attr == _NAME:
            return _of(_module(to, base))
    return None


def _summands(*sides: ast.expr) -> list[ast.expr]:
    """From left to right; without recursion, because programs write sums of thousands."""
    found: list[ast.expr] = []
    waiting = [*reversed(sides)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
            waiting += [each.right, each.left]
        else:
            found.append(each)
    return found


def _item(to: IRBuilder, item: ast.expr) -> list[Export] | None:
    if isinstance(item, ast.Starred):
        return _read(to, item.value)
    return [item.value] if isinstance(item, ast.Constant) and isinstance(item.value, str) else None


def _joined(parts: list[list[Export] | None]) -> list[Export] | None:
    known = [part for part in parts if part is not None]
    return [each for part in known for each in part] if len(known) == len(parts) else None


def _of(module: _Module | None) -> list[Export] | None:
    return None if module is None else [module]


def _module(to: IRBuilder, node: ast.expr) -> _Module | None:
    """The module that `a.b` is, as an import would name it."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    found = _imported(to, node.id) if isinstance(node, ast.Name) else None
    return None if found is None else (found[0], ".".join([found[1], *reversed(attributes)]))


def _imported(to: IRBuilder, name: str, *, of: str = "") -> _Module | None:
    """The module that is imported as `name`, or of which `of` is."""
    binds = to.scopes[0].binds.get(name)
    if not binds:  # a package has its modules as attributes
        return (1, name) if not of and to.path.rpartition("/")[2] == "__init__.py" else None
    bind = binds[-1]
    if bind.kind == IMPORT and not of:
        return 0, bind.term
    if bind.kind != IMPORT_FROM or (of and bind.extra != of):
        return None
    level, module = bind.term
    return level, ".".join(part for part in (module, "" if of else bind.extra) if part)
