"""Merging of changes that add tests to the same file, and removal of functions of a test file."""

import ast
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from remora.code.edit.import_edits import Imported, imported_names
from remora.code.pytest_model.pytest_file import is_test_file
from remora.code.pytest_model.test_functions import functions_of, without_tests
from remora.code.syntax.definitions import ImportNode, first_line
from remora.code.syntax.hidden_uses import names_in
from remora.code.syntax.source import parse_text
from remora.judges.lint.new_findings import new_findings
from remora.operations.test.insert.added_tests import merge_added_tests
from remora.tools.host.style_config import width_of
from remora.tools.tree import ToolTree
from remora.workspaces.apply.merge_change_set import FilePatch


def keep_both_tests(root: Path, patch: FilePatch, ours: bytes) -> FilePatch:
    """Return a patch that adds the new tests to `ours`, the current content of the test file.

    A patch that does more than add tests is returned unchanged.
    """
    if not is_test_file(patch.path):
        return patch
    place = ToolTree(root)
    width = width_of(place, patch.path)
    made = merge_added_tests(patch.path, patch.base, patch.theirs, ours, width)
    if made is None:
        return patch
    extra = new_findings(
        place.ruff.check_text(patch.path, ours), place.ruff.check_text(patch.path, made)
    )
    if any(str(finding["code"]).startswith("I0") for finding in extra):
        made = place.ruff.with_sorted_imports(patch.path, made)
    return msgspec.structs.replace(patch, base=ours, theirs=made)


def without_functions(text: str, names: Collection[str]) -> str:
    """Return a test file without some functions, and without the imports that only these use."""
    tree = parse_text(text)
    if not isinstance(tree, ast.Module):
        return text
    used = names_in(*_tests(tree, names))
    return _without(
        text, tree, names, {imported for imported in imported_names(tree) if imported.bound in used}
    )


def _without(
    text: str, tree: ast.Module, names: Collection[str], imports: Collection[Imported]
) -> str:
    """Return a file without some functions, and without those of `imports` that are not used."""
    lines, left = text.split("\n"), without_tests(tree, names)
    used = names_in(*(node for node in left if not isinstance(node, ImportNode)))
    needless = {imported for imported in imports if imported.bound not in used}
    kept = {node.name for node in left if isinstance(node, ast.ClassDef)}
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    emptied = [node for node in classes if node.name not in kept]
    within = {id(method) for node in emptied for method in node.body}
    _cut(lines, [*emptied, *(test for test in _tests(tree, names) if id(test) not in within)])
    for statement in reversed([node for node in left if isinstance(node, ImportNode)]):
        if not any(_share_line(statement, other) for other in left if other is not statement):
            _drop(lines, statement, needless)
    left_text = "\n".join(lines).strip("\n")
    return left_text + "\n" if left_text else ""


def _tests(tree: ast.Module, names: Collection[str]) -> list[ast.FunctionDef]:
    found = functions_of(tree)
    return [found[name] for name in names if name in found]


def _share_line(one: ast.stmt, other: ast.stmt) -> bool:
    """Return True if the statements share a line, as in `import a; B = 1`."""
    return one.lineno <= (other.end_lineno or 0) and other.lineno <= (one.end_lineno or 0)


def _cut(lines: list[str], tests: Sequence[ast.FunctionDef | ast.ClassDef]) -> None:
    """Remove the tests and the blank lines before each of them."""
    for test in sorted(tests, key=first_line, reverse=True):
        first = first_line(test) - 1
        while first and not lines[first - 1].strip():
            first -= 1
        del lines[first : test.end_lineno]


def _drop(lines: list[str], statement: ast.stmt, needless: set[Imported]) -> None:
    """Remove the names in `needless` from an import statement.

    A statement with a comment is left unchanged.
    """
    assert isinstance(statement, ImportNode)
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    alone = imported_names(ast.Module(body=[statement], type_ignores=[]))
    kept = [
        alias
        for alias, imported in zip(statement.names, alone, strict=True)
        if imported not in needless
    ]
    if len(kept) == len(statement.names) or any("#" in line for line in lines[first:last]):
        return
    statement.names = kept
    lines[first:last] = [ast.unparse(statement)] if kept else []
