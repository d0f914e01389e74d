"""Tests that cannot fail by what they assert, found in their source.

    def test_rounds():
        result = round_price(3.14)
        assert result == result

The assertion is true whatever `round_price` returns. So are constants, tuples with a message, a
comparison of literals, `isinstance(result, object)`, and assertions whose failure the test catches.
"""

import ast
import builtins
from collections.abc import Sequence

from remora.code.pytest_model.used_names import used_names
from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.hidden_uses import names_in, names_with
from remora.judges.tests.claims import CHANGEABLE, Claim, claims_of, own_statements

_PURE = frozenset(dir(builtins)) - {
    "open",
    "input",
    "id",
    "hash",
    "dir",
    "vars",
    "globals",
    "locals",
}
_CONVERTING = frozenset({"str", "list", "tuple", "bytes", "len"})
_CATCHING = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVING = (ast.Raise, ast.Return, ast.Assert)


def why_hollow(function: FunctionNode, claims: Sequence[Claim]) -> str:
    """Return why no assertion of a test can fail, or an empty string."""
    caught = _caught_lines(function)
    if why := why_misused(function):
        return why
    if claims and all(claim.line in caught for claim in claims):
        return "it catches the AssertionError of its own assertions"
    live = [claim for claim in claims if claim.line not in caught]
    empty = [claim.test for claim in live if claim.test is not None and is_always_true(claim.test)]
    if empty and all(claim.test in empty or is_weak(claim) for claim in live):
        rest = ", and the others say only that there is a result, or its type"
        said = f"`{ast.unparse(empty[0])}` is true whatever the code does"
        return said if len(empty) == len(live) else said + rest
    unused = _unused_comparison(function)
    if not claims and unused is not None:
        return f"`{ast.unparse(unused)}` is compared, but not asserted"
    hidden = _uncalled(function)
    if not claims and hidden is not None:
        return f"its assertions are in `{hidden.name}`, which is not called"
    return ""


def is_always_true(test: ast.expr) -> bool:
    """Return True for an expression that is true whatever the project's code does."""
    match test:
        case ast.Tuple(elts=[_, *_]):
            return True
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(is_always_true, values)) or _are_opposite(values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) and _same(left, right):
                return True
            if isinstance(op, ast.GtE) and _is_length(left) and _is_zero(right):
                return True
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
    return _is_literal(test)


def is_weak(claim: Claim) -> bool:
    """Return True for a claim that says only that there is a result, or of which type.

    A class or protocol of the project, as in `isinstance(total, Money)`, may be all that is promised.
    """
    match claim.test:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
            return used_names(kind) <= _PURE
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Call(func=ast.Name(id="hasattr" | "callable")):
            return True
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[right]):
            return _is_length(left) and _is_zero(right)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return ast.dump(_unconverted(left)) == ast.dump(_unconverted(right))
    return False


def _unconverted(expression: ast.expr) -> ast.expr:
    """Return what an expression converts to a type or measures, as in `str(result)`."""
    match expression:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _CONVERTING:
            return _unconverted(inner)
    return expression


def is_self_contained(function: FunctionNode, module: ast.Module) -> bool:
    """Return True if a test uses nothing but built-ins and the literals of its own file."""
    own = {
        name
        for statement in module.body
        if isinstance(statement, ast.Assign) and used_names(statement.value) <= _PURE
        for target in statement.targets
        for name in used_names(target)
    }
    given = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    if not _fixtures(function):
        given -= {"self"}
    local = {*names_with(ast.Store, function)}
    used = names_in(function)
    brings = any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    known = own | local | _PURE | {"self"}
    return not (given or brings or function.decorator_list) and used <= known


def _fixtures(function: FunctionNode) -> set[str]:
    """Return the attributes of `self` that a test uses beside the methods of unittest."""
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and not node.attr.startswith(("assert", "fail", "subTest"))
    }


def thrown_away(function: FunctionNode) -> str:
    """Return the first call whose result is assigned to a name that the test never uses."""
    read = names_with(ast.Load, function)
    for statement in own_statements(function):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if name not in read:
                    return ast.unparse(call.func)
    return ""


def _caught_lines(function: FunctionNode) -> set[int]:
    """Return the lines of blocks whose assertion errors the test catches without raising again."""
    lines: set[int] = set()
    for statement in own_statements(function):
        match statement:
            case ast.Try(body=body, handlers=handlers):
                if any(_swallows(handler) for handler in handlers):
                    lines |= {n for part in body for n in _lines(part)}
            case ast.With(items=items, body=body):
                if any(_suppresses(item.context_expr) for item in items):
                    lines |= {n for part in body for n in _lines(part)}
    return lines


