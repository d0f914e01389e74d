"""Evaluation of terms to their points-to values."""

import builtins
from collections.abc import Callable
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import PARAMETER, IndexedFile, VisibleBinding
from remora.code.callgraph.rules.declared_types import declared_values
from remora.code.ir import model as ir

_BUILTINS = frozenset(dir(builtins))
_MAX_DEPTH = 40


def evaluate(ctx: Context, point: ProgramPoint, term: Any, depth: int = 0) -> Values:
    """Return the values that `term` may have at `point`."""
    if term is None or depth > _MAX_DEPTH:
        return EMPTY
    if term.__class__ is str:
        return name_values(ctx, point, term)
    if term.__class__ is int:
        return ctx.read(("call", point.level, point.path, term))
    return _EVALUATORS[term[0]](ctx, point, term, depth + 1)


def name_values(ctx: Context, point: ProgramPoint, name: str) -> Values:
    """Return the values of a name.

    The name is looked up in the file's bindings, then its star imports, then the builtins.
    """
    if (file := ctx.scope_file(point.path, point.scope)) is None:
        return EMPTY
    if bindings := file.lookup(point.scope, name, point.at):
        return join([_visible_binding(ctx, point, file, binding) for binding in bindings])
    if starred := star_values(ctx, point.level, file, name):
        return starred
    return exact_value(kinds.EXTERNAL, f"builtins.{name}") if name in _BUILTINS else EMPTY


def _visible_binding(
    ctx: Context, point: ProgramPoint, file: IndexedFile, binding: VisibleBinding
) -> Values:
    if binding.bind == PARAMETER:
        return ctx.read(("param", point.level, point.path, binding.scope, binding.name))
    return binding_values(ctx, point.level, file, binding)


def binding_values(ctx: Context, level: int, file: IndexedFile, binding: VisibleBinding) -> Values:
    """Return the values of a binding. Another answer is read only if necessary."""
    found = file.scopes[binding.scope].binds[binding.name][binding.bind]
    if found.kind == ir.DEFINITION and found.extra is None:
        is_class = file.scopes[found.term].kind == ir.CLASS_SCOPE
        return exact_value(kinds.CLASS if is_class else kinds.FUNCTION, file.path, found.term)
    if found.kind == ir.IMPORT:
        return _import(ctx, file.path, found.term)
    if found.scope == 0 or found.kind == ir.IMPORT_FROM:
        # module-level code seldom depends on deep call chains
        level = min(level, 1)
    return ctx.read(("bind", level, file.path, *binding))


def star_values(ctx: Context, level: int, file: IndexedFile, name: str) -> Values:
    """Return the values that the star imports of `file` provide for `name`."""
    if not file.lowered.stars:
        return EMPTY
    sources = ctx.star_sources(file.path, name)
    return join([ctx.read(("export", level, path, name)) for path in sources])


def export(ctx: Context, level: int, path: str, name: str) -> Values:
    if (file := ctx.interface_file(path)) is None:
        return EMPTY
    found = [binding_values(ctx, level, file, binding) for binding in file.exported(0, name)]
    if not found:
        if (submodule := ctx.submodule((kinds.MODULE, path), name)) is not None:
            return ((submodule, 0),)
        return star_values(ctx, level, file, name) or _lazy_values(ctx, level, file, name)
    return join(found)


def _lazy_values(ctx: Context, level: int, file: IndexedFile, name: str) -> Values:
    """Return the values that a module's `__getattr__` may load, by a table of modules."""
    found = []
    for dotted, attribute in file.lazy_names.get(name, ()):
        bare = dotted.lstrip(".")
        for up in (0, 1) if bare == dotted else (len(dotted) - len(bare),):
            module = ctx.resolve_import(file.path, up, bare)
            if module is not None and module[0] == kinds.MODULE:
                found.append(ctx.read(("export", level, module[1], attribute)))
    return weaken(join(found))


