"""Base classes of exceptions, from the project and the standard library."""

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from remora.code.syntax.effects import builtin_exceptions

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)\)[ \t]*:", re.MULTILINE)
_MOST_BASES = 100
"""Far more than exceptions have: those of Python have at most six."""
_MOST_NAMES = 1024
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
            name: {base.__name__ for base in each.__mro__[1:-1]}
            for name, each in builtin_exceptions().items()
        }
        for name, bases in _STANDARD.items():
            known.setdefault(name, set()).update(bases)
        for content in self._read():
            for name, found in class_bases(content).items():
                known.setdefault(name, set()).update(found)
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
