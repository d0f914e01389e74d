"""All rules by the name of their question."""

from collections.abc import Callable, Mapping
from typing import Any

from remora.code.callgraph.abstract_values import Values
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.rules import (
    attribute_writes,
    call_results,
    call_rules,
    class_attributes,
    containers,
    evaluation,
    hierarchy,
    member_access,
    return_flow,
)


def _name(ctx: Context, path: str, scope: int, at: int, name: str) -> Values:
    """What a name means by itself, whoever calls what."""
    return evaluation.name_values(ctx, Place(0, path, scope, at), name)


def _term(ctx: Context, level: int, path: str, scope: int, at: int, term: Any) -> Values:
    """What any term may be at a place."""
    return evaluation.evaluate(ctx, Place(level, path, scope, at), term)


RULES: Mapping[str, Callable[..., Values]] = {
    "name": _name,
    "term": _term,
    "bind": evaluation.bind,
    "export": evaluation.export,
    "param": call_rules.parameter,
    "callee": call_rules.callee,
    "call": call_results.result_of_call,
    "result": call_results.result,
    "returns": call_results.returns,
    "yields": call_results.yields,
    "passes": return_flow.passes,
    "argument": call_rules.argument,
    "field": call_rules.field,
    "sites": call_rules.sites,
    "member": member_access.member,
    "self_member": member_access.self_member,
    "given_member": member_access.given_member,
    "item": containers.item,
    "each": containers.each,
    "entered": containers.entered,
    "mro": hierarchy.mro,
    "bases": hierarchy.bases_of,
    "derived": hierarchy.derived,
    "class_attribute": class_attributes.class_attribute,
    "accessor": class_attributes.accessor,
    "accessors": class_attributes.accessors,
    "stores": attribute_writes.attribute_stores,
    "outer_stores": attribute_writes.outer_stores,
    "function_stores": attribute_writes.function_stores,
    "special": class_attributes.special,
}
