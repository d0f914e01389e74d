"""Recipes that give variables of a function another name: PLW2901 and E741."""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Sequence

from remora.code.edit.edits import Edit
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    changed_statements,
)
from remora.operations.word_forms import singular
from remora.tools.host.ruff.finding import Finding

_CONVERSION = re.compile(
    r"(?:strip|lstrip|rstrip|decode|encode|lower|upper|replace|split|rsplit|splitlines|partition|"
    r"casefold|removeprefix|removesuffix|int|float|str|bytes|list|tuple|set|dict|Path|Decimal|"
    r"literal_eval|\w*(?:parse|loads?|convert|normali[sz]e|clean|quote|escape|sanitize|coerce|"
    r"abspath|realpath|normpath|expanduser|text|unicode)\w*)"
)
_REFLECTION = ("locals", "vars", "eval", "exec", "globals", "dir")
_LEAST = 3
_AMBIGUOUS = "l"
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_LINES = re.compile(r"(?:lines|readlines|splitlines)$")


def name_raw_value(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """PLW2901: give the loop variable a name of its own, if the loop converts it first."""
    around = source.enclosing(source.position(finding["line"], finding["column"]))
    function = _function(around)
    loop = next((node for node in reversed(around) if isinstance(node, ast.For)), None)
    if function is None or loop is None or around[-2] not in loop.body:
        return None
    match around[-2]:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_converted(value, name):
            above: list[ast.AST] = [*loop.body[: loop.body.index(around[-2])]]
        case _:
            return None
    targets = [node for node in _names(loop.target, name) if isinstance(node.ctx, ast.Store)]
    uses = [node for part in (*above, value) for node in _names(part, name)]
    new = f"raw_{name}"
    is_only_read = all(isinstance(node.ctx, ast.Load) for node in uses)
    if (
        len(name) < _LEAST
        or len(targets) != 1
        or not is_only_read
        or _is_used_outside(function, loop, name)
        or _binds_inside([*above, value], name)
        or _names(loop.iter, name)
        or not _can_rename(source, function, name, new)
    ):
        return None
    return RecipeFix(tuple(_renamed(source, [*targets, *uses], new)))


def _is_converted(value: ast.expr, name: str) -> bool:
    """Return True if a value is made from a variable by a call that converts it."""
    match value:
        case ast.Call(func=ast.Attribute(attr=called)) | ast.Call(func=ast.Name(id=called)):
            return bool(_CONVERSION.fullmatch(called)) and len(_names(value, name)) == 1
    return False


def _is_used_outside(function: _Function, loop: ast.For, name: str) -> bool:
    inside = {id(node) for node in ast.walk(loop)}
    return any(id(node) not in inside for node in _names(function, name))


def rename_ambiguous(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """E741: give a variable named `l` the name of what it is taken from."""
    at = source.position(finding["line"], finding["column"])
    around = source.enclosing(at)
    function = _function(around)
    if function is None or source.body[at : at + 1] != _AMBIGUOUS:
        return None
    scope: ast.AST = function
    comprehension = next(
        (node for node in reversed(around) if isinstance(node, _Comprehension)), None
    )
    if comprehension is not None:
        if not any(_names(each.target, _AMBIGUOUS) for each in comprehension.generators):
            return None
        scope = comprehension
    names = _names(scope, _AMBIGUOUS)
    new = _name_for(scope, _AMBIGUOUS)
    inner = [
        node
        for node in ast.walk(scope)
        if node is not scope
        and isinstance(node, _Comprehension | ast.Lambda | _Function | ast.ClassDef)
        and (_names(node, _AMBIGUOUS) or _arguments(node, _AMBIGUOUS))
    ]
    if new is None or _arguments(scope, _AMBIGUOUS) or inner:
        return None
    if comprehension is not None and _names(comprehension.generators[0].iter, _AMBIGUOUS):
        return None
    if not _can_rename(source, function, _AMBIGUOUS, new):
        return None
    return RecipeFix(tuple(_renamed(source, names, new)))


def _name_for(scope: ast.AST, name: str) -> str | None:
    """Return the name that all bindings of a variable suggest, or None."""
    found: list[str | None] = []
    for node in ast.walk(scope):
        match node:
            case (
                ast.For(target=ast.Name(id=bound), iter=iterated)
                | ast.comprehension(target=ast.Name(id=bound), iter=iterated)
            ) if bound == name:
                found.append(_singular(iterated))
            case ast.Assign(
                targets=[ast.Name(id=bound)], value=ast.Call(func=ast.Name(id="len"))
            ) if bound == name:
                found.append("length")
    bindings = sum(isinstance(node.ctx, ast.Store) for node in _names(scope, name))
    return found[0] if len(found) == bindings and len(set(found)) == 1 else None


def _singular(iterated: ast.expr) -> str | None:
    """Return the name of an item of what is iterated over, or None."""
    match iterated:
        case ast.Call(func=ast.Name(id="sorted" | "reversed" | "list" | "set"), args=[inner, *_]):
            return _singular(inner)
        case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(value="\n")]):
            return "line"
        case ast.Call(func=ast.Attribute(attr=plural)) if _LINES.search(plural):
            return "line"
        case ast.Name(id=plural) | ast.Attribute(attr=plural):
            return _item_name(plural.lower().rpartition("_")[2])
    return None


