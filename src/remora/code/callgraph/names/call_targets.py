"""Resolution of the nodes executed by a call, an attribute read or an attribute assignment."""

import builtins
from collections import Counter
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import INFERRED, POSSIBLE, Value, Values
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names.name_candidates import (
    CONSTRUCTORS,
    EXTERNAL_METHOD_NAMES,
    FALLBACK_METHODS,
    MAX_METHODS,
    methods_named,
)
from remora.code.ir.model import ATTRIBUTE, LAMBDA_SCOPE, METACLASS, REGISTERED, Call, has_tag
from remora.ids import node_key


def limit_dispatch(ctx: Context, values: Values, *, polymorphic: bool) -> Values:
    """Limit the number of inferred methods.

    If `polymorphic` is True, methods of `self` are not limited.
    """
    receivers = {kinds.INSTANCE} if polymorphic else {kinds.INSTANCE, kinds.SELF}
    inferred = [v for v, tier in values if tier and v[0] == kinds.BOUND and v[2][0] in receivers]
    if len({value[1] for value in inferred}) <= MAX_METHODS:
        return values
    found = dict(values)
    for name in sorted({_method_name(ctx, value) for value in inferred}):
        _merge_overrides(
            ctx, [value for value in inferred if _method_name(ctx, value) == name], name, found
        )
    return tuple(found.items())


def _method_name(ctx: Context, value: Value) -> str:
    file = ctx.definition_file(value[1][1], value[1][2])
    return "" if file is None else file.scopes[value[1][2]].name


def _merge_overrides(ctx: Context, bound: list[Value], name: str, found: dict[Value, int]) -> None:
    """Replace the overrides with the method of their most common base if there are too many."""
    orders = {value: [v for v, _ in ctx.solve(("mro", *value[2][1:]))] for value in bound}
    shared = Counter(v for order in orders.values() for v in order if v[0] == kinds.CLASS)
    ranked = sorted(shared, key=lambda v: (-shared[v], -len(ctx.solve(("mro", *v[1:]))), v))
    bases = [(base, _class_method(ctx, base, name)) for base in ranked]
    base, method = next(((b, m) for b, m in bases if m is not None), (None, None))
    overrides = [value for value in bound if base in orders[value]]
    if base is None or method is None or len({value[1] for value in overrides}) <= MAX_METHODS:
        return
    for value in overrides:
        del found[value]
    merged: Value = (kinds.BOUND, method, (kinds.INSTANCE, *base[1:]))
    found[merged] = min(INFERRED, found.get(merged, INFERRED))


def _class_method(ctx: Context, owner: Value, name: str) -> Value | None:
    values = ctx.solve(("class_attribute", 0, *owner[1:], name))
    return next((value for value, _ in values if value[0] == kinds.FUNCTION), None)


CALLER_LEVELS = 2
"""`ProgramPoint.level` of the questions that the linker asks."""
_MAX_PARTIALS = 4  # maximum number of nested `functools.partial` calls
Targets = dict[str, int]
_PROJECT_KINDS = frozenset(
    (kinds.INSTANCE, kinds.SELF, kinds.FUNCTION, kinds.CLASS, kinds.OWN_CLASS)
)
DESCRIPTOR_METHODS = ("__get__", "__set__")
"""What reading and setting an attribute run."""
_METHOD_BY_BUILTIN = {
    f"builtins.{name}": f"__{name}__"
    for name in (
        *("len", "str", "repr", "bool", "iter", "next", "hash", "int", "float", "abs"),
        *("reversed", "round", "format"),
    )
}
"""Builtins that only call one method of their argument."""
BUILTINS_BY_METHOD = {method: (method.strip("_"),) for method in _METHOD_BY_BUILTIN.values()}
CALLBACK_ARGUMENTS: dict[str, int | str] = {
    "builtins.map": 0,
    "builtins.filter": 0,
    "functools.reduce": 0,
    "builtins.sorted": "key",
    "builtins.min": "key",
    "builtins.max": "key",
}
"""Maps external functions that call an argument to the index or keyword of that argument."""


