"""Docstring writer, which writes or updates the docstring of a node and changes nothing else."""

import ast
from functools import lru_cache
from typing import NamedTuple

from remora.code.syntax.definitions import DefinitionNode, find_definitions
from remora.code.syntax.docstring_drift import DocstringDrift, find_drift
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.operations.docstring.checks import tree_without_docstring
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.docstring_update import updated_lines
from remora.operations.docstring.insertion_point import (
    FileBytes,
    existing_docstring_point,
    new_docstring_point,
)
from remora.operations.docstring.layout import docstring_lines
from remora.operations.docstring.literal_source import (
    escape_text,
    new_literal,
    read_literal,
    updated_literal,
)
from remora.operations.docstring.parse import parse_docstring
from remora.operations.docstring.parts import Describable, DocstringFormat, DocstringTexts


class DocumentedNode(NamedTuple):
    """A node in a file. `text` is its docstring, or None if it has no docstring."""

    path: str
    qualname: str
    source: Source
    node: DefinitionNode | ast.Module
    key: NodeKey
    parent: DefinitionNode | ast.Module | None
    text: str | None

    @property
    def differences(self) -> DocstringDrift:
        """Differences between the docstring and the code. A module has no differences."""
        if self.text is None or isinstance(self.node, ast.Module):
            return DocstringDrift()
        return find_drift(self.node, self.text)


@lru_cache(maxsize=8)  # each turn needs the same file; its tree is not modified
def find_documented(path: str, content: bytes, qualname: str) -> DocumentedNode:
    """Find a node by its qualname.

    Raises HostError if the file does not parse or does not contain the node.
    """
    source = read_source(path, content)
    if isinstance(source, Unreadable):
        raise HostError(f"{path}: {source.detail}")
    spelled = escape_path(path)
    key = node_key(spelled) if qualname == MODULE else node_key(spelled, qualname)
    if qualname == MODULE:  # a definition may have the same name: the module comes first
        return DocumentedNode(
            path, qualname, source, source.tree, key, None, docstring_text(source.tree.body)
        )
    by_key = {each.key: each for each in find_definitions(source.tree, spelled)}
    here = by_key.get(key)
    if here is None:
        raise HostError(f"{path}: there is no {qualname}")
    above = by_key.get(here.parent)
    parent = above.node if above is not None else source.tree
    return DocumentedNode(
        path, qualname, source, here.node, key, parent, docstring_text(here.node.body)
    )


def write(found: DocumentedNode, texts: DocstringTexts, manner: DocstringFormat) -> bytes:
    """Return the content of the file with a new or updated docstring.

    Raises HostError if the new docstring would still be outdated or anything else would change.
    """
    made_of = describable_parts(found.node)
    if found.text is None:
        content = _new(found, texts, made_of, manner)
    else:
        content = _updated(found, texts, made_of, manner)
    _check(found, content)
    return content


def _new(
    found: DocumentedNode, texts: DocstringTexts, made_of: Describable, manner: DocstringFormat
) -> bytes:
    if not texts.summary:
        raise HostError("a new docstring needs a summary")
    body = FileBytes(found.source)
    spot = new_docstring_point(found.node, found.source, body)
    lines = docstring_lines(texts, made_of, manner, spot.indent)
    if any(manner.quotes in line for line in lines):
        raise HostError("a text contains the quotes that end the docstring")
    literal = new_literal(lines, manner.quotes, spot.indent, below=manner.below)
    return body.with_lines(spot, literal)


def _updated(
    found: DocumentedNode, texts: DocstringTexts, made_of: Describable, manner: DocstringFormat
) -> bytes:
    body = FileBytes(found.source)
    spot = existing_docstring_point(found.node, body)
    text = body.raw[spot.start : spot.end].decode()
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    literal = read_literal(source, found.text or "")
    if literal is None:
        raise HostError("the docstring is not a plain string literal and cannot be edited by line")
    missing = undescribed_parts(found, texts)
    if missing:
        raise HostError(f"missing description of {', '.join(missing)}")
    known_texts = DocstringTexts(
        parameters={name: escape_text(each, literal) for name, each in texts.parameters.items()},
        raises={name: escape_text(each, literal) for name, each in texts.raises.items()},
        renames=texts.renames,
    )
    lines = updated_lines(literal.inner, made_of, found.differences, known_texts, manner)
    return body.with_lines(spot, [updated_literal(literal, lines)])


def undescribed_parts(found: DocumentedNode, texts: DocstringTexts) -> list[str]:
    """Return the parts that an outdated docstring must describe but that have no description yet.

    The parts have the form `parameters.NAME` or `raises.NAME`. In NumPy style, a parameter does not
    need a description if it has a type. Exceptions need descriptions only in Google style.
    """
    style = parse_docstring(found.text or "").style
    named = {each.name: each for each in describable_parts(found.node).parameters}
    known = {*texts.parameters, *texts.renames.values()}
    typed = {name for name, each in named.items() if style == "numpy" and each.annotation}
    parameters = [
        name for name in found.differences.undocumented_parameters if name not in known | typed
    ]
    raises = (
        found.differences.undocumented_exceptions - set(texts.raises) if style == "google" else ()
    )
    return [f"parameters.{name}" for name in parameters] + [
        f"raises.{name}" for name in sorted(raises)
    ]


def _check(found: DocumentedNode, content: bytes) -> None:
    now = find_documented(found.path, content, found.qualname)
    if now.text is None or now.differences != DocstringDrift():
        raise HostError("the docstring would still document parts that the code does not have")
    before = tree_without_docstring(found.path, found.source.raw, found.key)
    if before is None or before != tree_without_docstring(found.path, content, found.key):
        raise HostError("the edit would change more than the docstring")
