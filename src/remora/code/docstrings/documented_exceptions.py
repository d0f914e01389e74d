"""Exceptions that code raises, and their base classes in the project and the standard library."""

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.effects import (
    BUILTIN_EXCEPTIONS,
    exception_name,
    is_stub,
    may_be_subclass,
    unqualified_name,
)

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)\)[ \t]*:", re.MULTILINE)
_MOST_BASES = 100
"""Far more than exceptions have: those of Python have at most six."""
_MOST_NAMES = 1024
_RARELY_DOCUMENTED = frozenset(
    (
        *("AssertionError", "GeneratorExit", "KeyboardInterrupt", "NotImplementedError"),
        *("StopAsyncIteration", "StopIteration", "SystemExit"),
    )
)
_WORD = re.compile(r"[\w.]+")
_STANDARD = {
    "JSONDecodeError": ("ValueError",),
    "CalledProcessError": ("SubprocessError",),
    "TimeoutExpired": ("SubprocessError",),
    "SubprocessError": ("Exception",),
    "InvalidOperation": ("ArithmeticError",),
    "UnsupportedOperation": ("OSError", "ValueError"),
    "Empty": ("Exception",),
    "Full": ("Exception",),
    "BadZipFile": ("Exception",),
    "FrozenInstanceError": ("AttributeError",),
    "ZoneInfoNotFoundError": ("KeyError",),
    "SSLError": ("OSError",),
    "HTTPError": ("URLError",),
    "URLError": ("OSError",),
}


class ExceptionClasses:
    """The known base classes of classes, by unqualified name.

    `read` returns the contents of the project's Python files. It is called on first use. If
    several classes have the same name, it has the bases of all of them. `caught_by` returns a class
    with all classes that it may inherit from, or None if they are not all known, or too many.
    """

    def __init__(self, read: Callable[[], Iterable[bytes]] = tuple) -> None:
        self._read = read
        self.caught_by = lru_cache(_MOST_NAMES)(self._find_bases)

    @cached_property
    def _bases(self) -> dict[str, set[str]]:
        known = {
            name: {base.__name__ for base in error.__mro__[1:-1]}
            for name, error in BUILTIN_EXCEPTIONS.items()
        }
        for name, bases in _STANDARD.items():
            known.setdefault(name, set()).update(bases)
        for content in self._read():
            for name, names in class_bases(content).items():
                known.setdefault(name, set()).update(names)
        return known

    def _find_bases(self, name: str) -> frozenset[str] | None:
        seen: set[str] = set()
        pending = {name}
        while pending:
            current = pending.pop()
            seen.add(current)
            bases = self._bases.get(current)
            if bases is None or len(bases) > _MOST_BASES:
                return None
            pending |= bases - seen - {"object"}
            if len(seen) + len(pending) > _MOST_BASES:
                return None
        return frozenset(seen)


def spellings(name: str) -> set[str]:
    """Return an exception's name, and the name of the class if it is an alias such as `IOError`."""
    found = getattr(builtins, name, None)
    return {name, found.__name__} if isinstance(found, type) else {name}


@lru_cache(maxsize=4096)
def class_bases(content: bytes) -> Mapping[str, Sequence[str]]:
    """Return the names of the base classes of each class in a file that has any."""
    return {
        name.decode(): tuple(
            word.rpartition(".")[2] for word in _WORD.findall(bases.decode("utf-8", "replace"))
        )
        for name, bases in _CLASS.findall(content)
    }


def listable_exceptions(node: DefinitionNode) -> tuple[str, ...]:
    """Return the exceptions that a docstring may list: those that a function raises by itself."""
    is_function = not isinstance(node, ast.ClassDef) and not is_stub(node, node.body)
    return raised_exceptions(node.body) if is_function else ()


def raised_exceptions(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the name of each raised exception as in the code, once and in source order.

    Those that a `try` or `suppress` around them may catch are left out.
    """
    return tuple(dict.fromkeys(_raised(body, ())))


def _raised(body: Sequence[Any], caught: tuple[str, ...]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.Raise):
            yield from _names(statement, caught)
        elif isinstance(statement, ast.Try | ast.TryStar):
            handled = (name for handler in statement.handlers for name in _caught(handler.type))
            yield from _raised(statement.body, (*caught, *handled))
            rest = [*statement.handlers, *statement.orelse, *statement.finalbody]
            yield from _raised(rest, caught)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from _raised(statement.body, (*caught, *_suppressed(statement)))
        elif not isinstance(statement, DEFINITIONS):
            for name in ("body", "orelse", "cases"):
                yield from _raised(getattr(statement, name, None) or [], caught)


def _names(statement: ast.Raise, caught: tuple[str, ...]) -> Iterator[str]:
    name = exception_name(statement.exc)
    if name is None or name in _RARELY_DOCUMENTED or statement.exc is None:
        return
    if any(may_be_subclass(name, base) for base in caught):
        return
    yield ast.unparse(statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc)


def _caught(kind: ast.expr | None) -> Iterator[str]:
    if kind is None:
        yield "BaseException"
    for error in kind.elts if isinstance(kind, ast.Tuple) else [kind]:
        if error is not None:
            yield unqualified_name(error)


def _suppressed(statement: ast.With | ast.AsyncWith) -> tuple[str, ...]:
    calls = [item.context_expr for item in statement.items]
    return tuple(
        unqualified_name(argument)
        for call in calls
        if isinstance(call, ast.Call) and unqualified_name(call) == "suppress"
        for argument in call.args
    )
