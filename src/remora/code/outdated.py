"""Whether a docstring documents something else than the code has; in doubt it does not."""

import ast
from collections.abc import Sequence

from remora.code.conduct import (
    Raised,
    gives,
    is_built_in,
    is_none,
    is_stub,
    lets_in,
    may_be,
    raised,
)
from remora.code.definitions import UNKNOWN, DefinitionNode, FunctionNode
from remora.code.docstyle import Documented, documented

# an operator, an attribute or an index may raise them anywhere
_ANYWHERE = frozenset(
    (
        *("ArithmeticError", "AttributeError", "BaseException", "Exception", "IndexError"),
        *("KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "NameError"),
        *("OverflowError", "RecursionError", "StopIteration", "SystemExit", "TypeError"),
        "ZeroDivisionError",
    )
)
# raised for programmers, not for callers
_SILENT = frozenset(
    (
        *("AssertionError", "GeneratorExit", "KeyboardInterrupt", "NotImplementedError"),
        *("StopAsyncIteration", "StopIteration", "SystemExit"),
    )
)


def docstring_outdated(node: DefinitionNode, docstring: str) -> bool:
    """Of a function or class, and the docstring that it has."""
    found = documented(docstring)
    if found is None:
        return False
    code = node.body[1:]
    if isinstance(node, ast.ClassDef):
        return _other_init(found, code)
    if _other_parameters(found, node.args):
        return True
    if is_stub(node, code):
        return False
    return _other_outcome(found, node, code) or _other_errors(found, code)


def _other_parameters(found: Documented, args: ast.arguments) -> bool:
    """One is documented that is not there, or one is there that alone is not documented."""
    named = _named(args)
    if found.parameters is None or UNKNOWN in named:
        return False
    if _gone(found.parameters, args):
        return True
    if named and named[0] in ("self", "cls"):
        del named[0]
    return any(name not in found.parameters and not name.startswith("_") for name in named)


def _other_init(found: Documented, code: Sequence[ast.stmt]) -> bool:
    """A class documents a parameter that its own `__init__` does not take and nothing mentions."""
    for statement in code:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            gone = _gone(found.parameters or frozenset(), statement.args)
            return bool(gone) and not gone & _mentioned(code)
    return False


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


def _other_outcome(found: Documented, node: FunctionNode, code: Sequence[ast.stmt]) -> bool:
    """Something is said to come out, and nothing does."""
    if not (found.returns or found.yields) or (code and isinstance(code[-1], ast.Raise)):
        return False
    promised = node.returns is not None and not is_none(node.returns)
    return not promised and not gives(code)


def _other_errors(found: Documented, code: Sequence[ast.stmt]) -> bool:
    """One is documented that cannot come, or one is raised beside those that are documented."""
    if found.raises is None:
        return False
    does = raised(code)
    return _not_documented(found.raises, does) or (
        _never_raised(found.raises, does) and not lets_in(code)
    )


def _never_raised(documented: frozenset[str], does: Raised) -> bool:
    """As far as the body's own `raise` statements tell."""
    if does.unnamed:
        return False
    sure = documented - _ANYWHERE
    return any(not any(may_be(name, base) for name in does.names) for base in sure)


def _not_documented(documented: frozenset[str], does: Raised) -> bool:
    if does.caught or not all(name[:1].isupper() for name in documented):
        return False
    sure = [name for name in does.names - _SILENT if is_built_in(name)]
    return any(not any(may_be(name, base) for base in documented) for name in sure)
