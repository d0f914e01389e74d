"""Calls of functions in a module, each in a child process, and their results."""

from __future__ import annotations

import importlib
import os
import traceback
from typing import Any, Iterator

from .fork import Order, in_child, line_of, write
from .properties import run_properties
from .tracer import Effects, Lines, foreign_module_error

_TEXT = 2_000
_MOST_ITEMS = 100


def run_calls(asked: Order, name: str, order: Order) -> None:
    """Import the module once, and then run each call and property in a child process."""
    module, error = imported(order["module"], order["path"])
    if error:
        write(asked["out"], name, {"problem": error})
        return
    late = 0
    for number, call in enumerate(order["calls"]):
        place = f"{name}-{number}"

        def work(call: str = call, place: str = place) -> None:
            write(asked["out"], place, called(asked, module, order["path"], call))

        if not in_child(work, order["each"]):
            write(asked["out"], place, {"how": "late"})
            late += 1
            if late >= order["patience"]:
                break
    if order.get("properties"):
        run_properties(asked, name, order, module)
    write(asked["out"], name, {"problem": foreign_module_error(asked)})


def imported(module: str, path: str) -> tuple[Any, str]:
    try:
        found = importlib.import_module(module)
    except BaseException as error:
        return None, f"import of {module}: {type(error).__name__}: {line_of(error)}"
    origin = os.path.realpath(getattr(found, "__file__", None) or "")
    if origin != path:
        return None, f"import of {module}: it came from {origin}"
    return found, ""


def called(asked: Order, module: Any, path: str, call: str) -> Order:
    """Return the result of a call, and the lines of the file `path` that it executed."""
    code = compile(call, "<call>", "eval")
    lines, watched = Lines(path, asked["root"]), Effects(asked["root"], asked["scratch"])
    listed = False
    try:
        with lines, watched:
            value = eval(code, dict(vars(module)))
            listed = hasattr(value, "__next__") and hasattr(value, "__iter__")
            if listed:
                value = taken(value)
        found = {"how": "value", "text": repr(value), "listed": listed}
    except Exception as error:
        found = {**raised(error), "listed": listed}
    found["lines"] = sorted(lines.seen)
    if watched.seen:
        return {"how": "effect", "effect": watched.seen[0], "lines": found["lines"]}
    if len(str(found.get("text"))) > _TEXT:
        found = {"how": "long", "lines": found["lines"]}
    return found


def taken(iterator: Iterator[Any]) -> list[Any]:
    """Return a list of all items of the iterator.

    Raises OverflowError if there are too many items.
    """
    items = []
    for item in iterator:
        items.append(item)
        if len(items) > _MOST_ITEMS:
            raise OverflowError("too many items")
    return items


def raised(error: Exception) -> Order:
    """Return the exception's name and module, and the line that raised it."""
    kind = type(error)
    frames = list(traceback.extract_tb(error.__traceback__))
    last = frames[-1] if frames else None
    return {
        "how": "raised",
        "type": kind.__qualname__,
        "module": kind.__module__,
        "path": os.path.realpath(last.filename) if last else "",
        "line": last.lineno if last else 0,
    }
