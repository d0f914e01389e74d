"""Texts of files with their syntax tree, and offsets for its positions."""

import ast
from bisect import bisect_left

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import shared_tree

Positioned = ast.expr | ast.stmt | ast.arg | ast.keyword


class ParsedText:
    """The text of a file with its syntax tree, and offsets for the tree's positions.

    Raises SyntaxError if the text does not parse.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        tree = shared_tree(text)
        if isinstance(tree, str):
            raise SyntaxError(tree)  # noqa: TRY004 - as ast.parse does
        self.tree = tree
        self.lines = split_lines(text, keepends=True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a position in the tree, whose column counts bytes."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column, both from 1, of a character offset."""
        line = bisect_left(self._starts, offset + 1)
        return line, offset - self._starts[line - 1] + 1

    def start(self, node: Positioned) -> int:
        """Return the character offset at which a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Positioned) -> int:
        """Return the character offset after a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def start_of_line(self, line: int) -> int:
        return self._starts[line - 1]
