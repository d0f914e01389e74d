"""Rules for the results of calls, and for the parameters that a function returns or instantiates."""

from collections.abc import Callable, Iterator
from typing import Any

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    COROUTINE,
    EMPTY,
    FUNCTION,
    GENERATOR,
    IDENTITY,
    INFERRED,
    INSTANCE,
    OWN_CLASS,
    PARTIAL,
    SELF,
    Value,
    Values,
    exact_value,
    join,
    weaken,
)
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import PARAMETER, IndexedFile
from remora.code.callgraph.rules.call_rules import argument_at, mro_classes
from remora.code.callgraph.rules.class_attributes import self_value
from remora.code.callgraph.rules.declared_types import declared_values
from remora.code.callgraph.rules.overloads import overload_result
from remora.code.callgraph.rules.points_to import evaluate, instances_of
from remora.code.callgraph.rules.stdlib_models import external_result
from remora.code.ir.model import ASYNC, ATTRIBUTE, EITHER, NARROWED, VALUE, Call, has_tag
from remora.code.ir.model import GENERATOR as YIELDS

RETURNED_PARAMETER = "passed"  # parameter, one of the two constants below
ARGUMENT_ITSELF, INSTANCE_OF_ARGUMENT = range(2)
"""ARGUMENT_ITSELF: the argument, or another instance of its class. INSTANCE_OF_ARGUMENT: an
instance of the argument, which is a class."""
_MAX_DEPTH = 4
ReturnedParameter = tuple[str, int]


def returned_parameters(ctx: Context, path: str, scope: int) -> Values:
    """Return the parameters that a function returns.

    The result is empty for a generator or coroutine.
    """
    file = ctx.file(path)
    if file is None or file.scopes[scope].flags:
        return EMPTY
    found: dict[Value, int] = {}
    for at, term in file.scopes[scope].results:
        for name, how in _from_term(ctx, file, (scope, at), term, 0):
            found[RETURNED_PARAMETER, name, how] = INFERRED
    return tuple(found.items())


def _from_term(
    ctx: Context, file: IndexedFile, point: tuple[int, int], term: Any, depth: int
) -> Iterator[ReturnedParameter]:
    if depth > _MAX_DEPTH or term is None:
        return
    if isinstance(term, str):
        yield from _from_name(ctx, file, point, term, depth)
    elif isinstance(term, int):
        call = file.lowered.calls[term]
        if call.scope == point[0]:
            yield from _from_call(ctx, file, (term, call), depth)
    elif term[0] == EITHER:
        for part in term[1:]:
            yield from _from_term(ctx, file, point, part, depth + 1)


def _from_name(
    ctx: Context, file: IndexedFile, point: tuple[int, int], name: str, depth: int
) -> Iterator[ReturnedParameter]:
    scope, at = point
    parameters = {param.name for param in file.scopes[scope].params}
    for binding in file.lookup(scope, name, at):
        if binding.scope != scope:
            continue
        bind = None if binding.bind == PARAMETER else file.scopes[scope].binds[name][binding.bind]
        if bind is None or (bind.kind == NARROWED and name in parameters):
            yield name, ARGUMENT_ITSELF
        elif bind.kind == VALUE and bind.scope == scope:
            yield from _from_term(ctx, file, (scope, bind.at), bind.term, depth + 1)


def _from_call(
    ctx: Context, file: IndexedFile, numbered: tuple[int, Call], depth: int
) -> Iterator[ReturnedParameter]:
    """Yield the parameters that a call returns, either unchanged or instantiated."""
    number, call = numbered
    point = (call.scope, call.at)
    same_class = _object_of_class_term(file, call.callee)
    callee = call.callee if same_class is None else same_class
    if isinstance(callee, str):
        called = _from_name(ctx, file, point, callee, depth + 1)
        yield from (
            (name, INSTANCE_OF_ARGUMENT if same_class is None else ARGUMENT_ITSELF)
            for name, how in called
            if how == ARGUMENT_ITSELF
        )
    for value, _ in ctx.read(("callee", 0, file.path, number)):
        offset = 1 if value[0] == BOUND else 0
        for inner, inner_how, index in _callee_parameters(ctx, value[1] if offset else value):
            term = argument_term(call, index - offset, inner)
            for name, how in _from_term(ctx, file, point, term, depth + 1):
                if ARGUMENT_ITSELF in (how, inner_how):
                    yield name, max(how, inner_how)


def _object_of_class_term(file: IndexedFile, term: Any) -> str | None:
    """Return `x` for the terms `x.__class__` and `type(x)`, or None for any other term."""
    if isinstance(term, int):
        call = file.lowered.calls[term]
        named = call.args[0] if call.callee == "type" and len(call.args) == 1 else None
    else:
        named = term[1] if has_tag(term, ATTRIBUTE) and term[2] == "__class__" else None
    return named if isinstance(named, str) else None


def _callee_parameters(ctx: Context, function: Value) -> Iterator[tuple[str, int, int]]:
    """Yield (name, how, index) for each parameter that a called function returns."""
    file = ctx.definition_file(function[1], function[2]) if function[0] == FUNCTION else None
    if file is None:
        return
    names = [param.name for param in file.scopes[function[2]].params]
    for (_, name, how), _ in ctx.read(("returned_parameters", function[1], function[2])):
        yield name, how, names.index(name)


def argument_term(call: Call, index: int, name: str) -> Any:
    """Return the term that a call explicitly passes for a parameter, or None."""
    for keyword, term in call.keywords:
        if keyword == name:
            return term
    return call.args[index] if 0 <= index < len(call.args) else None


def result_of_call(ctx: Context, level: int, path: str, number: int) -> Values:
    found = []
    for value, _ in ctx.read(("callee", level, path, number)):
        found.append(_result(ctx, level, value, (path, number)))
    return join(found)