def call_targets(ctx: Context, path: str, number: int) -> Targets:
    """Return the nodes that a call executes, as a mapping from node key to tier."""
    if (file := ctx.file(path)) is None:
        return {}
    call = file.lowered.calls[number]
    if call.implicit and not _is_defined(ctx, call.callee[2]):
        return {}
    values = ctx.solve(("callee", 0 if call.implicit else CALLER_LEVELS, path, number))
    values = limit_dispatch(ctx, values, polymorphic=_is_polymorphic(file, call))
    found: Targets = {}
    is_operator = _is_operator_call(call)
    for value, tier in values:
        if is_operator and not _mentions_class(ctx, file, value):
            continue
        for target, weaker in _value_targets(ctx, value, call, (path, number), 0).items():
            _add(found, target, max(tier, weaker))
    found = _mark_alternatives(found)
    if call.implicit:
        found = {key: tier for key, tier in found.items() if not key.startswith("ext:")}
    else:
        _add_getters(ctx, (path, call.scope, call.at), call.callee, found)
    if not found and not call.implicit:
        _add_methods_of_unknown(ctx, path, call, found)
    return found


def _is_defined(ctx: Context, special: str) -> bool:
    """Return True if the project defines a special method or what Python calls instead of it."""
    names = (special, *FALLBACK_METHODS.get(special, ()))
    return any(ctx.is_common(f"def {name}", 0) for name in names)


def _mark_alternatives(found: Targets) -> Targets:
    """Lower the tier of inferred targets to POSSIBLE if there are several targets.

    Usually only one of them is executed: in tests of real frameworks, 4 of 10 such links.
    """
    targets = [key for key, tier in found.items() if key.startswith("node:") and tier != POSSIBLE]
    if len({key.rpartition(".__")[0] or key for key in targets}) < 2:
        return found
    return {
        key: POSSIBLE if tier == INFERRED and key.startswith("node:") else tier
        for key, tier in found.items()
    }


def _is_polymorphic(file: IndexedFile, call: Call) -> bool:
    """Return True for `self.name()`, and for `parameter.name()` if the parameter is annotated."""
    term: Any = call.callee
    if not has_tag(term, ATTRIBUTE):
        return False
    is_self = file.class_of_self(call.scope, term[1]) is not None
    return is_self or file.is_annotated_parameter(call.scope, term[1], call.at)


def _is_operator_call(call: Call) -> bool:
    """Return True if the call runs a special method, either through syntax or by its name."""
    term: Any = call.callee
    return has_tag(term, ATTRIBUTE) and is_operator_method(str(term[2]))


def is_operator_method(name: str) -> bool:
    """Return True for special methods other than `__call__` and what creating an instance runs."""
    special = name[:2] == name[-2:] == "__"
    return special and name != "__call__" and name not in CONSTRUCTORS


def _mentions_class(ctx: Context, file: IndexedFile | None, value: Value) -> bool:
    """Return True if a file mentions the class of a special method.

    Only such files are searched for callers of the method.
    """
    owner = value[2] if value[0] == kinds.BOUND else value
    home = ctx.definition_file(owner[1], owner[2]) if owner[0] in _PROJECT_KINDS else None
    if home is None or file is None:
        return str(owner[0]) == kinds.EXTERNAL
    scope = home.scopes[owner[2]]
    if owner[0] == kinds.FUNCTION:
        scope = home.scopes[scope.parent]
    return home is file or scope.name in file.names


def _add(found: Targets, key: str, tier: int) -> None:
    found[key] = min(tier, found.get(key, tier))


