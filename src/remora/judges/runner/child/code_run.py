"""Runs statements in the namespace of a module, and shows what they print and give."""

from __future__ import annotations

import ast
import contextlib
import os
import traceback

from .fork import Order, line_of, write
from .function_calls import imported
from .pytest_run import Tail
from .tracer import foreign_module_error

_LONGEST = 2_000


def run_code(asked: Order, name: str, order: Order) -> None:
    """Write the value of the last expression, what was printed, and the exception, as texts."""
    module, error = imported(order["module"], order["path"])
    found: Order = {"problem": error}
    printed = Tail()
    if not error:
        names = {**vars(module), "__name__": "snippet"}  # not `__main__`, nor the module itself
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                found["value"] = value_of(order["code"], names)[:_LONGEST]
        except BaseException as raised:
            found["raised"] = described(raised, asked["root"])
        found["problem"] = foreign_module_error(asked)
    write(asked["out"], name, {**found, "printed": printed.text[-_LONGEST:]})


def value_of(code: str, names: Order) -> str:
    """Run statements. Return the last one as text if it is an expression, or an empty string."""
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr):
        exec(compile(code, "<code>", "exec"), names)
        return ""
    exec(compile(ast.Module(body[:-1], []), "<code>", "exec"), names)
    return repr(eval(compile(ast.Expression(last.value), "<code>", "eval"), names))


def described(error: BaseException, root: str) -> str:
    """Return an exception with the innermost line of the project that raised it."""
    own = [
        f"{os.path.relpath(os.path.realpath(frame.filename), root)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.realpath(frame.filename).startswith(root + os.sep)
    ]
    where = f" at {own[-1]}" if own else ""
    return f"{type(error).__name__}: {line_of(error)}{where}"