def bind(ctx: Context, level: int, path: str, scope: int, name: str, index: int) -> Values:
    if (file := ctx.scope_file(path, scope)) is None:
        return EMPTY
    found = file.scopes[scope].binds[name][index]
    point = ProgramPoint(level, path, found.scope, found.at)
    if found.kind == ir.VALUE:
        return weaken(evaluate(ctx, point, found.term))
    if found.kind == ir.DEFINITION:
        return _definition(ctx, point, file, found.term, found.extra)
    if found.kind == ir.IMPORT_FROM:
        return _import_from(ctx, point, found.term, found.extra)
    if found.kind == ir.ANNOTATED:
        assigned = weaken(evaluate(ctx, point, found.extra))
        return join((declared_values(ctx, point, found.term), assigned))
    return EMPTY


def _definition(
    ctx: Context, point: ProgramPoint, file: IndexedFile, number: int, decorated: Any
) -> Values:
    kind = kinds.CLASS if file.scopes[number].kind == ir.CLASS_SCOPE else kinds.FUNCTION
    itself = exact_value(kind, file.path, number)
    if decorated is None:
        return itself
    results = ctx.read(("call", point.level, file.path, decorated))
    known = tuple(pair for pair in results if pair[0][0] not in {kinds.EXTERNAL, kinds.OPAQUE})
    return join((itself, weaken(known)))


def _import(ctx: Context, path: str, dotted: str) -> Values:
    module = ctx.resolve_import(path, 0, dotted)
    return exact_value(kinds.EXTERNAL, dotted) if module is None else ((module, 0),)


def _import_from(ctx: Context, point: ProgramPoint, source: tuple[int, str], name: str) -> Values:
    level, dotted = source
    if (module := ctx.resolve_import(point.path, level, dotted)) is None:
        if level or ctx.is_project_module(dotted):
            return exact_value(kinds.OPAQUE)
        return exact_value(kinds.EXTERNAL, f"{dotted}.{name}")
    if module[0] == kinds.NAMESPACE or module[1] == point.path:
        submodule = ctx.submodule(module, name)
        return EMPTY if submodule is None else ((submodule, 0),)
    found = ctx.read(("export", min(point.level, 1), module[1], name))
    if not found and not ctx.interface_file(module[1]):
        return EMPTY
    submodule = ctx.submodule(module, name)
    return ((submodule, 0),) if submodule is not None and not found else found


