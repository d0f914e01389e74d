"""Error-tolerant parser that builds a syntax tree from the valid parts of a broken file."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from keyword import iskeyword
from typing import NamedTuple, cast

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from remora.code.syntax.definitions import UNKNOWN_PARAMETER, DefinitionNode, FunctionNode
from remora.code.syntax.older_syntax import in_older_syntax
from remora.code.syntax.source import parse_text
from remora.python_text import parse

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
        root = root_of(utf8)
        for node in _multiline_nodes(root):
            found = self._in_string if node.type in _STRINGS else self._in_brackets
            found.update(range(node.start_point.row + 1, node.end_point.row + 1))
        self._quoted = set() if _has_open_string(root) else self._in_string
        """Rows that are text for sure, because no string before them lacks its end."""

    def header(self, row: int) -> tuple[str, str] | None:
        """Return the keyword and name of the function or class that starts in this row, or None."""
        found = None if row in self._quoted else _HEADER.match(self.lines[row])
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
        return row not in self._quoted and _COMPOUND.match(self.lines[row]) is not None

    def starts_statement(self, row: int, *, strings: bool) -> bool:
        """Return True if a statement may start in this row.

        A definition may even start inside brackets, because an earlier bracket may be unclosed.
        """
        line = self.lines[row]
        if self.indents[row] < 0 or row in (self._in_string if strings else self._quoted):
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


def root_of(utf8: bytes) -> Node:
    """Return the tree of a text in UTF-8."""
    return Parser(Language(tree_sitter_python.language())).parse(utf8).root_node


def _multiline_nodes(root: Node) -> Iterator[Node]:
    """Yield the strings and brackets that span several lines, but for what is in strings."""
    pending = [root]
    while pending:
        for node in pending.pop().children:
            if node.start_point.row == node.end_point.row:
                continue
            if node.type in _STRINGS or node.type in _BRACKETS:
                yield node
            if node.type not in _STRINGS:
                pending.append(node)


def _has_open_string(root: Node) -> bool:
    """Return True if a string over several lines has no end, so that others may begin too early."""
    pending = [root]
    while pending:
        node = pending.pop()
        for child in node.children if node.has_error else ():
            is_lone = child.type == "string_start" and node.type != "string"
            if is_lone and (child.text or b"").endswith((b'"""', b"'''")):
                return True
            if child.type == "string_end" and child.is_missing:
                return True
            pending.append(child)
    return False


_MAX_DEPTH = 150
_MAX_REMOVED_LINES = 50
_MAX_HEADER_ROWS = 60


def parse_with_recovery(utf8: bytes) -> ast.Module:
    """Return the definitions and statements of a broken file, at their original positions.

    Syntax newer than the running Python is replaced. Statements that parse are kept. A broken
    definition keeps its header, or at least its name, and the parts of its body that parse. A
    broken compound statement becomes an `if`. Anything else becomes `pass`.
    """
    utf8 = in_older_syntax(utf8, root_of(utf8))
    tree = parse_text(utf8.decode())
    if isinstance(tree, ast.Module):
        return tree
    recovery = _Recovery(StatementRows(utf8))
    return ast.Module(recovery.block(0, len(recovery.rows.lines), 0, strings=True), type_ignores=[])


class _Piece(NamedTuple):
    """The rows from `first` to `end` (exclusive). Ideally, they contain one statement."""

    first: int
    end: int


