"""Test functions that a model wrote, as blocks of a test file."""

import ast
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.operations.test.insert.added_tests import Block, top_level_names
from remora.operations.test.insert_location import InsertLocation
from remora.operations.test.source_blocks import first_line, functions_of, is_test_name

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
        Block(text=_source(lines, [one for each, one in found if each == owner]), owner=owner[0], base=owner[1])
        for owner in dict.fromkeys(owner for owner, _ in found)
    ]  # fmt: skip
    names = [f"{owner}.{one.name}" if owner else one.name for (owner, _), one in found]
    imports = [one for one in imported_names(tree) if one.module != "__future__"]
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
    for one in tree.body:
        match one:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                if any(alias.name == "*" for alias in getattr(one, "names", ())):
                    raise HostError("import names, not *")
            case ast.FunctionDef():
                yield _class_of(one, home), one
            case ast.ClassDef():
                yield from _methods(one)
            case _:
                text = ast.unparse(one).partition("\n")[0]
                raise HostError(
                    f"only imports, functions and classes of tests may be at the top, not `{text}`"
                )


def _class_of(one: ast.FunctionDef, home: InsertLocation) -> tuple[str, str]:
    """Return the class of the file's tests for a method that the code has outside of a class."""
    if [each.arg for each in one.args.args][:1] == ["self"]:
        if not home.owner:
            raise HostError(f"{one.name} has the parameter self, but is in no class")
        return home.owner, home.base
    if home.form == "unittest" and is_test_name(one.name):
        what = f"the tests in {home.path} are methods of unittest classes"
        raise HostError(f"{what}: write such a class")
    return "", ""


def _methods(owner: ast.ClassDef) -> Iterator[tuple[tuple[str, str], ast.FunctionDef]]:
    bases = ", ".join(map(ast.unparse, (*owner.bases, *owner.keywords)))
    for one in owner.body:
        if isinstance(one, ast.FunctionDef) and is_test_name(one.name):
            yield (owner.name, bases), one
        elif not isinstance(one, ast.Pass | ast.Expr):
            text = ast.unparse(one).partition("\n")[0]
            raise HostError(f"the class {owner.name} may only have tests, not `{text}`")


def _source(lines: Sequence[str], functions: Sequence[ast.FunctionDef]) -> str:
    """Return the source of functions, which is not indented."""
    texts = ["\n".join(lines[first_line(one) - 1 : one.end_lineno]) for one in functions]
    return "\n\n\n".join(map(textwrap.dedent, texts)) + "\n"
