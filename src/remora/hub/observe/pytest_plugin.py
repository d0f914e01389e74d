"""Pytest plugin that records calls in a project, and the functions that each test enters.

It also records types of arguments and results. It runs in the project's
interpreter (Python 3.8 or newer). Remora need not be installed there, because the plugin imports
only the standard library, pytest and the module `value_types`. Both are the package
`remora_observe` in a private folder, which is loaded as `-p remora_observe` and configured by
environment variables:

    REMORA_OBSERVE_ROOT  the project's root, absolute and resolved
    REMORA_OBSERVE_OUT   an existing private folder; each process writes one file into it

Each line of a file is a JSON array that starts with the kind of the record:

    ["file", number, path, sha256]            number counts from 0; path is relative to the root
    ["code", number, file, line, name, qualname or null]
    ["call", caller, line, callee]            code numbers, and the line of the call
    ["test", path, names, [code, ...], done]  names: the parts of pytest's id after the path
    ["seen", code, parameters, returns, yields]  replaces earlier ones of the function
    ["full"]                                  the limit was reached; later records are missing
"""

from __future__ import annotations

import dis
import hashlib
import json
import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, Generator  # noqa: UP035 - 3.8 cannot subscript the newer class

import pytest

from .value_types import Values

_LATER = 0x20 | 0x80 | 0x200
"""Flags of generators, coroutines and asynchronous generators, whose code runs after the call."""
_FOREIGN = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_MAX_BYTES = 64 << 20  # that one process writes
_BATCH = 5_000  # new calls before a write …
_SECONDS = 1.0  # … or seconds: a run may be killed at any time
_TOOL = 3  # tool id for `sys.monitoring`, not used by debuggers, coverage or profilers


class Recorder:
    """Records new calls. Code objects are identified by `id`, so they are kept alive."""

    def __init__(self, root: str, out: str) -> None:
        self._prefix = root + os.sep
        name = f"{out}{os.sep}{os.getpid()}.jsonl"
        self._out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._lines: list[str] = []
        self._flushed = 0.0
        self._remaining = _MAX_BYTES
        self._process = os.getpid()
        self.numbers: dict[int, int] = {}
        self._codes: list[CodeType] = []
        self._files: dict[str, int] = {}
        self._alive: list[CodeType] = []
        self._calls: set[tuple[int, int, int]] = set()
        self._written: set[tuple[int, int, int]] = set()
        self.values = Values()
        self._wanted_calls = self.values.calls.ready
        self.entered: set[int] = set()

    def enter(self, frame: FrameType) -> bool:
        """Record the start of a frame. Return False if its code is not part of the project."""
        code = frame.f_code
        number = self.numbers.get(id(code))
        if number is None:
            number = self._learn(code)
        if number < 0:
            return False
        self.entered.add(number)
        if number in self._wanted_calls:
            self.values.called(number, frame)
        else:
            self.values.forget(frame)
        caller = frame.f_back
        if caller is not None:
            calling = self.numbers.get(id(caller.f_code))
            if calling is None:
                calling = self._learn(caller.f_code)
            if calling >= 0:
                self._calls.add((calling, caller.f_lasti, number))
        return True

    def leave(self, frame: FrameType, place: int, value: object) -> bool:
        """Record a returned or yielded value. Return False if no more values are needed."""
        number = self.numbers.get(id(frame.f_code), -1)
        if number in self.values.results.ready:
            self.values.left(number, frame, place, value)
            return True
        return self.values.results.may_return(number)

    def next_test(self) -> None:
        """Begin to collect the functions that a test enters."""
        self.entered = set()
        self.values.next_test()

    def test(self, path: str, names: list[str], entered: set[int], done: bool) -> None:
        """Record the end of a test."""
        self._write(["test", path, names, sorted(entered), done])
        now = time.monotonic()
        if now > self._flushed + _SECONDS or len(self._calls) > _BATCH:
            self._flushed = now
            self.flush()

    def flush(self) -> None:
        """Write pending calls."""
        if os.getpid() != self._process:  # in a forked process, the file belongs to the parent
            return
        for call in self._calls - self._written:
            caller, place, callee = call
            line = _line(self._codes[caller], place)
            if line and self._is_call(caller, callee):
                self._write(["call", caller, line, callee])
        self._written |= self._calls
        self._calls = set()
        for number, seen in self.values.news():
            self._write(["seen", number, *seen])
        lines, self._lines = self._lines, []
        text = memoryview("".join(lines).encode())
        while text:
            text = text[os.write(self._out, text) :]

    def _is_call(self, caller: int, callee: int) -> bool:
        """Return True if the caller's frame called the callee.

        Resuming a generator is not a call.
        """
        called, calling = self._codes[callee], self._codes[caller]
        if not called.co_flags & _LATER or called.co_name.startswith("<"):
            return True
        names = calling.co_names + calling.co_varnames + calling.co_freevars + calling.co_cellvars
        return called.co_name in names

    def _learn(self, code: CodeType) -> int:
        """Return the number of a code object, or -1 if it is not part of the project."""
        self._alive.append(code)  # keeps the id from being reused
        number = -1
        is_foreign = any(part in code.co_filename for part in _FOREIGN)
        if code.co_filename.startswith(self._prefix) and not is_foreign:
            file = self._file(code.co_filename)
            if file >= 0:
                number = len(self._codes)
                self._codes.append(code)
                self.values.learn(number, code)
                qualname = getattr(code, "co_qualname", None)
                self._write(["code", number, file, code.co_firstlineno, code.co_name, qualname])
        self.numbers[id(code)] = number
        return number

    def _file(self, path: str) -> int:
        if path not in self._files:
            number = -1
            try:
                with open(path, "rb") as source:  # noqa: PTH123 - pathlib could be patched by tests
                    digest = hashlib.sha256(source.read()).hexdigest()
                number = len(self._files)
                self._write(["file", number, path[len(self._prefix) :], digest])
            except OSError:
                pass  # generated code, or deleted
            self._files[path] = number
        return self._files[path]

    def _write(self, record: list[Any]) -> None:
        if self._remaining <= 0 or os.getpid() != self._process:
            return
        line = json.dumps(record, separators=(",", ":")) + "\n"
        self._remaining -= len(line)
        self._lines.append(line if self._remaining > 0 else '["full"]\n')

    def close(self) -> None:
        """Write pending lines and close the file."""
        self.flush()
        if os.getpid() == self._process:
            os.close(self._out)


