"""Analysis of which parameters a function returns, either unchanged or instantiated."""

from collections.abc import Iterator
from typing import Any

from remora.code.callgraph.abstract_values import BOUND, EMPTY, FUNCTION, INFERRED, Value, Values
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.ir_index import PARAMETER, IndexedFile
from remora.code.ir.model import ATTRIBUTE, EITHER, NARROWED, VALUE, Call, has_tag

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
