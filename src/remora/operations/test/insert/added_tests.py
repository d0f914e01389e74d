"""Insertion of tests into a test file, and detection of the tests that a change adds."""

import ast
import copy
import textwrap
from collections.abc import Sequence

import msgspec

from remora.code.edit.edits import apply_edits
from remora.code.edit.import_edits import Imported, ImportStyle, import_edits, imported_names
from remora.code.edit.parsed_text import ParsedText
from remora.code.edit.text_lines import split_lines
from remora.code.pytest_model.insert_block import with_block
from remora.code.pytest_model.test_functions import (
    functions_of,
    is_test_name,
    tests_of,
    without_tests,
)
from remora.code.syntax.definitions import DefinitionNode, ImportNode, first_line
from remora.code.syntax.hidden_uses import names_in
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.judges.calls.own_cases import is_assertion, rows_of
from remora.judges.calls.target_function import class_named
from remora.operations.test.insert_location import InsertLocation

_WIDEST = 120
"""Longest line of imports, also in projects that do not limit the length of lines."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Functions as source code that is not indented.

    Methods are in the class `owner`, which has the base classes `base` if it has to be created.
    """

    text: str
    owner: str = ""
    base: str = ""


def with_blocks(
    before: str,
    home: InsertLocation,
    blocks: Sequence[Block],
    needed: Sequence[Imported],
    width: int,
) -> str:
    """Return the test file with functions and their imports.

    Raises HostError if the file does not parse, or uses the name of an import for something else.
    """
    tree = _parsed(before, home)
    bound, present = top_level_names(tree), {*imported_names(tree)}
    new = [imported for imported in needed if imported not in present]
    for imported in new:
        if imported.bound.partition(".")[0] in bound:
            raise HostError(f"{home.path} uses the name {imported.bound} for something else")
    text = _with_imports(before, new, home.imports_from, width)
    for block in blocks:
        text = with_block(
            text, block.owner, block.base, block.text, names=home.related, indent=home.indent
        )
    return text


def _parsed(text: str, home: InsertLocation) -> ast.Module:
    tree = parse_text(text)
    if not isinstance(tree, ast.Module):
        raise HostError(f"{home.path} does not parse")
    return tree


def _with_imports(text: str, needed: Sequence[Imported], module: str, width: int) -> str:
    """Return the text with imports, of which those of the package of `module` come last."""
    known = {module.partition(".")[0]} if module else set[str]()
    style = ImportStyle(min(width, _WIDEST), frozenset(known))
    source = ParsedText(text)
    return apply_edits(text, import_edits(source, needed, style)) if needed else text


def top_level_names(tree: ast.Module) -> set[str]:
    found = {imported.bound.partition(".")[0] for imported in imported_names(tree)}
    for statement in tree.body:
        if isinstance(statement, DefinitionNode):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            found |= names_in(statement)
    return found


def added_tests(path: str, before: bytes | None, after: bytes | None) -> list[str] | str:
    """Return the qualnames of the added tests, or an error if there are any other changes.

    A test is a function, or a method of a class. The class may be new, too. Other functions that
    were added, which help tests, are also returned. Existing tests may have further cases.
    """
    old, new = (parse_text(_decoded(side)) for side in (before or b"", after or b""))
    if not isinstance(old, ast.Module) or not isinstance(new, ast.Module):
        return f"{path} does not parse"
    known = set(tests_of(old)) | top_level_names(old)
    names = [name for name in functions_of(new) if name not in known]
    rest = without_tests(new, names)
    if before is None and ast.get_docstring(new) is not None:
        rest = rest[1:]
    extended = _extended(old, new)
    is_kept = [name for name in tests_of(new) if name in tests_of(old)] == [*tests_of(old)]
    others = (_dumped(_without_functions(body, extended)) for body in (rest, old.body))
    if not is_kept or len({*map(tuple, others)}) > 1:
        return f"{path}: more than tests was changed"
    if not set(imported_names(old)) <= set(imported_names(new)):
        return f"{path}: an import was removed"
    if not _is_within(_lines(before, old, extended), split_lines(_decoded(after or b""))):
        return f"{path}: existing lines were removed"
    if not extended and not any(map(is_test_name, names)):
        return f"{path}: there is no new test"
    return names


def extended_tests(before: bytes | None, after: bytes | None) -> list[str]:
    """Return the qualnames of the tests that only have further rows, or assertions after others."""
    old, new = (parse_text(_decoded(side)) for side in (before or b"", after or b""))
    if not isinstance(old, ast.Module) or not isinstance(new, ast.Module):
        return []
    return _extended(old, new)


