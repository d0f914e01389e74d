"""The lines of a file that does not parse: which of them begin a statement, seen by tree-sitter."""

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
    """The lines, numbered from 0; `indents` are their columns, -1 for what says nothing."""

    def __init__(self, utf8: bytes) -> None:
        self.lines = utf8.decode().split("\n")
        self.indents = [_indent(line) for line in self.lines]
        self._in_string: set[int] = set()
        self._in_brackets: set[int] = set()
        for node in _spread(utf8):
            found = self._in_string if node.type in _STRINGS else self._in_brackets
            found.update(range(node.start_point.row + 1, node.end_point.row + 1))

    def header(self, row: int) -> tuple[str, str] | None:
        """`def`, `async def` or `class`, and the name, where the line begins so."""
        found = _HEADER.match(self.lines[row])
        if found is None or iskeyword(found[2]) or not found[2].isidentifier():
            return None
        return " ".join(found[1].split()), found[2]

    def opens(self, row: int) -> bool:
        """Whether a block may follow the line, or another line that a block follows."""
        return bool(self.header(row)) or self.is_decorator(row) or self.is_compound(row)

    def is_decorator(self, row: int) -> bool:
        """Whether the line begins with `@`."""
        return self.lines[row].lstrip().startswith("@")

    def is_compound(self, row: int) -> bool:
        """Whether a keyword stands here that is followed by a block."""
        return _COMPOUND.match(self.lines[row]) is not None

    def begins(self, row: int, *, strings: bool) -> bool:
        """Whether a statement may begin here; without `strings` no line is believed to be in one.

        A line that defines something never stands within brackets: one was left open before it.
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
    # a form feed begins the line anew
    margin = line[: len(line) - len(text)].rpartition("\f")[2]
    return len(margin.expandtabs())


def _spread(utf8: bytes) -> Iterator[Node]:
    """The outermost strings and brackets that go over several lines."""
    tree = Parser(Language(tree_sitter_python.language())).parse(utf8)
    waiting = [tree.root_node]
    while waiting:
        for node in waiting.pop().children:
            if node.start_point.row == node.end_point.row:
                continue
            if node.type in _STRINGS or node.type in _BRACKETS:
                yield node
            else:
                waiting.append(node)
