"""Reads orders from standard input and runs them."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import traceback

from .determinism import block_network, open_as_ascii, rename_host, shift_clocks
from .fork import Order, error_line, in_child, write
from .function_calls import imported, run_calls
from .mutant_loop import EntryLoop, MutantLoop
from .pytest_run import Tail, run_tests, run_with
from .tracer import foreign_module_error

_LONGEST = 2_000
"""Characters of each text of a run of code."""


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    sys.path[:1] = asked["paths"]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["folder"])
    os.environ["PYTHONPATH"] = os.pathsep.join(asked["paths"])  # of processes that tests start
    if asked["shift"]:
        shift_clocks(asked["shift"])
    if asked["host"]:
        rename_host(asked["host"])
    if asked["ascii_files"]:
        open_as_ascii()
    block_network()
    needs_pytest = not asked["orders"] or any("ids" in order for order in asked["orders"])
    if needs_pytest and not has_pytest(asked):
        return
    for number, order in enumerate(asked["orders"]):
        run_order(asked, str(number), order)
    write(asked["out"], "done", {})


def has_pytest(asked: Order) -> bool:
    """Import pytest and its plugins, so that child processes need not. Return False without pytest.

    Pytest runs an empty folder, because some plugins import modules as late as at the end of a run.
    """
    try:
        import pytest
    except ImportError:
        write(asked["out"], "pytest", {"missing": sys.executable})
        return False
    words = ["--collect-only", "-q", "-s", "-p", "no:cacheprovider", "--noconftest"]
    with contextlib.suppress(BaseException):  # a run of tests reports it
        pytest.main([*words, "-c", os.devnull, "--rootdir", asked["out"], asked["out"]])
    return True


def run_order(asked: Order, name: str, order: Order) -> None:
    """Run an order in a child process, within the order's time limit."""

    def work() -> None:
        if "ids" in order and "mutants" in order:
            run_with(MutantLoop(asked, name, order), asked, name, order)
        elif "probes" in order:
            words = "--continue-on-collection-errors"
            run_with(EntryLoop(order), asked, name, order, words)
        elif "ids" in order:
            run_tests(asked, name, order)
        elif "code" in order:
            run_code(asked, name, order)
        else:
            run_calls(asked, name, order)

    if not in_child(work, order["seconds"]):
        write(asked["out"], name + "-late", {})
    elif not os.path.exists(os.path.join(asked["out"], f"{name}.json")):
        write(asked["out"], name, {"problem": "it ends the process"})


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
    return f"{error_line(error)}{where}"