def _result(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    found = _RESULTS.get(value[0], external_result)
    return found(ctx, level, value, site)


def _of_function(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    if (declared := overload_result(ctx, value, site, 0)) is not None:
        return declared
    return _function_result(ctx, level, value, (*site, 0))


def _of_bound(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = value[1]
    if (declared := overload_result(ctx, inner, site, 1)) is not None:
        return _bind_self_type(ctx, declared, value[2])
    return _bind_self_type(ctx, _function_result(ctx, level, inner, (*site, 1)), value[2])


def _function_result(ctx: Context, level: int, value: Value, site: tuple[str, int, int]) -> Values:
    """Return the result of a function, including arguments of this call that the function returns.

    If the call passes a class, instances of its bases are removed from the result.
    """
    returned = ctx.read(("result", level, *value[1:]))
    file, call = ctx.definition_file(value[1], value[2]), ctx.call(site[0], site[1])
    parameters = ctx.read(("returned_parameters", *value[1:]))
    if file is None or call is None or not parameters:
        return returned
    params = file.scopes[value[2]].params
    arguments: tuple[list[Values], ...] = ([], [])
    classes: set[Any] = set()
    for (_, name, how), _ in parameters:
        index = next(i for i, param in enumerate(params) if param.name == name)
        if index < site[2]:
            continue  # the receiver of a method
        arguments[how].append(argument_at(ctx, level, params, index, site))
        term = argument_term(call, index - site[2], name)
        if how == INSTANCE_OF_ARGUMENT and term is not None:
            classes |= _argument_classes(ctx, ProgramPoint(0, site[0], call.scope, call.at), term)
    replaced = {base for cls in classes for base in mro_classes(ctx, (CLASS, *cls)) if base != cls}
    remaining = [p for p in returned if p[0][0] not in {INSTANCE, SELF} or p[0][1:] not in replaced]
    passed = join(
        (*arguments[ARGUMENT_ITSELF], instances_of(join(arguments[INSTANCE_OF_ARGUMENT])))
    )
    return join((tuple(remaining), weaken(passed)))


def _argument_classes(ctx: Context, point: ProgramPoint, term: Any) -> set[Any]:
    """Return (path, scope) for each class that an argument refers to or instantiates.

    Arguments are evaluated at level 0, so that values found later in a cycle cannot remove other
    values.
    """
    callees = ctx.read(("callee", 0, point.path, term)) if isinstance(term, int) else EMPTY
    return {v[1:] for v, _ in join((callees, evaluate(ctx, point, term))) if v[0] == CLASS}


def _of_class(_ctx: Context, _level: int, value: Value, _site: tuple[str, int]) -> Values:
    return instances_of(((value, 0),))


def _of_instance(ctx: Context, level: int, value: Value, _site: tuple[str, int]) -> Values:
    return ctx.read(("special", level, value, "__call__"))


def _of_partial(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = ctx.read(("argument", level, value[1], value[2], 0))
    return weaken(join([_result(ctx, level, v, site) for v, _ in inner if v[0] != PARTIAL]))


_RESULTS: dict[str, Callable[[Context, int, Value, tuple[str, int]], Values]] = {
    FUNCTION: _of_function,
    BOUND: _of_bound,
    CLASS: _of_class,
    OWN_CLASS: _of_class,
    INSTANCE: _of_instance,
    SELF: _of_instance,
    PARTIAL: _of_partial,
    IDENTITY: lambda ctx, level, _, site: ctx.read(("argument", level, *site, 0)),
}


def _bind_self_type(ctx: Context, values: Values, receiver: Value) -> Values:
    """Replace a returned `self` with the receiver.

    If `self` is returned, instances of the receiver's class and its bases are dropped.
    """
    order = mro_classes(ctx, receiver)
    if not any(value[0] == SELF and value[1:] in order for value, _ in values):
        return values
    kind = SELF if receiver[0] in {SELF, OWN_CLASS} else INSTANCE
    found: dict[Value, int] = {}
    for value, tier in values:
        if value[0] == SELF and value[1:] in order:
            found[kind, receiver[1], receiver[2]] = tier
        elif value[0] != INSTANCE or value[1:] not in order:
            found[value] = tier
    return tuple(found.items())


def result(ctx: Context, level: int, path: str, scope: int) -> Values:
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    flags = file.scopes[scope].flags
    if flags & YIELDS:
        return exact_value(GENERATOR, path, scope)
    if flags & ASYNC:
        return exact_value(COROUTINE, path, scope)
    return ctx.read(("returns", level, path, scope))


def returns(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the values that a function body returns, excluding the function's own parameters."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    if ctx.read(("returned_parameters", path, scope)):
        level = 0  # `_function_result` adds the arguments of each call
    parts = [
        declared_values(ctx, ProgramPoint(level, path, found.parent, found.at), found.annotation)
    ]
    receiver = self_value(ctx, path, scope)
    for at, term in found.results:
        if isinstance(term, str):
            bindings = file.lookup(scope, term, at)
            binds = [s for s in bindings if s.bind != PARAMETER or s.scope != scope]
            if len(binds) != len(bindings):
                is_receiver = bool(receiver) and term == found.params[0].name
                parts.append(receiver if is_receiver and found.name != "__new__" else EMPTY)
                parts.extend(ctx.read(("bind", level, path, *s)) for s in binds)
                continue
        parts.append(weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term)))
    return join(parts)


def yields(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the elements of the generator that a function returns."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    parts = [
        weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term))
        for at, term in found.yields
    ]
    declared = declared_values(
        ctx, ProgramPoint(level, path, found.parent, found.at), found.annotation
    )
    parts.extend(ctx.read(("each", level, value)) for value, _ in declared)
    return join(parts)