def _item_name(word: str) -> str | None:
    one = singular(word)
    return None if one is None or keyword.iskeyword(one) or hasattr(builtins, one) else one


def _function(around: Sequence[ast.AST]) -> _Function | None:
    """Return the innermost function around a node. A class or lambda in between gives None."""
    for node in reversed(around):
        if isinstance(node, _Function):
            return node
        if isinstance(node, ast.ClassDef | ast.Lambda):
            return None
    return None


def _names(scope: ast.AST, name: str) -> list[ast.Name]:
    return [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]


def _arguments(scope: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(scope))


def _binds_inside(nodes: Sequence[ast.AST], name: str) -> bool:
    """Return True if a lambda, function or comprehension in some nodes uses a name."""
    return any(
        _names(inner, name) or _arguments(inner, name)
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, _Comprehension | ast.Lambda | _Function | ast.ClassDef)
    )


def _can_rename(source: PythonSource, function: _Function, name: str, new: str) -> bool:
    """Return True if a variable belongs to a function, and the new name is not used in the file."""
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return False
        if isinstance(node, ast.Name) and node.id in _REFLECTION:
            return False
    return new not in source.once(_all_names)


def _all_names(source: PythonSource) -> frozenset[str]:
    """Return all identifiers of a file."""
    return frozenset(re.findall(r"[^\W\d]\w*", source.body))


def _renamed(source: PythonSource, names: Sequence[ast.Name], new: str) -> Iterator[Edit]:
    for node in names:
        start, stop = source.span(node)
        yield Edit(start, stop, new)


def _keeps(before: PythonSource, after: PythonSource) -> bool:
    """Return True if two versions differ only in names that the first one does not have."""
    known = before.once(_all_names)
    return all(
        _same_but_new_names(old, new, known) for old, new in changed_statements(before, after)
    )


def _same_but_new_names(
    old: Sequence[ast.stmt], new: Sequence[ast.stmt], known: frozenset[str]
) -> bool:
    pairs = zip(_walk(old), _walk(new), strict=False)
    for one, other in pairs:
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id != other.id:
            if other.id in known:
                return False
            other.id = one.id
    return [*map(ast.dump, old)] == [*map(ast.dump, new)]


def _walk(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    return (node for statement in statements for node in ast.walk(statement))


RAW_VALUES = Recipe(codes=("PLW2901",), fix=name_raw_value, keeps=_keeps)
AMBIGUOUS_NAMES = Recipe(codes=("E741",), fix=rename_ambiguous, keeps=_keeps)
