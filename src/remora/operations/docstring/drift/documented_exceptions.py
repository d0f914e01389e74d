"""Documented exceptions that differ from the exceptions that the code raises."""

import ast
import re
from collections.abc import Iterable, Iterator

from remora.code.syntax.docstring_drift import IMPLICIT_EXCEPTIONS
from remora.code.syntax.effects import (
    is_stub,
    may_propagate,
    own_nodes,
)
from remora.code.syntax.effects import (
    raised_exceptions as raised_in,
)
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.operations.docstring.exceptions.exception_classes import spellings
from remora.operations.docstring.exceptions.raised_exceptions import raised_exceptions
from remora.operations.docstring.parts import Item

_NAMES_ONE = re.compile(r"[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")


def exception_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield the exceptions of a docstring that the code does not raise, or raises in addition.

    Only docstrings that list exceptions are compared. A method that a subclass may override can
    raise more than its body does, so exceptions are never missing from its body.
    """
    documented, function = _documented(code), code.function
    if not documented or function is None or is_stub(function, code.body):
        return
    if not all(name[:1].isupper() for name in documented):
        return
    raised = [each.name.rpartition(".")[2] for each in raised_exceptions(code.body, ())]
    listed = set().union(*map(spellings, documented))
    bases = {name: code.related.classes.caught_by(name) for name in raised}
    extra = [name for name, known in bases.items() if known and known.isdisjoint(listed)]
    unraised = list(_never_raised(code, documented))
    last = max(item.last for item in documented.values())
    others = f"; documented are {', '.join(f'`{name}`' for name in documented)}"
    for name in extra:
        message = f"`{name}` is raised but not documented{others}"
        yield DriftFinding(code="missing-exception", line=last, message=message, name=name)
    for name in unraised:
        message = f"`{name}` is documented but never raised"
        yield DriftFinding(
            code="unraised-exception", line=documented[name].first, message=message, name=name
        )


def _documented(code: DocumentedCode) -> dict[str, Item]:
    """Return the documented exceptions, or nothing if an entry may name others."""
    sections = [each for each in code.parsed.sections if each.kind == "raises"]
    for each in (item for section in sections for item in section.items if not item.names):
        if _NAMES_ONE.search(code.parsed.lines[each.first]):
            return {}
    return {name: item for section in sections for item in section.items for name in item.names}


def _never_raised(code: DocumentedCode, names: Iterable[str]) -> Iterator[str]:
    """Yield the exceptions that neither a `raise` nor a call in the body may raise."""
    found = raised_in(code.body)
    if found.unnamed or code.is_overridable or may_propagate(code.body):
        return
    known = [code.related.classes.caught_by(name) for name in found.names]
    if not all(known):
        return
    possible = frozenset().union(*filter(None, known))
    if any(map(_may_fail, own_nodes(code.body))):
        possible |= IMPLICIT_EXCEPTIONS
    yield from (name for name in names if possible.isdisjoint(spellings(name)))


def _may_fail(node: ast.AST) -> bool:
    """Return True for operations that raise TypeError, IndexError and the like."""
    return isinstance(node, ast.Subscript | ast.BinOp | ast.Attribute | ast.For | ast.Compare)
