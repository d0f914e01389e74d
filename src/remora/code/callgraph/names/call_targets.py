"""From a place in the code to the nodes it leads to."""

from typing import Any

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    OWN_CLASS,
    PARTIAL,
    SELF,
    UNIQUE,
    Value,
    Values,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.dispatch_limit import narrowed
from remora.code.callgraph.names.unique_method import only_definition
from remora.code.ir.model import ATTRIBUTE, LAMBDA_SCOPE, Call, unqualified_name
from remora.ids import node_key

LEVEL = 2
_DEEPEST = 4  # functions with arguments given, within each other
Targets = dict[str, int]
_METHODS = {
    "builtins.len": "__len__",
    "builtins.str": "__str__",
    "builtins.repr": "__repr__",
    "builtins.bool": "__bool__",
    "builtins.iter": "__iter__",
    "builtins.next": "__next__",
    "builtins.hash": "__hash__",
    "builtins.int": "__int__",
    "builtins.float": "__float__",
    "builtins.abs": "__abs__",
    "builtins.reversed": "__reversed__",
    "builtins.round": "__round__",
    "builtins.format": "__format__",
}
"""Functions that do nothing but call a method of their argument."""
BY_BUILTIN = {method: (unqualified_name(name),) for name, method in _METHODS.items()}
CALLING: dict[str, int | str] = {
    "builtins.map": 0,
    "builtins.filter": 0,
    "functools.reduce": 0,
    "builtins.sorted": "key",
    "builtins.min": "key",
    "builtins.max": "key",
}
"""Functions that call what they are given: by which argument."""


def call_targets(ctx: Context, path: str, number: int) -> Targets:
    """Keys of what a call leads to, each with its tier."""
    file = ctx.file(path)
    if file is None:
        return {}
    call = file.lowered.calls[number]
    values = ctx.solve(("callee", 0 if call.implicit else LEVEL, path, number))
    values = narrowed(ctx, values, of_any=_is_of_any(file, call))
    found: Targets = {}
    by_operator = _by_operator(call)
    for value, tier in values:
        if by_operator and not _is_named(ctx, file, value):
            continue
        for target, weaker in _targets(ctx, value, call, (path, number), 0).items():
            _add(found, target, max(tier, weaker))
    if call.implicit:
        found = {key: tier for key, tier in found.items() if not key.startswith("ext:")}
    else:
        _add_getters(ctx, file.path, call.scope, call.at, call.callee, found)
    if not found and not values and not call.implicit:
        _add_only(ctx, path, call, found)
    return found


def _is_of_any(file: File, call: Call) -> bool:
    """Whether it is written `self.name()`, or `parameter.name()` of one that is annotated."""
    term: Any = call.callee
    if not isinstance(term, list | tuple) or term[0] != ATTRIBUTE:
        return False
    is_own = file.class_of_self(call.scope, term[1]) is not None
    return is_own or file.is_declared(call.scope, term[1], call.at)


def _by_operator(call: Call) -> bool:
    """Whether a special method is called, by syntax or by its name."""
    term: Any = call.callee
    named = isinstance(term, list | tuple) and term[0] == ATTRIBUTE
    return bool(named) and is_operator(str(term[2]))


def is_operator(name: str) -> bool:
    """Whether syntax calls methods of that name, classes aside."""
    special = name[:2] == name[-2:] == "__"
    return special and name not in {"__init__", "__new__", "__call__"}


def _is_named(ctx: Context, file: File | None, value: Value) -> bool:
    """Whether a file names the class whose special method is called: only there is it sought."""
    owner = value[2] if value[0] == BOUND else value
    ours = owner[0] in {INSTANCE, SELF, FUNCTION, CLASS, OWN_CLASS}
    home = ctx.head(owner[1], owner[2]) if ours else None
    if home is None or file is None:
        return str(owner[0]) == EXTERNAL
    scope = home.scopes[owner[2]]
    if owner[0] == FUNCTION:
        scope = home.scopes[scope.parent]
    return home is file or scope.name in file.names


def _add(found: Targets, key: str, tier: int) -> None:
    found[key] = min(tier, found.get(key, tier))


def _targets(ctx: Context, value: Value, call: Call, site: tuple[str, int], depth: int) -> Targets:
    kind = value[0]
    if kind == BOUND:
        value, kind = value[1], FUNCTION
    if kind == FUNCTION:
        return _function(ctx, value)
    if kind in {CLASS, OWN_CLASS}:
        return _constructor(ctx, value)
    if kind in {INSTANCE, SELF}:
        return _special(ctx, value, "__call__")
    if kind == PARTIAL and depth < _DEEPEST:
        return _partial(ctx, value, call, site, depth)
    if kind == EXTERNAL:
        return {f"ext:{value[1]}": 0, **_by_builtin(ctx, value[1], call, site)}
    return {}