def _lines(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _swallows(handler: ast.ExceptHandler) -> bool:
    caught = {"Exception"} if handler.type is None else used_names(handler.type)
    ends = any(
        isinstance(node, _LEAVING)
        or (isinstance(node, ast.Call) and "fail" in used_names(node.func))
        for part in handler.body
        for node in ast.walk(part)
        if not isinstance(node, ast.Return)
    )
    return bool(caught & _CATCHING) and not ends


def _suppresses(expression: ast.expr) -> bool:
    match expression:
        case ast.Call(func=func, args=args) if "suppress" in used_names(func):
            return any(used_names(argument) & _CATCHING for argument in args)
    return False


def _unused_comparison(function: FunctionNode) -> ast.expr | None:
    for statement in own_statements(function):
        match statement:
            case ast.Expr(value=ast.Compare() | ast.BoolOp() as value):
                return value
    return None


def why_misused(function: FunctionNode) -> str:
    """Return the first `assertTrue` whose second argument is compared with nothing."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="assertTrue" | "assertFalse"), args=[_, second]):
                if not _may_be_text(second):
                    shown = ast.unparse(second)
                    return f"`{ast.unparse(node)}` does not compare: `{shown}` is its message"
    return ""


def _may_be_text(expression: ast.expr) -> bool:
    """Return True unless an expression is certainly not a message."""
    match expression:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.List() | ast.Dict() | ast.Tuple() | ast.Set():
            return False
    return True


def only_arguments(function: FunctionNode, claims: Sequence[Claim]) -> bool:
    """Return True if all claims of a test are about lists and the like that it passes to a call."""
    made = {
        target.id
        for statement in own_statements(function)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, CHANGEABLE)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    passed = {
        word.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for word in (*node.args, *(keyword.value for keyword in node.keywords))
        if isinstance(word, ast.Name)
    }
    about = [used_names(claim.node) - _PURE - {"self"} for claim in claims]
    return bool(claims) and all(names and names <= made & passed for names in about)


def expects_anything(function: FunctionNode) -> bool:
    """Return True if a test expects any exception, as with `pytest.raises(Exception)`."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=func, args=[ast.Name(id="Exception" | "BaseException"), *_]):
                if used_names(func) & {"raises", "assertRaises"}:
                    return True
    return False


def assertion_lines(function: FunctionNode) -> set[int]:
    """Return the lines of all assertions, including those in functions that the test defines.

    If it expects any exception, that does not count, nor does an `assert False` that must not be
    reached.
    """
    nested = [node for node in ast.walk(function) if isinstance(node, FunctionNode)]
    is_broad = expects_anything(function)
    return {
        claim.line
        for node in nested
        for claim in claims_of(node)
        if not (is_broad and claim.test is None)
        and not (isinstance(claim.test, ast.Constant) and not claim.test.value)
    }


def _uncalled(function: FunctionNode) -> ast.FunctionDef | None:
    """Return a function with assertions that the test defines but never mentions."""
    used = names_with(ast.Load, function)
    for statement in own_statements(function):
        if (
            isinstance(statement, ast.FunctionDef)
            and statement.name not in used
            and not statement.decorator_list
            and claims_of(statement)
        ):
            return statement
    return None


def _same(left: ast.expr, right: ast.expr) -> bool:
    """Return True if both sides are the same variable, attribute or literal."""
    is_call = any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(left))
    return not is_call and ast.dump(left) == ast.dump(right)


def _are_opposite(values: Sequence[ast.expr]) -> bool:
    texts = {ast.unparse(value) for value in values}
    return any(
        isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.Not)
        and ast.unparse(value.operand) in texts
        for value in values
    )


def _is_length(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and used_names(expression.func) == {"len"}


def _is_zero(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value == 0


def _is_literal(test: ast.expr) -> bool:
    """Return True if an expression has no name but those of pure built-ins, and is not false."""
    names = names_in(test)
    own = {n.arg for n in ast.walk(test) if isinstance(n, ast.arg)}
    own |= names_in(*(n.target for n in ast.walk(test) if isinstance(n, ast.comprehension)))
    is_false = isinstance(test, ast.Constant) and not test.value
    is_denied = isinstance(test, ast.UnaryOp) and isinstance(test.operand, ast.Constant)
    return names - own <= _PURE and not (is_false or is_denied)
