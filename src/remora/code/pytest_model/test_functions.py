"""Test functions of a file, and test methods of its classes."""

import ast
from collections.abc import Collection


def tests_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the test functions by qualname, such as `test_f` or `TestCart.test_add`."""
    tests: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            tests |= {f"{node.name}.{test.name}": test for test in test_functions(node.body)}
        tests |= {test.name: test for test in test_functions([node])}
    return tests


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the test functions by qualname, and the other functions of the module."""
    functions = {
        statement.name: statement
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef)
    }
    return {**functions, **tests_of(tree)}


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
    kept: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            own = [inner for inner in statement.body if _qualname(statement, inner) not in names]
            if len(own) == len(statement.body):
                kept.append(statement)
            elif own:
                copied = {name: getattr(statement, name) for name in statement._fields}
                kept.append(ast.ClassDef(**{**copied, "body": own}))
        elif not (isinstance(statement, ast.FunctionDef) and statement.name in names):
            kept.append(statement)
    return kept


def _qualname(owner: ast.ClassDef, member: ast.stmt) -> str:
    return f"{owner.name}.{member.name}" if isinstance(member, ast.FunctionDef) else ""
