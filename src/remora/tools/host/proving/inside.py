"""Runs tests and calls of a project's functions, each in a process of its own, and says how they went.

It runs in the project's interpreter (Python 3.8 or newer), which need not have Remora: the standard
library, and for tests pytest, are all it imports. Standard input holds one JSON object:

    root      the tree, absolute and resolved; `away` what must not be imported from
    out       an existing private folder: one file for each order, or for each call of it
    paths     folders that modules are imported from, first of all others
    shift     seconds by which every clock of Python's is put forward
    orders    what is to be done, one after the other

An order says how many `seconds` it may take, and may put another text into a file (`path`, `text`)
for as long as it lasts. Either `calls` are expressions about `module`, the file `path`, of which each
may take `each` seconds and `patience` may take longer; or `ids` are tests of pytest's. Nothing here is believed by who reads it: the project's code could have written it.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from types import FrameType
from typing import Any, Callable, Dict, Iterator

Order = Dict[str, Any]
_MEMORY = 4 << 30
_FILE = 64 << 20
_TEXT = 2_000
_MOST_ITEMS = 100
_STEP = 0.002


def main() -> None:
    """Carry out what standard input says."""
    asked = json.loads(sys.stdin.buffer.read())
    sys.path[:1] = asked["paths"]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["root"])
    if asked["shift"]:
        shift_clocks(asked["shift"])
    cut_off()
    if any("ids" in order for order in asked["orders"]):
        try:
            import pytest
        except ImportError:
            write(asked["out"], "pytest", {"missing": sys.executable})
            return
        # plugins of the environment are imported once, for all children
        pytest.main(["--version", "-c", os.devnull, "--noconftest", "--rootdir", asked["out"]])
    for number, order in enumerate(asked["orders"]):
        with_text(order, functools.partial(carry_out, asked, str(number), order))
    write(asked["out"], "done", {})


def with_text(order: Order, work: Callable[[], None]) -> None:
    """Work while the order's file has its text."""
    if order.get("text") is None:
        work()
        return
    with open(order["path"], "rb") as file:
        before = file.read()
    put(order["path"], order["text"].encode("utf-8", "surrogatepass"))
    try:
        work()
    finally:
        put(order["path"], before)


def put(path: str, content: bytes) -> None:
    """Write a file."""
    with open(path, "wb") as file:
        file.write(content)


def carry_out(asked: Order, name: str, order: Order) -> None:
    """In a process of its own, which has so many seconds and then none."""

    def work() -> None:
        if "ids" in order:
            run_tests(asked, name, order)
        else:
            run_calls(asked, name, order)

    if not in_child(work, order["seconds"]):
        write(asked["out"], name + "-late", {})


def in_child(work: Callable[[], None], seconds: float) -> bool:
    """Whether it ended in time, by whatever means; all that it started in its group ends with it."""
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            work()
        finally:
            os._exit(0)
    until = monotonic() + seconds
    ended = False
    while not ended and monotonic() < until:
        ended = os.waitpid(child, os.WNOHANG)[0] == child
        if not ended:
            sleep(_STEP)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        with contextlib.suppress(OSError):  # it may not have become the first of a group yet
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return ended


monotonic, sleep = time.monotonic, time.sleep  # ours, whatever is done to the clocks


def write(out: str, name: str, found: Order) -> None:
    """One file, which is there as a whole or not at all."""
    path = os.path.join(out, name)
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(found, file)
    os.rename(path + ".new", path + ".json")


# --- calls ---------------------------------------------------------------------------------------


def run_calls(asked: Order, name: str, order: Order) -> None:
    """Import the module once, then each call in a child."""
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
    write(asked["out"], name, {"problem": strangers(asked)})


def imported(module: str, path: str) -> tuple[Any, str]:
    """The module, and why it cannot be asked."""
    try:
        found = importlib.import_module(module)
    except BaseException as error:
        return None, f"import of {module}: {type(error).__name__}: {line_of(error)}"
    origin = os.path.realpath(getattr(found, "__file__", None) or "")
    if origin != path:
        return None, f"import of {module}: it came from {origin}"
    return found, ""


