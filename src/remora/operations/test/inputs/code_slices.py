"""Calls in straight-line code, each with the statements before it that it needs."""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from remora.code.edit.import_edits import Imported
from remora.operations.test.inputs.call_input import (
    CallInput,
    Source,
    bound_names,
    free_names,
    import_statements,
    importable_names,
    last_name,
)
from remora.operations.test.inputs.setup_statements import Fixture
from remora.operations.test.inputs.shown_values import (
    DISPLAYS,
    Inline,
    Wanted,
    calls_of,
    is_literal,
    is_named,
    written_values,
)
from remora.operations.test.state_changes import root_name
from remora.python_text import parse

_LONGEST_CALL = 160
_LONGEST_STATEMENT = 400
_LONGEST_TEXT = 1_200
_MOST_STATEMENTS = 6
_SHORT = 50
_SHORT_EXAMPLE = 4
_UNCHANGING = frozenset(
    {"datetime", "date", "time", "timedelta", "Decimal", "Fraction", "Path", "UUID", "range"}
)
"""Names of classes whose objects no call changes."""
_SETUP = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.FunctionDef, ast.ClassDef,
    ast.Import, ast.ImportFrom,
)  # fmt: skip
_MUTABLE = (ast.List, ast.Dict, ast.Set)


class Snippet(NamedTuple):
    """Straight-line code. `known` maps the names that it may use to their imports.

    `fixtures` contains the fixtures whose bodies are among the statements, by name.
    """

    statements: Sequence[ast.stmt]
    known: Mapping[str, Imported]
    source: Source
    fixtures: Mapping[str, Fixture] = MappingProxyType({})


class _Bound(NamedTuple):
    """The names that each statement of a snippet binds; those that it assigns; those it imports."""

    by_statement: list[set[str]]
    assigned: set[str]
    imported: set[str]


def _bound_in(snippet: Snippet) -> _Bound:
    found = [bound_names(each) for each in snippet.statements]
    assigned: set[str] = set()
    imported = {*snippet.known}
    for each, names in zip(snippet.statements, found, strict=True):
        (imported if isinstance(each, ast.Import | ast.ImportFrom) else assigned).update(names)
    return _Bound(found, assigned, imported - assigned)


def calls_in(snippet: Snippet, wanted: Wanted, most: int) -> Iterator[CallInput]:
    """Yield about `most` calls of the function whose names are all known."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    bound = _bound_in(snippet)
    for number, statement in enumerate(snippet.statements):
        written = written_values(statement, wanted) if snippet.source == "writer" else ()
        for call in (*calls_of(statement, wanted), *written):
            for each in _all_slices(snippet, bound, number, call, wanted):
                if (each.call, each.setup) not in seen and _mentions(each, wanted):
                    seen.add((each.call, each.setup))
                    yield each
            if len(seen) >= most:
                return


def _all_slices(
    snippet: Snippet, bound: _Bound, number: int, call: ast.expr, wanted: Wanted
) -> Iterator[CallInput]:
    """Yield the variants of the call, and last the one after the calls of functions of modules.

    A call such as `sizes.use('km')` can change the results of those that follow.
    """
    found = _sliced(snippet, bound, number, call, wanted)
    yield from _variants(found) if found is not None else ()
    own = bound._replace(imported=bound.imported - _modules_in(snippet.statements[:number]))
    whole = _sliced(snippet, own, number, call, wanted) if own != bound else None
    if whole is not None:
        yield whole


def _modules_in(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the imported modules of which a statement only calls a function."""
    modules = {n for one in statements if isinstance(one, ast.Import) for n in bound_names(one)}
    return {
        root_name(one.value.func)
        for one in statements
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
    } & modules


def _variants(found: CallInput) -> Iterator[CallInput]:
    """Yield the call without the changes of objects before it, with the first, and with all.

    A short example in documentation is kept, except for assignments to attributes.
    """
    trees = [parse(one).body[0] for one in found.setup]
    extra = [one for one in trees if isinstance(one, ast.Expr) or not bound_names(one)]
    if found.source in ("docstring", "documentation") and len(trees) <= _SHORT_EXAMPLE:
        extra = [one for one in extra if _is_attribute_set(one)]
    for kept in ([], extra[:1]) if len(extra) > 1 else ([],) if extra else ():
        chosen = [one for one in trees if one in kept or one not in extra]
        call = parse(found.call, "eval").body
        used = _used(chosen[::-1], call)
        yield replace(found, setup=tuple(ast.unparse(one) for one in reversed(used)))
    yield found


def _is_attribute_set(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)