def _extended(old: ast.Module, new: ast.Module) -> list[str]:
    tests = tests_of(new)
    return [
        name
        for name, test in tests_of(old).items()
        if name in tests and ast.dump(test) != ast.dump(tests[name]) and _extends(test, tests[name])
    ]


def _extends(old: ast.FunctionDef, new: ast.FunctionDef) -> bool:
    """Return True if a test is another one with further rows, or assertions after others."""
    shorter = copy.deepcopy(new)
    shorter.body = []
    for statement, before in zip(new.body, [None, *new.body], strict=False):
        left = old.body[len(shorter.body) :]
        if left and ast.dump(statement) == ast.dump(left[0]):
            shorter.body.append(statement)
        elif before is None or not (is_assertion(before) and is_assertion(statement)):
            return False
    for kept, made in zip(old.decorator_list, shorter.decorator_list, strict=False):
        rows, more = rows_of(kept), rows_of(made)
        if rows is not None and more is not None:
            del more.elts[len(rows.elts) :]
    return ast.dump(shorter) == ast.dump(old)


def _without_functions(body: Sequence[ast.stmt], names: Sequence[str]) -> list[ast.stmt]:
    """Return the statements of a test file without some of its tests."""
    return without_tests(ast.Module([*body], []), names) if names else [*body]


def _decoded(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace")


def _dumped(statements: Sequence[ast.stmt]) -> list[str]:
    kept = (statement for statement in statements if not isinstance(statement, ImportNode))
    return [ast.dump(statement) for statement in kept]


def _lines(content: bytes | None, tree: ast.Module, tests: Sequence[str]) -> list[str]:
    """Return the lines of a file, but for those of its imports and of the last rows of some tests."""
    spans: list[ast.stmt | ast.expr] = [node for node in tree.body if isinstance(node, ImportNode)]
    functions = tests_of(tree)
    for name in tests:
        tables = map(rows_of, functions[name].decorator_list)
        spans += [table.elts[-1] for table in tables if table is not None and table.elts]
    numbers = {
        number
        for span in spans
        for number in range(span.lineno, (span.end_lineno or span.lineno) + 1)
    }
    lines = split_lines(_decoded(content or b""))
    return [line for number, line in enumerate(lines, 1) if number not in numbers and line.strip()]


def _is_within(wanted: Sequence[str], lines: Sequence[str]) -> bool:
    """Return True if `lines` contains all of `wanted` in the same order."""
    there = iter(lines)
    return all(line in there for line in wanted)


def merge_added_tests(
    path: str, before: bytes | None, after: bytes | None, ours: bytes, width: int
) -> bytes | None:
    """Return `ours` with the tests that another change added, including their imports.

    Return None if the change does more than add tests, or if a name is already in use.
    """
    names = added_tests(path, before, after)
    if isinstance(names, str) or extended_tests(before, after) or b"\r" in ours:
        return None
    theirs, text = _decoded(after or b""), ours.decode("utf-8", "replace")
    tree, base = parse_text(theirs), parse_text(_decoded(before or b""))
    mine = parse_text(text)
    if not (
        isinstance(tree, ast.Module)
        and isinstance(base, ast.Module)
        and isinstance(mine, ast.Module)
    ):
        return None
    known = {*imported_names(mine), *imported_names(base)}
    needed = [imported for imported in imported_names(tree) if imported not in known]
    if any(imported.bound in top_level_names(mine) for imported in needed):
        return None
    text = _with_imports(text, needed, "", width)
    if set(names) & (top_level_names(mine) | set(tests_of(mine))):
        return None
    lines = split_lines(theirs)
    added = functions_of(tree)
    for name in names:
        block = lines[first_line(added[name]) - 1 : added[name].end_lineno]
        owner = name.rpartition(".")[0]
        around = class_named(tree, owner)
        bases = ", ".join(map(ast.unparse, around.bases)) if around is not None else ""
        indent = lines[added[name].lineno - 1][: added[name].col_offset]
        text = with_block(
            text, owner, bases, textwrap.dedent("\n".join(block)) + "\n", names=(), indent=indent
        )
    made = parse_text(text)
    is_whole = isinstance(made, ast.Module) and {*names} <= functions_of(made).keys()
    return text.encode() if is_whole else None