def called(asked: Order, module: Any, path: str, call: str) -> Order:
    """What came of one call, and which lines of the file were run for it."""
    code = compile(call, "<call>", "eval")
    lines, watched = Lines(path), Effects(asked["root"])
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
    """What it yields; one without an end is none that can be told."""
    items = []
    for item in iterator:
        items.append(item)
        if len(items) > _MOST_ITEMS:
            raise OverflowError("too many items")
    return items


def raised(error: Exception) -> Order:
    """An exception: what it is called, where it is defined, and the project's line that raised it."""
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


def line_of(error: BaseException) -> str:
    """An error's text as one line."""
    try:
        return " ".join(str(error).split())[:200]
    except Exception:
        return ""


class Lines:
    """Which lines of one file are run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen: set[int] = set()
        self.known: dict[str, bool] = {}

    def __enter__(self) -> None:
        sys.settrace(self.begin)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def begin(self, frame: FrameType, *_: object) -> Any:
        """Follow frames of the file."""
        name = frame.f_code.co_filename
        if name not in self.known:
            self.known[name] = os.path.realpath(name) == self.path
        return self.step if self.known[name] else None

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        """Note a line."""
        if event == "line":
            self.seen.add(frame.f_lineno)
        return self.step


class Effects:
    """What is done to anything but the process itself while it is looked at: files that are written,
    or read from elsewhere, processes, connections."""

    ALLOWED = (
        "import",
        "exec",
        "compile",
        "object.",
        "sys._getframe",
        "sys.settrace",
        "marshal.",
        "code.",
        "builtins.",
        "os.listdir",
        "os.scandir",
        "os.walk",
        "glob.",
        "pickle.",
        "re.",
        "time.",
        "sys.setprofile",
        "sys._current",
        "sys.excepthook",
        "sys.unraisablehook",
        "gc.",
        "array.",
        "cpython.",
        "json.",
        "tempfile.",
        "types.",
        "function.",
        "os.fwalk",
        "setopencodehook",
    )

    watching: list[Effects | None] = []  # noqa: RUF012 - one hook for the process, for good

    def __init__(self, root: str) -> None:
        self.seen: list[str] = []
        self.inside = tuple(
            os.path.realpath(each) + os.sep for each in (root, sys.prefix, sys.base_prefix)
        )

    def __enter__(self) -> None:
        if not Effects.watching:
            sys.addaudithook(Effects.note)
        Effects.watching.append(self)

    def __exit__(self, *_: object) -> None:
        Effects.watching[-1] = None

    @staticmethod
    def note(event: str, args: tuple[Any, ...]) -> None:
        """Python tells of what it is about to do."""
        self = Effects.watching[-1]
        if self is None or event.startswith(Effects.ALLOWED):
            return
        if event == "open" and self.is_harmless(*args):
            return
        self.seen.append(event)

    def is_harmless(self, path: Any, mode: Any, flags: Any) -> bool:
        """Whether a file of the project, or of Python's own, is only read."""
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return isinstance(path, int)
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & writes):
            return path == os.devnull
        return os.path.abspath(path).startswith(self.inside)


