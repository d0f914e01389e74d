"""Rules for callees, arguments, parameter values and confirmed call sites."""

from collections.abc import Iterator
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names.name_candidates import FALLBACK_METHODS, candidate_calls
from remora.code.callgraph.rules.class_attributes import self_value
from remora.code.callgraph.rules.declared_types import CONTAINERS, declared_values
from remora.code.callgraph.rules.points_to import evaluate
from remora.code.ir import model as ir
from remora.code.ir.model import Call, Parameter, has_tag, unqualified_name


def fixture_values(ctx: Context, level: int, file: IndexedFile, scope: int, name: str) -> Values:
    """Return the values that pytest passes for a parameter of a test or fixture."""
    function = file.scopes[scope]
    if not function.name.startswith("test") and not _is_fixture(file, scope):
        return EMPTY
    for other, number in _fixtures(ctx, file, scope, name):
        rule = "yields" if other.scopes[number].flags & ir.GENERATOR else "returns"
        return weaken(ctx.read((rule, level, other.path, number)))
    return EMPTY


def _is_fixture(file: IndexedFile, number: int) -> bool:
    return any(name.endswith("fixture") for name in file.decorator_names(number))


def _fixtures(
    ctx: Context, file: IndexedFile, scope: int, name: str
) -> Iterator[tuple[IndexedFile, int]]:
    """Yield the fixtures called `name`, nearest first.

    Fixtures are searched for in the class, the file, and the `conftest.py` of each parent folder.
    """
    folder = file.path
    parent = file.scopes[scope].parent
    local = {parent: _fixture_in_scope(file, parent, name), 0: _fixture_in_scope(file, 0, name)}
    for number in local.values():
        if number is not None and number != scope:
            yield file, number
    while folder:
        folder = folder.rpartition("/")[0]
        path = f"{folder}/conftest.py" if folder else "conftest.py"
        other = ctx.interface_file(path) if path != file.path else None
        found = _fixture_in_scope(other, 0, name) if other is not None else None
        if other is not None and found is not None:
            yield other, found


def _fixture_in_scope(file: IndexedFile, parent: int, name: str) -> int | None:
    for bind in file.scopes[parent].binds.get(name, ()):
        if bind.kind == ir.DEFINITION and _is_fixture(file, bind.term):
            return int(bind.term)
    return None


SITE = "site"  # path, call, offset: index of a parameter minus index of its argument
_VARIADIC_KINDS = frozenset((ir.VARARGS, ir.KWARGS))
_OUTSIDE = frozenset((kinds.EXTERNAL, kinds.OPAQUE))
_CONTAINER_KINDS = frozenset((kinds.CONTAINER, kinds.BUILT_CONTAINER))


def callee(ctx: Context, level: int, path: str, number: int) -> Values:
    if (call := ctx.call(path, number)) is None:
        return EMPTY
    point = ProgramPoint(level, path, call.scope, call.at)
    return (_special_methods if call.implicit else evaluate)(ctx, point, call.callee)


def _special_methods(ctx: Context, point: ProgramPoint, callee: Any) -> Values:
    """Return what an implicit call runs: never a plain function, which is that of a class.

    Example: `Box[int]` does not run the method `__getitem__` of `Box`.
    """
    receivers = evaluate(ctx, point, callee[1])
    if all(value[0] in _OUTSIDE for value, _ in receivers):
        return exact_value(kinds.OPAQUE) if receivers else EMPTY
    values = evaluate(ctx, point, callee)
    found = tuple(pair for pair in values if pair[0][0] != kinds.FUNCTION)
    for name in FALLBACK_METHODS.get(callee[2], ()):
        is_found = any(value[0] == kinds.BOUND for value, _ in found)
        if not is_found and ctx.is_common(f"def {name}", 0):
            found = join((found, evaluate(ctx, point, (*callee[:2], name))))
    return found


