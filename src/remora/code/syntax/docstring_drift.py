"""Differences between a docstring and the code it documents, reported only if they are certain."""

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from remora.code.syntax.definitions import UNKNOWN_PARAMETER, DefinitionNode, FunctionNode
from remora.code.syntax.docstring_sections import Item, Kind, parse_docstring
from remora.code.syntax.effects import (
    RaisedExceptions,
    is_builtin_exception,
    is_none_or_missing,
    is_stub,
    may_be_subclass,
    may_propagate,
    raised_exceptions,
    returns_or_yields,
    unqualified_name,
)
from remora.code.syntax.hidden_uses import names_in

# any operator, attribute or index may raise these
IMPLICIT_EXCEPTIONS = frozenset(
    (
        *("ArithmeticError", "AttributeError", "BaseException", "Exception", "IndexError"),
        *("KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "NameError"),
        *("OverflowError", "RecursionError", "StopIteration", "SystemExit", "TypeError"),
        "ZeroDivisionError",
    )
)
RARELY_DOCUMENTED = frozenset(
    (
        *("AssertionError", "GeneratorExit", "KeyboardInterrupt", "NotImplementedError"),
        *("StopAsyncIteration", "StopIteration", "SystemExit"),
    )
)


_CAPITALISED = re.compile(r"[A-Z][a-z]+")
_NOTHING = re.compile(r"[ `*:]*(?:None|Nothing|nothing)\b")
_ANY_SECTION = re.compile(
    r"Args:|Arguments:|Params:|Parameters|Keyword A|Returns|Return:|Raises|Yields|Yield:"
    r"|:param|:arg|:return|:yield|:raise|:exc"
)
"""A quick check before a docstring is parsed line by line."""


class DocumentedItems(NamedTuple):
    """The items that a docstring documents.

    `parameters` and `raises` are None if the list is missing or ambiguous. `results` is True if a
    result is described.
    """

    parameters: frozenset[str] | None
    raises: frozenset[str] | None
    results: bool


def is_docstring_outdated(node: DefinitionNode, docstring: str) -> bool:
    found = _documented_items(docstring)
    if found is None:
        return False
    code = node.body[1:]
    if any(_parameter_drift(node, found.parameters)):
        return True
    if isinstance(node, ast.ClassDef) or is_stub(node, code):
        return False
    if _is_method(node.args):  # an overriding method may return a result or raise
        return _has_exception_drift(found, code, is_final=False)
    return _no_value(found, node, code) or _has_exception_drift(found, code, is_final=True)


def find_parameter_drift(node: DefinitionNode, docstring: str) -> tuple[frozenset[str], bool]:
    """Return documented parameters that do not exist, and True if the docstring omits others."""
    found = _documented_items(docstring)
    return (frozenset(), False) if found is None else _parameter_drift(node, found.parameters)


def _documented_items(docstring: str) -> DocumentedItems | None:
    """Return what a docstring documents, or None if it has no sections."""
    if _ANY_SECTION.search(docstring) is None:
        return None
    sections = parse_docstring(docstring).sections

    def of(*kinds: Kind) -> list[Item]:
        return [item for section in sections if section.kind in kinds for item in section.items]

    results = (item.text for item in of("returns", "yields"))
    is_described = any(text and not _NOTHING.match(text) for text in results)
    return DocumentedItems(_names(of("parameters")), _names(of("raises")), is_described)


def _names(items: Sequence[Item]) -> frozenset[str] | None:
    names = frozenset(name for item in items for name in item.names)
    return names if names and all(item.names for item in items) else None


def _is_method(args: ast.arguments) -> bool:
    return [arg.arg for arg in (*args.posonlyargs, *args.args)][:1] in (["self"], ["cls"])


def _parameter_drift(
    node: DefinitionNode, documented: frozenset[str] | None
) -> tuple[frozenset[str], bool]:
    if documented is None:
        return frozenset(), False
    if isinstance(node, ast.ClassDef):
        return _init_drift(documented, node.body[1:]), False
    names = _parameter_names(node.args)
    if UNKNOWN_PARAMETER in names:
        return frozenset(), False
    if names and names[0] in ("self", "cls"):
        del names[0]
    unknown = _unknown_parameters(documented, node.args)
    if any(unqualified_name(decorator).endswith("property") for decorator in node.decorator_list):
        unknown = frozenset()  # they may be parameters of a callable that the property returns
    return unknown, any(name not in documented and not name.startswith("_") for name in names)


def _init_drift(documented: frozenset[str], code: Sequence[ast.stmt]) -> frozenset[str]:
    """Return documented parameters that `__init__` does not accept.

    Return an empty set if the class uses one of these names, for example as an attribute.
    """
    for statement in code:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            unknown = _unknown_parameters(documented, statement.args)
            return unknown if not unknown & _mentioned_names(code) else frozenset()
    return frozenset()


def _unknown_parameters(documented: frozenset[str], args: ast.arguments) -> frozenset[str]:
    """Return the documented names that are certainly not parameters."""
    if args.vararg is not None or args.kwarg is not None:
        return frozenset()
    missing = documented.difference(_parameter_names(args))
    # a capitalised word such as Note or Example may look like an item
    return frozenset(name for name in missing if not _CAPITALISED.fullmatch(name))


def _parameter_names(args: ast.arguments) -> list[str]:
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _mentioned_names(code: Sequence[ast.stmt]) -> set[str]:
    nodes = [node for statement in code for node in ast.walk(statement)]
    return names_in(*code) | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _no_value(found: DocumentedItems, node: FunctionNode, code: Sequence[ast.stmt]) -> bool:
    """Return True if a result is documented, but the function neither declares nor produces one."""
    if not found.results or (code and isinstance(code[-1], ast.Raise)):
        return False
    promised = node.returns is not None and not is_none_or_missing(node.returns)
    return not promised and not returns_or_yields(code)


def _has_exception_drift(
    found: DocumentedItems, code: Sequence[ast.stmt], *, is_final: bool
) -> bool:
    """Return True if an exception is raised but not documented, or, if `is_final`, never raised."""
    if found.raises is None:
        return False
    raised = raised_exceptions(code)
    if _has_undocumented(found.raises, raised):
        return True
    return is_final and _has_never_raised(found.raises, raised) and not may_propagate(code)


def _has_never_raised(documented: frozenset[str], raised: RaisedExceptions) -> bool:
    return not raised.unnamed and not all(
        any(may_be_subclass(name, base) for name in raised.names)
        for base in documented - IMPLICIT_EXCEPTIONS
    )


def _has_undocumented(documented: frozenset[str], raised: RaisedExceptions) -> bool:
    if raised.caught or not all(name[:1].isupper() for name in documented):
        return False
    return any(
        is_builtin_exception(name) and not any(may_be_subclass(name, base) for base in documented)
        for name in raised.names - RARELY_DOCUMENTED
    )
