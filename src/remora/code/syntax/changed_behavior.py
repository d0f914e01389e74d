"""Compares two versions of a file, and names what may make it behave in another way.

An edit that only was to remove a linter's finding may also remove a branch, catch other exceptions
or change a default. Of this function:

    def read(path, limit=10):
        try:
            return open(path).read(limit)
        except OSError:
            return ""

a version with `limit=None` and `except Exception` has two such changes. Both are found by comparing
syntax trees, function by function, so layout, comments and docstrings do not count.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

import msgspec

from remora.code.syntax.definitions import (
    BLOCK_FIELDS,
    DEFINITIONS,
    DefinitionNode,
    FunctionNode,
    assigned_values,
    default_values,
    find_definitions,
)
from remora.code.syntax.signature import docstring_text, signature
from remora.ids import MODULE, node_key, split_node_key
from remora.text import clip

_SHOWN = 60
"""Characters of code that a text quotes."""
_EXCEPT = "except"
_ASSERT = "Assert"
_NAMED = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.match_case, ast.Return,
    ast.Raise, ast.Assert,
)  # fmt: skip
"""Statements whose removal is named."""
_BINDING = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


How = Literal["gone", "signature", "code", "new", "named"]
"""How a definition changed; `named` asks what a change of it would concern."""


class _Part(NamedTuple):
    """A branch, a clause, a `return`, a `raise` or an `assert`, without its body."""

    kind: str
    text: str
    line: int


class ChangedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A definition that a change concerns itself. A new one has no callers yet."""

    key: str
    line: int
    how: How
    what: tuple[str, ...] = ()
    """What has changed, in words."""
    before: DefinitionNode | None = None
    after: DefinitionNode | None = None

    @property
    def name(self) -> str:
        """The last part of the qualname, or the class of a constructor."""
        parts = [part.partition("#")[0] for part in split_node_key(self.key)[1].split(".")]
        return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def changed_behavior(before: ast.Module, after: ast.Module) -> dict[str, list[str]]:
    """Return the changes of each function, class and module whose code differs, by qualname.

    Those that `after` lacks are included, and those that only `after` has are not. The list is
    empty if no clause, default or branch is affected. A text names a line of `after`, or says that
    the line is one of `before`.
    """
    old, new = _scopes(before), _scopes(after)
    found: dict[str, list[str]] = {}
    try:
        for name, scope in old.items():
            if name not in new:
                found[name] = [
                    f"`{name}`, which was in line {getattr(scope, 'lineno', 1)}, is gone"
                ]
            elif [*_code(scope)] != [*_code(new[name])]:
                found[name] = [*_changes(scope, new[name])]
    except RecursionError:
        return {}
    return found


def changed_nodes(path: str, before: ast.Module, after: ast.Module) -> Iterator[ChangedNode]:
    """Yield the definitions of a Python file that a change adds, removes or changes.

    Comments, docstrings and layout do not count.
    """
    was = {inner.qualname: inner.node for inner in find_definitions(before, path)}
    now = {inner.qualname: inner.node for inner in find_definitions(after, path)}
    for name, texts in changed_behavior(before, after).items():
        key, owner = node_key(path, name), name.rpartition(".")[0]
        if name in was and name in now:
            yield from _differences(key, was[name], now[name], texts)
        elif name in was and owner in {"", *now}:
            is_bound = was[name].name in _bound_names(now.get(owner, after))
            how: How = "code" if is_bound else "gone"
            yield ChangedNode(key=key, line=1, how=how, what=("gone",), before=was[name])
    for name, node in now.items():
        if name not in was and name.rpartition(".")[0] in {"", *was}:
            yield ChangedNode(key=node_key(path, name), line=node.lineno, how="new", after=node)
    old, new = constants_of(before), constants_of(after)
    for name in old.keys() & new.keys():
        if ast.dump(old[name]) != ast.dump(new[name]):
            what = " → ".join(clip(ast.unparse(side[name]), _SHOWN) for side in (old, new))
            key, line = node_key(path, name), new[name].lineno
            yield ChangedNode(key=key, line=line, how="code", what=(what,))


