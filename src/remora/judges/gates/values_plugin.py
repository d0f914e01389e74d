"""Pytest plugin that checks values of calls against annotations, with typeguard.

It runs in the project's interpreter, Python 3.10 or newer, and changes no function: calls are seen
by `sys.monitoring`, or before Python 3.12 by `sys.setprofile`. A failure is written down and raises
nothing. Arguments count once the call returns, as a test may pass a wrong value to see it refused.
"""

import dis
import importlib
import json
import os
import sys
import threading
import types
from types import CodeType, FrameType
from typing import Any

import pytest

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}
_YIELD = dis.opmap["YIELD_VALUE"]
_MOCKS = ("unittest.mock", "mock", "_pytest.capture")
_STREAMS = ("IO", "TextIO", "BinaryIO")
_ITERATED = ("Iterator", "Iterable", "Generator")
_MOST_ITEMS = 1_000
"""Containers with more items have one of each type checked."""
_MOST_KINDS = 100
_TOOL = 3  # tool id for `sys.monitoring`, not used by debuggers, coverage or profilers


def _load(vendor: str) -> Any:
    """Import typeguard from a folder, and leave no module of it for the project to import."""
    names = ("typeguard", "typing_extensions")
    kept = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in names}
    for name in kept:
        del sys.modules[name]
    before = os.environ.get("TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD")
    os.environ["TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, vendor)
    try:
        typeguard = importlib.import_module("typeguard")
        checkers = importlib.import_module("typeguard._checkers")
        vars(checkers)["warnings"] = types.SimpleNamespace(warn=lambda *_, **__: None)
        return typeguard
    finally:
        sys.path.remove(vendor)
        for name in [n for n in sys.modules if n.partition(".")[0] in names]:
            del sys.modules[name]
        sys.modules.update(kept)
        if before is None:
            del os.environ["TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD"]
        else:
            os.environ["TYPEGUARD_DISABLE_PLUGIN_AUTOLOAD"] = before


class _Function:
    """A function with annotations to check: `slots` are their numbers and expressions by name."""

    def __init__(self, classes: list[str], slots: dict[str, tuple[int, str]]) -> None:
        self.classes, self.slots = classes, slots
        self.hints: dict[str, tuple[int, Any]] | None = None
        self.receiver = ""

    def learn(self, frame: FrameType) -> dict[str, tuple[int, Any]]:
        """Evaluate the annotations. Names that do not exist at run time cannot be judged."""
        code, self.hints = frame.f_code, {}
        first = code.co_varnames[:1]
        self.receiver = first[0] if self.classes and first and first[0] not in self.slots else ""
        within: dict[str, Any] = {}
        owner: Any = types.SimpleNamespace(**frame.f_globals)
        for name in self.classes:
            owner = getattr(owner, name, None)
            within.update(getattr(owner, "__dict__", {}))
        for name, (number, expression) in self.slots.items():
            try:
                hint = eval(expression, frame.f_globals, within)  # noqa: S307 - runs in the sandbox
            except Exception:  # noqa: BLE001, S112 - any error means: not judged
                continue
            self.hints[name] = number, hint
        return self.hints


class Checker:
    """Checks the values of calls, and collects the types of values that fail, by slot."""

    def __init__(self, typeguard: Any, orders: list[Any]) -> None:
        self._typeguard = typeguard
        self._functions: dict[tuple[str, int, str], _Function] = {}
        for path, line, name, classes, slots in orders:
            self._functions[path, line, name] = _Function(classes, slots)
        self._codes: dict[int, tuple[_Function | None, CodeType]] = {}
        """By the ID of a code object, which is kept alive: equal ones may be of other files."""
        self._starts: dict[int, int] = {}
        self._pending: dict[int, tuple[CodeType, list[tuple[int, str]]]] = {}
        self._passed: set[tuple[int, type]] = set()
        self._busy = threading.local()
        self.checked: set[int] = set()
        self.failed: dict[int, set[str]] = {}

    def function(self, code: CodeType) -> _Function | None:
        """Return the function of a code object, or None if it is not to be checked."""
        known = self._codes.get(id(code))
        if known is None:
            key = os.path.realpath(code.co_filename), code.co_firstlineno, code.co_name
            known = self._codes[id(code)] = self._functions.get(key), code
        return known[0]

    def enter(self, frame: FrameType) -> None:
        """Check the arguments of a call whose frame was just entered."""
        code = frame.f_code
        function = self.function(code)
        if function is None or getattr(self._busy, "now", False) or self._is_resumed(frame):
            return
        self._busy.now = True
        try:
            wrong = [*self._arguments(frame, function)]
        except Exception:  # noqa: BLE001 - an odd value must not fail a test
            wrong = []
        finally:
            self._busy.now = False
        if wrong:
            self._pending[id(frame)] = code, wrong
        else:
            self._pending.pop(id(frame), None)

    def leave(self, frame: FrameType, place: int, value: object) -> None:
        """Check a value that a function returned or yielded at the instruction `place`.

        Does nothing if the function was left by an exception, or suspended by `await`.
        """
        code = frame.f_code
        function = self.function(code)
        if function is None or getattr(self._busy, "now", False):
            return
        instruction = code.co_code[place]
        is_yield = instruction == _YIELD and code.co_flags & (_GENERATOR | _ASYNC_GENERATOR)
        if instruction not in _RETURNS and not is_yield:
            return
        started, wrong = self._pending.pop(id(frame), (None, []))
        for number, kind in wrong if started is code else ():
            self._fail(number, kind)
        self._busy.now = True
        try:
            self._result(frame, function, value, is_yield=bool(is_yield))
        except Exception:  # noqa: BLE001, S110 - an odd value must not fail a test
            pass
        finally:
            self._busy.now = False

    def _result(
        self, frame: FrameType, function: _Function, value: object, *, is_yield: bool
    ) -> None:
        """Check a result. What an asynchronous generator yields is wrapped, and not judged."""
        flags = frame.f_code.co_flags
        number, hint = (function.hints or {}).get("return", (-1, None))
        if number < 0 or flags & _ASYNC_GENERATOR or bool(flags & _GENERATOR) is not is_yield:
            return
        if is_yield and (hint := _yielded(hint)) is None:
            return
        if kind := self._problem(number, value, hint, frame, function):
            self._fail(number, kind)

    def _is_resumed(self, frame: FrameType) -> bool:
        code = frame.f_code
        if not code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR):
            return False
        if id(code) not in self._starts:
            found = (
                instruction.offset
                for instruction in dis.get_instructions(code)
                if instruction.opname == "RESUME"
            )
            self._starts[id(code)] = next(found, -1)
        return frame.f_lasti > self._starts[id(code)]

    def _arguments(self, frame: FrameType, function: _Function) -> Any:
        hints = function.hints if function.hints is not None else function.learn(frame)
        code, values = frame.f_code, frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount
        stars: dict[str, Any] = {}
        for flag, items in ((0x4, tuple), (0x8, dict.values)):
            if code.co_flags & flag:
                stars[code.co_varnames[count]] = items
                count += 1
        for name, (number, hint) in hints.items():
            if name == "return" or name not in values:
                continue
            given = list(stars[name](values[name])) if name in stars else [values[name]]
            for value in given:
                if kind := self._problem(number, value, hint, frame, function):
                    yield number, kind

    def _problem(
        self, number: int, value: object, hint: Any, frame: FrameType, function: _Function
    ) -> str:
        """Return the type of a value that a hint does not accept, or an empty string."""
        self.checked.add(number)
        key = number, type(value)
        if key in self._passed:
            return ""
        guard = self._typeguard
        receiver = frame.f_locals.get(function.receiver) if function.receiver else None
        own = receiver if isinstance(receiver, type) or receiver is None else type(receiver)
        value = _sampled(value)
        config = guard.TypeCheckConfiguration(
            forward_ref_policy=guard.ForwardRefPolicy.IGNORE,
            collection_check_strategy=guard.CollectionCheckStrategy.ALL_ITEMS,
        )
        memo = guard.TypeCheckMemo(frame.f_globals, {}, self_type=own, config=config)
        try:
            guard.check_type_internal(value, hint, memo)
        except guard.TypeCheckError:
            return "" if _has_stand_in(value) or _has_protocol(hint) else kind_of(value)
        if type(hint) is type:
            self._passed.add(key)
        return ""

    def _fail(self, number: int, kind: str) -> None:
        kinds = self.failed.setdefault(number, set())
        if len(kinds) < _MOST_KINDS:
            kinds.add(kind)


