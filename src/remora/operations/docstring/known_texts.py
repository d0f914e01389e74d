"""Descriptions of a node's parts that are known without a writer."""

import ast
import re
from collections.abc import Mapping

import msgspec

from remora.code.syntax.docstring_sections import Style
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.documented_node import DocumentedNode
from remora.operations.docstring.mend import Mend, mend_of, missing_parameters
from remora.operations.docstring.parts import Describable, DocstringTexts
from remora.operations.docstring.related_texts import RelatedTexts

_TYPE_FIELD = re.compile(r"\s*:type \w")
_TYPE_PATTERNS: Mapping[Style, re.Pattern[str]] = {
    "google": re.compile(r"\s*\*{0,2}\w+ ?\((.*?)\)\s*:"),
    "numpy": re.compile(r"\s*\*{0,2}\w+ ?: ?(.+)"),
    "rest": re.compile(r"\s*:\w+ (.+?) \w+:"),
}
"""Patterns of the first line of an entry that states a type."""


def known_texts(describable: Describable, related: RelatedTexts) -> DocstringTexts:
    """Return the descriptions that other docstrings of the project give."""
    return DocstringTexts(
        parameters={
            each.name: known.text
            for each in describable.parameters
            if (known := related.parameter_text(each.name)) is not None
        },
    )


class UpdatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done about a docstring without a writer.

    `texts` contains the known descriptions of parts that it leaves out. `left` contains the parts
    without a known description, as `parameters.NAME` or `raises.NAME`. `mend` contains all changes.
    """

    texts: DocstringTexts = DocstringTexts()
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
    known = known_texts(describable, found.related)
    missing = missing_parameters(code, found.contradictions)
    parameters = {
        name: known.parameters[name]
        for name in missing
        if name in known.parameters and _has_type(found, describable, name)
    }
    extra = [each.name for each in found.contradictions if each.code == "missing-exception"]
    raised = [name for name in describable.raises if name.rpartition(".")[2] in extra]
    if not raised and _lacks_list(found, describable):
        raised = list(describable.raises)
    left = [f"parameters.{name}" for name in missing if name not in parameters]
    left += [f"raises.{name}" for name in raised]
    texts = DocstringTexts(parameters=parameters)
    return UpdatePlan(texts=texts, left=tuple(left), mend=mend_of(found, texts))


def _has_type(found: DocumentedNode, describable: Describable, name: str) -> bool:
    """Return True if the type of a parameter is known, or the docstring's list has no types.

    Types in fields of their own, such as `:type name: str`, are not written.
    """
    if found.code is not None and any(map(_TYPE_FIELD.match, found.code.parsed.lines)):
        return False
    if any(each.name == name and each.annotation for each in describable.parameters):
        return True
    if found.code is None:
        return False
    parsed = found.code.parsed
    pattern = _TYPE_PATTERNS[parsed.style or "google"]
    items = (e for each in parsed.sections if each.kind == "parameters" for e in each.items)
    return not any(pattern.match(parsed.lines[item.first]) for item in items)


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
