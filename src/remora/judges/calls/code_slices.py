"""Calls in straight-line code, each with the statements before it that it needs."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from remora.code.edit.import_edits import Imported
from remora.code.edit.name_binding import (
    bound_names,
    free_names,
    import_statements,
    importable_names,
    root_name,
)
from remora.code.syntax.definitions import ImportNode
from remora.judges.calls.case import CallInput, Source

_LONGEST_CALL = 160
_LONGEST_STATEMENT = 400
_LONGEST_TEXT = 1_200
_MOST_STATEMENTS = 6
_DISPLAYS = frozenset({"print", "pprint", "repr", "display", "breakpoint", "help"})
_SETUP = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.FunctionDef, ast.ClassDef,
    ast.Import, ast.ImportFrom,
)  # fmt: skip


class Wanted(NamedTuple):
    """The called name. `by_name` is true for functions and classes, and false for methods."""

    name: str
    by_name: bool


class Snippet(NamedTuple):
    """Straight-line code. `known` maps the names that it may use to their imports."""

    statements: Sequence[ast.stmt]
    known: Mapping[str, Imported]
    source: Source


def calls_in(snippet: Snippet, wanted: Wanted, most: int) -> Iterator[CallInput]:
    """Yield about `most` calls of the function whose names are all known."""
    seen: set[tuple[str, tuple[str, ...], str]] = set()
    bound = [bound_names(statement) for statement in snippet.statements]
    for number, statement in enumerate(snippet.statements):
        for call in _calls_of(statement, wanted):
            found, shown = _sliced(snippet, bound, number, call), _result(statement, call)
            if found is None or (found.call, found.setup, shown) in seen:
                continue
            seen.add((found.call, found.setup, shown))
            yield msgspec.structs.replace(found, shown=shown)
        if len(seen) >= most:
            return


def _calls_of(statement: ast.stmt, wanted: Wanted) -> Iterator[ast.Call]:
    """Yield the calls in a simple statement that may be calls of the function."""
    if not isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Assert | ast.Return):
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Lambda | ast.comprehension | ast.GeneratorExp | ast.ListComp):
            continue
        if isinstance(node, ast.Call):
            function = node.func.func if isinstance(node.func, ast.Call) else node.func
            if _is_named(function, wanted):  # `f(x)`, or `f(x)(y)` if it returns a function
                yield node
        waiting.extend(ast.iter_child_nodes(node))


def _is_named(function: ast.expr, wanted: Wanted) -> bool:
    """Return True if an expression, such as `add` or `cart.add`, has the function's name."""
    if isinstance(function, ast.Attribute):
        return function.attr == wanted.name
    return wanted.by_name and isinstance(function, ast.Name) and function.id == wanted.name


def _result(statement: ast.stmt, call: ast.Call) -> str:
    """Return the result of a call, or of its items, that an assertion compares it with."""
    match statement:
        case ast.Assert(ast.Compare(left, [ast.Eq() | ast.Is()], [right])):
            is_list = ast.unparse(left) == f"list({ast.unparse(call)})"
            if left is call or is_list:
                return ast.unparse(right)
    return ""


def _sliced(
    snippet: Snippet, bound: Sequence[set[str]], number: int, call: ast.expr
) -> CallInput | None:
    """Return the call with the statements before it, or None if some of its names are unknown."""
    if len(ast.unparse(call)) > _LONGEST_CALL:
        return None
    if isinstance(call, ast.Call) and any(
        isinstance(argument, ast.Starred) for argument in call.args
    ):
        return None
    imports, assigned = {*snippet.known}, set[str]()
    for statement, names in zip(snippet.statements, bound, strict=True):
        (imports if isinstance(statement, ImportNode) else assigned).update(names)
    own = free_names([call], builtin=True) & assigned  # `iter`, if the code assigns it
    before = _Before(snippet, imports - assigned, free_names([call]) | own)
    for n in reversed(range(number)):
        if not before.add(snippet.statements[n], bound[n]):
            return None
    needed = before.needed
    if not needed <= snippet.known.keys() or any(name.startswith("_") for name in needed):
        return None
    if needed & {name for statement in before.setup for name in bound_names(statement)}:
        return None  # in a function, `table = table()` has no value of `table` to call
    return CallInput(
        call=ast.unparse(call),
        setup=tuple(ast.unparse(statement) for statement in reversed(before.setup)),
        imports=(*{**before.imports, **dict.fromkeys(import_statements(needed, snippet.known))},),
        source=snippet.source,
    )


class _Before:
    """The statements that provide the needed names, found from the last to the first."""

    def __init__(self, snippet: Snippet, imported: set[str], needed: set[str]) -> None:
        self.needed = needed
        self.setup: list[ast.stmt] = []
        self.imports: dict[str, None] = {}
        self._snippet = snippet
        self._imported = imported

    def add(self, each: ast.stmt, bound: set[str]) -> bool:
        """Add a statement if it is needed. Return False if it cannot be part of a test."""
        needed = self.needed
        if self._snippet.source == "call" and bound and bound <= self._snippet.known.keys():
            return True  # imported from where it is defined
        if not bound & needed and not _changes(each, needed - self._imported):
            return True
        if not isinstance(each, _SETUP) or _is_long(each):
            return False
        if isinstance(each, ImportNode):
            if any(alias.name == "*" for alias in each.names):
                return False
            own = importable_names(ast.Module([each], []), "", is_package=False)
            self.imports.update(dict.fromkeys(import_statements(bound & needed, own)))
        else:
            self.setup.append(each)
            needed |= free_names([each])
        if not isinstance(each, ast.AugAssign | ast.Expr):
            needed -= bound - _read_by(each)
        return len(self.setup) <= _MOST_STATEMENTS


def _is_long(statement: ast.stmt) -> bool:
    is_text = isinstance(getattr(statement, "value", None), ast.Constant)
    return len(ast.unparse(statement)) > (_LONGEST_TEXT if is_text else _LONGEST_STATEMENT)


def _read_by(statement: ast.stmt) -> set[str]:
    return free_names([statement]) if isinstance(statement, ast.Assign | ast.AnnAssign) else set()


def _changes(statement: ast.stmt, names: set[str]) -> bool:
    """Return True if the statement calls a method of one of the objects or assigns to its parts."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as function)):
            return root_name(function) in names
        case ast.Expr(value=ast.Call(func=function, args=args)):
            roots = {root_name(argument) for argument in args}
            return root_name(function) not in _DISPLAYS and bool(roots & names)
        case ast.Assign(targets=targets):
            return any(
                isinstance(target, ast.Attribute | ast.Subscript) and root_name(target) in names
                for target in targets
            )
        case ast.AugAssign(target=target):
            return root_name(target) in names
    return False
