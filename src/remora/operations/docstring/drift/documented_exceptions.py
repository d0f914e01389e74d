"""Documented exceptions that differ from the exceptions that the code raises."""

import ast
import re
from collections.abc import Iterator

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
    extra = [name for name in raised if not code.related.classes.is_covered(name, documented)]
    unraised = [name for name in documented if _is_never_raised(code, name)]
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


def _is_never_raised(code: DocumentedCode, name: str) -> bool:
    """Return True if neither a `raise` nor a call in the body may raise the exception."""
    found = raised_in(code.body)
    if found.unnamed or code.is_overridable or may_propagate(code.body):
        return False
    if name in IMPLICIT_EXCEPTIONS and any(map(_may_fail, own_nodes(code.body))):
        return False
    return not any(code.related.classes.is_covered(each, (name,)) for each in found.names)


def _may_fail(node: ast.AST) -> bool:
    """Return True for operations that raise TypeError, IndexError and the like."""
    return isinstance(node, ast.Subscript | ast.BinOp | ast.Attribute | ast.For | ast.Compare)
