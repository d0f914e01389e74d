"""Functions that a test says little about, such as accessors and delegations.

    def is_open(self):                     def parse(text):
        return self.seen is not None           return json.loads(text)

They return, store or pass on what they have, with at most one call, and no value of their own goes
into it.
"""

import ast

from remora.code.syntax.definitions import assigned_values
from remora.code.syntax.spans import without_docstring
from remora.judges.calls.target_function import TargetFunction

TRIVIAL = "it only returns, stores or passes on what it has"
_STATEMENTS = (ast.Return, ast.Expr, ast.Assign, ast.AnnAssign)
_UNCHANGED = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.List, ast.Tuple,
    ast.UnaryOp, ast.unaryop, ast.Compare, ast.Is, ast.IsNot, ast.Call, ast.keyword, ast.expr_context,
)  # fmt: skip
_LOGGERS = frozenset({"debug", "info", "warning", "error", "exception", "log", "print"})


def is_trivial(subject: TargetFunction) -> bool:
    """Return True if a test of the function would only test what it has or calls."""
    body = [
        statement
        for statement in without_docstring(subject.function.body)
        if not _is_without_result(statement)
    ]
    nodes = [node for statement in body for node in ast.walk(statement)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    tables = {name for name, _ in assigned_values(subject.source.tree.body)}
    return (
        all(isinstance(node, (*_STATEMENTS, *_UNCHANGED)) for node in nodes)
        and len(calls) <= 1
        and not any(_decides(call, tables) for call in calls)
    )


def _is_without_result(one: ast.stmt) -> bool:
    """Return True for `pass`, `raise`, assertions and calls of a logger."""
    match one:
        case ast.Pass() | ast.Assert() | ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return ast.unparse(called).rpartition(".")[2] in _LOGGERS
    return False


def _decides(call: ast.Call, tables: set[str]) -> bool:
    """Return True for a call with a constant, or of something in a variable of the module."""
    given = [*call.args, *(word.value for word in call.keywords)]
    root = ast.unparse(call.func).partition(".")[0].partition("[")[0]
    return root in tables or any(isinstance(argument, ast.Constant) for argument in given)
