"""What can be done about a docstring without a writer."""

import ast

import msgspec

from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.documented_node import DocumentedNode
from remora.operations.docstring.mend import Mend, mend_of, missing_parameters
from remora.operations.docstring.parts import Describable


class UpdatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done about a docstring without a writer.

    `left` contains the parts that it leaves out, as `parameters.NAME` or `raises.NAME`. `mend`
    contains the certain changes.
    """

    left: tuple[str, ...] = ()
    mend: Mend = Mend()


def update_plan(found: DocumentedNode) -> UpdatePlan:
    """Plan the update of an existing docstring.

    Exceptions are left to a writer: those that a list leaves out, or all of them if most docstrings
    of the project have such a list.
    """
    code = found.code
    if code is None:
        return UpdatePlan()
    describable = describable_parts(found.node)
    extra = [wrong.name for wrong in found.contradictions if wrong.code == "missing-exception"]
    raised = [name for name in describable.raises if name.rpartition(".")[2] in extra]
    if not raised and _lacks_list(found, describable):
        raised = list(describable.raises)
    left = [f"parameters.{name}" for name in missing_parameters(code, found.contradictions)]
    left += [f"raises.{name}" for name in raised]
    return UpdatePlan(left=tuple(left), mend=mend_of(found))


def _lacks_list(found: DocumentedNode, describable: Describable) -> bool:
    """Return True if the docstring should list exceptions as most others do."""
    code = found.code
    if code is None or code.function is None or code.node.name.startswith("_"):
        return False
    nested = not isinstance(found.parent, ast.Module | ast.ClassDef)
    has_list = any(section.kind == "raises" for section in code.parsed.sections)
    if nested or has_list or not found.related.lists_exceptions:
        return False
    names = [name.rpartition(".")[2] for name in describable.raises]
    return not any(name in code.text for name in names)  # the text may already say it
