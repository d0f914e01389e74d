"""Documented results and exceptions that contradict the `return` and `raise` statements."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.docstring_drift import IMPLICIT_EXCEPTIONS
from remora.code.syntax.effects import (
    exception_name,
    is_none_or_missing,
    is_stub,
    may_propagate,
    own_nodes,
    returns_or_yields,
    unqualified_name,
)
from remora.code.syntax.effects import (
    raised_exceptions as raised_in,
)
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.operations.docstring.exceptions.exception_classes import spellings
from remora.operations.docstring.exceptions.raised_exceptions import raised_exceptions
from remora.operations.docstring.parts import Item

_NAMES_ONE = re.compile(r"[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")
_RETURNED = re.compile(
    r"^Returns? (?:a |an |the )?(?:new )?[`*]*"
    r"(dict|dictionary|string|str|bytes|True|False|None)\b[`*]*(?! (?:list|tuple|set|dict|and|or)\b)"
)
_RETURNS = re.compile(
    r"(?:Returns (?!(?:to|from|control|early|if|when|without|immediately|after|back|itself)\b)"
    r"|Return (?:an?|the|all)\b )(?!.*\b(?:None|[Nn]othing|no)\b)"
)


"""A summary that names a result."""


_NOTHING = re.compile(r"[ `*:]*(?:None|Nothing|nothing|N/A|no )")
_EPYDOC = re.compile(r"\s*@returns?:\s*(\S.*)")
_OVERRIDABLE = re.compile(r"Base|Abstract|Mixin|Interface|Protocol", re.IGNORECASE)
_TYPES = {
    "dictionary": "dict",
    "string": "str",
    "True": "bool",
    "False": "bool",
}
_DISPLAYS: dict[type[ast.AST], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.JoinedStr: "str",
}
_BUILTINS = frozenset(("list", "tuple", "dict", "set", "frozenset", "str", "bytes", "bool"))
_IN_PLACE = re.compile(r"\bin[- ]place\b", re.IGNORECASE)
_NOT_IN_PLACE = re.compile(
    r"\b(?:not|n't|never|without|rather than|instead of|copy|new|if|whether|unless)\b",
    re.IGNORECASE,
)
_MAKERS = frozenset(("sorted", "list", "tuple", "dict", "set", "frozenset", "str", "deepcopy"))


def result_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield contradictions between the documented result and the returned values."""
    function = code.function
    if function is None or is_stub(function, code.body):
        return
    if any(unqualified_name(each) not in _PLAIN for each in function.decorator_list):
        return  # a decorator may change the result
    yield from _no_result(code, function)
    yield from _other_type(code, function)
    yield from _in_place(code)


_PLAIN = frozenset(("staticmethod", "classmethod", "property", "cached_property", "override"))


def _no_result(code: DocumentedCode, function: FunctionNode) -> Iterator[DriftFinding]:
    """Yield a finding if a result is documented but the function has none."""
    if not is_none_or_missing(function.returns) or returns_or_yields(code.body):
        return
    if _always_raises(code.body) or _only_returns(code.body) or not _is_final(code):
        return
    found = next(_documented_results(code), None)
    if found is not None:
        message = "a result is documented, but the function does not return one"
        yield DriftFinding(code="no-result", line=found, message=message)


def _always_raises(body: Sequence[ast.stmt]) -> bool:
    """Return True if a function only raises, or says that it is not implemented."""
    if body and isinstance(body[-1], ast.Raise):
        return True
    raised = (each.exc for each in own_nodes(body) if isinstance(each, ast.Raise))
    return any(exception_name(each) == "NotImplementedError" for each in raised)


def _only_returns(body: Sequence[ast.stmt]) -> bool:
    return all(isinstance(each, ast.Return | ast.Pass | ast.Import) for each in body)


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
    bases = {unqualified_name(each) for each in code.owner.bases} - {"object"}
    files = code.related.files
    return (
        not bases and not code.owner.keywords and not any(name in file.extended for file in files)
    )


def _documented_results(code: DocumentedCode) -> Iterator[int]:
    """Yield the lines on which a result is documented."""
    summary = code.parsed.summary
    if _RETURNS.match(summary) and not _RETURNED.match(summary):
        yield next(n for n, each in enumerate(code.parsed.lines) if each.strip())
    for section in code.parsed.sections:
        if section.kind not in ("returns", "yields") or not section.items:
            continue
        text = section.items[0].text or _field_text(code.parsed.lines[section.first])
        if text.strip() and not _NOTHING.match(text):
            yield section.first
    for number, line in enumerate(code.parsed.lines):
        field = _EPYDOC.match(line)
        if field is not None and not _NOTHING.match(field[1]):
            yield number


def _field_text(line: str) -> str:
    """Return the text after the name of a field or section, as in `:rtype: int`."""
    return re.sub(r"^\s*:?\w+:", "", line)


def _other_type(code: DocumentedCode, function: ast.AST) -> Iterator[DriftFinding]:
    """Yield a finding if the summary names a built-in type that is never returned."""
    found = _RETURNED.match(code.parsed.summary)
    actual = _returned_types(code, function)
    if found is None or not actual:
        return
    if _TYPES.get(found[1], found[1]) in actual or "..." in actual:
        return
    line = next(n for n, each in enumerate(code.parsed.lines) if each.strip())
    kinds = " or ".join(sorted(actual))
    message = f"the summary says {found[1]!r}, but the function returns {kinds}"
    yield DriftFinding(code="wrong-result", line=line, message=message)


def _returned_types(code: DocumentedCode, function: ast.AST) -> set[str]:
    """Return the built-in types of the results, or an empty set if one of them is not certain."""
    declared = getattr(function, "returns", None)
    if declared is not None:
        name = unqualified_name(declared.value if isinstance(declared, ast.Subscript) else declared)
        return {name} if name in _BUILTINS else set()
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own_nodes(code.body)):
        return set()
    kinds = {_type_of(each) for each in _returned(code.body)}
    return set() if "" in kinds else kinds or {"None"}


def _returned(body: Sequence[ast.stmt]) -> list[ast.expr | None]:
    return [each.value for each in own_nodes(body) if isinstance(each, ast.Return)]


def _type_of(value: ast.expr | None) -> str:
    if is_none_or_missing(value):
        return "None"
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        return "bool" if isinstance(value.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn) else ""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return "bool"
    return next((n for kind, n in _DISPLAYS.items() if isinstance(value, kind)), "")


def _in_place(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield a finding if the summary says "in place", but the body only makes a new value."""
    summary = code.parsed.summary
    if not _IN_PLACE.search(summary) or _NOT_IN_PLACE.search(summary) or len(code.body) != 1:
        return
    statement = code.body[0]
    value = statement.value if isinstance(statement, ast.Return) else None
    made = isinstance(value, tuple(_DISPLAYS)) or (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in _MAKERS
    )
    if made:
        line = next(n for n, each in enumerate(code.parsed.lines) if each.strip())
        message = "the summary says that a value is changed in place, but a new one is returned"
        yield DriftFinding(code="wrong-result", line=line, message=message)


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
