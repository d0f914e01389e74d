"""Recipes and the source that they edit."""

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from remora.code.edit.edits import Edit
from remora.code.edit.parsed_text import ParsedText
from remora.code.edit.text_lines import Line, lines_of, newline_of, offset
from remora.code.syntax.definitions import DefinitionNode, FunctionNode, ImportNode
from remora.errors import HostError
from remora.tools.host.ruff.finding import Finding

T = TypeVar("T")
_CONTINUED = re.compile(r"\"\"\"|'''|\\\r?\n")


@dataclass(frozen=True)
class Conventions:
    """A project's maximum line length, and the minor version of its oldest supported Python 3.

    `sets_width` is True if the project sets that length, and False if it is a default or a habit.
    `names_before` are the names that the file used before it was changed. `is_written` returns True
    if another file of the project may assign an attribute of a name.
    """

    width: int
    oldest: int
    sets_width: bool
    names_before: frozenset[str]
    is_written: Callable[[str], bool]


@dataclass(frozen=True)
class PythonSource:
    """The text of a Python file with its syntax tree. Edits are made in offsets of `body`."""

    path: str
    parsed: ParsedText
    conventions: Conventions
    _kept: dict[object, object] = field(default_factory=dict, repr=False, compare=False)

    def once(self, compute: Callable[["PythonSource"], T]) -> T:
        """Return what a function computes from the source. It is computed only once."""
        if compute not in self._kept:
            self._kept[compute] = compute(self)
        return cast("T", self._kept[compute])

    @property
    def body(self) -> str:
        return self.parsed.text

    @property
    def tree(self) -> ast.Module:
        return self.parsed.tree

    @property
    def width(self) -> int:
        return self.conventions.width

    @cached_property
    def lines(self) -> list[Line]:
        return lines_of(self.body)

    @cached_property
    def newline(self) -> str:
        return newline_of(self.body)

    def line(self, number: int) -> str:
        """Return a line, counted from 1, without its line ending."""
        line = self.lines[number - 1]
        return self.body[line.start : line.stop]

    def position(self, line: int, column: int) -> int:
        """Return the offset of a line and column as ruff counts them, both from 1."""
        return offset(self.body, self.lines, line, column)

    def span(self, node: ast.expr | ast.stmt | ast.excepthandler) -> tuple[int, int]:
        """Return the offsets of a node's first character and of the character after its last."""
        return self.parsed.start(node), self.parsed.end(node)

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, stop = self.span(node)
        return self.body[start:stop]

    def whole_text(self, node: ast.stmt) -> str:
        """Return the text of a statement, including decorators."""
        start, stop = self.span(node)
        for decorator in getattr(node, "decorator_list", ()):
            start = min(start, self.span(decorator)[0])
        return self.body[start:stop]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, without contexts such as `Load`."""
        return [node for _, node in self._nodes_with_parents]

    @cached_property
    def _nodes_with_parents(self) -> list[tuple[ast.AST, ast.AST]]:
        return nodes_with_parents(self.tree)

    @cached_property
    def written_attributes(self) -> frozenset[str]:
        """Names of the attributes that are assigned or deleted anywhere in the file."""
        return frozenset(
            node.attr
            for node in self.nodes
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        )

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that the file binds in any scope, other than by `from MODULE import NAME`."""
        found: set[str] = set()
        for node in self.nodes:
            match node:
                case ast.ImportFrom():
                    found.update(each.asname for each in node.names if each.asname)
                case ast.Import():
                    found.update((each.asname or each.name).split(".")[0] for each in node.names)
                case ast.Name(ctx=ast.Store() | ast.Del()):
                    found.add(node.id)
                case ast.arg():
                    found.add(node.arg)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found.add(node.name)
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                    found.add(name)
        return frozenset(found)

    @cached_property
    def imported_names(self) -> frozenset[tuple[str, str, bool]]:
        """Module, name and whether the import is at module level, for `from MODULE import NAME`."""
        top = set(map(id, self.tree.body))
        return frozenset(
            (f"{'.' * node.level}{node.module or ''}", each.name, id(node) in top)
            for node in self.nodes
            if isinstance(node, ast.ImportFrom)
            for each in node.names
            if each.asname is None
        )

    @cached_property
    def comments(self) -> dict[int, int]:
        """The column of the comment in each line that has one."""
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(self.body).readline))
        except (tokenize.TokenError, SyntaxError):
            return {}
        return {each.start[0]: each.start[1] for each in tokens if each.type == tokenize.COMMENT}

    @cached_property
    def docstrings(self) -> list[ast.Constant]:
        """The literals of all docstrings."""
        return list(
            filter(None, (docstring_of(each) for each in self.nodes if hasattr(each, "body")))
        )

    @cached_property
    def _docstring_lines(self) -> dict[int, ast.Constant]:
        return {
            line: literal
            for literal in self.docstrings
            for line in range(literal.lineno, (literal.end_lineno or 0) + 1)
        }

    @cached_property
    def _continued_strings(self) -> frozenset[int]:
        return frozenset(
            line
            for node in self.nodes
            if isinstance(node, ast.Constant | ast.JoinedStr)
            and node.lineno != node.end_lineno
            and _CONTINUED.search(self.text(node))
            for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
        )

    def docstring_at(self, line: int) -> ast.Constant | None:
        """Return the literal of the docstring that a line belongs to, or None."""
        return self._docstring_lines.get(line)

    def starts_in_string(self, line: int) -> bool:
        """Return True if a line starts inside a string."""
        return line in self._continued_strings

    def enclosing(self, at: int) -> list[ast.AST]:
        """Return the nodes whose span contains an offset, from the module to the innermost."""
        found: list[ast.AST] = [self.tree]
        while True:
            inner = next((node for node in _children(found[-1]) if self._holds(node, at)), None)
            if inner is None:
                return found
            found.append(inner)

    def _holds(self, node: ast.AST, at: int) -> bool:
        if not isinstance(node, ast.expr | ast.stmt | ast.excepthandler):
            return False
        first = node.lineno
        if isinstance(node, DefinitionNode):
            first = min([first, *(each.lineno for each in node.decorator_list)])
        line = bisect_right(self.lines, at, key=lambda each: each.start)
        if not first <= line <= (node.end_lineno or 0):
            return False
        start, stop = self.span(node)
        return first < node.lineno or start <= at < stop


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node` that have a position, without those in between that have none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt | ast.excepthandler):
            yield child
        else:
            yield from _children(child)


def nodes_with_parents(tree: ast.Module) -> list[tuple[ast.AST, ast.AST]]:
    """Return each node with its parent, breadth first. The module is its own parent.

    Contexts such as `Load` are left out. This is faster than `ast.walk`.
    """
    found: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    for _, parent in found:  # grows
        for name in parent._fields:
            child = getattr(parent, name, None)
            if child.__class__ is list:
                found += [(parent, each) for each in child if isinstance(each, ast.AST)]
            elif isinstance(child, ast.AST) and not isinstance(child, ast.expr_context):
                found.append((parent, child))
    return found


Verify = Callable[[PythonSource, PythonSource], bool]
"""Returns True if the second version of a file does the same as the first."""


@dataclass(frozen=True)
class RecipeFix:
    """The edits that fix a finding. `imports` contains the names that they need, with modules."""

    edits: tuple[Edit, ...]
    imports: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Recipe:
    """Fixes the findings of some rules.

    `fix` returns the fix of a finding, or None if the recipe does not apply to it. `keeps` verifies
    the version with all fixes of the recipe.
    """

    codes: tuple[str, ...]
    fix: Callable[[PythonSource, Finding], RecipeFix | None]
    keeps: Verify


def parse_source(path: str, body: str, conventions: Conventions) -> PythonSource:
    """Return the source with its syntax tree. Raises HostError if it does not parse."""
    try:
        return PythonSource(path, ParsedText(body), conventions)
    except SyntaxError as error:
        raise HostError(f"{path}: {error}") from None


def same_tree_but_docstrings(before: PythonSource, after: PythonSource) -> bool:
    """Return True if two versions have the same syntax tree except for the texts of docstrings."""
    with _blank_docstrings(before), _blank_docstrings(after):
        return are_alike(before, after, dump)


def same_docstring_words(before: PythonSource, after: PythonSource) -> bool:
    """Return True if two versions differ only in layout and in white space within docstrings."""
    words = [
        [str(literal.value).split() for literal in each.docstrings] for each in (before, after)
    ]
    return words[0] == words[1] and same_tree_but_docstrings(before, after)


Statements = list[ast.stmt]


def are_alike(
    before: PythonSource, after: PythonSource, text_of: Callable[[Statements], str]
) -> bool:
    """Return True if the changed statements of two versions have the same text."""
    return all(text_of(old) == text_of(new) for old, new in changed_statements(before, after))


def changed_statements(
    before: PythonSource, after: PythonSource
) -> Iterator[tuple[Statements, Statements]]:
    """Yield the statements of two versions that correspond and have a different text.

    A function is compared as a whole, because that is fast and enough.
    """
    old, new = before.tree.body, after.tree.body
    old_imports: Statements = [each for each in old if isinstance(each, ImportNode)]
    new_imports: Statements = [each for each in new if isinstance(each, ImportNode)]
    if len(old_imports) != len(new_imports):
        yield old_imports, new_imports
        old = [each for each in old if not isinstance(each, ImportNode)]
        new = [each for each in new if not isinstance(each, ImportNode)]
    yield from _changed(before, old, after, new)


def _changed(
    before: PythonSource, old: Statements, after: PythonSource, new: Statements
) -> Iterator[tuple[Statements, Statements]]:
    if len(old) != len(new):
        yield old, new
        return
    for one, other in zip(old, new, strict=True):
        if before.whole_text(one) == after.whole_text(other):
            continue
        if isinstance(one, ast.ClassDef) and isinstance(other, ast.ClassDef):
            yield [_header(one)], [_header(other)]
            yield from _changed(before, one.body, after, other.body)
        else:
            yield [one], [other]


def _header(node: ast.ClassDef) -> ast.ClassDef:
    return ast.ClassDef(**{**dict(ast.iter_fields(node)), "body": []})


def dump(statements: Statements) -> str:
    """Return a text that is equal for equal statements, wherever they are."""
    return "\n".join(map(ast.dump, statements))


@contextmanager
def _blank_docstrings(source: PythonSource) -> Iterator[None]:
    """Make all docstrings of the tree empty in the block."""
    texts = [(literal, literal.value) for literal in source.docstrings]
    try:
        for literal, _ in texts:
            literal.value = ""
        yield
    finally:
        for literal, value in texts:
            literal.value = value


def docstring_of(node: ast.AST) -> ast.Constant | None:
    """Return the literal of a node's docstring, or None."""
    if not isinstance(node, ast.Module | ast.ClassDef | FunctionNode):
        return None
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value if isinstance(first.value.value, str) else None
    return None
