"""All rules by the name of their question."""

from collections.abc import Callable, Mapping
from typing import Any

from remora.code.resolve import (
    attributes,
    calls,
    classes,
    containers,
    members,
    passing,
    results,
    stores,
    terms,
)
from remora.code.resolve.context import Context, Place
from remora.code.resolve.values import Values


def _name(ctx: Context, path: str, scope: int, at: int, name: str) -> Values:
    """What a name means by itself, whoever calls what."""
    return terms.name_values(ctx, Place(0, path, scope, at), name)


def _term(ctx: Context, level: int, path: str, scope: int, at: int, term: Any) -> Values:
    """What any term may be at a place."""
    return terms.evaluate(ctx, Place(level, path, scope, at), term)


RULES: Mapping[str, Callable[..., Values]] = {
    "name": _name,
    "term": _term,
    "bind": terms.bind,
    "export": terms.export,
    "param": calls.parameter,
    "callee": calls.callee,
    "call": results.result_of_call,
    "result": results.result,
    "returns": results.returns,
    "yields": results.yields,
    "passes": passing.passes,
    "argument": calls.argument,
    "field": calls.field,
    "sites": calls.sites,
    "member": members.member,
    "self_member": members.self_member,
    "given_member": members.given_member,
    "item": containers.item,
    "each": containers.each,
    "entered": containers.entered,
    "mro": classes.mro,
    "bases": classes.bases_of,
    "derived": classes.derived,
    "class_attribute": attributes.class_attribute,
    "accessor": attributes.accessor,
    "accessors": attributes.accessors,
    "stores": stores.attribute_stores,
    "outer_stores": stores.outer_stores,
    "function_stores": stores.function_stores,
    "special": attributes.special,
}
