"""Search for the starts of statements in a file that does not parse, using tree-sitter."""

import re
from collections.abc import Iterator
from keyword import iskeyword

import tree_sitter_python
from tree_sitter import Language, Node, Parser

_HEADER = re.compile(r"\s*((?:async[ \t]+)?def|class)[ \t]+(\w+)")
_CLAUSE = re.compile(r"\s*(?:else|elif|except|finally)\b")
_COMPOUND = re.compile(r"\s*(?:async|for|if|match|case|try|while|with|else|elif|except|finally)\b")
_STRINGS = frozenset(("string", "concatenated_string"))
_BRACKETS = frozenset(
    (
        *("argument_list", "parameters", "tuple", "list", "set", "dictionary", "subscript"),
        *("parenthesized_expression", "generator_expression", "list_comprehension"),
        *("set_comprehension", "dictionary_comprehension", "tuple_pattern", "list_pattern"),
        *("import_from_statement", "with_clause", "type_parameter", "dict_pattern"),
    )
)


class StatementRows:
    """The lines of a file, numbered from 0.

    `indents` contains the column where each line starts, or -1 for blank lines and comments.
    """

    def __init__(self, utf8: bytes) -> None:
        self.lines = utf8.decode().split("\n")
        self.indents = [_indent(line) for line in self.lines]
        self._in_string: set[int] = set()
        self._in_brackets: set[int] = set()
        for node in _multiline_nodes(utf8):
            found = self._in_string if node.type in _STRINGS else self._in_brackets
            found.update(range(node.start_point.row + 1, node.end_point.row + 1))

    def header(self, row: int) -> tuple[str, str] | None:
        """Return the keyword and name of the function or class that starts in this row, or None."""
        found = _HEADER.match(self.lines[row])
        if found is None or iskeyword(found[2]) or not found[2].isidentifier():
            return None
        return " ".join(found[1].split()), found[2]

    def opens_block(self, row: int) -> bool:
        """Return True if the row starts a definition, decorator or compound statement."""
        return bool(self.header(row)) or self.is_decorator(row) or self.is_compound(row)

    def is_decorator(self, row: int) -> bool:
        return self.lines[row].lstrip().startswith("@")

    def is_compound(self, row: int) -> bool:
        """Return True if the row starts with the keyword of a compound statement or clause."""
        return _COMPOUND.match(self.lines[row]) is not None

    def starts_statement(self, row: int, *, strings: bool) -> bool:
        """Return True if a statement may start in this row.

        A definition may even start inside brackets, because an earlier bracket may be unclosed.
        """
        line = self.lines[row]
        if self.indents[row] < 0 or (strings and row in self._in_string):
            return False
        if self.header(row):
            return True
        if row in self._in_brackets or line.lstrip()[0] in ")]}" or _CLAUSE.match(line):
            return False
        return row == 0 or not self.lines[row - 1].endswith("\\")


def _indent(line: str) -> int:
    text = line.lstrip()
    if not text or text[0] == "#":
        return -1
    # a form feed resets the column
    margin = line[: len(line) - len(text)].rpartition("\f")[2]
    return len(margin.expandtabs())


def _multiline_nodes(utf8: bytes) -> Iterator[Node]:
    """Yield the outermost strings and brackets that span several lines."""
    tree = Parser(Language(tree_sitter_python.language())).parse(utf8)
    pending = [tree.root_node]
    while pending:
        for node in pending.pop().children:
            if node.start_point.row == node.end_point.row:
                continue
            if node.type in _STRINGS or node.type in _BRACKETS:
                yield node
            else:
                pending.append(node)
