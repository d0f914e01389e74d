"""Variables for texts of several lines in code that a model wrote."""

import ast
import copy
from collections.abc import Collection, Iterable

_LONG = 70
"""Length from which a text of several lines is assigned first, so that each line has its own."""


def with_named_texts(body: Iterable[ast.stmt], taken: Collection[str]) -> list[ast.stmt]:
    """Return the statements with a variable for each long text, such as `text = "a\\nb"`.

    Its name is none of `taken`.
    """
    found: list[ast.stmt] = []
    names: dict[str, str] = {}
    for one in body:
        used = {*taken, *names.values()}
        texts = dict.fromkeys(_long_texts(one))
        for text in texts:
            if text not in names:
                names[text] = _free("text", used)
                used.add(names[text])
                value = ast.Constant(text)
                found.append(ast.Assign([ast.Name(names[text], ast.Store())], value, lineno=0))
        found.append(_Named(names).visit(copy.deepcopy(one)) if texts else one)
    return found


def _long_texts(statement: ast.stmt) -> list[str]:
    """Return the long texts of an assignment, expression or assertion.

    A statement that is only a text, or only assigns one, has none.
    """
    match statement:
        case ast.Assign(value=value) | ast.Expr(value=value) | ast.Assert(test=value):
            constants = [] if isinstance(value, ast.Constant) else _constants(statement)
        case _:
            return []
    return [each for each in constants if isinstance(each, str) and _is_long(each)]


def _constants(node: ast.AST) -> list[object]:
    """Return the values of the constants in a node, without the parts of f-strings."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return []
    return [value for child in ast.iter_child_nodes(node) for value in _constants(child)]


def _is_long(text: str) -> bool:
    return len(text) > _LONG and "\n" in text.rstrip("\n")


def _free(name: str, used: Collection[str]) -> str:
    numbers = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return next(each for each in (name, *numbers) if each not in used)


class _Named(ast.NodeTransformer):
    """Replaces texts with the names of their variables."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        name = self._names.get(node.value) if isinstance(node.value, str) else None
        return node if name is None else ast.Name(name, ast.Load())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node  # a part of an f-string cannot be a name