def _line(code: CodeType, place: int) -> int | None:
    """Return the line number of the instruction at the offset `place`."""
    before = [line for start, line in dis.findlinestarts(code) if start <= place]
    return before[-1] if before else None


class Observer:
    """The plugin object, which tracks the current test."""

    def __init__(self, recorder: Recorder, root: str) -> None:
        self._recorder = recorder
        self._root = root
        self._ran = False

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        """Attribute all functions entered during a test to that test."""
        self._ran = False
        self._recorder.next_test()
        yield
        entered, self._recorder.entered = self._recorder.entered, set()
        path = os.path.relpath(os.path.realpath(str(item.fspath)), self._root)
        if not path.startswith(os.pardir):
            names = item.nodeid.split("::")[1:]
            self._recorder.test(path.replace(os.sep, "/"), names, entered, self._ran)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record that the test ran, unless it was skipped or its setup failed."""
        if report.when == "call" and report.outcome != "skipped":
            self._ran = True

    def pytest_unconfigure(self) -> None:
        """Stop recording."""
        stop(self._recorder)


def start(recorder: Recorder) -> None:
    """Start recording every call in every thread."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        _monitor(monitoring, recorder)
        return

    enter, number_of = recorder.enter, recorder.numbers.get
    wanted, left = recorder.values.results.ready, recorder.values.left  # the set changes later

    def profile(frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            enter(frame)
        elif event == "return":
            number = number_of(id(frame.f_code))  # here, as a call would cost more than the rest
            if number in wanted:
                left(number, frame, frame.f_lasti, value)

    threading.setprofile(profile)
    sys.setprofile(profile)


def _monitor(monitoring: Any, recorder: Recorder) -> None:
    getframe, disable = sys._getframe, monitoring.DISABLE  # noqa: SLF001 - documented, despite its name

    def entered(_code: CodeType, _offset: int) -> Any:
        # code outside the project is reported once per location, then disabled
        return None if recorder.enter(getframe(1)) else disable

    def left(_code: CodeType, place: int, value: object) -> Any:
        return None if recorder.leave(getframe(1), place, value) else disable

    events = monitoring.events
    monitoring.use_tool_id(_TOOL, "remora")
    monitoring.register_callback(_TOOL, events.PY_START, entered)
    monitoring.register_callback(_TOOL, events.PY_RETURN, left)
    monitoring.register_callback(_TOOL, events.PY_YIELD, left)
    monitoring.set_events(_TOOL, events.PY_START | events.PY_RETURN | events.PY_YIELD)


def stop(recorder: Recorder) -> None:
    """Stop recording and write pending lines."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and monitoring.get_tool(_TOOL) == "remora":
        monitoring.set_events(_TOOL, 0)
        monitoring.free_tool_id(_TOOL)
    elif monitoring is None:
        threading.setprofile(None)
        sys.setprofile(None)
    recorder.close()


def pytest_configure(config: pytest.Config) -> None:
    """Start recording if the environment variables are set."""
    out, root = os.environ.get("REMORA_OBSERVE_OUT"), os.environ.get("REMORA_OBSERVE_ROOT")
    if out and root and not config.pluginmanager.has_plugin("remora_observer"):
        recorder = Recorder(root, out)
        config.pluginmanager.register(Observer(recorder, root), "remora_observer")
        start(recorder)