def lost_guards(before: ast.Module, after: ast.Module) -> list[str]:
    """Return the guards that functions and classes had, and that stand nowhere in `after`.

    A guard is like `if count < 1: raise ValueError(count)`; what the exception is told is left out.
    What is gone as a whole, like a function, lost none.
    """
    old, new = _scopes(before), _scopes(after)
    there = {guard for scope in new.values() for guard in _guards(scope)}
    lost = ((name, guard) for name in old if name in new for guard in _guards(old[name]))
    return [f"{name} `{clip(guard, _SHOWN)}`" for name, guard in lost if guard not in there]


def _guards(scope: ast.Module | DefinitionNode) -> Iterator[str]:
    for _, statement in _statements(scope):
        match statement:
            case ast.If(test=test, body=[*_, ast.Raise(exc=ast.expr() as error)]):
                kind = error.func if isinstance(error, ast.Call) else error
                yield f"if {ast.unparse(test)}: raise {ast.unparse(kind)}"


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values that a module and its classes assign, by qualname."""
    found = dict(assigned_values(tree.body))
    for inner in find_definitions(tree, ""):
        values = assigned_values(inner.node.body if isinstance(inner.node, ast.ClassDef) else ())
        found |= {f"{inner.qualname}.{name}": value for name, value in values}
    return found


def _differences(
    key: str, before: DefinitionNode, after: DefinitionNode, texts: Sequence[str]
) -> Iterator[ChangedNode]:
    """Yield a definition, unless it is a class of which only methods differ: they are nodes."""
    if _own(before) == _own(after):
        return
    is_other = _definition_header(before) != _definition_header(after)
    said = [f"{signature(before)} → {signature(after)}"] if is_other else []
    said += [text for text in texts if not is_other or "parameter" not in text]
    how: How = "signature" if is_other else "code"
    yield ChangedNode(
        key=key, line=after.lineno, how=how, what=tuple(said), before=before, after=after
    )


def _own(node: DefinitionNode) -> list[str]:
    """Return the code of a definition, and of a class without its methods and inner classes."""
    is_class = isinstance(node, ast.ClassDef)
    kept = [part for part in node.body if not (is_class and isinstance(part, DEFINITIONS))]
    shown = [*node.decorator_list, *kept[docstring_text(node.body) is not None :]]
    return [_definition_header(node), *map(ast.dump, shown)]


def _definition_header(node: DefinitionNode) -> str:
    if isinstance(node, ast.ClassDef):
        return ",".join(map(ast.dump, [*node.bases, *node.keywords]))
    return f"{type(node).__name__} {ast.dump(node.args)}"


def _scopes(tree: ast.Module) -> Mapping[str, ast.Module | DefinitionNode]:
    definitions = find_definitions(tree, "")
    return {MODULE: tree, **{definition.qualname: definition.node for definition in definitions}}


def _bound_names(scope: ast.Module | DefinitionNode) -> set[str]:
    """Return the names that a scope defines, assigns or imports."""
    statements = [statement for _, statement in _statements(scope)]
    parts = [
        part for inner in statements if isinstance(inner, _BINDING) for part in ast.walk(inner)
    ]
    return {
        *(inner.name for inner in statements if isinstance(inner, DEFINITIONS)),
        *(part.asname or part.name for part in parts if isinstance(part, ast.alias)),
        *(p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)),
    }


def _statements(
    scope: ast.Module | DefinitionNode,
) -> Iterator[tuple[int, ast.stmt | ast.excepthandler | ast.match_case]]:
    """Yield the statements of a scope with their depth, without those of inner definitions."""
    body = scope.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    waiting = [(0, statement) for statement in reversed(body)]
    while waiting:
        depth, statement = waiting.pop()
        yield depth, statement
        if not isinstance(statement, DEFINITIONS):
            inner = [
                (depth + 1, child)
                for field in BLOCK_FIELDS.get(type(statement), ())
                for child in getattr(statement, field)
            ]
            waiting += reversed(inner)


def _code(scope: ast.Module | DefinitionNode) -> Iterator[object]:
    """Yield values that are equal for equal code."""
    if not isinstance(scope, ast.Module):
        yield _header(scope, but=("body",))
    for depth, statement in _statements(scope):
        if isinstance(statement, DEFINITIONS):
            yield depth, statement.name
        else:
            blocks = BLOCK_FIELDS.get(type(statement), ())
            sizes = [len(getattr(statement, field)) for field in blocks]
            yield depth, sizes, _header(statement, but=blocks)


def _header(node: ast.AST, but: Sequence[str]) -> list[str]:
    fields = [value for name, value in ast.iter_fields(node) if name not in but]
    return [type(node).__name__, *map(_dump, fields)]


def _dump(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_dump, value))
    return ast.dump(value) if isinstance(value, ast.AST) else repr(value)


def _changes(
    before: ast.Module | DefinitionNode, after: ast.Module | DefinitionNode
) -> Iterator[str]:
    if isinstance(before, FunctionNode) and isinstance(after, FunctionNode):
        yield from _parameter_changes(before, after)
    old, new = [*_parts(before)], [*_parts(after)]
    for kind in dict.fromkeys(part.kind for part in [*old, *new]):
        paired, gone, added = _matched(
            *([p for p in parts if p.kind == kind] for parts in (old, new))
        )
        if kind in (_EXCEPT, _ASSERT):
            for was, part in paired:
                yield f"line {part.line}: {was.text} is {part.text} now"
        if kind == _EXCEPT:
            yield from (f"line {part.line}: {part.text} is new" for part in added)
        yield from (f"{part.text}, which was in line {part.line}, is gone" for part in gone)


def _parameter_changes(before: FunctionNode, after: FunctionNode) -> Iterator[str]:
    old, new = dict(default_values(before.args)), dict(default_values(after.args))
    names = [[*_parameters(function.args)] for function in (before, after)]
    for name in names[0]:
        was, now = (_text(values[name]) if name in values else "" for values in (old, new))
        if name not in names[1]:
            yield f"line {after.lineno}: the parameter `{name}` is gone"
        elif was and not now:
            yield f"line {after.lineno}: `{name}` has no default any more"
        elif was and was != now:
            yield f"line {new[name].lineno}: the default of `{name}` was {was} and is {now} now"


def _parameters(args: ast.arguments) -> Iterator[str]:
    named = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    yield from (parameter.arg for parameter in named if parameter is not None)


def _parts(scope: ast.Module | DefinitionNode) -> Iterator[_Part]:
    for _, statement in _statements(scope):
        if isinstance(statement, ast.ExceptHandler):
            yield _Part(
                _EXCEPT,
                f"`except {_exceptions(statement.type)}`".replace(" `", "`"),
                statement.lineno,
            )
        elif isinstance(statement, _NAMED):
            first = statement.pattern if isinstance(statement, ast.match_case) else statement
            yield _Part(type(statement).__name__, f"`{_text(statement)}`", first.lineno)
        is_elif = [type(child) for child in getattr(statement, "orelse", ())] == [ast.If]
        for field, word in (("orelse", "else"), ("finalbody", "finally")):
            block = getattr(statement, field, ())
            if block and not (is_elif and isinstance(statement, ast.If)):
                yield _Part(
                    word, f"`{word}` of `{type(statement).__name__.lower()}`", block[0].lineno
                )


def _exceptions(kinds: ast.expr | None) -> str:
    if not isinstance(kinds, ast.Tuple):
        return _text(kinds) if kinds is not None else ""
    names = sorted(map(_text, kinds.elts))
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _text(node: ast.AST) -> str:
    """Return an expression, or the first line of a statement."""
    return clip(ast.unparse(node).strip().split("\n")[0].removesuffix(":"), _SHOWN)


def _matched(
    old: Sequence[_Part], new: Sequence[_Part]
) -> tuple[list[tuple[_Part, _Part]], list[_Part], list[_Part]]:
    """Return the changed pairs, and the parts without a counterpart in `old` and in `new`.

    Parts with the same text are counterparts, and then those whose texts are most alike.
    """
    gone, added = _unmatched(old, new), _unmatched(new, old)
    pairs = []
    for part in added[: len(gone)]:
        nearest = max(gone, key=lambda was: SequenceMatcher(None, was.text, part.text).ratio())
        gone.remove(nearest)
        pairs.append((nearest, part))
    return pairs, gone, added[len(pairs) :]


def _unmatched(parts: Sequence[_Part], others: Sequence[_Part]) -> list[_Part]:
    known = Counter(part.text for part in others)
    left = []
    for part in parts:
        if known[part.text]:
            known[part.text] -= 1
        else:
            left.append(part)
    return left
