"""Mutants of a function. A mutant is a copy of the function with one planted fault."""

import ast
import copy
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from remora.code.syntax.definitions import FunctionNode, assigned_values, find_definitions
from remora.code.syntax.hidden_uses import names_in
from remora.code.syntax.source import Source, parse_text, read_source
from remora.code.syntax.spans import without_docstring
from remora.judges.faults.fault_kinds import FaultKind, ignored_options, node_faults, with_fields
from remora.python_text import parse

MAX_MUTANTS = 20
_DATA = (ast.Call, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_OF_OTHERS = re.compile(
    r"(not )?(?:(?:[\w.]+_)?(?i:win(?:dows|32)?)"
    r"|(?:sys\.platform|os\.name|platform\.system\(\))(?: (==|!=) |\.startswith\()"
    rf"'(?i:win\w*|nt|cygwin|{'linux' if sys.platform == 'darwin' else 'darwin'})'\)?)"
)
"""A condition such as `not IS_WINDOWS` or `sys.platform == 'win32'`, about a platform that is not this one."""
_T = TypeVar("_T")
_Fault = tuple[FaultKind, ast.AST, int, str, ast.AST]
"""A fault's kind, node, line, description and replacement of the node."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant."""

    what: str
    """The description of the fault."""
    kind: FaultKind
    line: int
    function: str
    """The source of the function alone, within its classes and without comments."""

    @property
    def description(self) -> str:
        return f"line {self.line}: {self.what}"


def mutants(
    source: bytes,
    qualname: str,
    most: int = MAX_MUTANTS,
    *,
    is_wanted: Callable[[FaultKind, int], bool] = lambda _kind, _line: True,
) -> list[Mutant]:
    """Return at most `most` mutants in source order, chosen from each kind of fault in turn.

    `is_wanted` chooses kinds of faults and lines. All mutants parse, and no two mutants have the
    same syntax tree. Return an empty list if the function does not exist.
    """
    tree, function = find_function(source, qualname)
    if function is None:
        return []
    chosen: list[Mutant] = []
    seen = {ast.dump(function)}
    for kind, node, line, what, replacement in _round_robin(_faults_by_kind(function)):
        if len(chosen) == most:
            break
        if not is_wanted(kind, line):
            continue
        faulty = _replaced(function, node, replacement)
        dumped = ast.dump(faulty)
        if dumped in seen:
            continue
        if text := _alone(tree, faulty, qualname):
            seen.add(dumped)
            chosen.append(Mutant(what=what, kind=kind, line=line, function=text))
    return sorted(chosen, key=lambda mutant: mutant.line)


def _faults_by_kind(function: FunctionNode) -> list[list[_Fault]]:
    """Return the faults of each kind."""
    by_kind: dict[FaultKind, list[_Fault]] = {}
    for node in _mutable_nodes(function):
        line = getattr(node, "lineno", function.lineno)
        faults = ignored_options(function) if node is function else node_faults(node)
        for kind, what, replacement in faults:
            by_kind.setdefault(kind, []).append((kind, node, line, what, replacement))
    return list(by_kind.values())


def reads_data(source: bytes, qualname: str) -> bool:
    """Return True if a function reads a collection or a call's result of its module, or a pattern.

    A difference in an entry of it is not a fault of the function's own code.
    """
    tree, function = find_function(source, qualname)
    if function is None:
        return False
    used = names_in(function)
    data = {name for name, value in assigned_values(tree.body) if isinstance(value, _DATA)}
    return "re" in used or not used.isdisjoint(data)


PROBE = "__remora_called__"
"""Name of the builtin function that a probe calls."""


def probe(tree: ast.Module, function: FunctionNode, qualname: str, number: int) -> str:
    """Return the source of a function that reports each call with a number, within its classes.

    Return an empty string if it cannot be written.
    """
    reporting = copy.deepcopy(function)
    call = ast.Expr(ast.Call(ast.Name(PROBE), [ast.Constant(number)], []))
    reporting.body = [call, *without_docstring(reporting.body)]
    return _alone(tree, reporting, qualname)


def _alone(tree: ast.Module, faulty: FunctionNode, qualname: str) -> str:
    """Return the source of a mutant within its classes, or an empty string if it is invalid."""
    nested: ast.stmt = faulty
    for name in reversed(qualname.split(".")[:-1]):
        # parsed, because the fields of a class differ between Pythons
        (around,) = parse(f"class {name}: ...").body
        assert isinstance(around, ast.ClassDef)
        around.body = [nested]
        nested = around
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    future: list[ast.stmt] = [node for node in imports if node.module == "__future__"]
    return _unparse(ast.Module(body=[*future, nested], type_ignores=[]))


def _unparse(tree: ast.AST) -> str:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, RecursionError):
        return ""
    return text if isinstance(parse_text(text), ast.Module) else ""


