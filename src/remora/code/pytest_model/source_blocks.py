"""Tests in the source of a test file: functions, and methods of classes."""

import ast
import builtins
import textwrap
from collections.abc import Collection, Iterable, Mapping

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.source import parse_text

COMMON_NAMES = frozenset(
    name
    for kind in (bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
    for name in dir(kind)
) | frozenset({"close", "flush", "read", "run", "seek", "start", "write", *dir(builtins)})
"""Names of built-in functions and methods, which say little about what is called."""


def tests_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the test functions by qualname, such as `test_f` or `TestCart.test_add`."""
    found: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{test.name}": test for test in test_functions(node.body)}
        found |= {test.name: test for test in test_functions([node])}
    return found


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the test functions by qualname, and the other functions of the module."""
    found = {
        statement.name: statement
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef)
    }
    return {**found, **tests_of(tree)}


def is_test_name(qualname: str) -> bool:
    return qualname.rpartition(".")[2].startswith("test")


def test_functions(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    return [
        statement
        for statement in body
        if isinstance(statement, ast.FunctionDef) and is_test_name(statement.name)
    ]


def without_tests(tree: ast.Module, names: Collection[str]) -> list[ast.stmt]:
    """Return the module's statements without some tests, and without classes that become empty."""
    found: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            own = [inner for inner in statement.body if _qualname(statement, inner) not in names]
            if len(own) == len(statement.body):
                found.append(statement)
            elif own:
                copied = {name: getattr(statement, name) for name in statement._fields}
                found.append(ast.ClassDef(**{**copied, "body": own}))
        elif not (isinstance(statement, ast.FunctionDef) and statement.name in names):
            found.append(statement)
    return found


def _qualname(owner: ast.ClassDef, member: ast.stmt) -> str:
    return f"{owner.name}.{member.name}" if isinstance(member, ast.FunctionDef) else ""


def with_block(
    text: str, owner: str, base: str, block: str, names: Collection[str], indent: str
) -> str:
    """Return the source with a test added at the end, or at the end of the class `owner`.

    The class is created, with the base class `base`, if it does not exist. Methods are indented by
    `indent`. A function is inserted after the last test that uses one of `names`. What is added
    comes before a last `if __name__ == "__main__":`.
    """
    tree = parse_text(text)
    if not owner:
        return _after_related(text, tree, block, names) or _with_definition(text, tree, block)
    body = tree.body if isinstance(tree, ast.Module) else []
    found = [part for part in body if isinstance(part, ast.ClassDef) and part.name == owner]
    method = textwrap.indent(block, indent)
    if not found:
        opening = f"class {owner}({base}):" if base else f"class {owner}:"
        return _with_definition(text, tree, f"{opening}\n{method}")
    lines = split_lines(text, keepends=True)
    end = found[-1].end_lineno or len(lines)
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    return "".join([*lines[:end], "\n", method, *lines[end:]])


def _after_related(text: str, tree: object, block: str, names: Collection[str]) -> str:
    """Return the source with a test after the last one that uses some names, if others follow.

    Return an empty string otherwise.
    """
    body = tree.body if isinstance(tree, ast.Module) else []
    tests = [
        statement for statement in body if isinstance(statement, ast.FunctionDef | ast.ClassDef)
    ]
    related = [test for test in test_functions(body) if used_names(test) & {*names}]
    if not related or related[-1] is tests[-1]:
        return ""
    lines = split_lines(text, keepends=True)
    end = related[-1].end_lineno or len(lines)
    rest = "".join(lines[end:]).lstrip("\n")
    return "".join(lines[:end]) + f"\n\n{block}\n\n{rest}"


def reached_names(started: Iterable[str], uses: Mapping[str, set[str]]) -> set[str]:
    """Return some names, and all names that these use directly or indirectly."""
    waiting = set(started)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= uses.get(name, set()) - found
    return found


def used_names(node: ast.AST) -> set[str]:
    """Return the names of variables, functions and attributes that code mentions."""
    return {
        name
        for part in ast.walk(node)
        for name in (getattr(part, "id", None), getattr(part, "attr", None))
        if isinstance(name, str)
    }


def _with_definition(text: str, tree: object, block: str) -> str:
    last = tree.body[-1] if isinstance(tree, ast.Module) and tree.body else None
    if isinstance(last, ast.If) and "__name__" in ast.unparse(last.test):
        lines = split_lines(text, keepends=True)
        head, tail = "".join(lines[: last.lineno - 1]), "".join(lines[last.lineno - 1 :])
    else:
        head, tail = text, ""
    before = head.rstrip("\n")
    return (f"{before}\n\n\n" if before else "") + block + (f"\n\n{tail}" if tail else "")