def _yielded(hint: Any) -> Any:
    """Return the type that a generator yields according to its annotation, or None."""
    name = getattr(getattr(hint, "__origin__", None), "__name__", "")
    return hint.__args__[0] if name in _ITERATED and hint.__args__ else None


def _sampled(value: Any) -> Any:
    """Return a large container with one item of each type, and any other value as it is."""
    if type(value) not in (list, tuple, set, frozenset, dict) or len(value) <= _MOST_ITEMS:
        return value
    if type(value) is dict:
        return dict({(type(key), type(item)): (key, item) for key, item in value.items()}.values())
    return type(value)({type(item): item for item in value}.values())


def _items(value: object) -> list[object]:
    """Return the first items of a built-in container."""
    if type(value) in (list, tuple, set, frozenset):
        return [item for item, _ in zip(value, range(_MOST_ITEMS), strict=False)]  # type: ignore[call-overload]
    if type(value) is dict:
        pairs = [pair for pair, _ in zip(value.items(), range(_MOST_ITEMS), strict=False)]
        return [item for pair in pairs for item in pair]
    return []


def _has_stand_in(value: object, depth: int = 3) -> bool:
    """Return True for a mock, and for an object of a class of the tests, or a container of one."""
    kind = value if isinstance(value, type) else type(value)
    modules = [str(base.__module__) for base in kind.__mro__]
    if _is_of_tests(modules[0]) or any(name in _MOCKS for name in modules):
        return True
    return depth > 0 and any(_has_stand_in(item, depth - 1) for item in _items(value))