def _sliced(
    snippet: Snippet, bound: _Bound, number: int, call: ast.expr, wanted: Wanted
) -> CallInput | None:
    """Return the call with the statements before it, or None if some of its names are unknown."""
    if len(ast.unparse(call)) > _LONGEST_CALL:
        return None
    if isinstance(call, ast.Call) and any(isinstance(one, ast.Starred) for one in call.args):
        return None
    own = free_names([call], builtin=True) & bound.assigned  # `iter`, if the code assigns it
    before = _Before(snippet, bound.imported, free_names([call]) | own)
    for n in reversed(range(number)):
        if not before.add(snippet.statements[n], bound.by_statement[n]):
            return None
    needed, setup = before.needed, before.setup
    if not needed <= snippet.known.keys() or any(name.startswith("_") for name in needed):
        return None
    keeps_objects = wanted.changes or not _is_plain_call(call)
    call = _with_literals(call, setup, _MUTABLE if keeps_objects else ())
    imports = {**before.imports, **dict.fromkeys(import_statements(needed, snippet.known))}
    found = CallInput(
        call=ast.unparse(call),
        setup=tuple(ast.unparse(one) for one in reversed(_used(setup, call))),
        imports=tuple(imports),
        source=snippet.source,
    )
    found = replace(found, fixtures=tuple(_fixtures_in(found.setup, snippet.fixtures)))
    return _without_module_name(found, call, wanted)


def _mentions(found: CallInput, wanted: Wanted) -> bool:
    """Return True if a call or a statement before it uses the function."""
    nodes = (one for text in (found.call, *found.setup) for one in ast.walk(parse(text)))
    return any(isinstance(one, ast.expr) and is_named(one, wanted) for one in nodes)


def _is_plain_call(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and not isinstance(call.func, ast.Call)


def _fixtures_in(setup: Sequence[str], known: Mapping[str, Fixture]) -> Iterator[tuple[str, ...]]:
    """Yield the fixtures whose last statement, which binds their name, is in `setup`."""
    for name, fixture in known.items():
        own = [ast.unparse(one) for one in fixture.body]
        if own[-1] in setup:
            yield name, fixture.path, fixture.annotation, *own


def _used(setup: list[ast.stmt], call: ast.expr) -> list[ast.stmt]:
    """Return the statements, from the last to the first, without unused assignments."""
    needed = free_names([call], builtin=True)
    kept: list[ast.stmt] = []
    for one in setup:
        bound = bound_names(one)
        if isinstance(one, ast.Expr | ast.AugAssign) or not bound or bound & needed:
            kept.append(one)
            needed = (needed - bound) | free_names([one], builtin=True)
    return kept


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
        if isinstance(each, ast.Import | ast.ImportFrom):
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


def _with_literals(
    call: ast.expr, setup: list[ast.stmt], kept: tuple[type[ast.expr], ...]
) -> ast.expr:
    """Return the call with short values in place of variables that nothing else uses.

    The assignments of these variables are removed from `setup`. Values of types in `kept` stay.
    """
    values: dict[str, ast.expr] = {}
    for one in list(setup):
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_short(value):
                rest = [other for other in setup if other is not one]
                reads = [n for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == name]
                is_used = any(_reads(other, name) for other in rest)
                if len(reads) == 1 and not is_used and not isinstance(value, kept):
                    values[name] = value
                    setup.remove(one)
    if not values:
        return call
    inlined = Inline(values).visit(copy.deepcopy(call))
    assert isinstance(inlined, ast.expr)
    return inlined


def _is_short(value: ast.expr) -> bool:
    """Return True for a short literal, and for a value such as `timedelta(seconds=4)`."""
    parts = [value]
    match value:
        case ast.Call(args=args, keywords=words) if last_name(value.func) in _UNCHANGING:
            parts = [*args, *(word.value for word in words)]
    return all(map(is_literal, parts)) and len(ast.unparse(value)) <= _SHORT


def _reads(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement))


def _read_by(statement: ast.stmt) -> set[str]:
    return free_names([statement]) if isinstance(statement, ast.Assign | ast.AnnAssign) else set()


def _changes(statement: ast.stmt, names: set[str]) -> bool:
    """Return True if the statement calls a method of one of the objects or assigns to its parts."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as function)):
            return root_name(function) in names
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=args)):
            roots = {root_name(each) for each in args}
            return name not in DISPLAYS and bool(roots & names)
        case ast.Assign(targets=targets):
            return any(
                isinstance(each, ast.Attribute | ast.Subscript) and root_name(each) in names
                for each in targets
            )
        case ast.AugAssign(target=target):
            return root_name(target) in names
    return False


def _without_module_name(found: CallInput, call: ast.expr, wanted: Wanted) -> CallInput:
    """Return the call with the function's plain name if it is called as `module.function`."""
    if not isinstance(call, ast.Call):
        return found
    function = call.func
    imported = {name for each in found.imports for name in bound_names(parse(each).body[0])}
    root = root_name(function)
    is_plain = wanted.by_name and isinstance(function, ast.Attribute) and root in imported
    if not is_plain or not is_named(function, wanted):
        return found
    plain = ast.unparse(ast.Call(ast.Name(wanted.name), call.args, call.keywords))
    rest = [parse(each) for each in (plain, *found.setup)]
    if root in free_names(rest):
        return replace(found, call=plain)
    kept = tuple(each for each in found.imports if root not in bound_names(parse(each).body[0]))
    return replace(found, call=plain, imports=kept)
