"""Calls of functions in a module, each in a child process, and their results."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import traceback
import warnings
from typing import Any, Dict, Iterable, Iterator, List

from .code_swap import functions_at, mutated_code, swap
from .described import Claim, as_literal, as_text, is_from
from .determinism import environment_texts
from .fork import Order, error_line, in_child, read, write
from .tracer import Effects, Lines, foreign_module_error

_TEXT = 400
_MOST_ITEMS = 100
_LATE = ["late"]
"""The outcome of a call that takes too long."""
_DEPRECATED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
_MOST_LATE = 2
_MUTANT_S = 0.3
"""Limit of a call with a mutant, in seconds of CPU time. Beyond it, the mutant is detected."""
_WAITING = 10
"""Ratio of the limit in real time, which counts for calls that wait, to the limit in CPU time."""


def run_calls(asked: Order, name: str, order: Order) -> None:
    """Import the module once, run each call in a child process, and then all calls with mutants."""
    module, error = imported(order["module"], order["path"])
    if error:
        write(asked["out"], name, {"problem": error})
        return
    steady = run_each(asked, name, order, module)
    if order.get("mutants"):
        run_mutants(asked, name, order, module, steady)
    write(asked["out"], name, {"problem": foreign_module_error(asked)})


def run_each(asked: Order, name: str, order: Order, module: Any) -> List[int]:
    """Run each call in its own process. Return the indexes of the calls that have a result."""
    late = 0
    found: List[int] = []
    for number, call in enumerate(order["calls"]):
        place = f"{name}-{number}"

        def work(call: Any = call, place: str = place) -> None:
            write(asked["out"], place, called(asked, module, order, call))

        if not in_child(work, order["each"]):
            write(asked["out"], place, {"how": "late"})
            late += 1
            if late >= order["patience"]:
                break
        elif read(asked["out"], place).get("how") in ("value", "raised"):
            found.append(number)
    return found


def run_mutants(asked: Order, name: str, order: Order, module: Any, steady: List[int]) -> None:
    """Make all calls with each mutant, in one child process for each mutant.

    The result of a mutant lists the calls with another outcome. Calls whose outcome depends on the
    calls before them, or differs between two runs, are left out.
    """
    functions = functions_at(order["path"], order["qualname"], *order["header"])
    place = f"{name}-steady"

    def outcomes(numbers: List[int]) -> Dict[int, Any]:
        found: Dict[int, Any] = {}
        late = 0
        for number in numbers:
            found[number] = outcome(asked, module, order["calls"][number], _MUTANT_S)
            late += found[number] == _LATE
            if late == _MOST_LATE:
                break
        return found

    def unchanged() -> None:
        alone = {n: signature(read(asked["out"], f"{name}-{n}")) for n in steady}
        runs = [outcomes(steady), outcomes(steady)]
        lines = [n for n in steady if all(run.get(n) == alone[n] for run in runs)]
        write(asked["out"], place, {"lines": lines})

    limit = _MUTANT_S * len(steady) + 1.0
    in_child(unchanged, 2 * limit * _WAITING, 2 * limit)
    same = read(asked["out"], place).get("lines", [])
    before = {n: signature(read(asked["out"], f"{name}-{n}")) for n in same}
    for number, text in enumerate(order["mutants"]):

        def work(text: str = text, number: int = number) -> None:
            if swap(functions, mutated_code(text, order["path"], order["qualname"])):
                found = outcomes(same)
                lines = [n for n in found if found[n] != before[n]]
                write(asked["out"], f"{name}-m{number}", {"how": "ran", "lines": lines})

        in_child(work, limit * _WAITING, limit)


def outcome(asked: Order, module: Any, call: Any, seconds: float) -> Any:
    """Return what is compared with the outcome of the unchanged function.

    Code that catches the first TimeoutError gets another one after the same time.
    """

    stopped: List[bool] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        raise TimeoutError("remora: the call took too long")

    timers = {signal.ITIMER_VIRTUAL: seconds, signal.ITIMER_REAL: seconds * _WAITING}
    signal.signal(signal.SIGVTALRM, stop)
    signal.signal(signal.SIGALRM, stop)
    for timer, limit in timers.items():
        signal.setitimer(timer, limit, limit)
    try:
        found = signature(result_of(asked, module, call))
    except Exception:
        return _LATE
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
    return _LATE if stopped else found


def signature(found: Order) -> Any:
    claims = [list(claim) for claim in found.get("claims", [])]
    return [found.get("how"), claims, found.get("type"), found.get("listed")]


def imported(module: str, path: str) -> tuple[Any, str]:
    try:
        found = importlib.import_module(module)
    except BaseException as error:
        return None, f"import of {module}: {error_line(error)}"
    origin = os.path.realpath(getattr(found, "__file__", None) or "")
    if origin != path:
        return None, f"import of {module}: it came from {origin}"
    return found, ""


def called(asked: Order, module: Any, order: Order, call: Any) -> Order:
    """Return the result of a call, and the lines of the order's file that it executed."""
    lines = Lines(order["path"], asked["root"], tuple(order["header"]))
    watched = Effects(asked["root"], asked["scratch"])
    found = result_of(asked, module, call, lines, watched)
    found["lines"] = sorted(lines.seen)
    found["hashed"] = lines.hashed
    if not lines.direct:
        return {"how": "indirect", "lines": found["lines"]}
    if watched.seen:
        return {"how": "effect", "effect": watched.seen[0], "lines": found["lines"]}
    if sum(len(text) for _, text in found.get("claims", [])) > _TEXT:
        return {"how": "long", "lines": found["lines"]}
    return found


