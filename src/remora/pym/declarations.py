"""Declarations of a script, and two versions of its source: one to type-check and one to run.

Line numbers in both versions are the same as in the `.pym` file, so messages refer to that file.
"""

import ast
import re
from typing import NamedTuple

import tree_sitter_python
from msgspec.structs import replace
from tree_sitter import Language, Parser

from remora.errors import ScriptError
from remora.pym.specs import (
    ExternalSpec,
    InputSpec,
    InvalidDeclarationError,
    external_spec,
    input_spec,
)
from remora.python_text import parse


class Statement(NamedTuple):
    """A top-level statement."""

    first: int
    """The number of its first line, starting at 1."""
    last: int
    text: str
    """The source of the statement."""


def top_level_statements(source: str) -> list[Statement]:
    """Return the statements at column 0, in order.

    Decorators are part of the definition that follows. Comments and blank lines are part of the
    preceding statement. Monty accepts syntax that the running Python version may not support, such
    as f-strings that reuse their quote character inside a field (Python 3.12), so `ast` cannot
    parse a whole script. Reading never fails, because Monty reports the syntax errors.
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


ANY_STUB = "remora_any"
ANY_TYPE_STUB = "remora_any_type"

_IMPORT = re.compile(r"from\s+(?:remora\s*\.\s*pym|grail)\s+import\b")
_FUTURE = re.compile(r"from\s+__future__\s+import\b")
_INPUT = re.compile(r"\w+\s*(?::[^=]*)?=\s*Input\s*\(")
_EXTERNAL = re.compile(r"@\s*external\b")
_DOCSTRING = re.compile(r"[rR]?[\"']")


class Declarations(NamedTuple):
    """The declarations of a script, and two versions of its source."""

    inputs: tuple[InputSpec, ...]
    externals: tuple[ExternalSpec, ...]
    description: str
    """The docstring of the script."""
    runs: str
    """The source to run, without the declarations."""
    checks: str
    """The source to type-check, with the declarations."""


def parse_declarations(source: str, label: str) -> Declarations:
    """Return the declarations of a script. Other statements are not checked.

    Raises ScriptError if a declaration is not valid.
    """
    found = _DeclarationReader(source, label)
    spans = top_level_statements(source)
    for span in spans:
        found.read(span)
    variables = [(spec.variable, spec.line) for spec in found.inputs]
    _refuse_repeated(found, variables + [(spec.name, spec.line) for spec in found.externals])
    _refuse_other_inputs(found)
    return Declarations(
        tuple(found.inputs),
        tuple(found.externals),
        _docstring(spans),
        "\n".join(found.runs),
        "\n".join(found.checks),
    )


def _refuse_repeated(found: "_DeclarationReader", names: list[tuple[str, int]]) -> None:
    seen: set[str] = set()
    for name, line in names:
        if name in seen:
            raise found.error(line, f"`{name}` is declared twice")
        seen.add(name)


def _refuse_other_inputs(found: "_DeclarationReader") -> None:
    """Raise ScriptError if two variables declare the same input in different ways."""
    first: dict[str, InputSpec] = {}
    for spec in found.inputs:
        known = first.setdefault(spec.name, spec)
        if replace(known, variable=spec.variable, line=spec.line) != spec:
            message = f"the input `{spec.name}` is declared differently in line {known.line}"
            raise found.error(spec.line, message)


class _DeclarationReader:
    """Collects the declarations, and edits both versions of the source accordingly."""

    def __init__(self, source: str, label: str) -> None:
        self.label = label
        self.inputs: list[InputSpec] = []
        self.externals: list[ExternalSpec] = []
        self.runs = source.split("\n")
        self.checks = list(self.runs)

    def error(self, line: int, message: str, kind: str = "contract") -> ScriptError:
        return ScriptError(f"{self.label}:{line}: {message}", kind=kind, line=line)

    def read(self, span: Statement) -> None:
        """Process a statement. Statements that are not declarations are left unchanged."""
        if not any(sign.match(span.text) for sign in (_IMPORT, _FUTURE, _INPUT, _EXTERNAL)):
            return
        statement = self._statement(span)
        try:
            if _INPUT.match(span.text):
                self._input(statement, span)
            elif _EXTERNAL.match(span.text):
                self._external(statement, span)
            else:
                self._import(statement, span)
        except InvalidDeclarationError as error:
            raise self.error(span.first, str(error)) from None

    def _statement(self, span: Statement) -> ast.stmt:
        try:
            body = parse(span.text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = span.first + (getattr(error, "lineno", 0) or 1) - 1
            detail = getattr(error, "msg", None) or str(error)
            raise self.error(line, detail, "syntax") from None
        if len(body) != 1:
            raise self.error(span.first, "put each declaration on its own line")
        return body[0]

    def _import(self, statement: ast.stmt, span: Statement) -> None:
        names = statement.names if isinstance(statement, ast.ImportFrom) else []
        ours = bool(_IMPORT.match(span.text))
        if ours and any(alias.name not in ("external", "Input") or alias.asname for alias in names):
            raise InvalidDeclarationError("import only `external` and `Input`, without `as`")
        _replace(self.runs, span, (statement, statement), "")
        _replace(self.checks, span, (statement, statement), "")

    def _input(self, statement: ast.stmt, span: Statement) -> None:
        self.inputs.append(input_spec(statement, span.first))
        _replace(self.runs, span, (statement, statement), "")
        if isinstance(statement, ast.AnnAssign | ast.Assign) and statement.value:
            _replace(self.checks, span, (statement.value, statement.value), ANY_STUB)

    def _external(self, statement: ast.stmt, span: Statement) -> None:
        spec = external_spec(statement, span.first + statement.lineno - 1)
        self.externals.append(spec)
        _replace(self.runs, span, (statement, statement), "")
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            ends = (statement.body[0], statement.body[-1])
            _replace(self.checks, span, ends, "raise NotImplementedError")
            if isinstance(statement.returns, ast.Name) and statement.returns.id == "object":
                # as in Grail: the script decides what it does with a value of any type
                _replace(self.checks, span, (statement.returns, statement.returns), ANY_TYPE_STUB)
        for lines in (self.runs, self.checks):
            # only the decorator and comments precede the `def`
            lines[span.first - 1 : spec.line - 1] = [""] * (spec.line - span.first)


def _replace(lines: list[str], span: Statement, ends: tuple[ast.AST, ast.AST], text: str) -> None:
    """Replace the source between two nodes, including both nodes, with `text`.

    `ends` contains the first and the last node. The number of lines does not change.
    """
    start, stop = ends
    first = span.first + _int(start, "lineno") - 2
    last = span.first + _int(stop, "end_lineno") - 2
    before = lines[first].encode()[: _int(start, "col_offset")].decode()
    after = lines[last].encode()[_int(stop, "end_col_offset") :].decode()
    if first == last:
        lines[first] = before + text + after
    else:
        lines[first : last + 1] = [before + text, *[""] * (last - first - 1), after]


def _int(node: ast.AST, name: str) -> int:
    return int(getattr(node, name))


def _docstring(spans: list[Statement]) -> str:
    if not spans or not _DOCSTRING.match(spans[0].text):
        return ""
    try:
        return ast.get_docstring(parse(spans[0].text)) or ""
    except (SyntaxError, ValueError):
        return ""
