"""Conditions within lines, such as `a if b else c`, and whether cases show several outcomes of them."""

import ast
import itertools
from collections.abc import Iterable, Iterator

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.cases.case import Case
from remora.operations.test.mutants import changed_function

OUTCOME = "__remora_outcome__"
"""Name of the builtin function that records an outcome and returns the value."""
_TESTED = ast.If | ast.While | ast.IfExp | ast.Assert


def with_outcomes(source: bytes, qualname: str) -> str:
    """Return the source of a function that reports the outcomes of its conditions.

    Return an empty string if it has none.
    """

    def change(function: FunctionNode) -> FunctionNode:
        instrumented = _Instrumented(function).visit(function)
        assert isinstance(instrumented, FunctionNode)
        return instrumented

    text = changed_function(source, qualname, change)
    return text if OUTCOME in text else ""


def hides_outcomes(cases: Iterable[Case]) -> bool:
    """Return True if half of the outcomes of the conditions that the cases evaluate are not shown."""
    shown = {outcome for case in cases for outcome in case.outcomes}
    sizes = {(line, condition): size for line, condition, _, size in shown}
    return bool(shown) and 2 * len(shown) <= sum(sizes.values())


class _Instrumented(ast.NodeTransformer):
    """Reports the outcomes of conditions within lines.

    These are conditional expressions, `and` and `or`, comprehensions, and `min` and `max`. Those of
    `and` and `or` count unless they only decide a statement or another condition. A condition
    without variables of the function always has the same outcome.
    """

    def __init__(self, function: FunctionNode) -> None:
        self._variables = {
            each.arg if isinstance(each, ast.arg) else each.id
            for each in ast.walk(function)
            if isinstance(each, ast.arg)
            or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
        }
        self._numbers = itertools.count()
        self._tests = {id(each) for one in ast.walk(function) for each in _truth_of(one)}

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._reported(node.test)
        self.generic_visit(node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.ifs = [self._reported(one) for one in node.ifs]
        self.generic_visit(node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if id(node) not in self._tests:
            node.values[:-1] = [self._reported(one) for one in node.values[:-1]]
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_], keywords=[]):
                if not any(isinstance(one, ast.Starred) for one in node.args):
                    parts = [node.func, *node.args]
                    node = self._report(node, ast.Constant(None), len(node.args), parts)
        self.generic_visit(node)
        return node

    def _reported(self, test: ast.expr) -> ast.expr:
        names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
        return self._report(test, test, 2) if names & self._variables else test

    def _report(
        self, at: ast.expr, value: ast.expr, size: int, call: Iterable[ast.expr] = ()
    ) -> ast.Call:
        """Return a call that reports a truth, or which of the arguments the function `call` returns.

        Each condition has a number, since `a and b` begins where `a` does.
        """
        numbers = (ast.Constant(each) for each in (at.lineno, next(self._numbers), size))
        return ast.copy_location(ast.Call(ast.Name(OUTCOME), [*numbers, value, *call], []), at)


def _truth_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of which a statement or a condition needs only the truth."""
    waiting = [node.test] if isinstance(node, _TESTED) else []
    waiting += node.ifs if isinstance(node, ast.comprehension) else []
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.values if isinstance(one, ast.BoolOp) else []
        waiting += [one.operand] if isinstance(one, ast.UnaryOp) else []
