"""What of its arguments a function gives back: as they are, or instances of them."""

from collections.abc import Iterator
from typing import Any

from remora.code.callgraph.abstract_values import BOUND, EMPTY, FUNCTION, INFERRED, Value, Values
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.ir_index import PARAMETER, File
from remora.code.ir.model import ATTRIBUTE, EITHER, NARROWED, VALUE, Call

PASSED = "passed"  # parameter, how: one of these
AS_IS, MADE = range(2)
"""The argument itself, or another instance of its class; or an instance of it."""
_DEEPEST = 4
Given = tuple[str, int]


def passes(ctx: Context, path: str, scope: int) -> Values:
    """Rule: the parameters that the function gives back; nothing of a generator or coroutine."""
    file = ctx.file(path)
    if file is None or file.scopes[scope].flags:
        return EMPTY
    found: dict[Value, int] = {}
    for at, term in file.scopes[scope].results:
        for name, how in _given(ctx, file, (scope, at), term, 0):
            found[PASSED, name, how] = INFERRED
    return tuple(found.items())


def _given(
    ctx: Context, file: File, place: tuple[int, int], term: Any, depth: int
) -> Iterator[Given]:
    if depth > _DEEPEST or term is None:
        return
    if isinstance(term, str):
        yield from _named(ctx, file, place, term, depth)
    elif isinstance(term, int):
        call = file.lowered.calls[term]
        if call.scope == place[0]:
            yield from _called(ctx, file, (term, call), depth)
    elif term[0] == EITHER:
        for part in term[1:]:
            yield from _given(ctx, file, place, part, depth + 1)


def _named(
    ctx: Context, file: File, place: tuple[int, int], name: str, depth: int
) -> Iterator[Given]:
    scope, at = place
    parameters = {param.name for param in file.scopes[scope].params}
    for seen in file.lookup(scope, name, at):
        if seen.scope != scope:
            continue
        bind = None if seen.bind == PARAMETER else file.scopes[scope].binds[name][seen.bind]
        if bind is None or (bind.kind == NARROWED and name in parameters):
            yield name, AS_IS
        elif bind.kind == VALUE and bind.scope == scope:
            yield from _given(ctx, file, (scope, bind.at), bind.term, depth + 1)


def _called(ctx: Context, file: File, made: tuple[int, Call], depth: int) -> Iterator[Given]:
    """A call of a parameter or its class, or one that passes it to what gives it back."""
    number, call = made
    place = (call.scope, call.at)
    alike = _of_class_of(file, call.callee)
    callee = call.callee if alike is None else alike
    if isinstance(callee, str):
        called = _named(ctx, file, place, callee, depth + 1)
        yield from (
            (name, MADE if alike is None else AS_IS) for name, how in called if how == AS_IS
        )
    for value, _ in ctx.read(("callee", 0, file.path, number)):
        offset = 1 if value[0] == BOUND else 0
        for inner, inner_how, index in _passed(ctx, value[1] if offset else value):
            term = given_term(call, index - offset, inner)
            for name, how in _given(ctx, file, place, term, depth + 1):
                if AS_IS in (how, inner_how):
                    yield name, max(how, inner_how)


def _of_class_of(file: File, term: Any) -> str | None:
    """`x` of `x.__class__` and of `type(x)`, which make more of the same."""
    if isinstance(term, int):
        call = file.lowered.calls[term]
        named = call.args[0] if call.callee == "type" and len(call.args) == 1 else None
    else:
        is_class = isinstance(term, list | tuple) and term[0] == ATTRIBUTE
        named = term[1] if is_class and term[2] == "__class__" else None
    return named if isinstance(named, str) else None


def _passed(ctx: Context, function: Value) -> Iterator[tuple[str, int, int]]:
    """What another function gives back, with the places of the parameters."""
    file = ctx.head(function[1], function[2]) if function[0] == FUNCTION else None
    if file is None:
        return
    names = [param.name for param in file.scopes[function[2]].params]
    for (_, name, how), _ in ctx.read(("passes", function[1], function[2])):
        yield name, how, names.index(name)


def given_term(call: Call, index: int, name: str) -> Any:
    """The term that a call passes for a parameter; null where it is not plain to see."""
    for keyword, term in call.keywords:
        if keyword == name:
            return term
    return call.args[index] if 0 <= index < len(call.args) else None