def find_function(content: bytes, qualname: str) -> tuple[ast.Module, FunctionNode | None]:
    """Return the syntax tree of a file, which is empty if it cannot be read, and a function in it."""
    source = read_source("", content)
    tree = source.tree if isinstance(source, Source) else ast.Module([], [])
    return tree, function_named(tree, qualname)


def function_named(tree: ast.Module, qualname: str) -> FunctionNode | None:
    for definition in find_definitions(tree, ""):
        if definition.qualname == qualname and isinstance(definition.node, FunctionNode):
            return definition.node
    return None


def _replaced(part: Any, node: ast.AST, replacement: ast.AST) -> Any:
    """Return a copy of a part of a syntax tree in which a node is replaced."""
    if part is node:
        return replacement
    if isinstance(part, list):
        return [_replaced(item, node, replacement) for item in part]
    if not isinstance(part, ast.AST):
        return part
    fields = ast.iter_fields(part)
    return with_fields(
        part, **{name: _replaced(value, node, replacement) for name, value in fields}
    )


def _round_robin(lists: list[list[_T]]) -> Iterator[_T]:
    """Yield the first item of each list, then the second, and so on."""
    for index in range(max(map(len, lists), default=0)):
        yield from (items[index] for items in lists if index < len(items))


def _mutable_nodes(function: FunctionNode) -> list[ast.AST]:
    """Return the function and the nodes in its body, in source order.

    The docstring is skipped, and so are types, what only another platform runs, and everything inside
    f-strings, `raise` statements, lambdas and nested classes.
    """
    found: list[ast.AST] = [function]
    foreign = foreign_lines(function.body)
    waiting: list[ast.AST] = list(reversed(without_docstring(function.body)))
    while waiting:
        node = waiting.pop()
        if getattr(node, "lineno", 0) not in foreign:
            found.append(node)
        if isinstance(node, FunctionNode):
            waiting.extend(reversed(without_docstring(node.body)))
        elif not isinstance(node, ast.ClassDef | ast.Lambda | ast.JoinedStr | ast.Raise):
            waiting.extend(reversed(_parts(node)))
    return found


def foreign_lines(body: Sequence[ast.stmt]) -> set[int]:
    """Return the lines of what only another platform runs, where its tests are not skipped.

    It is in a branch such as `if sys.platform == "win32":`, or follows one that leaves here. The
    lines of the conditions are among them.
    """
    lines = set[int]()
    for number, statement in enumerate(body):
        checks = isinstance(statement, ast.If) and _OF_OTHERS.fullmatch(ast.unparse(statement.test))
        if isinstance(statement, ast.If) and checks:
            is_here = bool(checks[1]) is not (checks[2] == "!=")
            runs, skips = (statement.body, statement.orelse)[:: 1 if is_here else -1]
            leaves = bool(runs) and isinstance(runs[-1], ast.Return | ast.Raise)
            others: list[ast.stmt | ast.expr] = [statement.test, *skips]
            for part in [*others, *body[number + 1 :]] if leaves else others:
                lines |= {*range(part.lineno, (part.end_lineno or 0) + 1)}
        for name in ("body", "orelse", "finalbody"):
            lines |= foreign_lines(getattr(statement, name, ()))
    return lines


def _parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that are evaluated: no annotation, and no type of a `cast`."""
    parts = list(ast.iter_child_nodes(node))
    match node:
        case ast.AnnAssign(annotation=annotation):
            return [part for part in parts if part is not annotation]
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast"), args=[kind, _]):
            return [part for part in parts if part is not kind]
    return parts
