"""Corrections of a docstring that follow from its code, without a writer."""

import ast
from collections.abc import Sequence

import msgspec

from remora.code.docstrings.docstring_sections import Item
from remora.code.docstrings.documented_exceptions import listable_exceptions
from remora.code.docstrings.documented_node import DocumentedNode
from remora.code.docstrings.documented_parameters import (
    are_similar,
    documented_parameters,
    lower_words,
    unlisted_parameters,
)
from remora.code.docstrings.drift_finding import DocumentedCode, DriftFinding

_UNKNOWN = ("unknown-parameter", "renamed-parameter")


class Mend(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to an existing docstring.

    `renames` maps documented parameters to their names in the signature. `removed` contains
    documented parameters that no longer exist.
    """

    renames: dict[str, str] = {}
    removed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.renames or self.removed)


def mend_of(found: DocumentedNode) -> Mend:
    """Return the certain changes to an existing docstring.

    An entry is removed only if its parameter does not exist and all parameters have an entry,
    because the text may be about one that has none.
    """
    code = found.code
    if code is None:
        return Mend()
    findings = found.contradictions
    renames = certain_renames(code, findings)
    unlisted = set(unlisted_parameters(code)) - set(renames.values())
    return Mend(
        renames=renames,
        removed=frozenset() if unlisted else _removable(code, findings) - set(renames),
    )


def missing_parameters(code: DocumentedCode, findings: Sequence[DriftFinding]) -> list[str]:
    """Return the parameters without an entry, in the order of the findings."""
    renames = certain_renames(code, findings)
    return [
        finding.new or finding.name
        for finding in findings
        if finding.code == "missing-parameter"
        or (finding.code == "renamed-parameter" and finding.old not in renames)
    ]


def certain_renames(code: DocumentedCode, findings: Sequence[DriftFinding]) -> dict[str, str]:
    """Return the documented parameters that surely have another name now, with this name."""
    sections = reversed(code.parsed.sections)
    items = {name: item for part in sections for item in part.items[::-1] for name in item.names}
    return {
        finding.old: finding.new
        for finding in findings
        if finding.code == "renamed-parameter"
        and finding.old in items
        and _is_certain(code, finding, items[finding.old])
    }


def _removable(code: DocumentedCode, findings: Sequence[DriftFinding]) -> frozenset[str]:
    """Return the documented parameters that do not exist.

    Nothing is removed from a method that a subclass may override, from a function whose decorators
    may change its parameters, or if the docstring mentions the parameter elsewhere.
    """
    if code.is_overridable or not code.keeps_signature:
        return frozenset()
    items, quoted = documented_parameters(code), code.parsed.quoted_words()
    unknown = {
        finding.name: items[finding.name] for finding in findings if finding.code in _UNKNOWN
    }
    return frozenset(
        name
        for name, item in unknown.items()
        if all(item.first <= line <= item.last for line, _, _ in quoted.get(name, ()))
    )


def _is_certain(code: DocumentedCode, finding: DriftFinding, item: Item) -> bool:
    """Return True if the names are alike, or the description has a new word of the name.

    The text of the entry must fit the new name: `path : str, Path to the file` is not about the
    parsed `json` that the function takes now.
    """
    if (
        finding.new.endswith(f"_{finding.old}")
        and f":param {finding.new.replace('_', ' ')}" in (code.parsed.lines[finding.line])
    ):
        return False  # the field has a space instead of an underscore
    text = " ".join(code.parsed.lines[item.first : item.last + 1]).lower()
    told = {*lower_words(text.replace(finding.old.lower(), " ", 1))}
    old, new = {*lower_words(finding.old)}, {*lower_words(finding.new)}
    is_plural = old != new and {word.rstrip("s") for word in old} == {n.rstrip("s") for n in new}
    if is_plural or any(len(word) > 2 for word in (old - new) & told):
        return False
    return are_similar(finding.old, finding.new) or bool((new - old) & told)


class UpdatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Update of a docstring that needs no writer.

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
    listable = listable_exceptions(found.node)
    extra = [wrong.name for wrong in found.contradictions if wrong.code == "missing-exception"]
    raised = [name for name in listable if name.rpartition(".")[2] in extra]
    if not raised and _lacks_list(found, listable):
        raised = list(listable)
    parameters = missing_parameters(code, found.contradictions)
    left = [f"parameters.{name}" for name in parameters] + [f"raises.{name}" for name in raised]
    return UpdatePlan(left=tuple(left), mend=mend_of(found))


def _lacks_list(found: DocumentedNode, listable: Sequence[str]) -> bool:
    """Return True if the docstring should list exceptions as most others do."""
    code = found.code
    if code is None or code.function is None or code.node.name.startswith("_"):
        return False
    nested = not isinstance(found.parent, ast.Module | ast.ClassDef)
    has_list = any(section.kind == "raises" for section in code.parsed.sections)
    if nested or has_list or not found.related.lists_exceptions:
        return False
    names = [name.rpartition(".")[2] for name in listable]
    return not any(name in code.text for name in names)  # the text may already say it