def _attribute(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    if term[2] == "__class__":
        file = ctx.scope_file(point.path, point.scope)
        owner = file.class_of_self(point.scope, term[1]) if file is not None else None
        known = (kinds.OPAQUE,) if owner is None else (kinds.OWN_CLASS, point.path, owner)
        return exact_value(*known)
    receivers = evaluate(ctx, point, term[1], depth)
    method = (
        _enclosing_method(ctx, point) if term[1].__class__ is str and len(receivers) == 1 else None
    )
    if method is not None:
        value, tier = receivers[0]
        if value in ((kinds.SELF, *method[:2]), (kinds.OWN_CLASS, *method[:2])):
            found = ctx.read(("self_member", point.level, value, term[2], method[2]))
            return weaken(found) if tier else found
    file = ctx.scope_file(point.path, point.scope)
    annotated = file is not None and file.is_annotated_parameter(point.scope, term[1], point.at)
    return member_values(ctx, point.level, receivers, term[2], annotated=annotated)


def _enclosing_method(ctx: Context, point: ProgramPoint) -> tuple[str, int, str] | None:
    """Return (path, class, name) for the enclosing method, or None."""
    file = ctx.scope_file(point.path, point.scope)
    method = None if file is None else file.enclosing_method(point.scope)
    if file is None or method is None:
        return None
    return point.path, file.scopes[method].parent, file.scopes[method].name


def member_values(
    ctx: Context, level: int, receivers: Values, name: str, *, annotated: bool = False
) -> Values:
    """Return the values of attribute `name` of each receiver.

    If `annotated` is True, receivers with tier EXACT come from a parameter annotation.
    """
    found = []
    for value, tier in receivers:
        rule = "annotated_member" if annotated and not tier else "member"
        values = ctx.read((rule, level, value, name))
        found.append(weaken(values) if tier else values)
    return join(found)


def _item(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    base = evaluate(ctx, point, term[1], depth)
    return join([ctx.read(("item", point.level, value, term[2])) for value, _ in base])


def _element(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    base = evaluate(ctx, point, term[1], depth)
    return join([ctx.read(("each", point.level, value)) for value, _ in base])


def _operand(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    return evaluate(ctx, point, term[1], depth)


def _container(_ctx: Context, point: ProgramPoint, term: Any, _depth: int) -> Values:
    return exact_value(kinds.CONTAINER, point.path, term[1])


def _scope(_ctx: Context, point: ProgramPoint, term: Any, _depth: int) -> Values:
    file = _ctx.scope_file(point.path, point.scope)
    is_class = file is not None and file.scopes[term[1]].kind == ir.CLASS_SCOPE
    return exact_value(kinds.CLASS if is_class else kinds.FUNCTION, point.path, term[1])


def _either(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    return join([evaluate(ctx, point, part, depth) for part in term[1:]])


def _narrowed(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    found = weaken(evaluate(ctx, point, term[2], depth))
    return found or evaluate(ctx, point, term[1], depth)


def _await(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    return await_values(ctx, point.level, evaluate(ctx, point, term[1], depth))


def await_values(ctx: Context, level: int, values: Values) -> Values:
    found = []
    for value, tier in values:
        if value[0] == kinds.COROUTINE:
            found.append(ctx.read(("returns", level, value[1], value[2])))
        elif value[0] == kinds.INSTANCE:
            found.append(ctx.read(("special", level, value, "__await__")))
        elif value[0] in {kinds.EXTERNAL, kinds.OPAQUE}:
            found.append(((value, tier),))
    return join(found)


def _constant(_ctx: Context, _place: ProgramPoint, term: Any, _depth: int) -> Values:
    return exact_value(kinds.OPAQUE, f"builtins.{term[1]}")


def _evaluate_entered(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    managers = evaluate(ctx, point, term[1], depth)
    return join([ctx.read(("entered", point.level, v, bool(term[2]))) for v, _ in managers])


def _instance(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    classes = evaluate(ctx, point, term[1], depth)
    elements = [ctx.read(("each", point.level, v)) for v, _ in classes if v[0] == kinds.CONTAINER]
    return instances_of(join((classes, *elements)))


def instances_of(classes: Values) -> Values:
    """Return an instance of each class, or OPAQUE for an external class."""
    found: dict[tuple[Any, ...], int] = {}
    for value, tier in classes:
        if value[0] == kinds.CLASS:
            found[(kinds.INSTANCE, *value[1:])] = tier
        elif value[0] == kinds.OWN_CLASS:
            found[(kinds.SELF, *value[1:])] = tier
        elif value[0] == kinds.EXTERNAL:
            found[(kinds.OPAQUE, value[1])] = tier
    return tuple(found.items())


_EVALUATORS: dict[int, Callable[[Context, ProgramPoint, Any, int], Values]] = {
    ir.ATTRIBUTE: _attribute,
    ir.ITEM: _item,
    ir.SLICE: _operand,
    ir.CONTAINER: _container,
    ir.SCOPE: _scope,
    ir.EITHER: _either,
    ir.AWAIT: _await,
    ir.ELEMENT: _element,
    ir.TEXT: lambda *_: exact_value(kinds.OPAQUE, "builtins.str"),
    ir.PREFIX: lambda _ctx, _point, term, _depth: exact_value(
        kinds.OPAQUE, "builtins.str", term[1]
    ),
    ir.CONSTANT: _constant,
    ir.STAR: _element,
    ir.ENTERED: _evaluate_entered,
    ir.INSTANCE: _instance,
    ir.NARROWED: _narrowed,
}
