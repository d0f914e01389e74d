"""The first paragraph of a docstring, read from the file of a node."""

import re
from pathlib import Path

from remora.hub.protocol import AnsweredNode

_MAX_LENGTH = 300
_SENTENCE_END = re.compile(r"[.!?:][)\"'`]*(?= |$)")
_NEXT_BLOCK = re.compile(r"\s*(?:$|[:@]\w|>>>|\.\. |[-=~*]{3,}|[A-Z]\w+:\s*$)")


def docstring_summary(root: Path, node: AnsweredNode) -> str:
    """Return the first paragraph of a node's docstring, of which the Hub stores the first line.

    A long paragraph is cut after a sentence. If the file cannot be read or has changed, return the
    first line, with an ellipsis if it is not a whole sentence.
    """
    first = node.docstring or ""
    paragraph = _paragraph(_docstring(root, node)) if first else ""
    if not paragraph.startswith(first.strip()):
        paragraph = first
    ends = [each.end() for each in _SENTENCE_END.finditer(paragraph)]
    if paragraph == first:
        return first if not first or len(first) in ends else f"{first} …"
    if len(paragraph) <= _MAX_LENGTH:
        return paragraph
    cut = max((end for end in ends if end <= _MAX_LENGTH), default=0)
    return paragraph[:cut] if cut else f"{paragraph[:_MAX_LENGTH].rpartition(' ')[0]} …"


def _paragraph(text: str | None) -> str:
    lines: list[str] = []
    for line in (text or "").strip().splitlines():
        if lines and _NEXT_BLOCK.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _docstring(root: Path, node: AnsweredNode) -> str | None:
    from remora.code.syntax.definitions import find_definitions
    from remora.code.syntax.signature import docstring_text
    from remora.code.syntax.source import Unreadable, read_source
    from remora.errors import HostError
    from remora.workspaces.rooted_files import RootedFiles

    try:
        source = read_source(node.file_path, RootedFiles(root).read_bytes(node.file_path))
    except HostError:
        return None
    if isinstance(source, Unreadable):
        return None
    if node.node_type == "module":
        return docstring_text(source.tree.body)
    found = (each for each in find_definitions(source.tree, node.file_path) if each.key == node.key)
    return next((docstring_text(each.node.body) for each in found), None)
