"""A script's top-level statements, read with tree-sitter.

Monty accepts syntax that the running Python version may not support, such as f-strings that reuse
their quote character inside a field (Python 3.12). For this reason, `ast` cannot parse a whole
script. Reading never fails, because Monty reports the syntax errors.
"""

from typing import NamedTuple

import tree_sitter_python
from tree_sitter import Language, Parser


class Statement(NamedTuple):
    """A top-level statement.

    `first` and `last` are its first and last line numbers, starting at 1. `text` is its source.
    """

    first: int
    last: int
    text: str


def top_level_statements(source: str) -> list[Statement]:
    """Return the statements at column 0, in order.

    Decorators are part of the definition that follows. Comments and blank lines are part of the
    preceding statement.
    """
    lines = source.split("\n")
    tree = Parser(Language(tree_sitter_python.language())).parse(
        source.encode("utf-8", "surrogatepass")
    )
    found = {
        node.start_point.row + 1 for node in tree.root_node.named_children if node.type != "comment"
    }
    starts = sorted(found)
    ends = [start - 1 for start in starts[1:]] + [len(lines)] * bool(starts)
    return [
        Statement(first, last, "\n".join(lines[first - 1 : last]))
        for first, last in zip(starts, ends, strict=True)
    ]
