"""Tracing of project code, to record executed lines, side effects and imported modules."""

from __future__ import annotations

import dis
import os
import sys
from types import CodeType, FrameType
from typing import Any

from .fork import Order

_HASHED = frozenset(("set", "frozenset", "hash", "keys", "union", "intersection", "difference"))
_OF_SETS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE"))
_LATER = 0x20 | 0x80 | 0x200
"""Flags of generators, coroutines and asynchronous generators, which run after their call."""


class Lines:
    """Traces the executed lines of one file, and the calls between functions under `root`.

    `direct` is true if a call from outside the project has entered the function with the lines
    `header`, at once or through decorators. With `branching`, it is lines of all files that are
    traced, each with the line of the same call that was executed before it.
    """

    def __init__(
        self, path: str, root: str, header: tuple[int, ...] = (), branching: bool = False
    ) -> None:
        self.path = path
        self.header = header
        self.branching = branching
        self.branches: set[tuple[str, int, int]] = set()
        self.direct = False
        self.prefix = root + os.sep
        self.seen: set[int] = set()
        self.entered: dict[CodeType, None] = {}
        self.calls: dict[tuple[CodeType, int, CodeType], None] = {}
        self.known: dict[str, str] = {}
        self.hashed = False
        """True if code that was entered uses sets, whose order depends on the hash seed."""

    def __enter__(self) -> None:
        sys.settrace(self.begin)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def own(self, code: CodeType) -> str:
        """Return the file's root-relative path, or an empty string if the file is elsewhere."""
        name = code.co_filename
        if name not in self.known:
            real = "" if name.startswith("<") else os.path.realpath(name)
            self.known[name] = real[len(self.prefix) :] if real.startswith(self.prefix) else ""
        return self.known[name]

    def begin(self, frame: FrameType, *_: object) -> Any:
        """Record a call, and trace lines if the code is in the traced file.

        This is the trace function for `sys.settrace`.
        """
        code, caller = frame.f_code, frame.f_back
        file = self.own(code)
        if not file:
            return None
        self.hashed = self.hashed or (code not in self.entered and uses_sets(frame))
        self.entered[code] = None
        if self.header and code.co_firstlineno in self.header and self.prefix + file == self.path:
            self.direct = self.direct or self.is_direct(caller)
        if caller is not None and self.own(caller.f_code) and called_by(code, caller.f_code):
            self.calls[caller.f_code, caller.f_lineno, code] = None
        if self.branching:
            return self.branch_recorder(file)
        return self.step if self.prefix + file == self.path else None

    def is_direct(self, caller: FrameType | None) -> bool:
        """Return True if only decorators of the project are between the caller and other code."""
        while caller is not None and self.own(caller.f_code) and caller.f_code.co_freevars:
            caller = caller.f_back
        return caller is not None and not self.own(caller.f_code)

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.seen.add(frame.f_lineno)
        return self.step

    def branch_recorder(self, file: str) -> Any:
        """Return a function that traces a call. Its end counts as line 0."""
        before = 0

        def record(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event in ("line", "return"):
                line = frame.f_lineno if event == "line" else 0
                self.branches.add((file, before, line))
                before = line
            return record

        return record

    def results(self) -> Order:
        """Return the code objects that were entered, the calls between them, and the branches.

        A call consists of the caller's index, the line number and the callee's index.
        """
        numbers = {code: number for number, code in enumerate(self.entered)}
        calls = [
            [numbers[caller], line, numbers[callee]]
            for caller, line, callee in self.calls
            if caller in numbers
        ]
        codes = [[self.own(code), code.co_firstlineno, code.co_name] for code in numbers]
        return {"codes": codes, "calls": calls, "branches": sorted(self.branches)}


def uses_sets(frame: FrameType) -> bool:
    """Return True if the code of a call makes sets, or uses those of its module."""
    code, known = frame.f_code, frame.f_globals
    values = (*code.co_consts, *(known.get(name) for name in code.co_names))
    return (
        not _HASHED.isdisjoint(code.co_names)
        or any(isinstance(value, (set, frozenset)) for value in values)
        or any(instruction.opname in _OF_SETS for instruction in dis.get_instructions(code))
    )


def called_by(code: CodeType, caller: CodeType) -> bool:
    """Return True if `caller`, the code of the previous frame, is the actual caller.

    For generators and coroutines, the previous frame may belong to code that only consumes their
    items. Such code counts as the caller if it contains the name of the function.
    """
    if not code.co_flags & _LATER or code.co_name.startswith("<"):
        return True
    names = caller.co_names + caller.co_varnames + caller.co_freevars + caller.co_cellvars
    return code.co_name in names


class Effects:
    """Records side effects outside the process.

    Side effects are file writes, subprocesses, connections, and reads of files that belong neither
    to the project nor to Python. Files below `tmp_path` are in `scratch`, where all is allowed.
    """

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
        "os.putenv",
        "os.unsetenv",
        "pathlib.",
        "setopencodehook",
        "shutil.",  # what it does to each file is an event of its own
        "socket.gethostname",
    )

    watching: list[Effects | None] = []  # noqa: RUF012 - one hook for the process, for good

    def __init__(self, root: str, scratch: str) -> None:
        self.seen: list[str] = []
        self.inside = tuple(
            os.path.realpath(folder) + os.sep
            for folder in (root, sys.prefix, sys.base_prefix, os.path.dirname(__file__))
        )
        self.scratch = scratch

    def __enter__(self) -> None:
        if not Effects.watching:
            sys.addaudithook(Effects.note)
        Effects.watching.append(self)

    def __exit__(self, *_: object) -> None:
        Effects.watching[-1] = None

    @staticmethod
    def note(event: str, args: tuple[Any, ...]) -> None:
        """Record the event if it is a side effect. This is an audit hook."""
        self = Effects.watching[-1]
        if self is None or event.startswith(Effects.ALLOWED):
            return
        if event == "open" and self.is_harmless(*args):
            return
        if event.startswith("os.") and self.is_scratch(args):
            return
        self.seen.append(event)

    def is_harmless(self, path: Any, mode: Any, flags: Any) -> bool:
        """Return True if the file is read from the project or Python, or is a scratch file.

        Opening the null device for writing is also harmless.
        """
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return isinstance(path, int)
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if self.is_scratch((path,)):
            return True
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & writes):
            return path == os.devnull
        return os.path.abspath(path).startswith(self.inside)

    def is_scratch(self, args: tuple[Any, ...]) -> bool:
        """Return True if all paths are in the scratch folder."""
        paths = [os.fsdecode(argument) for argument in args if isinstance(argument, (str, bytes))]
        where = [os.path.abspath(path) + os.sep for path in paths]
        return bool(where) and all(path.startswith(self.scratch + os.sep) for path in where)


def foreign_module_error(asked: Order) -> str:
    """Return an error if a module was imported from the original project.

    Modules of the project must be imported from the workspace.
    """
    prefixes = tuple(os.path.realpath(prefix) + os.sep for prefix in {sys.prefix, sys.base_prefix})
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
