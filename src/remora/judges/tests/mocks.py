"""Tests that assert only what their own mocks were told.

    def test_price(monkeypatch):
        monkeypatch.setattr(shop, "price", lambda item: 3)
        assert shop.price("tea") == 3

The test replaces the function that it calls. It passes whatever `price` does.
"""

import ast
import builtins
from collections.abc import Iterator, Sequence

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.hidden_uses import names_in
from remora.judges.tests.claims import Claim, inlined, values_of

_MOCKS = frozenset(
    {"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "PropertyMock", "create_autospec"}
)
_BUILTIN = frozenset(dir(builtins))


def why_mocked(function: FunctionNode, claims: Sequence[Claim]) -> str:
    """Return why all claims of a test are about its own mocks, or an empty string."""
    replaced, mocks = set(_replaced(function)), _mock_names(function)
    if not claims or not (replaced or mocks):
        return ""
    calls = [_called_in(claim, function) for claim in claims]
    are_of_mocks = [_is_of_mocks(claim, function, mocks) for claim in claims]
    called = set[str]().union(*calls) & replaced
    if called and all(
        of_mocks or names & replaced for of_mocks, names in zip(are_of_mocks, calls, strict=True)
    ):
        return f"it replaces `{min(called)}`, which it then calls"
    own = _own_calls(function) & replaced
    if own and all(are_of_mocks):
        return f"it replaces `{min(own)}`, and only the test itself calls it"
    told = _told(function)
    repeated = [_repeats(claim, told) for claim in claims]
    if any(repeated) and all(
        of_mocks or repeats or _is_of_flag(claim)
        for of_mocks, repeats, claim in zip(are_of_mocks, repeated, claims, strict=True)
    ):
        return "it asserts only what its own mocks return"
    unseen = mocks - _handed_over(function, mocks)
    if not replaced and all(_is_of_mocks(claim, function, unseen) for claim in claims):
        return "it asserts only what its own mocks were told"
    return ""


def uses_mocks(function: FunctionNode) -> bool:
    """Return True if a test replaces something, or makes a mock."""
    return bool(_mock_names(function)) or any(True for _ in _replaced(function))


def _own_calls(function: FunctionNode) -> set[str]:
    """Return the names of the methods that a test calls on something, but for its assertions."""
    return {
        node.func.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def _replaced(function: FunctionNode) -> Iterator[str]:
    """Yield the last names of what a test replaces by `patch` or `monkeypatch.setattr`."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        path = ast.unparse(node.func)
        is_patch = path.endswith(("patch", "patch.object", "monkeypatch.setattr"))
        texts = [
            word.value
            for word in node.args[:2]
            if isinstance(word, ast.Constant) and isinstance(word.value, str)
        ]
        if is_patch and texts:
            yield texts[0].rpartition(".")[2]


def _mock_names(function: FunctionNode) -> set[str]:
    """Return the names of a test's variables and parameters that are mocks."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_mock(value):
                found.add(name)
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                found |= {name} if _is_mock(value) else set()
    patches = [
        decorator
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and len(decorator.args) < 2 + ("object" in ast.unparse(decorator.func))
        and _is_mock(decorator)
    ]
    given = [argument.arg for argument in function.args.args if argument.arg != "self"]
    return found | {*given[: len(patches)]}


def _is_mock(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = ast.unparse(value.func)
    return name.rpartition(".")[2] in _MOCKS or name.endswith(("patch", "patch.object"))


def _handed_over(function: FunctionNode, mocks: set[str]) -> set[str]:
    """Return the mocks that a test gives to other code, as an argument or as an attribute."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Call(func=func, args=args, keywords=keywords) if not _is_mock(node):
                words = [*args, *(word.value for word in keywords)]
                if not names_in(func) & mocks and not names_in(func) <= {"isinstance", "len"}:
                    found |= {name for word in words for name in names_in(word)} & mocks
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                if not names_in(target) & mocks:
                    found |= names_in(value) & mocks
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                found |= names_in(value) & mocks
    return found


def _told(function: FunctionNode) -> set[str]:
    """Return the values, longer than a word, that a test tells its mocks to return."""
    found, values = list[ast.expr](), values_of(function)
    for node in ast.walk(function):
        match node:
            case ast.keyword(arg="return_value", value=value):
                found.append(value)
            case ast.Assign(targets=[ast.Attribute(attr="return_value")], value=value):
                found.append(value)
    return {ast.unparse(inlined(value, values)) for value in found if not _is_flag(value)}


def _is_of_flag(claim: Claim) -> bool:
    match claim.test:
        case ast.Compare(comparators=[right]):
            return _is_flag(right)
    return False


def _is_flag(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, True, False, 0, 1, "")


def _repeats(claim: Claim, told: set[str]) -> bool:
    """Return True for an equality with a value that a mock was told to return."""
    match claim.test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return bool({ast.unparse(left), ast.unparse(right)} & told)
    return False


def _called_in(claim: Claim, function: FunctionNode) -> set[str]:
    """Return the names of the functions whose results a claim is about."""
    test = claim.test if claim.test is not None else _statement_at(function, claim.line)
    return {
        getattr(node.func, "attr", "") or getattr(node.func, "id", "")
        for node in (ast.walk(test) if test is not None else ())
        if isinstance(node, ast.Call)
    } - {"isinstance", "len", ""}


def _statement_at(function: FunctionNode, line: int) -> ast.stmt | None:
    found = (node for node in ast.walk(function) if isinstance(node, ast.stmt))
    return next((node for node in found if node.lineno == line), None)


def _is_of_mocks(claim: Claim, function: FunctionNode, mocks: set[str]) -> bool:
    """Return True if a claim is a method of a mock, or about nothing but mocks."""
    test = claim.test if claim.test is not None else _statement_at(function, claim.line)
    match test:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver))):
            return bool(names_in(receiver) & mocks)
        case None:
            return False
    names = names_in(test) - _BUILTIN - _MOCKS - {"self", "mock", "ANY", "call", "pytest"}
    has_mock = bool(names & mocks) or bool(names_in(test) & _MOCKS)
    return has_mock and names <= mocks