def strangers(asked: Order) -> str:
    """A module that came from where the workspace was copied from: it is not what is to be tried."""
    prefixes = tuple(os.path.realpath(each) + os.sep for each in {sys.prefix, sys.base_prefix})
    for name, module in sorted(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if not isinstance(origin, str):
            continue
        real = os.path.realpath(origin)
        if real.startswith(asked["away"] + os.sep) and not real.startswith(
            (asked["root"] + os.sep, *prefixes)
        ):
            return f"import of {name}: it came from {real}"
    return ""


# --- tests ---------------------------------------------------------------------------------------


class Reports:
    """The plugin: how each test ended, and which lines of a file were run by it."""

    def __init__(self, asked: Order, order: Order, hookwrapper: Any) -> None:
        self.tests: dict[str, Any] = {}
        self.lines = Lines(order["path"])
        self.effects = Effects(asked["root"])
        self.failed: list[str] = []
        self.looks = order.get("text") is None
        # what a test runs is traced, and not all that pytest does for it

        @hookwrapper  # type: ignore[untyped-decorator]
        def around(pyfuncitem: Any) -> Iterator[None]:  # noqa: ARG001 - pytest goes by names
            if not self.looks:
                yield
                return
            with self.effects, self.lines:
                yield

        self.pytest_pyfunc_call = around

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test is as good as its worst part."""
        known = self.tests.setdefault(report.nodeid, {"outcome": "passed", "message": "", "ms": 0})
        known["ms"] += int(report.duration * 1000)
        if report.outcome != "passed" and known["outcome"] == "passed":
            broken = report.outcome == "failed" and report.when != "call"
            known["outcome"] = "error" if broken else report.outcome
            known["message"] = worst(str(report.longrepr))

    def pytest_collectreport(self, report: Any) -> None:
        """What could not be collected."""
        if report.failed:
            self.failed.append(worst(str(report.longrepr)))


def worst(text: str) -> str:
    """The line that says what was wrong."""
    said = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    found = said or [line.strip() for line in text.splitlines() if line.strip()]
    return (found[0] if said else found[-1] if found else "")[:200]


def run_tests(asked: Order, name: str, order: Order) -> None:
    """Run tests in this process."""
    import pytest

    reports = Reports(asked, order, pytest.hookimpl(hookwrapper=True))
    words = ["-q", "-s", "-x", "-p", "no:cacheprovider", "-o", "addopts=", *order["words"]]
    code = int(pytest.main([*words, *order["ids"]], plugins=[reports]))
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    found = {
        "code": code,
        "tests": reports.tests,
        "failed": reports.failed,
        "lines": sorted(reports.lines.seen),
        "effects": reports.effects.seen[:1],
        "imported": any(isinstance(f, str) and os.path.realpath(f) == order["path"] for f in files),
        "problem": strangers(asked),
    }
    write(asked["out"], name, found)


# --- what tests must not depend on ---------------------------------------------------------------


def cut_off() -> None:
    """No connections, also where nothing else forbids them."""

    def refuse(*_: object) -> None:
        raise OSError("there is no network here")

    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, refuse)


def shift_clocks(seconds: int) -> None:
    """Every clock of Python's goes ahead: what depends on the time is another one."""
    real_time, real_ns = time.time, time.time_ns
    local, utc, text = time.localtime, time.gmtime, time.strftime
    shifted = {
        "time": lambda: real_time() + seconds,
        "time_ns": lambda: real_ns() + seconds * 10**9,
        "localtime": lambda at=None: local(time.time() if at is None else at),
        "gmtime": lambda at=None: utc(time.time() if at is None else at),
        "strftime": lambda form, at=None: text(form, time.localtime() if at is None else at),
    }
    for name, clock in shifted.items():
        setattr(time, name, clock)
    shift_dates(seconds)


def shift_dates(seconds: int) -> None:
    """What `datetime` takes for now, too."""
    real_date, real_moment = datetime.date, datetime.datetime
    ahead = datetime.timedelta(seconds=seconds)

    class Kind(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, cls.__mro__[1])

    class Date(real_date, metaclass=Kind):  # type: ignore[misc, valid-type]
        @classmethod
        def today(cls) -> Any:
            return (real_moment.now() + ahead).date()

    class Moment(real_moment, metaclass=Kind):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_moment.now(tz) + ahead

        @classmethod
        def utcnow(cls) -> Any:
            return real_moment.now(datetime.timezone.utc).replace(tzinfo=None) + ahead

        today = now

    for kind, name in ((Date, "date"), (Moment, "datetime")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        setattr(datetime, name, kind)


if __name__ == "__main__":
    main()
