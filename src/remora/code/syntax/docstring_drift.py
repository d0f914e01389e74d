"""Where a docstring documents something else than the code has; in doubt it does not."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from remora.code.syntax.definitions import UNKNOWN_PARAMETER, DefinitionNode, FunctionNode
from remora.code.syntax.docstring_sections import DocumentedItems, parse_documented_items
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

# an operator, an attribute or an index may raise them anywhere
_ANYWHERE = frozenset(
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


class DocstringDrift(NamedTuple):
    """What a docstring documents otherwise than the code has it, as far as that is sure.

    Parameters that are `gone` or `unlisted` beside others that are listed; exceptions `never`
    raised, or `raised_exceptions` beside others that are listed; `nothing`: no value comes out.
    """

    unknown_parameters: frozenset[str] = frozenset()
    undocumented_parameters: tuple[str, ...] = ()
    no_value: bool = False
    never_raised: frozenset[str] = frozenset()
    undocumented_exceptions: frozenset[str] = frozenset()


_NONE = DocstringDrift()


def is_docstring_outdated(node: DefinitionNode, docstring: str) -> bool:
    """Of a function or class, and the docstring that it has."""
    return find_drift(node, docstring) != _NONE


def find_drift(node: DefinitionNode, docstring: str) -> DocstringDrift:
    """Where the docstring of a function or class is outdated."""
    found = parse_documented_items(docstring)
    if found is None:
        return _NONE
    code = node.body[1:]
    if isinstance(node, ast.ClassDef):
        return DocstringDrift(unknown_parameters=_other_init(found, code))
    gone, unlisted = _other_parameters(found, node.args)
    if any(unqualified_name(each).endswith("property") for each in node.decorator_list):
        gone = frozenset()  # those of what the property gives, which may be called
    if is_stub(node, code):
        return DocstringDrift(gone, unlisted)
    never, more = _other_errors(found, code)
    return DocstringDrift(gone, unlisted, _other_outcome(found, node, code), never, more)


def _other_parameters(
    found: DocumentedItems, args: ast.arguments
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Those that are documented and not there, and those that are there and alone are not."""
    named = _named(args)
    if found.parameters is None or UNKNOWN_PARAMETER in named:
        return frozenset(), ()
    if named and named[0] in ("self", "cls"):
        del named[0]
    listed = found.parameters
    unlisted = (name for name in named if name not in listed and not name.startswith("_"))
    return _gone(listed, args), tuple(unlisted)


def _other_init(found: DocumentedItems, code: Sequence[ast.stmt]) -> frozenset[str]:
    """Parameters that a class documents, that its own `__init__` does not take and that nothing
    mentions; none where one of them is mentioned."""
    for statement in code:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            gone = _gone(found.parameters or frozenset(), statement.args)
            return gone if not gone & _mentioned(code) else frozenset()
    return frozenset()


def _gone(documented: frozenset[str], args: ast.arguments) -> frozenset[str]:
    """What is documented and not a parameter, as far as that is sure."""
    if args.vararg is not None or args.kwarg is not None:
        return frozenset()
    missing = documented.difference(_named(args))
    # a word of the text that looks like an item: Note, Example
    return frozenset(name for name in missing if not name[0].isupper())


def _named(args: ast.arguments) -> list[str]:
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def _mentioned(code: Sequence[ast.stmt]) -> set[str]:
    nodes = [node for statement in code for node in ast.walk(statement)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _other_outcome(found: DocumentedItems, node: FunctionNode, code: Sequence[ast.stmt]) -> bool:
    """Something is said to come out, and nothing does."""
    if not (found.returns or found.yields) or (code and isinstance(code[-1], ast.Raise)):
        return False
    promised = node.returns is not None and not is_none_or_missing(node.returns)
    return not promised and not returns_or_yields(code)


def _other_errors(
    found: DocumentedItems, code: Sequence[ast.stmt]
) -> tuple[frozenset[str], frozenset[str]]:
    """Those that are documented and cannot come, those that are raised beside the documented."""
    if found.raises is None:
        return frozenset(), frozenset()
    does = raised_exceptions(code)
    never = _never_raised(found.raises, does)
    return never if never and not may_propagate(code) else frozenset(), _unlisted(
        found.raises, does
    )


def _never_raised(documented: frozenset[str], does: RaisedExceptions) -> frozenset[str]:
    """As far as the body's own `raise` statements tell."""
    if does.unnamed:
        return frozenset()
    sure = documented - _ANYWHERE
    return frozenset(
        base for base in sure if not any(may_be_subclass(name, base) for name in does.names)
    )


def _unlisted(documented: frozenset[str], does: RaisedExceptions) -> frozenset[str]:
    if does.caught or not all(name[:1].isupper() for name in documented):
        return frozenset()
    sure = [name for name in does.names - RARELY_DOCUMENTED if is_builtin_exception(name)]
    return frozenset(
        name for name in sure if not any(may_be_subclass(name, base) for base in documented)
    )
