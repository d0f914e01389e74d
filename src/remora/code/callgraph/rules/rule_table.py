"""Table that maps the name of each question to its rule."""

from collections.abc import Callable, Mapping
from typing import Any

from remora.code.callgraph.abstract_values import Values
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.rules import (
    attribute_writes,
    call_results,
    call_rules,
    class_attributes,
    containers,
    hierarchy,
    points_to,
)


def _term(ctx: Context, level: int, path: str, scope: int, at: int, term: Any) -> Values:
    """Return the values of a term at a program point."""
    return points_to.evaluate(ctx, ProgramPoint(level, path, scope, at), term)


RULES: Mapping[str, Callable[..., Values]] = {
    "term": _term,
    "bind": points_to.bind,
    "export": points_to.export,
    "param": call_rules.parameter,
    "callee": call_rules.callee,
    "call": call_results.result_of_call,
    "result": call_results.result,
    "returns": call_results.returns,
    "yields": call_results.yields,
    "argument": call_rules.argument,
    "field": call_rules.field,
    "call_sites": call_rules.call_sites,
    "member": class_attributes.member,
    "self_member": class_attributes.self_member,
    "annotated_member": class_attributes.annotated_member,
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