class _Recovery:
    """Recovers the statements of one file, and counts the misplaced lines that are removed."""

    def __init__(self, rows: StatementRows) -> None:
        self.rows = rows
        self._removed_lines = 0

    def block(self, first: int, end: int, depth: int, *, strings: bool) -> list[ast.stmt]:
        """Return the statements in a range of rows.

        If `strings` is False, string boundaries are ignored.
        """
        done: list[tuple[_Piece, list[ast.stmt]]] = []
        for whole in self._pieces(first, end, strings=strings):
            piece = whole
            found = self._parse_rows(*piece)
            if isinstance(found, str) and done and self._remove_misplaced(piece, done[-1][0]):
                piece = _Piece(done.pop()[0].first, piece.end)
                found = self._parse_rows(*piece)
            if isinstance(found, str):
                found = self._recover_piece(piece, depth + 1, strings=strings)
            done.append((piece, found))
        return [statement for _, statements in done for statement in statements]

    def _pieces(self, first: int, end: int, *, strings: bool) -> Iterator[_Piece]:
        rows = self.rows
        starts = [row for row in range(first, end) if rows.starts_statement(row, strings=strings)]
        margin = rows.indents[starts[0]] if starts else 0
        start: int | None = None
        decorated = False
        for row in starts:
            if rows.indents[row] > margin:
                continue
            if not decorated:
                if start is not None:
                    yield _Piece(start, row)
                start = row
            decorated = rows.is_decorator(row)
        if start is not None:
            yield _Piece(start, end)

    def _parse_rows(self, first: int, end: int, tail: str = "") -> list[ast.stmt] | str:
        """Return the statements of some rows at their original positions, or the syntax error."""
        lines = self.rows.lines[first:end]
        nested = lines[0][:1].isspace()
        tree = parse_text("\n".join((*(("if 1:",) if nested else ()), *lines, tail)))
        if isinstance(tree, str):
            return tree
        body = tree.body
        if nested:
            outer = body[0]
            if len(body) > 1 or not isinstance(outer, ast.If) or outer.orelse:
                return "not a single block"
            body = outer.body
        for statement in body:
            ast.increment_lineno(statement, first - nested)
        return body

    def _remove_misplaced(self, piece: _Piece, before: _Piece) -> bool:
        """Remove the first line of `piece` if it is not indented far enough for its block.

        Return True if the line was removed.
        """
        rows, row = self.rows, piece.first
        if (
            self._removed_lines >= _MAX_REMOVED_LINES
            or rows.opens_block(row)
            or not rows.opens_block(before.first)
        ):
            return False
        line, indent = rows.lines[row], rows.indents[row]
        rows.lines[row], rows.indents[row] = "", -1
        self._removed_lines += 1
        following = {rows.indents[inner] for inner in range(*piece) if rows.header(inner)}
        if following & {rows.indents[inner] for inner in range(*before) if rows.header(inner)}:
            return True
        if not isinstance(self._parse_rows(before.first, piece.end), str):
            return True
        rows.lines[row], rows.indents[row] = line, indent
        return False

    def _definition_row(self, piece: _Piece) -> int | None:
        """Return the row of the `def` or `class` keyword, or None for other pieces."""
        rows, first = self.rows, piece.first
        if rows.header(first):
            return first
        if not rows.is_decorator(first):
            return None
        margin = rows.indents[first]
        return next((row for row in range(*piece) if self._defines(row, margin)), None)

    def _defines(self, row: int, margin: int | None = None) -> bool:
        indent = self.rows.indents[row]
        return self.rows.header(row) is not None and (margin is None or 0 <= indent <= margin)

    def _recover_piece(self, piece: _Piece, depth: int, *, strings: bool) -> list[ast.stmt]:
        if depth > _MAX_DEPTH:
            return [self._placeholder(piece)]
        head, margin = self._definition_row(piece), self.rows.indents[piece.first]
        after = range((piece.first if head is None else head) + 1, piece.end)
        if any(self._defines(row, margin) for row in after):
            # an unterminated string has swallowed the following definition
            if strings:
                return self.block(*piece, depth, strings=False)
        elif head is not None:
            return [self._definition(piece, head, depth, strings=strings)]
        elif self.rows.is_compound(piece.first):
            return [self._compound(piece, depth, strings=strings)]
        if (inner := next((row for row in after if self._defines(row)), None)) is None:
            return [self._placeholder(piece)]
        return [
            self._placeholder(_Piece(piece.first, inner)),
            *self.block(inner, piece.end, depth, strings=False),
        ]

    def _definition(self, piece: _Piece, head: int, depth: int, *, strings: bool) -> ast.stmt:
        node, body_from = self._header(head, piece.end)
        node.decorator_list = self._decorators(piece.first, head)
        node.body = self.block(body_from, piece.end, depth, strings=strings)
        if not node.body:
            node.body = [self._placeholder(_Piece(body_from - 1, piece.end))]
        position = self._placeholder(_Piece(head, piece.end))
        return ast.copy_location(node, position)

    def _header(self, head: int, end: int) -> tuple[DefinitionNode, int]:
        """Return a definition without its body, and the first row of the body."""
        line = self.rows.lines[head]
        margin = line[: len(line) - len(line.lstrip())]
        for row in range(head, min(end, head + _MAX_HEADER_ROWS)):
            if ":" not in self.rows.lines[row]:
                continue
            found = self._parse_rows(head, row + 1, tail=f"{margin} pass")
            if not isinstance(found, str) and isinstance(found[0], DefinitionNode):
                return found[0], row + 1
        return self._name_only(head), head + 1

    def _name_only(self, head: int) -> DefinitionNode:
        """Return a definition that has only a name, for a header that does not parse."""
        keyword, name = self.rows.header(head) or ("def", "")
        inside = "" if keyword == "class" else "(_)"
        node = parse(f"{keyword} {name}{inside}: pass").body[0]
        position = self._placeholder(_Piece(head, head + 1))
        if isinstance(node, FunctionNode):
            node.args.args = [ast.copy_location(ast.arg(UNKNOWN_PARAMETER), position)]
        return cast("DefinitionNode", node)

    def _decorators(self, first: int, head: int) -> list[ast.expr]:
        if first == head:
            return []
        line = self.rows.lines[first]
        margin = line[: len(line) - len(line.lstrip())]
        found = self._parse_rows(first, head, tail=f"{margin}class _: pass")
        decorated = found[0]
        return decorated.decorator_list if isinstance(decorated, ast.ClassDef) else []

    def _compound(self, piece: _Piece, depth: int, *, strings: bool) -> ast.stmt:
        """Return a single `if` that contains all blocks of a compound statement."""
        margin = self.rows.indents[piece.first]
        arms = [
            row
            for row in range(piece.first + 1, piece.end)
            if self.rows.indents[row] == margin and self.rows.is_compound(row)
        ]
        body: list[ast.stmt] = []
        for start, end in pairwise((piece.first, *arms, piece.end)):
            body += self.block(start + 1, end, depth, strings=strings)
        position = self._placeholder(piece)
        found = ast.If(test=ast.Constant(True), body=body or [position], orelse=[])
        ast.copy_location(found.test, position)
        return ast.copy_location(found, position)

    def _placeholder(self, piece: _Piece) -> ast.Pass:
        lines = self.rows.lines
        last = next(
            (row for row in range(piece.end - 1, piece.first, -1) if self.rows.indents[row] >= 0),
            piece.first,
        )
        return ast.Pass(
            lineno=piece.first + 1,
            col_offset=len(lines[piece.first]) - len(lines[piece.first].lstrip()),
            end_lineno=last + 1,
            end_col_offset=len(lines[last].rstrip().encode()),
        )