def parameter(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values of a parameter.

    They come from the receiver, annotation, default value, call arguments, or pytest fixtures.
    """
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    found = file.scopes[scope]
    index = next(i for i, param in enumerate(found.params) if param.name == name)
    param = found.params[index]
    if index == 0 and (receiver := self_value(ctx, path, scope)):
        return receiver
    if param.kind in _VARIADIC_KINDS:
        return exact_value(kinds.VARIADIC, path, scope, name)
    outer_point = ProgramPoint(level, path, found.parent, found.at)
    declared = declared_values(ctx, outer_point, param.annotation)
    passed = _arguments(ctx, level, file, scope, index)
    if declared:
        return join((declared, _more_specific(ctx, declared, join(passed))))
    passed.append(fixture_values(ctx, level, file, scope, name))
    return join((weaken(evaluate(ctx, outer_point, param.default)), *passed))


def _more_specific(ctx: Context, declared: Values, passed: Values) -> Values:
    """Return the passed values that are more specific than the declared type.

    These are instances of the declared classes or their subclasses, and containers if the declared
    type is a container. If the declared type is unknown, return all passed values.
    """
    bases = {value[1:] for value, _ in declared if value[0] == kinds.INSTANCE}
    external = [value[1:] for value, _ in declared if value[0] == kinds.OPAQUE]
    if () in external:
        return passed
    is_container = any(unqualified_name(name) in CONTAINERS for (name,) in external)
    return tuple(
        pair
        for pair in passed
        if (
            bases
            and pair[0][0] in {kinds.INSTANCE, kinds.SELF}
            and mro_classes(ctx, pair[0]) & bases
        )
        or (is_container and pair[0][0] in _CONTAINER_KINDS)
    )


def mro_classes(ctx: Context, value: Value) -> set[tuple[Any, ...]]:
    return {v[1:] for v, _ in ctx.read(("mro", value[1], value[2])) if v[0] == kinds.CLASS}


def _arguments(ctx: Context, level: int, file: IndexedFile, scope: int, index: int) -> list[Values]:
    if level <= 0:
        return []
    sites = ctx.read(("call_sites", level - 1, file.path, scope))
    params = file.scopes[scope].params
    return [weaken(argument_at(ctx, level - 1, params, index, site[1:])) for site, _ in sites]


def field(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values that constructor calls pass for a dataclass field."""
    file = ctx.scope_file(path, scope)
    if file is None or level <= 0:
        return EMPTY
    binds = file.scopes[scope].binds.items()
    fields = [field for field, bound in binds if bound[0].kind == ir.ANNOTATED]
    if name not in fields:
        return EMPTY
    params = tuple([Parameter(field, ir.ORDINARY, None, None) for field in fields])
    sites, index = ctx.read(("call_sites", level - 1, path, scope)), fields.index(name)
    return weaken(join([argument_at(ctx, level - 1, params, index, v[1:]) for v, _ in sites]))


def argument_at(
    ctx: Context, level: int, params: tuple[Parameter, ...], index: int, site: tuple[str, int, int]
) -> Values:
    """Return the values that the call at `site` passes for the parameter with this index."""
    path, number, offset = site
    if (call := ctx.call(path, number)) is None:
        return EMPTY
    point = ProgramPoint(level, path, call.scope, call.at)
    param = params[index]
    found = []
    for keyword, term in call.keywords:
        if keyword == param.name:
            found.append(evaluate(ctx, point, term))
        elif keyword is None:
            mappings = evaluate(ctx, point, term)
            found.extend(ctx.read(("item", level, value, param.name)) for value, _ in mappings)
    if param.kind != ir.KEYWORD and not found:
        found.append(_positional(ctx, point, call, index - offset))
    return join(found)


def _positional(ctx: Context, point: ProgramPoint, call: Call, index: int) -> Values:
    for position, term in enumerate(call.args):
        if has_tag(term, ir.STAR):
            sequences = evaluate(ctx, point, term[1])
            key = index - position
            return join([ctx.read(("item", point.level, v, key)) for v, _ in sequences])
        if position == index:
            return evaluate(ctx, point, term)
    return EMPTY


def argument(ctx: Context, level: int, path: str, number: int, index: int) -> Values:
    if (call := ctx.call(path, number)) is None:
        return EMPTY
    return _positional(ctx, ProgramPoint(level, path, call.scope, call.at), call, index)


def variadic_items(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """Return item `key` of a function's `*args` or `**kwargs`, or all items if `key` is None."""
    _, path, scope, name = value
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    params = file.scopes[scope].params
    index = next(i for i, param in enumerate(params) if param.name == name)
    param = params[index]
    outer_point = ProgramPoint(level, path, file.scopes[scope].parent, file.scopes[scope].at)
    found = [declared_values(ctx, outer_point, param.annotation)]
    if level > 0:
        named = {p.name for p in params}
        for site, _ in ctx.read(("call_sites", level - 1, path, scope)):
            found.extend(
                _variadic_arguments(
                    ctx, level - 1, site[1:], (index, param.kind == ir.KWARGS, key), named
                )
            )
    return weaken(join(found))


def _variadic_arguments(
    ctx: Context,
    level: int,
    site: tuple[str, int, int],
    item: tuple[int, bool, Any],
    named: set[str],
) -> list[Values]:
    path, number, offset = site
    index, by_name, key = item
    if (call := ctx.call(path, number)) is None:
        return []
    point = ProgramPoint(level, path, call.scope, call.at)
    if by_name:
        return [
            evaluate(ctx, point, term)
            for name, term in call.keywords
            if name is not None and name not in named and key in {None, name}
        ]
    first = index - offset
    if isinstance(key, int) and key >= 0:
        return [_positional(ctx, point, call, first + key)]
    return [evaluate(ctx, point, term) for term in call.args[max(0, first) :]]


def call_sites(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the confirmed calls to a function, or nothing if there are too many candidates."""
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    kind = kinds.CLASS if file.scopes[scope].kind == ir.CLASS_SCOPE else kinds.FUNCTION
    target: Value = (kind, path, scope)
    found: dict[Value, int] = {}
    for other, number in candidate_calls(ctx, file, scope):
        for value, tier in ctx.read(("callee", level, other, number)):
            if (offset := _offset(ctx, level, value, target)) is not None:
                found[(SITE, other, number, offset)] = tier
    return tuple(sorted(found.items()))


def _offset(ctx: Context, level: int, value: Value, target: Value) -> int | None:
    """Return the offset between the arguments of a call to `value` and the parameters of `target`.

    Return None if calling `value` does not call `target`.
    """
    if value == target:
        return 0
    if value[0] == kinds.BOUND:
        return 1 if value[1] == target else None
    if value[0] in {kinds.CLASS, kinds.OWN_CLASS}:
        constructors = ctx.read(("class_attribute", 0, value[1], value[2], "__init__"))
        return 1 if any(v == target for v, _ in constructors) else None
    if value[0] == kinds.PARTIAL:
        call = ctx.call(value[1], value[2])
        bound = len(call.args) - 1 if call is not None else 0
        functions = ctx.read(("argument", level, value[1], value[2], 0))
        inner = [_offset(ctx, level, v, target) for v, _ in functions if v[0] != kinds.PARTIAL]
        return next((offset + bound for offset in inner if offset is not None), None)
    return None
