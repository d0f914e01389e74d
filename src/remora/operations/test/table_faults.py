"""Faults in the tables and patterns of a module that a function reads.

    UNITS = {"s": 1, "m": 60}            def seconds(text):
                                             UNITS = {"s": 1}
    def seconds(text):                       return int(text[:-1]) * UNITS[text[-1]]
        return int(text[:-1]) * UNITS[text[-1]]

The function on the right has such a fault. It is an assignment within the function, so it can be
planted like the faults of its own code.
"""

import ast
import copy
import re
from collections.abc import Iterator
from itertools import islice

from remora.code.syntax.definitions import FunctionNode, assigned_values
from remora.operations.test.fault_kinds import assign_first

_MOST_FAULTS = 120
"""Faults of one table or pattern (decision); in larger ones, not all entries could be tried."""
_PIECE = re.compile(r"\\?.", re.DOTALL)
"""A character of a pattern, or an escaped one, which is taken out as a whole."""
_TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CONVERTING = frozenset({"dict", "frozenset", "list", "set", "tuple"})


def table_faults(module: ast.Module, function: FunctionNode) -> list[FunctionNode] | None:
    """Return copies of a function that read another table or pattern.

    Return None if the function reads one in which not each entry can be another one.
    """
    made = list[FunctionNode]()
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for name, value in assigned_values(module.body):
        if name in used and _holds_data(value):
            if not _is_literal(value):
                return None
            faults = [*islice(_faults_in(value), _MOST_FAULTS + 1)]
            if len(faults) > _MOST_FAULTS:
                return None
            made += [_with_first(function, name, fault) for fault in faults]
    if any(map(_is_unknown_pattern, ast.walk(function))):
        return None
    return [*made, *_pattern_faults(function)]


def _holds_data(value: ast.expr) -> bool:
    """Return True for a collection with entries, and for a call that is given data."""
    if isinstance(value, _TABLES):
        return any(isinstance(part, ast.expr) for part in ast.iter_child_nodes(value))
    is_call = isinstance(value, ast.Call)
    return is_call and any(isinstance(part, ast.Constant) for part in ast.walk(value))


def _is_literal(value: ast.expr) -> bool:
    """Return True if all that a variable holds is written where it is assigned."""
    match value:
        case ast.Call(func=ast.Name(id=name), args=[ast.expr() as given], keywords=[]):
            return name in _CONVERTING and isinstance(given, _TABLES) and _is_literal(given)
        case ast.Call():
            return _pattern_of(value) is not None
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return all(_is_entry(part.iter) for part in value.generators)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_entry(key) for key in keys) and all(
                map(_is_entry, values)
            )
        case ast.List(elts=entries) | ast.Tuple(elts=entries) | ast.Set(elts=entries):
            return all(map(_is_entry, entries))
    return False


def _is_entry(entry: ast.expr) -> bool:
    """Return True for constants, what calls make of them, and collections of these."""
    match entry:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Call(args=[_, *_] as given):
            return all(isinstance(part, ast.Constant) for part in given)
    return _is_literal(entry)


def _is_unknown_pattern(node: ast.AST) -> bool:
    """Return True for a call of `re` with a pattern that is not written there."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)):
            return name != "escape" and _pattern_of(node) is None
    return False


def _faults_in(value: ast.expr) -> Iterator[ast.expr]:
    """Yield copies of a collection or pattern that each differ in one entry."""
    for node in ast.walk(value):
        for other in _other_patterns(node) or _other_entries(node):
            yield copy.deepcopy(value, {id(node): other})


def _other_entries(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for at in range(len(keys)):
                yield ast.Dict(keys[:at] + keys[at + 1 :], values[:at] + values[at + 1 :])
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=str(value)):
            yield ast.Constant(f"{value}?")
        case ast.Constant(value=bytes(value)):
            yield ast.Constant(value + b"?")
        case ast.Constant(value=int(number) | float(number)):
            yield ast.Constant(number + 1)


def _pattern_of(node: ast.AST) -> str | None:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re")), args=[ast.Constant(value=str(text)), *_]
        ):
            return text
    return None


def _other_patterns(node: ast.AST) -> list[ast.Call]:
    """Return calls with a pattern that lacks one of its characters, if that is a pattern, too."""
    pattern, found = _pattern_of(node), list[ast.Call]()
    for piece in _PIECE.finditer(pattern or ""):
        other = (pattern or "")[: piece.start()] + (pattern or "")[piece.end() :]
        try:
            re.compile(other)
        except (re.error, OverflowError, RecursionError):
            continue
        assert isinstance(node, ast.Call)
        found.append(ast.Call(node.func, [ast.Constant(other), *node.args[1:]], node.keywords))
    return found


def _with_first(function: FunctionNode, name: str, value: ast.expr) -> FunctionNode:
    made = assign_first(name, value)(copy.deepcopy(function))
    assert isinstance(made, FunctionNode)
    return made


def _pattern_faults(function: FunctionNode) -> Iterator[FunctionNode]:
    """Yield copies of a function with another text for one of its own patterns."""
    for node in ast.walk(function):
        for other in _other_patterns(node):
            yield copy.deepcopy(function, {id(node): other})