def _has_protocol(hint: Any) -> bool:
    """Return True for a protocol or a stream, as typeguard refuses some values that fit one."""
    args = getattr(hint, "__args__", None)
    parts = [getattr(hint, "__origin__", hint), *(args if isinstance(args, tuple) else ())]
    is_stream = getattr(parts[0], "__name__", "") in _STREAMS
    return (
        is_stream or getattr(parts[0], "_is_protocol", False) or any(map(_has_protocol, parts[1:]))
    )


def _is_of_tests(module: str) -> bool:
    parts = module.split(".")
    return any(
        part in ("tests", "test", "conftest") or part.startswith("test_") or part.endswith("_test")
        for part in parts
    )


def kind_of(value: object, depth: int = 2) -> str:
    """Return the name of a value's type, and of the types of what is in it, but no value."""
    kind = type(value)
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"type[{value.__qualname__}]"
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    if depth == 0 or not (items := _items(value)):
        return name
    if kind is dict:
        parts = [_union(items[::2], depth), _union(items[1::2], depth)]
    else:
        parts = [_union(items, depth)]
    return f"{name}[{', '.join(parts)}]"


def _union(values: list[object], depth: int) -> str:
    names = sorted({kind_of(value, depth - 1) for value in values})
    return " | ".join([*names[:3], *(["..."] if len(names) > 3 else [])])


def _start(checker: Checker) -> None:
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        _monitor(monitoring, checker)
        return

    def profile(frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            checker.enter(frame)
        elif event == "return" and (value is not None or not _at_yield(frame)):
            checker.leave(frame, frame.f_lasti, value)

    threading.setprofile(profile)
    sys.setprofile(profile)


def _at_yield(frame: FrameType) -> bool:
    """Return True if a frame is left at a `yield`, maybe because its generator is closed."""
    return frame.f_code.co_code[frame.f_lasti] == _YIELD


def _monitor(monitoring: Any, checker: Checker) -> None:
    getframe, disable, events = sys._getframe, monitoring.DISABLE, monitoring.events  # noqa: SLF001

    def entered(code: CodeType, _offset: int) -> Any:
        return checker.enter(getframe(1)) if checker.function(code) else disable

    def left(code: CodeType, place: int, value: object) -> Any:
        return checker.leave(getframe(1), place, value) if checker.function(code) else disable

    monitoring.use_tool_id(_TOOL, "remora")
    monitoring.register_callback(_TOOL, events.PY_START, entered)
    monitoring.register_callback(_TOOL, events.PY_RETURN, left)
    monitoring.register_callback(_TOOL, events.PY_YIELD, left)
    monitoring.set_events(_TOOL, events.PY_START | events.PY_RETURN | events.PY_YIELD)


class _Report:
    def __init__(self, checker: Checker, out: str) -> None:
        self._checker, self._out, self._process = checker, out, os.getpid()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Write what was found, unless this is a fork of the process that began."""
        if os.getpid() == self._process:
            failed = {number: sorted(kinds) for number, kinds in self._checker.failed.items()}
            document = [sorted(self._checker.checked), failed]
            with open(os.path.join(self._out, f"values-{self._process}.json"), "w") as file:  # noqa: PTH118, PTH123 - tests may patch pathlib
                json.dump(document, file)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to check the values that calls are given and return."""
    out = os.environ["REMORA_VALUES"]
    if config.pluginmanager.has_plugin("remora_values_report"):
        return
    with open(os.path.join(out, "orders.json")) as file:  # noqa: PTH118, PTH123
        orders = json.load(file)
    checker = Checker(_typeguard, orders)
    config.pluginmanager.register(_Report(checker, out), "remora_values_report")
    _start(checker)


_typeguard = _load(os.path.join(os.environ["REMORA_VALUES"], "remora_vendor"))  # noqa: PTH118
