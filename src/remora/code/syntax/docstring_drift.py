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


class DocstringDrift(NamedTuple):
    """Unambiguous differences between a docstring and its code.

    `unknown_parameters` are documented but not in the signature. `undocumented_parameters` are
    missing from the docstring's parameter list. `no_value` is True if a result is documented, but
    the function does not have one.
    """

    unknown_parameters: frozenset[str] = frozenset()
    undocumented_parameters: tuple[str, ...] = ()
    no_value: bool = False
    never_raised: frozenset[str] = frozenset()
    undocumented_exceptions: frozenset[str] = frozenset()


_NO_DRIFT = DocstringDrift()


def is_docstring_outdated(node: DefinitionNode, docstring: str) -> bool:
    return find_drift(node, docstring) != _NO_DRIFT


def find_drift(node: DefinitionNode, docstring: str) -> DocstringDrift:
    if _ANY_SECTION.search(docstring) is None:
        return _NO_DRIFT
    found = _documented_items(docstring)
    code = node.body[1:]
    if isinstance(node, ast.ClassDef):
        return DocstringDrift(unknown_parameters=_init_drift(found, code))
    unknown, undocumented = _parameter_drift(found, node.args)
    if any(unqualified_name(each).endswith("property") for each in node.decorator_list):
        unknown = frozenset()  # they may be parameters of a callable that the property returns
    if is_stub(node, code):
        return DocstringDrift(unknown, undocumented)
    never, unlisted = _exception_drift(found, code)
    if _is_method(node.args):  # an overriding method may return a result or raise
        return DocstringDrift(unknown, undocumented, undocumented_exceptions=unlisted)
    return DocstringDrift(unknown, undocumented, _no_value(found, node, code), never, unlisted)


def _documented_items(docstring: str) -> DocumentedItems:
    sections = parse_docstring(docstring).sections

    def of(*kinds: Kind) -> list[Item]:
        return [item for each in sections if each.kind in kinds for item in each.items]

    results = (item.text for item in of("returns", "yields"))
    is_described = any(text and not _NOTHING.match(text) for text in results)
    return DocumentedItems(_names(of("parameters")), _names(of("raises")), is_described)


def _names(items: Sequence[Item]) -> frozenset[str] | None:
    names = frozenset(name for item in items for name in item.names)
    return names if names and all(item.names for item in items) else None


def _is_method(args: ast.arguments) -> bool:
    return [arg.arg for arg in (*args.posonlyargs, *args.args)][:1] in (["self"], ["cls"])


def _parameter_drift(
    found: DocumentedItems, args: ast.arguments
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return documented parameters that do not exist, and parameters missing from the docstring."""
    names = _parameter_names(args)
    if found.parameters is None or UNKNOWN_PARAMETER in names:
        return frozenset(), ()
    if names and names[0] in ("self", "cls"):
        del names[0]
    listed = found.parameters
    unlisted = (name for name in names if name not in listed and not name.startswith("_"))
    return _unknown_parameters(listed, args), tuple(unlisted)


def _init_drift(found: DocumentedItems, code: Sequence[ast.stmt]) -> frozenset[str]:
    """Return documented parameters that `__init__` does not accept.

    Return an empty set if the class uses one of these names, for example as an attribute.
    """
    for statement in code:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            unknown = _unknown_parameters(found.parameters or frozenset(), statement.args)
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
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _no_value(found: DocumentedItems, node: FunctionNode, code: Sequence[ast.stmt]) -> bool:
    """Return True if a result is documented, but the function neither declares nor produces one."""
    if not found.results or (code and isinstance(code[-1], ast.Raise)):
        return False
    promised = node.returns is not None and not is_none_or_missing(node.returns)
    return not promised and not returns_or_yields(code)


def _exception_drift(
    found: DocumentedItems, code: Sequence[ast.stmt]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return documented exceptions that are never raised, and raised ones not documented."""
    if found.raises is None:
        return frozenset(), frozenset()
    raised = raised_exceptions(code)
    never = _never_raised(found.raises, raised)
    return never if never and not may_propagate(code) else frozenset(), _undocumented(
        found.raises, raised
    )


def _never_raised(documented: frozenset[str], raised: RaisedExceptions) -> frozenset[str]:
    if raised.unnamed:
        return frozenset()
    candidates = documented - IMPLICIT_EXCEPTIONS
    return frozenset(
        base for base in candidates if not any(may_be_subclass(name, base) for name in raised.names)
    )


def _undocumented(documented: frozenset[str], raised: RaisedExceptions) -> frozenset[str]:
    if raised.caught or not all(name[:1].isupper() for name in documented):
        return frozenset()
    candidates = [name for name in raised.names - RARELY_DOCUMENTED if is_builtin_exception(name)]
    return frozenset(
        name for name in candidates if not any(may_be_subclass(name, base) for base in documented)
    )
