"""Records that make up the IR of a file, such as scopes, calls and bindings.

A *term* describes where a value comes from. It is None if the origin is unknown, a string for a
name, an integer for the result of the call with that number, or a sequence that starts with one of
the tags below.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

ATTRIBUTE = 1  # base, name
ITEM = 2  # base, key (a string, an integer, or None if not constant)
SLICE = 3  # base
CONTAINER = 4  # number of the container
SCOPE = 5  # number of the scope: a function, class or lambda object
EITHER = 6  # terms …
AWAIT = 7  # term
ELEMENT = 8  # term: an element obtained by iterating over it
TEXT = 9  # a string constant that may be a name
CONSTANT = 10  # name of its builtin type, and False for the constant False
STAR = 11  # term: `*term` among arguments or items
ENTERED = 12  # term, is asynchronous: the value bound by `with`
INSTANCE = 13  # term: an instance of the class or one of the classes
GENERIC = 14  # base, arguments … (only in annotations)
NARROWED = 15  # term, term: the second, which a condition implies, or else the first
PREFIX = 16  # the beginning of a string that may be a name

MODULE_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE, LAMBDA_SCOPE, COMPREHENSION_SCOPE = range(5)
POSITIONAL, ORDINARY, VARARGS, KEYWORD, KWARGS = range(5)
VALUE, DEFINITION, IMPORT, IMPORT_FROM, ANNOTATED, DELETED = range(6)
ASYNC, GENERATOR = 1, 2
REGISTERED = "@register"
"""Attribute for the functions that `@f.register` decorates."""
METACLASS = "_metaclass of"
"""Name that a class binds to its metaclass. No code can have it."""
LOOP, LEAVES_FUNCTION, IN_TRY, NEVER_RUNS = 1, 2, 4, 8


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter of a function. `kind` is POSITIONAL, ORDINARY, VARARGS, KEYWORD or KWARGS."""

    name: str
    kind: int
    annotation: Any
    default: Any


