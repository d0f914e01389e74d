"""What linking needs of one file, compact enough to be stored whole.

A *term* says how a value is made, in as few objects as possible: null where nothing is known of
it, a string for a name, an integer for the result of the call with that number, and for the rest
a sequence that begins with one of the tags below.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

ATTRIBUTE = 1  # base, name
ITEM = 2  # base, key (a string, an integer, or null where it is not constant)
SLICE = 3  # base
CONTAINER = 4  # number of the container
SCOPE = 5  # number of the scope: the function, class or lambda itself
EITHER = 6  # terms …
AWAIT = 7  # term
ELEMENT = 8  # term: what iterating over it gives
TEXT = 9  # a string constant that may be a name
CONSTANT = 10  # name of its builtin type
STAR = 11  # term: `*term` among arguments or items
ENTERED = 12  # term, whether asynchronously: what `with` binds
INSTANCE = 13  # term: an instance of the class, or of one of the classes
DECLARED = 14  # annotation: a value of that type
GENERIC = 15  # annotation only: base, arguments …

MODULE_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE, LAMBDA_SCOPE, COMPREHENSION_SCOPE = range(5)
POSITIONAL, ORDINARY, VARARGS, KEYWORD, KWARGS = range(5)
VALUE, DEFINITION, IMPORT, IMPORT_FROM, ANNOTATED, NARROWED, DELETED = range(7)
ASYNC, GENERATOR = 1, 2
LOOP, LEAVES_FUNCTION, IN_TRY = 1, 2, 4


class Parameter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`kind` is POSITIONAL, ORDINARY, VARARGS, KEYWORD or KWARGS."""

    name: str
    kind: int
    annotation: Any
    default: Any


class Binding(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One place that gives a name a value.

    `at` is the number of its statement, `scope` where its terms are evaluated. By `kind`: VALUE and
    NARROWED `term`; DEFINITION `term` the scope's number and `extra` the call of the outermost
    decorator; IMPORT `term` the dotted module, `extra` what else is loaded with it; IMPORT_FROM
    `term` (level, module) and `extra` the name; ANNOTATED `term` the annotation, `extra` the value;
    GONE nothing.
    """

    kind: int
    at: int
    scope: int
    term: Any
    extra: Any = None


class Scope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A module, class, function, lambda or comprehension.

    `qualname` is that of the node its code belongs to; `at` the number of the statement that makes
    it, evaluated in `parent`. `results` and `yields` are (statement, term).
    """

    kind: int
    name: str
    qualname: str
    parent: int
    at: int
    line: int
    flags: int
    params: tuple[Parameter, ...]
    decorators: tuple[int, ...]
    annotation: Any
    bases: tuple[Any, ...]
    binds: dict[str, tuple[Binding, ...]]
    outer: tuple[str, ...]
    results: tuple[tuple[int, Any], ...]
    yields: tuple[tuple[int, Any], ...]


class Call(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A call: `at` is its statement's number; an implicit one is made by syntax, as by `with`."""

    scope: int
    at: int
    line: int
    callee: Any
    args: Sequence[Any] = ()
    keywords: Sequence[tuple[str | None, Any]] = ()
    implicit: bool = False


class AttributeRead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attribute that is read and not called: it may be a property."""

    scope: int
    at: int
    line: int
    term: Any


class AttributeWrite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`base.name = term`."""

    scope: int
    at: int
    line: int
    base: Any
    name: str
    term: Any
    annotation: Any = None


class ContainerWrite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`base[key] = term`, or `base.append(term)` and the like (`key` null)."""

    scope: int
    at: int
    base: Any
    key: Any
    term: Any


class Container(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A display or a comprehension; `keys` only of a dict."""

    scope: int
    at: int
    items: Sequence[Any]
    keys: Sequence[Any] | None = None
    each: bool = False


class Block(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Statements that run, or do not run, together.

    `group` is one number for all arms of an if, try or match, `arms` how many there are if one of
    them is always taken, else 0; `flags` are LOOP, ENDS (it leaves the function), TRYING.
    """

    parent: int
    group: int
    arms: int
    flags: int


Export = str | tuple[int, str]
"""A name in `__all__`, or (level, module) of one whose `__all__` is taken in."""


class LoweredFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file for the linker.

    `names` are all names by which it may mention something, for an index over files; `def NAME`
    and `class (NAME` among them say that it defines NAME, or a class with a base called so.
    `statements` is the block of each statement; `exports` is null without an `__all__` that can be read.
    """

    path: str
    names: tuple[str, ...]
    scopes: tuple[Scope, ...] = ()
    calls: tuple[Call, ...] = ()
    reads: tuple[AttributeRead, ...] = ()
    stores: tuple[AttributeWrite, ...] = ()
    fills: tuple[ContainerWrite, ...] = ()
    containers: tuple[Container, ...] = ()
    blocks: tuple[Block, ...] = ()
    statements: tuple[int, ...] = ()
    stars: tuple[tuple[int, str], ...] = ()
    exports: tuple[Export, ...] | None = None


def estimated_records(lowered: LoweredFile) -> int:
    """About how many records are held of a file whose indexes are; about 1 KB is needed for each."""
    return 20 + len(lowered.calls) + len(lowered.reads) + 3 * len(lowered.scopes)


def unqualified_name(term: Any) -> str:
    """`c` of the dotted `a.b.c`, term or text; "" of what is not dotted."""
    if isinstance(term, str):
        return term.rpartition(".")[2]
    is_attribute = isinstance(term, list | tuple) and term[0] == ATTRIBUTE
    return str(term[2]) if is_attribute else ""


class _Named(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """As `LoweredFile` begins."""

    path: str
    names: tuple[str, ...]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(LoweredFile)
_named_decoder = msgspec.msgpack.Decoder(_Named)


def encode_lowered(lowered: LoweredFile) -> bytes:
    """As it is stored."""
    return _encoder.encode(lowered)


def decode_lowered(stored: bytes) -> LoweredFile:
    """The inverse of `encode_lowered`. Raises msgspec.DecodeError."""
    return _decoder.decode(stored)


def decode_names(stored: bytes) -> tuple[str, ...]:
    """The `names` alone of what is stored: a twelfth of the time. Raises msgspec.DecodeError."""
    return _named_decoder.decode(stored).names