def _value_targets(
    ctx: Context, value: Value, call: Call, site: tuple[str, int], depth: int
) -> Targets:
    if (kind := value[0]) == kinds.BOUND:
        value, kind = value[1], kinds.FUNCTION
    if kind == kinds.FUNCTION:
        return _function_target(ctx, value)
    if kind in {kinds.CLASS, kinds.OWN_CLASS}:
        return _constructor_targets(ctx, value)
    if kind in {kinds.INSTANCE, kinds.SELF}:
        return _method_targets(ctx, value, "__call__")
    if kind == kinds.PARTIAL and depth < _MAX_PARTIALS:
        return _partial_targets(ctx, value, call, site, depth)
    found: Targets = {}
    if kind == kinds.EXTERNAL:
        found = {f"ext:{value[1]}": 0, **_builtin_targets(ctx, value[1], call, site)}
    for function, tier in ctx.solve(value) if kind == kinds.DISPATCHED else ():
        found.update(dict.fromkeys(_function_target(ctx, function), tier))
    return found


def _function_target(ctx: Context, value: Value) -> Targets:
    file = ctx.definition_file(value[1], value[2])
    if file is None or file.scopes[value[2]].kind == LAMBDA_SCOPE:
        return {}
    found: Targets = {node_key(value[1], file.scopes[value[2]].qualname): 0}
    if any(name.startswith("singledispatch") for name in file.decorator_names(value[2])):
        for other, _ in ctx.solve(("function_stores", 1, *value[1:], REGISTERED)):
            found.update(dict.fromkeys(_function_target(ctx, other), POSSIBLE))
    return found


def _constructor_targets(ctx: Context, value: Value) -> Targets:
    constructors = ctx.solve(("constructors", value[1], value[2]))
    found: Targets = {}
    for function, tier in constructors:
        found.update(dict.fromkeys(_function_target(ctx, function), tier))
    if value[0] == kinds.OWN_CLASS:
        for subclass, _ in ctx.solve(("derived", value[1], value[2])):
            for key in _constructor_targets(ctx, subclass):
                _add(found, key, 1)
    file = ctx.definition_file(value[1], value[2])
    scope = None if file is None else file.scopes[value[2]]
    if scope and scope.name and not any(key.endswith(".__init__") for key in found):
        found[node_key(value[1], scope.qualname)] = 0
    for meta, _ in ctx.solve(("class_attribute", 0, *value[1:], METACLASS)):
        if meta[0] == kinds.CLASS:
            found.update(dict.fromkeys(_method_targets(ctx, meta, "__call__"), POSSIBLE))
    return found


def _method_targets(ctx: Context, value: Value, name: str) -> Targets:
    found: Targets = {}
    for function, tier in ctx.solve(("class_attribute", 0, value[1], value[2], name)):
        if function[0] == kinds.FUNCTION:
            found.update(dict.fromkeys(_function_target(ctx, function), tier))
    return found


def _partial_targets(
    ctx: Context, value: Value, call: Call, site: tuple[str, int], depth: int
) -> Targets:
    found: Targets = {}
    for inner, tier in ctx.solve(("argument", CALLER_LEVELS, value[1], value[2], 0)):
        for key, weaker in _value_targets(ctx, inner, call, site, depth + 1).items():
            _add(found, key, max(tier, weaker, 1))
    return found


def _builtin_targets(ctx: Context, name: str, call: Call, site: tuple[str, int]) -> Targets:
    """Return the nodes that an external function is known to call."""
    found: Targets = {}
    if (method := _METHOD_BY_BUILTIN.get(name)) is not None:
        for value, tier in ctx.solve(("argument", CALLER_LEVELS, *site, 0)):
            if value[0] in {kinds.INSTANCE, kinds.SELF} and _mentions_class(
                ctx, ctx.file(site[0]), value
            ):
                names = (method, *FALLBACK_METHODS.get(method, ()))
                targets = (_method_targets(ctx, value, name) for name in names)
                for key in next(filter(None, targets), ()):
                    _add(found, key, max(tier, 1))
    for value, tier in _callback_values(ctx, name, call, site):
        if value[0] != kinds.EXTERNAL:
            for key in _value_targets(ctx, value, call, site, 1):
                _add(found, key, max(tier, 1))
    return found


