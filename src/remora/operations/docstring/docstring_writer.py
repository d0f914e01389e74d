"""Docstring writer, which writes or updates the docstring of a node and changes nothing else."""

import copy
import dataclasses

from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.docstring.docstring_update import updated_lines
from remora.operations.docstring.docstring_verification import tree_without_docstring
from remora.operations.docstring.given_text import text_lines
from remora.operations.docstring.literal import (
    InsertionPoint,
    existing_docstring_point,
    new_docstring_point,
    new_literal,
    read_literal,
    updated_literal,
    with_lines,
)
from remora.operations.docstring.mend import mend_of
from remora.operations.docstring.style import DocstringFormat


def corrected_file(found: DocumentedNode) -> bytes:
    """Return the content of the file with a corrected docstring.

    Raises HostError if nothing would change, or if anything but the docstring would change.
    """
    spot, literal = _corrected_literal(found)
    content = with_lines(found.source, spot, [literal])
    _check_docstring(found, find_documented(found.path, content, found.qualname, found.related))
    _check_rest(found, content)
    return content


def file_with_docstring(found: DocumentedNode, text: str, formatting: DocstringFormat) -> bytes:
    """Return the content of the file with a text as the docstring.

    Raises HostError if anything but the docstring would change.
    """
    if found.text is None:
        spot = new_docstring_point(found.node, found.source)
    else:
        spot = existing_docstring_point(found.node, found.source)
    lines = text_lines(text, formatting, spot.indent)
    literal = new_literal(lines, formatting.quotes, spot.indent, below=formatting.below)
    content = with_lines(found.source, spot, literal)
    find_documented(found.path, content, found.qualname)  # it parses
    _check_rest(found, content)
    return content


def is_writable(found: DocumentedNode) -> bool:
    """Return True if an existing docstring can be updated, which needs a plain literal.

    Only the literal is parsed, because planning asks this about each node of a large file.
    """
    try:
        _, literal = _corrected_literal(found)
        tree = parse_text(literal)
        if isinstance(tree, str):
            return False
        node = copy.copy(found.node)
        node.body = [*tree.body, *found.node.body[1:]]
        _check_docstring(found, dataclasses.replace(found, node=node))
    except HostError:
        return False
    return True


def _corrected_literal(found: DocumentedNode) -> tuple[InsertionPoint, str]:
    """Return the place of a docstring, and its literal with the certain changes."""
    spot = existing_docstring_point(found.node, found.source)
    text = found.source.raw[spot.start : spot.end].decode()
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    literal = read_literal(source, found.text or "")
    if literal is None:
        raise HostError("the docstring is not a plain string literal and cannot be edited by line")
    if not (mend := mend_of(found)):
        raise HostError("the code does not contradict the docstring, so nothing can be changed")
    return spot, updated_literal(literal, updated_lines(literal.inner, mend))


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
