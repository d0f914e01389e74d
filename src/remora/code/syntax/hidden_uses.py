"""Names that linters miss: those of quoted types, and of regions that a build tool cuts out.

An example is `lexer.py` of lark, whose generator of parsers copies what is between two comments:

    import re  # the copied code may use it, so it stays

    ###{standalone
    class Lexer: ...
    ###}

The generator finds types as text, too, so nothing between the comments may be rewritten.
"""

import ast
import re
from collections.abc import Iterator

_LINE_ENDING = re.compile(r"\r\n|\n|\r")
_START, _END = "###{", "###}"
_WORD = re.compile(r"[^\W\d]\w*")
_TYPE_COMMENT = re.compile(r"#[ \t]*type:(?![ \t]*ignore)(.*)")
_TYPE_ALIAS = "TypeAlias"


def marked_regions(text: str) -> list[range]:
    """Return the lines (counted from 1) of regions such as `###{name` … `###}`.

    A region without an end reaches to the end of the file.
    """
    if _START not in text:
        return []
    regions: list[range] = []
    start: int | None = None
    lines = _LINE_ENDING.split(text)
    for number, line in enumerate(lines, 1):
        if line.startswith(_START) and start is None:
            start = number
        elif line.startswith(_END) and start is not None:
            regions.append(range(start, number + 1))
            start = None
    return regions if start is None else [*regions, range(start, len(lines) + 1)]


def hidden_uses(text: str, tree: ast.Module) -> set[str]:
    """Return all words in types that are strings or comments, and in marked regions.

    `name: "TypeAlias" = "list[Lexer]"` uses `Lexer`. So does an import in a marked region, because
    the code that the region is copied to may use the name.
    """
    found = {word for value in _quoted_types(tree) for word in _WORD.findall(value)}
    for types in _TYPE_COMMENT.findall(text):
        found.update(_WORD.findall(types))
    lines = _LINE_ENDING.split(text)
    for region in marked_regions(text):
        found.update(word for number in region for word in _WORD.findall(lines[number - 1]))
    return found


def _quoted_types(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        types = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.AnnAssign) and _TYPE_ALIAS in ast.unparse(node.annotation):
            types.append(node.value)
        for annotation in filter(None, types):
            yield from (
                part.value
                for part in ast.walk(annotation)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
