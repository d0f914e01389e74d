"""Statements that run before a test: module constants, `setUp` and fixtures."""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_SET_UP = frozenset({"setUp", "setup_method", "setup"})
_LONGEST = 400
_DEEPEST = 2
_BOUND_BY_PYTEST = frozenset({"self", "cls", "request"})


class Fixture(NamedTuple):
    """A fixture without teardown: the file that defines it and the statements of its body.

    The last statement assigns the fixture's name.
    """

    path: str
    body: tuple[ast.stmt, ...]
    needs: tuple[str, ...]
    annotation: str


class Prepared(NamedTuple):
    """The statements of a test with those before it, and the fixtures among them."""

    statements: list[ast.stmt]
    fixtures: Mapping[str, Fixture]


def fixtures_of(path: str, tree: ast.Module) -> dict[str, Fixture]:
    """Return the fixtures of a file that make one object in straight-line code."""
    found: dict[str, Fixture] = {}
    for one in tree.body:
        if isinstance(one, ast.FunctionDef) and _is_fixture(one):
            *body, last = one.body
            value = _result(last)
            if value is not None and all(isinstance(each, _STRAIGHT) for each in body):
                bound = ast.Assign([ast.Name(one.name, ast.Store())], value)
                made = (*_without_docstring(body), ast.copy_location(bound, last))
                needs = tuple(arg.arg for arg in one.args.args)
                annotation = ast.unparse(one.returns) if one.returns and _is_return(last) else ""
                found[one.name] = Fixture(path, made, needs, annotation)
    return found


_STRAIGHT = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Import, ast.ImportFrom)


def _is_fixture(one: ast.FunctionDef) -> bool:
    for decorator in one.decorator_list:
        plain = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(plain) in ("pytest.fixture", "fixture"):
            words = decorator.keywords if isinstance(decorator, ast.Call) else []
            return all(word.arg == "scope" for word in words)
    return False


def _is_return(last: ast.stmt) -> bool:
    return isinstance(last, ast.Return)


def _result(last: ast.stmt) -> ast.expr | None:
    match last:
        case ast.Return(value=ast.expr() as value):
            return value
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
            return value
    return None


def _without_docstring(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [
        one
        for one in body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]


def module_constants(tree: ast.Module) -> list[ast.stmt]:
    """Return the assignments of a test module that a test may repeat."""
    return [
        one
        for one in tree.body
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and one.targets[0].id not in ("pytestmark", "__all__")
        and len(ast.unparse(one)) <= _LONGEST
    ]


def prepared(
    test: ast.FunctionDef, owner: ast.ClassDef | None, known: Mapping[str, Fixture]
) -> Prepared:
    """Return the statements of a test after those of `setUp` and of its fixtures.

    Attributes that `setUp` or the class assigns become variables.
    """
    used: dict[str, Fixture] = {}
    names = [arg.arg for arg in test.args.args if arg.arg not in _BOUND_BY_PYTEST]
    before = [one for name in names for one in _fixture_body(name, known, used, 0)]
    statements = [*before, *test.body]
    if owner is not None:
        own = [one for one in owner.body if isinstance(one, ast.Assign)]
        set_up = [
            one
            for each in owner.body
            if isinstance(each, ast.FunctionDef) and each.name in _SET_UP
            for one in each.body
        ]
        attributes = {name for one in set_up for name in _own_attributes(one)}
        attributes |= {one.id for each in own for one in each.targets if isinstance(one, ast.Name)}
        if attributes:
            rename = _Variables(attributes)
            statements = [rename.visit(copy.deepcopy(one)) for one in (*own, *set_up, *statements)]
    return Prepared(statements, used)


def _fixture_body(
    name: str, known: Mapping[str, Fixture], used: dict[str, Fixture], depth: int
) -> Iterator[ast.stmt]:
    found = known.get(name)
    if found is None or depth > _DEEPEST:
        return
    for each in found.needs:
        yield from _fixture_body(each, known, used, depth + 1)
    if depth == 0:
        used[name] = found
    yield from found.body


def _own_attributes(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {
        one.attr
        for one in targets
        if isinstance(one, ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    }


class _Variables(ast.NodeTransformer):
    """Replaces `self.name` with `name`."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and node.attr in self._names:
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node
