"""Rules for attribute access on each kind of value."""

from collections.abc import Callable

from remora.code.callgraph.abstract_values import (
    BOUND,
    BUILT_CONTAINER,
    CLASS,
    CONTAINER,
    CONTAINER_METHOD,
    EMPTY,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    MODULE,
    NAMESPACE,
    OPAQUE,
    OWN_CLASS,
    PAIR,
    SELF,
    SUPER,
    TYPED_CONTAINER,
    VARIADIC,
    Value,
    Values,
    exact_value,
    join,
)
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.rules.class_attributes import (
    attribute_of_class,
    instance_attribute,
    overrides,
    super_attribute,
)


def member(ctx: Context, level: int, value: Value, name: str) -> Values:
    found = _MEMBERS.get(value[0])
    return EMPTY if found is None else found(ctx, level, value, name)


def self_member(ctx: Context, level: int, value: Value, name: str, method: str) -> Values:
    """Return the values of `self.name` or `cls.name` in a method of the class."""
    find = attribute_of_class if value[0] == OWN_CLASS else instance_attribute
    return find(ctx, level, value, name, method)


def annotated_member(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Return the values of `parameter.name` for an annotated parameter, including subclass
    overrides.
    """
    found = ctx.read(("member", level, value, name))
    return found if value[0] != INSTANCE else join((found, overrides(ctx, level, value, name)))


def _of_namespace(ctx: Context, _level: int, value: Value, name: str) -> Values:
    submodule = ctx.submodule(value, name)
    return EMPTY if submodule is None else ((submodule, 0),)


def _of_container(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return exact_value(CONTAINER_METHOD, value, name)


def _of_function(ctx: Context, level: int, value: Value, name: str) -> Values:
    return ctx.read(("function_stores", level, value[1], value[2], name))


def _of_bound(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return exact_value(*value[1]) if name == "__func__" else EMPTY


_MEMBERS: dict[str, Callable[[Context, int, Value, str], Values]] = {
    MODULE: lambda ctx, level, value, name: ctx.read(("export", level, value[1], name)),
    NAMESPACE: _of_namespace,
    EXTERNAL: lambda _ctx, _level, value, name: exact_value(EXTERNAL, f"{value[1]}.{name}"),
    OPAQUE: lambda *_: exact_value(OPAQUE),
    CLASS: attribute_of_class,
    OWN_CLASS: attribute_of_class,
    INSTANCE: instance_attribute,
    SELF: instance_attribute,
    SUPER: super_attribute,
    CONTAINER: _of_container,
    BUILT_CONTAINER: _of_container,
    TYPED_CONTAINER: _of_container,
    VARIADIC: _of_container,
    PAIR: _of_container,
    FUNCTION: _of_function,
    BOUND: _of_bound,
}
