"""Docstring writer, which writes or updates the docstring of a node and changes nothing else."""

import copy
import dataclasses
from collections.abc import Callable

from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.docstring_entry import Entry, lines_with
from remora.operations.docstring.docstring_update import updated_lines
from remora.operations.docstring.docstring_verification import tree_without_docstring
from remora.operations.docstring.documented_node import DocumentedNode, find_documented
from remora.operations.docstring.given_text import text_lines
from remora.operations.docstring.literal import (
    InsertionPoint,
    existing_docstring_point,
    file_bytes,
    new_docstring_point,
    new_literal,
    read_literal,
    updated_literal,
)
from remora.operations.docstring.mend import mend_of
from remora.operations.docstring.parts import DocstringFormat, Parameter
from remora.python_text import literal


def mended(found: DocumentedNode) -> bytes:
    """Return the content of the file with a corrected docstring.

    Raises HostError if nothing would change, or if anything but the docstring would change.
    """
    return _checked(found, *_mended(found))


def described(
    found: DocumentedNode, parameter: str, text: str, formatting: DocstringFormat
) -> bytes:
    """Return the content of the file with an entry for a parameter.

    Raises HostError if no other entry shows how to write it, or if more than this would change.
    """
    return _checked(found, *_described(found, parameter, text, formatting))


def is_describable(found: DocumentedNode, parameter: str) -> bool:
    """Return True if an entry for a parameter can be added to the docstring."""
    return _is_possible(found, lambda: _described(found, parameter, "text", DocstringFormat()))


def _described(
    found: DocumentedNode, parameter: str, text: str, formatting: DocstringFormat
) -> tuple[InsertionPoint, str]:
    types = {
        known.name: known.annotation or _type_of(known.default) for known in parameters_of(found)
    }
    if parameter not in types:
        raise HostError(f"there is no parameter {parameter}")
    entry = Entry(name=parameter, text=text, annotation=types[parameter], order=[*types])
    return _edited(found, lambda inner: lines_with(inner, entry, formatting))


def parameters_of(found: DocumentedNode) -> tuple[Parameter, ...]:
    """Return the parameters that the docstring of a node may describe."""
    signature = found.code.signature if found.code else None
    return describable_parts(signature).parameters if signature else ()


def _type_of(default: str | None) -> str | None:
    """Return the type that a default shows: `True` is a bool, and `None` can be anything."""
    try:
        value = literal(default or "None")
    except (SyntaxError, ValueError):
        return None
    return type(value).__name__ if isinstance(value, bool | int | float | str) else None


def _checked(found: DocumentedNode, spot: InsertionPoint, literal: str) -> bytes:
    content = file_bytes(found.source.raw).with_lines(spot, [literal])
    _check_docstring(found, find_documented(found.path, content, found.qualname, found.related))
    _check_rest(found, content)
    return content


def written(found: DocumentedNode, text: str, formatting: DocstringFormat) -> bytes:
    """Return the content of the file with a text as the docstring.

    Raises HostError if anything but the docstring would change.
    """
    body = file_bytes(found.source.raw)
    if found.text is None:
        spot = new_docstring_point(found.node, found.source, body)
    else:
        spot = existing_docstring_point(found.node, body)
    lines = text_lines(text, formatting, spot.indent)
    literal = new_literal(lines, formatting.quotes, spot.indent, below=formatting.below)
    content = body.with_lines(spot, literal)
    find_documented(found.path, content, found.qualname)  # it parses
    _check_rest(found, content)
    return content


def is_writable(found: DocumentedNode) -> bool:
    """Return True if an existing docstring can be updated, which needs a plain literal."""
    return _is_possible(found, lambda: _mended(found))


def _is_possible(found: DocumentedNode, edit: Callable[[], tuple[InsertionPoint, str]]) -> bool:
    """Return True if a docstring can be edited.

    Only the literal is parsed, because planning asks this about each node of a large file.
    """
    try:
        _, literal = edit()
        tree = parse_text(literal)
        if isinstance(tree, str):
            return False
        node = copy.copy(found.node)
        node.body = [*tree.body, *found.node.body[1:]]
        _check_docstring(found, dataclasses.replace(found, node=node))
    except HostError:
        return False
    return True


def _mended(found: DocumentedNode) -> tuple[InsertionPoint, str]:
    def change(inner: str) -> list[str]:
        if not (mend := mend_of(found)):
            raise HostError("the code does not contradict the docstring, so nothing can be changed")
        return updated_lines(inner, mend)

    return _edited(found, change)


def _edited(
    found: DocumentedNode, change: Callable[[str], list[str]]
) -> tuple[InsertionPoint, str]:
    """Return the place of an existing docstring, and its literal after a change of its lines."""
    body = file_bytes(found.source.raw)
    spot = existing_docstring_point(found.node, body)
    text = body.raw[spot.start : spot.end].decode()
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    literal = read_literal(source, found.text or "")
    if literal is None:
        raise HostError("the docstring is not a plain string literal and cannot be edited by line")
    return spot, updated_literal(literal, change(literal.inner))


def _check_rest(found: DocumentedNode, content: bytes) -> None:
    """Raise HostError if more than a docstring changed."""
    before = tree_without_docstring(found.path, found.source.raw, found.key)
    if before is None or before != tree_without_docstring(found.path, content, found.key):
        raise HostError("the edit would change more than the docstring")


def _check_docstring(found: DocumentedNode, now: DocumentedNode) -> None:
    if not (now.text or "").strip() or now.text == found.text:
        raise HostError("the docstring would not change")
    extra = now.new_contradictions(found)
    if extra:
        raise HostError(f"the docstring would contradict the code: {extra[0].message}")