def _function(ctx: Context, value: Value) -> Targets:
    file = ctx.head(value[1], value[2])
    if file is None or file.scopes[value[2]].kind == LAMBDA_SCOPE:
        return {}
    return {node_key(value[1], file.scopes[value[2]].qualname): 0}


def _constructor(ctx: Context, value: Value) -> Targets:
    made = ctx.solve(("class_attribute", 0, value[1], value[2], "__init__"))
    found: Targets = {}
    for function, tier in made:
        if function[0] == FUNCTION:
            found.update(dict.fromkeys(_function(ctx, function), tier))
    if value[0] == OWN_CLASS:
        for below, _ in ctx.solve(("derived", value[1], value[2])):
            for key in _constructor(ctx, below):
                _add(found, key, 1)
    file = ctx.head(value[1], value[2])
    if not made and file is not None:
        found[node_key(value[1], file.scopes[value[2]].qualname)] = 0
    return found


def _special(ctx: Context, value: Value, name: str) -> Targets:
    found: Targets = {}
    for function, tier in ctx.solve(("class_attribute", 0, value[1], value[2], name)):
        if function[0] == FUNCTION:
            found.update(dict.fromkeys(_function(ctx, function), tier))
    return found


def _partial(ctx: Context, value: Value, call: Call, site: tuple[str, int], depth: int) -> Targets:
    found: Targets = {}
    for held, tier in ctx.solve(("argument", LEVEL, value[1], value[2], 0)):
        for key, weaker in _targets(ctx, held, call, site, depth + 1).items():
            _add(found, key, max(tier, weaker, 1))
    return found


def _by_builtin(ctx: Context, name: str, call: Call, site: tuple[str, int]) -> Targets:
    """What a function from outside calls for certain."""
    found: Targets = {}
    method = _METHODS.get(name)
    if method is not None:
        for value, tier in ctx.solve(("argument", LEVEL, *site, 0)):
            if value[0] in {INSTANCE, SELF} and _is_named(ctx, ctx.file(site[0]), value):
                for key in _special(ctx, value, method):
                    _add(found, key, max(tier, 1))
    for value, tier in _taken(ctx, name, call, site):
        if value[0] != EXTERNAL:
            for key in _targets(ctx, value, call, site, 1):
                _add(found, key, max(tier, 1))
    return found


def _taken(ctx: Context, name: str, call: Call, site: tuple[str, int]) -> Values:
    """The function that another one from outside is given to call."""
    place = CALLING.get(name)
    if isinstance(place, int):
        return ctx.solve(("argument", LEVEL, *site, place))
    for keyword, term in call.keywords:
        if keyword is not None and keyword == place:
            return ctx.solve(("term", LEVEL, site[0], call.scope, call.at, frozen(term)))
    return ()


def frozen(term: Any) -> Any:
    """A term as part of a question."""
    return tuple(frozen(part) for part in term) if isinstance(term, list | tuple) else term


def _add_getters(ctx: Context, path: str, scope: int, at: int, term: Any, found: Targets) -> None:
    """A property whose value is called is read first."""
    if isinstance(term, list | tuple) and term[0] == ATTRIBUTE:
        for key, tier in read_targets(ctx, path, scope, at, term).items():
            _add(found, key, tier)


def read_targets(ctx: Context, path: str, scope: int, at: int, term: Any) -> Targets:
    """The properties that reading an attribute runs."""
    return _accessors(ctx, (path, scope, at), term[1], term[2], setting=False)


def store_targets(ctx: Context, path: str, number: int) -> Targets:
    """The setters that storing an attribute runs."""
    file = ctx.file(path)
    if file is None:
        return {}
    store = file.lowered.stores[number]
    return _accessors(ctx, (path, store.scope, store.at), store.base, store.name, setting=True)


def _accessors(
    ctx: Context, where: tuple[str, int, int], base: Any, name: str, *, setting: bool
) -> Targets:
    found: Targets = {}
    if not ctx.crowded(f"property {name}", 0):
        return found
    for value, tier in ctx.solve(("term", LEVEL, *where, frozen(base))):
        if value[0] in {INSTANCE, SELF}:
            for function, weaker in ctx.solve(("accessors", value, name, setting)):
                for key in _function(ctx, function):
                    _add(found, key, max(tier, weaker))
    return found


def _add_only(ctx: Context, path: str, call: Call, found: Targets) -> None:
    term = call.callee
    if isinstance(term, list | tuple) and term[0] == ATTRIBUTE:
        known = ctx.solve(("term", LEVEL, path, call.scope, call.at, frozen(term[1])))
        key = None if known else only_definition(ctx, term[2])
        if key is not None:
            found[key] = UNIQUE