def _callback_values(ctx: Context, name: str, call: Call, site: tuple[str, int]) -> Values:
    """Return the values of the callback that is passed to an external function."""
    argument = CALLBACK_ARGUMENTS.get(name)
    if isinstance(argument, int):
        return ctx.solve(("argument", CALLER_LEVELS, *site, argument))
    for keyword, term in call.keywords:
        if keyword is not None and keyword == argument:
            return term_values(ctx, (site[0], call.scope, call.at), term)
    return ()


def term_values(ctx: Context, point: tuple[str, int, int], term: Any) -> Values:
    """Return the values of a term at a point, which is (path, scope, statement)."""
    return ctx.solve(("term", CALLER_LEVELS, *point, hashable(term)))


def hashable(term: Any) -> Any:
    """Return a term as tuples, for a question."""
    return tuple(map(hashable, term)) if isinstance(term, list | tuple) else term


def _add_getters(ctx: Context, point: tuple[str, int, int], term: Any, found: Targets) -> None:
    """Add the property getters that run when the callee `term` is evaluated."""
    if has_tag(term, ATTRIBUTE):
        for key, tier in _accessors(ctx, point, *term[1:], setting=False).items():
            _add(found, key, tier)


def read_targets(ctx: Context, path: str, number: int) -> Targets:
    """Return the property getters that run when an attribute is read."""
    if (file := ctx.file(path)) is None:
        return {}
    read = file.lowered.reads[number]
    return _accessors(ctx, (path, read.scope, read.at), *read.term[1:], setting=False)


def store_targets(ctx: Context, path: str, number: int) -> Targets:
    """Return the property setters that run when an attribute is assigned."""
    if (file := ctx.file(path)) is None:
        return {}
    store = file.lowered.stores[number]
    return _accessors(ctx, (path, store.scope, store.at), store.base, store.name, setting=True)


def _accessors(
    ctx: Context, point: tuple[str, int, int], base: Any, name: str, *, setting: bool
) -> Targets:
    found: Targets = {}
    special = DESCRIPTOR_METHODS[setting]
    is_made = ctx.is_common(f"def {special}", 0) and ctx.is_common(f"made {name}", 0)
    if not is_made and not ctx.is_common(f"property {name}", 0):
        return found
    for value, tier in term_values(ctx, point, base):
        if value[0] in {kinds.INSTANCE, kinds.SELF}:
            members = ("class_attribute", CALLER_LEVELS, *value[1:], name)
            for made, _ in ctx.solve(members) if is_made else ():
                if made[0] == kinds.INSTANCE:
                    found.update(dict.fromkeys(_method_targets(ctx, made, special), POSSIBLE))
            for function, weaker in ctx.solve(("accessors", value, name, setting)):
                for key in _function_target(ctx, function):
                    _add(found, key, max(tier, weaker))
    return _mark_alternatives(found)


def _add_methods_of_unknown(ctx: Context, path: str, call: Call, found: Targets) -> None:
    """Add the methods that a call may run if its receiver is unknown.

    In `def wrapper(self): self.go()`, `self` may be of any class with a method `go`. Methods of
    names that are common in external code count only for `self`: other receivers may be external.
    """
    term = call.callee
    if not has_tag(term, ATTRIBUTE) or (term[2] in EXTERNAL_METHOD_NAMES and term[1] != "self"):
        return
    if methods := methods_named(ctx, term[2]):
        known = term_values(ctx, (path, call.scope, call.at), term[1])
        if all(is_unknown(value, term[2]) for value, _ in known):
            found.update((key, POSSIBLE if known else tier) for key, tier in methods)


def is_unknown(value: Value, name: str) -> bool:
    """Return True if a value says nothing about its attribute `name`.

    It is opaque, or of a builtin type without this attribute: the default of `defaultdict(dict)`.
    """
    if value[0] != kinds.OPAQUE:
        return str(value[0]) == "anything"
    module, _, kind = value[1].rpartition(".") if value[1:] else ("builtins", "", "object")
    builtin = getattr(builtins, kind, None) if module == "builtins" else None
    return isinstance(builtin, type) and not hasattr(builtin, name)
