"""Rules for the attributes of classes, instances and all other kinds of values."""

import itertools
from collections.abc import Callable, Iterator

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.dataflow import default_factories
from remora.code.callgraph.files.ir_index import IndexedFile, VisibleBinding
from remora.code.callgraph.rules.hierarchy import (
    delegates_to_base,
    has_external_base,
    is_dataclass,
    is_enum,
    project_mro,
)
from remora.code.callgraph.rules.points_to import (
    binding_values,
    evaluate,
    instances_of,
    member_values,
)
from remora.code.ir.model import FUNCTION_SCOPE, METACLASS

GETTERS = frozenset(("property", "cached_property", "abstractproperty", "lazy_property", "getter"))
_CONTAINER_KINDS = (
    *(kinds.CONTAINER, kinds.BUILT_CONTAINER, kinds.TYPED_CONTAINER),
    *(kinds.VARIADIC, kinds.PAIR),
)
_MAX_INSTANCE_OVERRIDES = 4  # overrides of an abstract method; more are not informative
_MAX_PARAMETER_OVERRIDES = 24  # leaves room for other values below the limit of `join`


def class_attribute(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values bound to `name` in the first class of the MRO that defines it."""
    for file, number in project_mro(ctx, (kinds.CLASS, path, scope)):
        if bindings := file.exported(number, name):
            return join([binding_values(ctx, level, file, binding) for binding in bindings])
    return EMPTY


def constructors(ctx: Context, path: str, scope: int) -> Values:
    """Return the functions that run when a class is instantiated, also by a generated `__init__`."""
    names = ["__new__", "__init__"]
    found: list[Values] = []
    for file, number in project_mro(ctx, (kinds.CLASS, path, scope)):
        if "__init__" in file.scopes[number].binds:
            break
        if is_dataclass(file, number):
            names = ["__new__", "__post_init__", "__attrs_post_init__"]
            for at, term in default_factories(file.lowered, file.scopes[number]):
                made = evaluate(ctx, ProgramPoint(0, file.path, number, at), term)
                found.append(tuple((value, kinds.POSSIBLE) for value, _ in made))
    found += [ctx.read(("class_attribute", 0, path, scope, name)) for name in names]
    return tuple(pair for pair in join(found) if pair[0][0] == kinds.FUNCTION)


def accessor(ctx: Context, path: str, scope: int, name: str, setting: bool) -> Values:
    """Return the getter or setter of property `name`.

    The result is empty if `name` is not a property.
    """
    for file, number in project_mro(ctx, (kinds.CLASS, path, scope)):
        if not (binds := file.scopes[number].binds.get(name, ())):
            continue
        found: Values = EMPTY
        for index in range(len(binds)):
            function = file.definition(VisibleBinding(number, name, index))
            decorators = set() if function is None else file.decorator_names(function)
            if function is not None and (
                ("setter" in decorators) if setting else (decorators & GETTERS)
            ):
                found = exact_value(kinds.FUNCTION, file.path, function)
        return found or _property(ctx, file, number, name, setting)
    return EMPTY


def accessors(ctx: Context, value: Value, name: str, setting: bool) -> Values:
    """Return the getters or setters of property `name` of an instance.

    If the instance is `self`, accessors in subclasses are included.
    """
    inherited = ctx.read(("accessor", value[1], value[2], name, setting))
    if value[0] != kinds.SELF or not inherited:
        return inherited
    subclasses = ctx.read(("derived", value[1], value[2]))
    found = [weaken(ctx.read(("accessor", v[1], v[2], name, setting))) for v, _ in subclasses]
    return join((inherited, *found))


def _property(ctx: Context, file: IndexedFile, number: int, name: str, setting: bool) -> Values:
    values = [binding_values(ctx, 0, file, binding) for binding in file.exported(number, name)]
    found = []
    for value, _ in join(values):
        if value[0] == kinds.PROPERTY:
            found.append(ctx.read(("argument", 0, value[1], value[2], 1 if setting else 0)))
    return tuple(pair for pair in join(found) if pair[0][0] == kinds.FUNCTION)


def instance_attribute(
    ctx: Context, level: int, value: Value, name: str, method: str = ""
) -> Values:
    """Return the values of an attribute of an instance.

    These are bound methods, property results and stored values. `method` is the name of the method
    that reads the attribute.
    """
    _, path, scope = value
    if getters := ctx.read(("accessors", value, name, False)):
        results = [ctx.read(("result", level, v[1], v[2])) for v, _ in getters]
        return weaken(join(results)) or exact_value("computed", *value[1:], name)
    members = ctx.read(("class_attribute", level, path, scope, name))
    found = [bind_methods(ctx, members, value), ctx.read(("stores", level, path, scope, name))]
    if value[0] == kinds.SELF:
        found.append(ctx.read(("subclass_attribute", level, value, name, method)))
    elif is_abstract(ctx, members):
        subclasses = ctx.read(("derived", path, scope))
        few = len(subclasses) <= _MAX_INSTANCE_OVERRIDES
        found.append(ctx.read(("subclass_attribute", level, value, name, "")) if few else EMPTY)
    values = join(found)
    return exact_value(kinds.OPAQUE) if not values and has_external_base(ctx, value) else values


def overrides(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Return the overrides of an abstract method in subclasses.

    The result is empty if there are too many overrides.
    """
    if not is_abstract(ctx, ctx.read(("class_attribute", level, value[1], value[2], name))):
        return EMPTY
    found = ctx.read(("subclass_attribute", level, (kinds.SELF, *value[1:]), name, ""))
    return EMPTY if found is kinds.TOP or len(found) > _MAX_PARAMETER_OVERRIDES else found


def subclass_attribute(ctx: Context, level: int, value: Value, name: str, method: str) -> Values:
    """Return the values of the attribute in the subclasses that `self` may be an instance of.

    These are those that inherit `method`, or all if it is empty.
    """
    found: list[Values] = []
    for _, *subclass in (v for v, _ in ctx.read(("inheriting", *value[1:], method))):
        members = ctx.read(("class_attribute", level, *subclass, name))
        found.append(weaken(bind_methods(ctx, members, value)))
        found.append(weaken(ctx.read(("stores", level, *subclass, name))))
    return join(found)


def inheriting(ctx: Context, path: str, scope: int, method: str) -> Values:
    """Return the subclasses that run `method` of a class for their instances, or all without one."""
    value, subclasses = (kinds.CLASS, path, scope), ctx.read(("derived", path, scope))
    return tuple(
        pair for pair in subclasses if not method or _is_inherited(ctx, pair[0], value, method)
    )


def _is_inherited(ctx: Context, subclass: Value, value: Value, method: str) -> bool:
    """Return True if `subclass` inherits `method`, or overrides it and calls the base method."""
    between = itertools.takewhile(
        lambda o: (o[0].path, o[1]) != value[1:], project_mro(ctx, subclass)
    )
    return all(delegates_to_base(ctx, file, number, method) for file, number in between)


def is_abstract(ctx: Context, methods: Values) -> bool:
    for value, _ in methods:
        file = ctx.definition_file(value[1], value[2]) if value[0] == kinds.FUNCTION else None
        if file is None or not (
            "abstractmethod" in file.decorator_names(value[2]) or file.is_stub(value[2])
        ):
            return False
    return bool(methods)


def attribute_of_class(
    ctx: Context, level: int, value: Value, name: str, method: str = ""
) -> Values:
    """Return the values of a class attribute. Members of an enum are instances of the enum."""
    members = ctx.read(("class_attribute", level, value[1], value[2], name))
    if is_enum(ctx, value):
        functions = tuple(pair for pair in members if pair[0][0] == kinds.FUNCTION)
        return functions or exact_value(kinds.INSTANCE, *value[1:])
    found = [
        bind_methods(ctx, members, value),
        ctx.read(("stores", level, value[1], value[2], name)),
    ]
    if value[0] == kinds.OWN_CLASS:
        found.append(ctx.read(("subclass_attribute", level, value, name, method)))
    if not (values := join(found)):
        metaclasses = ctx.read(("class_attribute", level, value[1], value[2], METACLASS))
        values = weaken(member_values(ctx, level, instances_of(metaclasses), name))
    return values or (exact_value(kinds.OPAQUE) if has_external_base(ctx, value) else EMPTY)


def super_attribute(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Return an attribute of `super()`, found in the classes after the given class in the MRO.

    Example: with `class Page(Login, View)`, `super()` in `Login` continues in `View`, also if
    `Login` has no bases. So the MRO of each subclass of the receiver counts, too.
    """
    _, start, receiver, method = value
    found = [_members_behind(ctx, level, receiver, start, name)]
    order = ctx.read(("mro", *receiver[1:]))
    for subclass, _ in ctx.read(("derived", *receiver[1:])):
        own = ctx.read(("mro", *subclass[1:]))
        behind = own[own.index(order[0]) :] if order[0] in own else ()
        if behind != order[: len(behind)] and _is_inherited(ctx, subclass, receiver, method):
            found.append(weaken(_members_behind(ctx, level, subclass, start, name)))
    return bind_methods(ctx, join(found), receiver) or exact_value(kinds.OPAQUE)


def _members_behind(ctx: Context, level: int, owner: Value, start: Value, name: str) -> Values:
    """Return the attribute in the first class that defines it after `start` in the MRO of `owner`."""
    order = [v for v, _ in ctx.read(("mro", *owner[1:]))]
    for base in order[order.index(start) + 1 :] if start in order else ():
        file = ctx.scope_file(base[1], base[2]) if base[0] == kinds.CLASS else None
        if file is not None and (bindings := file.exported(base[2], name)):
            return join([binding_values(ctx, level, file, binding) for binding in bindings])
    return EMPTY


def bind_methods(ctx: Context, values: Values, receiver: Value) -> Values:
    """Return the values of a class attribute, with functions bound to the receiver."""
    found: dict[Value, int] = {}
    for value, tier in values:
        member = value
        if value[0] == kinds.FUNCTION and _is_bound(ctx, value, receiver):
            member = (kinds.BOUND, value, receiver)
        found[member] = tier
    return tuple(found.items())


def _is_bound(ctx: Context, value: Value, receiver: Value) -> bool:
    file = ctx.definition_file(value[1], value[2])
    if file is not None and "staticmethod" in file.decorator_names(value[2]):
        return False
    takes_class = file is not None and file.takes_class(value[2])
    return takes_class or receiver[0] in {kinds.INSTANCE, kinds.SELF}


def dispatched(ctx: Context, owner: Value, prefix: str) -> Values:
    """Return the functions of a class or module whose names begin with a prefix.

    Those of subclasses are included if the owner is `self` or the class of `self`.
    """
    found: dict[Value, int] = {}
    for file, number in _homes(ctx, owner):
        for name in file.scopes[number].binds:
            for binding in file.exported(number, name) if name.startswith(prefix) else ():
                values = binding_values(ctx, 0, file, binding)
                found.update((value, kinds.POSSIBLE) for value, _ in values)
    return tuple(pair for pair in found.items() if pair[0][0] == kinds.FUNCTION)


def _homes(ctx: Context, owner: Value) -> Iterator[tuple[IndexedFile, int]]:
    """Yield the file and scope of a module, or of a class, its bases and, for `self`, subclasses."""
    if owner[0] == kinds.MODULE and (file := ctx.interface_file(owner[1])) is not None:
        yield file, 0
    if owner[0] in {kinds.CLASS, kinds.INSTANCE, kinds.SELF, kinds.OWN_CLASS}:
        yield from project_mro(ctx, owner)
    if owner[0] in {kinds.SELF, kinds.OWN_CLASS}:
        for subclass, _ in ctx.read(("derived", *owner[1:])):
            yield from project_mro(ctx, subclass)


def special(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Return the result of calling the special method `name` on an instance."""
    methods = ctx.read(("class_attribute", level, value[1], value[2], name))
    found = [ctx.read(("result", level, v[1], v[2])) for v, _ in methods if v[0] == kinds.FUNCTION]
    return weaken(join(found))


def self_value(ctx: Context, path: str, scope: int) -> Values:
    """Return the value of a method's first parameter.

    The result is empty for static methods and plain functions.
    """
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    owner = file.owner_class(scope)
    is_method = owner is not None and file.scopes[scope].kind == FUNCTION_SCOPE
    if not is_method or "staticmethod" in file.decorator_names(scope):
        return EMPTY
    return exact_value(kinds.OWN_CLASS if file.takes_class(scope) else kinds.SELF, path, owner)


def member(ctx: Context, level: int, value: Value, name: str) -> Values:
    found = _MEMBERS.get(value[0])
    return EMPTY if found is None else found(ctx, level, value, name)


def self_member(ctx: Context, level: int, value: Value, name: str, method: str) -> Values:
    """Return the values of `self.name` or `cls.name` in a method of the class."""
    find = attribute_of_class if value[0] == kinds.OWN_CLASS else instance_attribute
    return find(ctx, level, value, name, method)


def annotated_member(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Return the values of `parameter.name` for an annotated parameter, also of subclasses."""
    found = ctx.read(("member", level, value, name))
    return (
        found if value[0] != kinds.INSTANCE else join((found, overrides(ctx, level, value, name)))
    )


def _of_namespace(ctx: Context, _level: int, value: Value, name: str) -> Values:
    submodule = ctx.submodule(value, name)
    return EMPTY if submodule is None else ((submodule, 0),)


def _of_container(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return exact_value(kinds.CONTAINER_METHOD, value, name)


_MEMBERS: dict[str, Callable[[Context, int, Value, str], Values]] = {
    kinds.MODULE: lambda ctx, level, value, name: ctx.read(("export", level, value[1], name)),
    kinds.NAMESPACE: _of_namespace,
    kinds.EXTERNAL: lambda _ctx, _level, value, name: exact_value(
        kinds.EXTERNAL, f"{value[1]}.{name}"
    ),
    kinds.OPAQUE: lambda *_: exact_value(kinds.OPAQUE),
    kinds.CLASS: attribute_of_class,
    kinds.OWN_CLASS: attribute_of_class,
    kinds.INSTANCE: instance_attribute,
    kinds.SELF: instance_attribute,
    kinds.SUPER: super_attribute,
    kinds.FUNCTION: lambda ctx, level, value, name: ctx.read(
        ("function_stores", level, value[1], value[2], name)
    ),
    **dict.fromkeys(_CONTAINER_KINDS, _of_container),
}