def result_of(asked: Order, module: Any, call: Any, *around: Any) -> Order:
    """Run the statements before a call, and the call itself within `around`."""
    names = dict(vars(module))
    names["__name__"] = "snippet"  # not `__main__`, and not the module itself
    code = compile(call["call"], "<call>", "eval")
    deprecated: List[str] = []
    try:
        with recorded(deprecated):
            for statement in (*call["imports"], *call["setup"]):
                exec(compile(statement, "<setup>", "exec"), names)
    except Exception as error:
        return {"how": "unready", "type": type(error).__name__}
    items: List[Taken] = []
    try:
        with recorded(deprecated):
            value = evaluated(code, names, items, asked["root"], *around)
    except Exception as error:
        return {**raised(error), "listed": bool(items)}
    if deprecated:
        return {"how": "deprecated", "type": deprecated[0]}
    claims = asserted(value, asked["root"])
    if any(text in repr(claims) for text in environment_texts(names.get("__package__") or "")):
        return {"how": "environment"}
    return {"how": "value", "claims": claims}


@contextlib.contextmanager
def recorded(found: List[str]) -> Iterator[None]:
    """Add the texts of warnings about deprecated code in the block to `found`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    found += [
        str(warning.message) for warning in caught if issubclass(warning.category, _DEPRECATED)
    ]


def evaluated(code: Any, names: Dict[str, Any], items: List[Taken], root: str, *around: Any) -> Any:
    """Evaluate a call within `around`.

    An iterator or a lazy collection is added to `items` before its items are read.
    """
    for context in around:
        context.__enter__()
    try:
        value = eval(code, names)
        several = type(value) is tuple and value and all(map(is_iterator, value))
        if several or is_iterator(value) or is_collection(value, root):
            items.append(Taken(value))
            items[0].read(value)
            return items[0]
        return value
    finally:
        for context in reversed(around):
            context.__exit__(None, None, None)


def is_iterator(value: Any) -> bool:
    return hasattr(value, "__next__") and hasattr(value, "__iter__")


def is_collection(value: Any, root: str) -> bool:
    """Return True for an iterable object of the project that no literal is equal to.

    A tuple is compared as such.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return False
    iterates = callable(getattr(kind, "__iter__", None)) and not isinstance(value, type)
    return iterates and is_from(kind, root) and as_literal(value) is None


class Taken:
    """All items of an iterator, of several iterators or of a collection.

    `left` is the code that lists them. `whole` is what they are from.
    Raises OverflowError if there are too many.
    """

    def __init__(self, whole: Any = None) -> None:
        self.items: List[Any] = []
        self.left = "list({})"
        self.whole = whole

    def read(self, iterator: Iterable[Any]) -> None:
        for item in iterator:
            inner = Taken()
            if is_iterator(item):
                self.left = "[list(each) for each in {}]"
                inner.read(item)
            self.items.append(inner.items if is_iterator(item) else item)
            if len(self.items) > _MOST_ITEMS:
                raise OverflowError("too many items")


def asserted(value: Any, root: str) -> List[Claim]:
    """Return what an assertion may compare, with its value, or a text if there is no literal."""
    whole = value.items if isinstance(value, Taken) else value
    literal = as_literal(whole)
    if literal is not None:
        return [(value.left if isinstance(value, Taken) else "{}", literal)]
    text = as_text(whole, root)
    return [("repr({})", text)] if text is not None else []


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
