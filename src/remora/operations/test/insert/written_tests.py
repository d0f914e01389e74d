"""Test functions that a model wrote, as blocks of a test file."""

import ast
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.test_functions import functions_of, is_test_name
from remora.code.syntax.definitions import first_line
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.test.insert.added_tests import Block, top_level_names
from remora.operations.test.insert_location import InsertLocation

_LONGEST_CODE = 8_000
"""Number of characters of an answer that is read."""


class WrittenTests(msgspec.Struct, frozen=True, kw_only=True):
    """The functions in a model's code, their qualnames in the test file, and their imports.

    `tree` is the syntax tree of the code.
    """

    blocks: list[Block]
    names: list[str]
    imports: list[Imported]
    tree: ast.Module

    @property
    def tests(self) -> list[str]:
        return [name for name in self.names if is_test_name(name)]


def written_tests(code: str, home: InsertLocation) -> WrittenTests:
    """Return the functions of a model's code. Raises HostError with the rule that it breaks."""
    if len(code) > _LONGEST_CODE:
        raise HostError(f"the code is longer than {_LONGEST_CODE:,} characters")
    code = textwrap.dedent(code)
    tree = parse_text(code)
    if not isinstance(tree, ast.Module):
        raise HostError(f"the code is not Python: {tree}")
    lines = split_lines(code)
    found = [*_functions(tree, home)]
    blocks = [
        Block(
            text=_source(lines, [function for place, function in found if place == owner]),
            owner=owner[0],
            base=owner[1],
        )
        for owner in dict.fromkeys(owner for owner, _ in found)
    ]
    names = [f"{owner}.{test.name}" if owner else test.name for (owner, _), test in found]
    imports = [name for name in imported_names(tree) if name.module != "__future__"]
    written = WrittenTests(blocks=blocks, names=names, imports=imports, tree=tree)
    if not written.tests:
        raise HostError("no function in the code has a name that begins with test")
    return written


def check_names(written: WrittenTests, present: ast.Module, path: str) -> None:
    """Raise HostError if a name is used twice, or by other code of the test file."""
    taken = {*functions_of(present), *top_level_names(present)}
    for name in written.names:
        if name in taken:
            raise HostError(f"{path} has {name} already: choose another name")
        taken.add(name)


def _functions(
    tree: ast.Module, home: InsertLocation
) -> Iterator[tuple[tuple[str, str], ast.FunctionDef]]:
    """Yield the functions, each with its class and the source of the class's bases."""
    for statement in tree.body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                if any(alias.name == "*" for alias in getattr(statement, "names", ())):
                    raise HostError("import names, not *")
            case ast.FunctionDef():
                _check_function(statement, home)
                yield ("", ""), statement
            case ast.ClassDef():
                yield from _methods(statement)
            case _:
                text = ast.unparse(statement).partition("\n")[0]
                raise HostError(
                    f"only imports, functions and classes of tests may be at the top, not `{text}`"
                )


def _check_function(function: ast.FunctionDef, home: InsertLocation) -> None:
    """Raise HostError if a function at the top of a file has to be in a class."""
    if [parameter.arg for parameter in function.args.args][:1] == ["self"]:
        raise HostError(f"{function.name} has the parameter self, but is in no class")
    if home.unittest and is_test_name(function.name):
        what = f"the tests in {home.path} are methods of unittest classes"
        raise HostError(f"{what}: write such a class")


def _methods(owner: ast.ClassDef) -> Iterator[tuple[tuple[str, str], ast.FunctionDef]]:
    bases = ", ".join(map(ast.unparse, (*owner.bases, *owner.keywords)))
    for statement in owner.body:
        if isinstance(statement, ast.FunctionDef) and is_test_name(statement.name):
            yield (owner.name, bases), statement
        elif not isinstance(statement, ast.Pass | ast.Expr):
            text = ast.unparse(statement).partition("\n")[0]
            raise HostError(f"the class {owner.name} may only have tests, not `{text}`")


def _source(lines: Sequence[str], functions: Sequence[ast.FunctionDef]) -> str:
    """Return the source of functions, which is not indented."""
    spans = ((first_line(function) - 1, function.end_lineno) for function in functions)
    texts = ["\n".join(lines[first:last]) for first, last in spans]
    return "\n\n\n".join(map(textwrap.dedent, texts)) + "\n"
