"""A tree for a file that does not parse, put together from the pieces that do."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, cast

from remora.code.syntax.definitions import UNKNOWN_PARAMETER, DefinitionNode
from remora.code.syntax.source import parse_text
from remora.code.syntax.statement_rows import StatementRows

_DEEPEST = 150
_MOST_MERGES = 50
_LONGEST_HEADER = 60


def parse_with_recovery(utf8: bytes) -> ast.Module:
    """The definitions and statements of a broken file, at their places.

    What parses by itself is as Python sees it. A definition that does not is made from its header
    and from what parses of its body; of a header that does not parse only the name is kept. What
    else does not parse becomes `pass`, and what is left of a compound statement stands in an `if`.
    """
    whole = _Salvage(StatementRows(utf8))
    return ast.Module(whole.block(0, len(whole.rows.lines), 0, strings=True), type_ignores=[])


class _Piece(NamedTuple):
    """The rows from `first` to before `end`: one statement, if all is well."""

    first: int
    end: int


class _Salvage:
    """What is known of the lines; how often one was moved out of the way."""

    def __init__(self, rows: StatementRows) -> None:
        self.rows = rows
        self._merges = 0

    def block(self, first: int, end: int, depth: int, *, strings: bool) -> list[ast.stmt]:
        """The statements of some rows; without `strings` those are not believed to be there."""
        done: list[tuple[_Piece, list[ast.stmt]]] = []
        for each in self._pieces(first, end, strings=strings):
            piece = each
            found = self._parsed(*piece)
            if isinstance(found, str) and done and self._is_displaced(piece, done[-1][0]):
                piece = _Piece(done.pop()[0].first, piece.end)
                found = self._parsed(*piece)
            if isinstance(found, str):
                found = self._broken(piece, depth + 1, strings=strings)
            done.append((piece, found))
        return [statement for _, statements in done for statement in statements]

    def _pieces(self, first: int, end: int, *, strings: bool) -> Iterator[_Piece]:
        rows = self.rows
        begins = [row for row in range(first, end) if rows.begins(row, strings=strings)]
        margin = rows.indents[begins[0]] if begins else 0
        start: int | None = None
        decorated = False
        for row in begins:
            if rows.indents[row] > margin:
                continue
            if not decorated:
                if start is not None:
                    yield _Piece(start, row)
                start = row
            decorated = rows.is_decorator(row)
        if start is not None:
            yield _Piece(start, end)

    def _parsed(self, first: int, end: int, tail: str = "") -> list[ast.stmt] | str:
        """The statements in some rows, at their places; or why they do not parse."""
        lines = self.rows.lines[first:end]
        nested = lines[0][:1].isspace()
        tree = parse_text("\n".join((*(("if 1:",) if nested else ()), *lines, tail)))
        if isinstance(tree, str):
            return tree
        body = tree.body
        if nested:
            outer = body[0]
            if len(body) > 1 or not isinstance(outer, ast.If) or outer.orelse:
                return "other lines are there than a block has"
            body = outer.body
        for statement in body:
            ast.increment_lineno(statement, first - nested)
        return body

    def _is_displaced(self, piece: _Piece, before: _Piece) -> bool:
        """Whether one line stands too far left in the middle of a block; it is then taken out."""
        rows, row = self.rows, piece.first
        if self._merges >= _MOST_MERGES or rows.opens(row) or not rows.opens(before.first):
            return False
        line, indent = rows.lines[row], rows.indents[row]
        rows.lines[row], rows.indents[row] = "", -1
        self._merges += 1
        goes_on = {rows.indents[inner] for inner in range(*piece) if rows.header(inner)}
        if goes_on & {rows.indents[inner] for inner in range(*before) if rows.header(inner)}:
            return True
        if not isinstance(self._parsed(before.first, piece.end), str):
            return True
        rows.lines[row], rows.indents[row] = line, indent
        return False

    def _heads(self, piece: _Piece) -> int | None:
        """The row of the `def` or `class` that the piece is, behind its decorators."""
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

    def _broken(self, piece: _Piece, depth: int, *, strings: bool) -> list[ast.stmt]:
        if depth > _DEEPEST:
            return [self._placeholder(piece)]
        head, margin = self._heads(piece), self.rows.indents[piece.first]
        after = range((piece.first if head is None else head) + 1, piece.end)
        if any(self._defines(row, margin) for row in after):
            # it swallowed what follows: a string was not ended, or one began in its middle
            if strings:
                return self.block(*piece, depth, strings=False)
        elif head is not None:
            return [self._definition(piece, head, depth, strings=strings)]
        elif self.rows.is_compound(piece.first):
            return [self._compound(piece, depth, strings=strings)]
        inner = next((row for row in after if self._defines(row)), None)
        if inner is None:
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
        place = self._placeholder(_Piece(head, piece.end))
        return ast.copy_location(node, place)

    def _header(self, head: int, end: int) -> tuple[DefinitionNode, int]:
        """A definition without its body, and the row from which that may go."""
        line = self.rows.lines[head]
        margin = line[: len(line) - len(line.lstrip())]
        for row in range(head, min(end, head + _LONGEST_HEADER)):
            if ":" not in self.rows.lines[row]:
                continue
            found = self._parsed(head, row + 1, tail=f"{margin} pass")
            if not isinstance(found, str) and isinstance(found[0], DefinitionNode):
                return found[0], row + 1
        return self._nameless(head), head + 1

    def _nameless(self, head: int) -> DefinitionNode:
        """A definition of whose header only the name is known."""
        keyword, name = self.rows.header(head) or ("def", "")
        inside = "" if keyword == "class" else "(_)"
        node = ast.parse(f"{keyword} {name}{inside}: pass").body[0]
        place = self._placeholder(_Piece(head, head + 1))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.args.args = [ast.copy_location(ast.arg(UNKNOWN_PARAMETER), place)]
        return cast("DefinitionNode", node)

    def _decorators(self, first: int, head: int) -> list[ast.expr]:
        if first == head:
            return []
        line = self.rows.lines[first]
        margin = line[: len(line) - len(line.lstrip())]
        found = self._parsed(first, head, tail=f"{margin}class _: pass")
        one = found[0]
        return one.decorator_list if isinstance(one, ast.ClassDef) else []

    def _compound(self, piece: _Piece, depth: int, *, strings: bool) -> ast.stmt:
        """Its blocks, one after the other."""
        margin = self.rows.indents[piece.first]
        arms = [
            row
            for row in range(piece.first + 1, piece.end)
            if self.rows.indents[row] == margin and self.rows.is_compound(row)
        ]
        body: list[ast.stmt] = []
        for start, end in pairwise((piece.first, *arms, piece.end)):
            body += self.block(start + 1, end, depth, strings=strings)
        place = self._placeholder(piece)
        found = ast.If(test=ast.Constant(True), body=body or [place], orelse=[])
        ast.copy_location(found.test, place)
        return ast.copy_location(found, place)

    def _placeholder(self, piece: _Piece) -> ast.Pass:
        """`pass`, from the first to the last character of some rows."""
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
