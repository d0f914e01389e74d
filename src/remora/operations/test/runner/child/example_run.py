"""Runs the examples of a project's documentation, and records the arguments of a function."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Dict, List

from .code_swap import functions_at, mutated_code, swap
from .fork import Order, monotonic, write
from .function_calls import imported
from .mutant_loop import Recorder

_SHARE = 0.8
"""Share of the order's time after which no further examples are run."""


def run_examples(asked: Order, name: str, order: Order) -> None:
    """Run the statements of each example until enough arguments are recorded.

    Names that an example does not import are those of the `package`.
    """
    until = monotonic() + _SHARE * order["seconds"]
    _, error = imported(order["module"], order["path"])
    if error:
        write(asked["out"], name, {"problem": error})
        return
    functions = functions_at(order["path"], order["qualname"], *order["header"])
    recorder = Recorder()
    if swap(functions, mutated_code(order["probe"], order["path"], order["qualname"])):
        for statements in order["snippets"]:
            if monotonic() > until or recorder.is_full():
                break
            run_statements(statements, order["package"])
    write(asked["out"], name, {"problem": "", "arguments": recorder.arguments})


def run_statements(statements: List[str], package: str) -> None:
    """Run statements, in which errors are expected."""
    names: Dict[str, Any] = {"__name__": "example"}
    with contextlib.suppress(Exception):
        whole = importlib.import_module(package)
        names.update(vars(whole))
        names[package] = whole
        names["__name__"] = "example"
    for text in statements:
        with contextlib.suppress(Exception, SystemExit):
            exec(compile(text, "<example>", "exec"), names)