class Binding(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A binding of a name.

    `at` is the number of its statement. Its terms are evaluated in `scope`. The other fields depend
    on `kind`:

    - VALUE: `term` is the value.
    - DEFINITION: `term` is the scope number, and `extra` is the call of the outermost decorator.
    - IMPORT: `term` is the dotted module, and `extra` is a submodule that is loaded with it.
    - IMPORT_FROM: `term` is (level, module), and `extra` is the name.
    - ANNOTATED: `term` is the annotation, and `extra` is the value.
    - DELETED: both are None.
    """

    kind: int
    at: int
    scope: int
    term: Any
    extra: Any = None


class Scope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A module, class, function, lambda or comprehension."""

    kind: int
    """MODULE_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE, LAMBDA_SCOPE or COMPREHENSION_SCOPE."""
    name: str
    qualname: str
    """Qualname of the node that the code belongs to."""
    parent: int
    """Number of the enclosing scope, or -1 for the module."""
    at: int
    """Number of the statement in `parent` that creates the scope."""
    line: int
    flags: int
    """ASYNC and GENERATOR."""
    params: tuple[Parameter, ...]
    decorators: tuple[int, ...]
    """Numbers of the calls of the decorators."""
    annotation: Any
    """Term of the annotated result."""
    bases: tuple[Any, ...]
    """Terms of the base classes."""
    binds: dict[str, tuple[Binding, ...]]
    """Bindings by name, in source order."""
    outer: tuple[str, ...]
    """Names declared `global` or `nonlocal`."""
    results: tuple[tuple[int, Any], ...]
    """The (statement, term) of each returned value."""
    yields: tuple[tuple[int, Any], ...]
    """The (statement, term) of each yielded value."""


class Call(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A call."""

    scope: int
    at: int
    """Number of its statement."""
    line: int
    callee: Any
    args: Sequence[Any] = ()
    keywords: Sequence[tuple[str | None, Any]] = ()
    """The (name, term) of each keyword argument. The name of `**term` is None."""
    implicit: bool = False
    """True if syntax such as `with` makes the call."""


class AttributeRead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A read of an attribute that is not called. The attribute may be a property."""

    scope: int
    at: int
    line: int
    term: Any


class AttributeWrite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attribute assignment of the form `base.name = term`."""

    scope: int
    at: int
    line: int
    base: Any
    name: str
    term: Any
    annotation: Any = None


class ContainerWrite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A write to a container, such as `base[key] = term`.

    `key` is None if there is no constant key, as in `base.append(term)`.
    """

    scope: int
    at: int
    base: Any
    key: Any
    term: Any


class Container(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A list, tuple, set or dict literal, or a comprehension.

    `keys` is None unless the container is a dict.
    """

    scope: int
    at: int
    items: Sequence[Any]
    keys: Sequence[Any] | None = None
    each: bool = False


class Block(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Statements that run together or not at all, such as one arm of an `if`.

    `arms` is the number of arms in `group`, or 0 if it is possible that none of them runs.
    """

    parent: int
    group: int
    arms: int
    flags: int


Export = str | tuple[int, str]
"""A name in `__all__`, or (level, module) of a module whose `__all__` is included."""


class LoweredFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The IR of one file. What is outside functions has the first numbers of each kind."""

    path: str
    names: tuple[str, ...]
    """All names that the file mentions.

    It also contains `def NAME` for definitions, `class (NAME` for base classes, `set NAME` for
    attributes assigned on anything except `self`, `property NAME` for properties, `made NAME` for
    class attributes that calls make, for what is called and for metaclasses, and `ignore FILE`
    for what a `conftest.py` excludes from the collection of tests, and `visit*` for `"visit_" + x`.
    """
    scopes: tuple[Scope, ...] = ()
    calls: tuple[Call, ...] = ()
    reads: tuple[AttributeRead, ...] = ()
    stores: tuple[AttributeWrite, ...] = ()
    fills: tuple[ContainerWrite, ...] = ()
    containers: tuple[Container, ...] = ()
    blocks: tuple[Block, ...] = ()
    statements: tuple[int, ...] = ()
    """Block number of each statement."""
    stars: tuple[tuple[int, str], ...] = ()
    """The (level, module) of each `import *`."""
    exports: tuple[Export, ...] | None = None
    """Content of `__all__`, or None if it is missing or cannot be evaluated."""
    outer_statements: int = 0
    """Number of statements outside functions."""
    loads: dict[str, tuple[tuple[int, int, int], ...]] = {}
    """The (scope, statement, line) of each use of a defined or imported name, but for calls of it."""


_COMPOUND = (list, tuple)
_HEAD = re.compile("_*[a-z]+")


def has_tag(term: Any, tag: int) -> bool:
    return isinstance(term, _COMPOUND) and bool(term[0] == tag)


def dispatch_name(name: str) -> str:
    """Return `visit*` for `visit_Name`, and for the beginnings `visit` and `visit_` of names."""
    head = _HEAD.match(name)
    return f"{head[0]}*" if head else ""


def unqualified_name(term: Any) -> str:
    """Return `c` for the term or string `a.b.c`, or "" for any other term."""
    if isinstance(term, str):
        return term.rpartition(".")[2]
    return str(term[2]) if has_tag(term, ATTRIBUTE) else ""


class _LoweredFileStart(msgspec.Struct, frozen=True, array_like=True, gc=False):
    path: str
    names: tuple[str, ...]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(LoweredFile)
_start_decoder = msgspec.msgpack.Decoder(_LoweredFileStart)


def encode_lowered(lowered: LoweredFile) -> bytes:
    return _encoder.encode(lowered)


def decode_lowered(stored: bytes) -> LoweredFile:
    """Decode the output of `encode_lowered`. Raises msgspec.DecodeError if `stored` is invalid."""
    return _decoder.decode(stored)


def decode_names(stored: bytes) -> tuple[str, ...]:
    """Decode only `names`, which is twelve times as fast as decoding the whole file.

    Raises msgspec.DecodeError if `stored` is invalid.
    """
    return _start_decoder.decode(stored).names
