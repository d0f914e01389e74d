"""Documented results and exceptions that contradict the `return` and `raise` statements."""

import ast
import re
from collections.abc import Iterator, Sequence

from remora.code.docstrings.docstring_sections import Item
from remora.code.docstrings.documented_exceptions import raised_exceptions, spellings
from remora.code.docstrings.drift_finding import DocumentedCode, DriftFinding
from remora.code.syntax.effects import (
    exception_name,
    is_none_or_missing,
    is_stub,
    own_nodes,
    returns_or_yields,
    unqualified_name,
)

_NAMES_ONE = re.compile(r"[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")
_RETURNS = re.compile(
    r"(?:Returns (?!(?:to|from|control|early|if|when|without|immediately|after|back|itself)\b)"
    r"|Return (?:an?|the|all)\b )(?!.*\b(?:None|[Nn]othing|no)\b)"
)
"""A summary that names a result."""
_NOTHING = re.compile(r"[ `*:]*(?:None|Nothing|nothing|N/A|no )")
_EPYDOC = re.compile(r"\s*@returns?:\s*(\S.*)")
_OVERRIDABLE = re.compile(r"Base|Abstract|Mixin|Interface|Protocol", re.IGNORECASE)
_PLAIN = frozenset(("staticmethod", "classmethod", "property", "cached_property", "override"))


def result_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield a finding if a result is documented but the function has none."""
    function = code.function
    if function is None or is_stub(function, code.body):
        return
    if any(unqualified_name(decorator) not in _PLAIN for decorator in function.decorator_list):
        return  # a decorator may change the result
    if not is_none_or_missing(function.returns) or returns_or_yields(code.body):
        return
    only_returns = all(isinstance(part, ast.Return | ast.Pass | ast.Import) for part in code.body)
    if only_returns or always_raises(code.body) or not _is_final(code):
        return
    found = next(_documented_results(code), None)
    if found is not None:
        message = "a result is documented, but the function does not return one"
        yield DriftFinding(code="no-result", line=found, message=message)


def always_raises(body: Sequence[ast.stmt]) -> bool:
    """Return True if a function only raises, or says that it is not implemented."""
    if body and isinstance(body[-1], ast.Raise):
        return True
    raised = (node.exc for node in own_nodes(body) if isinstance(node, ast.Raise))
    return any(exception_name(error) == "NotImplementedError" for error in raised)


def _is_final(code: DocumentedCode) -> bool:
    """Return True if no other class determines what the function returns.

    A method of a class with subclasses or bases may have a result in one of them.
    """
    if code.node.name.startswith(("__", "test_")):
        return False
    if code.owner is None:
        return True
    name = code.owner.name
    if _OVERRIDABLE.search(name):
        return False
    bases = {unqualified_name(base) for base in code.owner.bases} - {"object"}
    files = code.related.files
    return (
        not bases and not code.owner.keywords and not any(name in file.extended for file in files)
    )


def _documented_results(code: DocumentedCode) -> Iterator[int]:
    """Yield the lines on which a result is documented."""
    summary = code.parsed.summary
    if _RETURNS.match(summary):
        yield next(n for n, line in enumerate(code.parsed.lines) if line.strip())
    for section in code.parsed.sections:
        if section.kind not in ("returns", "yields") or not section.items:
            continue
        text = section.items[0].text
        if not text:  # what follows the name of a field or section, as in `:rtype: int`
            text = re.sub(r"^\s*:?\w+:", "", code.parsed.lines[section.first])
        if text.strip() and not _NOTHING.match(text):
            yield section.first
    for number, line in enumerate(code.parsed.lines):
        field = _EPYDOC.match(line)
        if field is not None and not _NOTHING.match(field[1]):
            yield number


def exception_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield the exceptions that the code raises, but that the list of a docstring leaves out."""
    documented, function = _documented(code), code.function
    if not documented or function is None or is_stub(function, code.body):
        return
    if not all(name[:1].isupper() for name in documented):
        return
    raised = [name.rpartition(".")[2] for name in raised_exceptions(code.body)]
    listed = set().union(*map(spellings, documented))
    bases = {name: code.related.classes.caught_by(name) for name in raised}
    extra = [name for name, known in bases.items() if known and known.isdisjoint(listed)]
    last = max(item.last for item in documented.values())
    others = f"; documented are {', '.join(f'`{name}`' for name in documented)}"
    for name in extra:
        message = f"`{name}` is raised but not documented{others}"
        yield DriftFinding(code="missing-exception", line=last, message=message, name=name)


def _documented(code: DocumentedCode) -> dict[str, Item]:
    """Return the documented exceptions, or nothing if an entry may name others."""
    sections = [section for section in code.parsed.sections if section.kind == "raises"]
    for nameless in (item for section in sections for item in section.items if not item.names):
        if _NAMES_ONE.search(code.parsed.lines[nameless.first]):
            return {}
    return {name: item for section in sections for item in section.items for name in item.names}
