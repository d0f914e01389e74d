"""Attributes of values: one rule for each kind of value."""

from collections.abc import Callable

from remora.code.callgraph.abstract_values import (
    BOUND,
    BUILT,
    CLASS,
    CONTAINER,
    EMPTY,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    METHOD,
    MODULE,
    NAMESPACE,
    OPAQUE,
    OWN_CLASS,
    PAIR,
    REST,
    SELF,
    SUPER,
    TYPED,
    Value,
    Values,
    join,
    one,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.rules.class_attributes import of_class, of_instance, of_super, overriders


def member(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Rule: `value.name`."""
    found = _MEMBERS.get(value[0])
    return EMPTY if found is None else found(ctx, level, value, name)


def self_member(ctx: Context, level: int, value: Value, name: str, within: str) -> Values:
    """Rule: `self.name` in a method of the class, or `cls.name`."""
    find = of_class if value[0] == OWN_CLASS else of_instance
    return find(ctx, level, value, name, within)


def given_member(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Rule: `parameter.name`, where an annotation says what it takes: whoever takes an instance of a
    class is written for all that derive from it."""
    found = ctx.read(("member", level, value, name))
    if value[0] != INSTANCE:
        return found
    return join((found, overriders(ctx, level, value, name)))


def _of_module(ctx: Context, level: int, value: Value, name: str) -> Values:
    return ctx.read(("export", level, value[1], name))


def _of_namespace(ctx: Context, _level: int, value: Value, name: str) -> Values:
    inside = ctx.inside(value, name)
    return EMPTY if inside is None else ((inside, 0),)


def _of_external(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return one(EXTERNAL, f"{value[1]}.{name}")


def _of_opaque(_ctx: Context, _level: int, _value: Value, _name: str) -> Values:
    return one(OPAQUE)


def _of_container(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return one(METHOD, value, name)


def _of_function(ctx: Context, level: int, value: Value, name: str) -> Values:
    return ctx.read(("function_stores", level, value[1], value[2], name))


def _of_bound(_ctx: Context, _level: int, value: Value, name: str) -> Values:
    return one(*value[1]) if name == "__func__" else EMPTY


_MEMBERS: dict[str, Callable[[Context, int, Value, str], Values]] = {
    MODULE: _of_module,
    NAMESPACE: _of_namespace,
    EXTERNAL: _of_external,
    OPAQUE: _of_opaque,
    CLASS: of_class,
    OWN_CLASS: of_class,
    INSTANCE: of_instance,
    SELF: of_instance,
    SUPER: of_super,
    CONTAINER: _of_container,
    BUILT: _of_container,
    TYPED: _of_container,
    REST: _of_container,
    PAIR: _of_container,
    FUNCTION: _of_function,
    BOUND: _of_bound,
}
