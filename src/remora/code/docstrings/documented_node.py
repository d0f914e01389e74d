"""A node with its docstring and what contradicts it."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache

from msgspec.structs import replace

from remora.code.docstrings.docstring_sections import parse_docstring
from remora.code.docstrings.drift_finding import DocumentedCode, DriftFinding
from remora.code.docstrings.drift_rules import contradictions
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.syntax.definitions import Definition, DefinitionNode, find_definitions
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source, Unreadable, read_source
from remora.errors import HostError
from remora.ids import NodeKey, escape_path, node_key

_CONTINUED = re.compile(rb"(?<!\\)(?:\\\\)*\\\s*$")


@dataclass(frozen=True)
class DocumentedNode:
    """A function or class in a file."""

    path: str
    """The path of the file."""
    qualname: str
    """The name within the file."""
    source: Source
    """The file."""
    node: DefinitionNode
    """The definition."""
    key: NodeKey
    """The key of the definition."""
    parent: DefinitionNode | ast.Module
    """What the definition is in."""
    related: RelatedTexts
    """Texts of the same project."""

    @cached_property
    def text(self) -> str | None:
        """The docstring, or None without one."""
        return docstring_text(self.node.body)

    @cached_property
    def code(self) -> DocumentedCode | None:
        """The definition with its parsed docstring, or None without a docstring."""
        if self.text is None:
            return None
        return DocumentedCode(
            node=self.node,
            text=self.text,
            parsed=parse_docstring(self.text),
            owner=self.parent if isinstance(self.parent, ast.ClassDef) else None,
            related=self.related,
        )

    @cached_property
    def contradictions(self) -> tuple[DriftFinding, ...]:
        """The contradictions between the docstring and the code, in the docstring's order."""
        return contradictions(self.code) if self.code else ()

    def new_contradictions(self, before: "DocumentedNode | None") -> list[DriftFinding]:
        """Return the contradictions whose code and name an earlier version has less often."""
        known = before.contradictions if before is not None else ()
        extra = Counter((finding.code, finding.name) for finding in self.contradictions)
        extra -= Counter((finding.code, finding.name) for finding in known)
        return [finding for finding in self.contradictions if extra[finding.code, finding.name]]

    def line_of(self, number: int) -> int:
        """Return the line of the file, counted from 1, with a line of the docstring's text.

        `number` is counted from 0. A backslash before a line ending continues the line of the text.
        """
        literal = self.node.body[0]
        if self.source.line(literal.lineno)[literal.col_offset :][:1] in b"rR":
            return literal.lineno + number
        return self._text_lines[number] if number < len(self._text_lines) else self._last_line

    @cached_property
    def _last_line(self) -> int:
        literal = self.node.body[0]
        return literal.end_lineno or literal.lineno

    @cached_property
    def _text_lines(self) -> list[int]:
        """The lines of the file at whose ends a line of the docstring's text ends."""
        lines = range(self.node.body[0].lineno, self._last_line)
        return [line for line in lines if not _CONTINUED.search(self.source.line(line))]


def find_documented(
    path: str, content: bytes, qualname: str, related: RelatedTexts | None = None
) -> DocumentedNode:
    """Find a node by its qualname. `related` has the texts of its file and folder.

    Raises HostError if the file does not parse or does not contain the node.
    """
    source, by_key = _definitions(path, content)
    key = node_key(escape_path(path), qualname)
    here = by_key.get(key)
    if here is None:
        raise HostError(f"{path}: there is no {qualname}")
    above = by_key.get(here.parent)
    parent = above.node if above is not None else source.tree
    owner = getattr(parent, "name", "")
    own = replace(related or RelatedTexts(), owner=owner)
    return DocumentedNode(path, qualname, source, here.node, key, parent, own)


@lru_cache(maxsize=8)  # each turn needs the same file; its tree is not modified
def _definitions(path: str, content: bytes) -> tuple[Source, dict[NodeKey, Definition]]:
    source = read_source(path, content)
    if isinstance(source, Unreadable):
        raise HostError(f"{path}: {source.detail}")
    found = find_definitions(source.tree, escape_path(path))
    return source, {definition.key: definition for definition in found}
