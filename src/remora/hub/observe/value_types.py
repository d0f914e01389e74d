"""Types of arguments and results, as the pytest plugin records them.

Runs in the project's interpreter (Python 3.8 or newer) beside the plugin. It never calls methods of
the values that it describes, because these belong to the project.
"""

from __future__ import annotations

import dis
import sys
from collections import defaultdict
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any, Iterator  # noqa: UP035 - 3.8 cannot subscript the newer class

FIRST_CALLS = 20
"""Calls of a function that are recorded, before it is recorded only a few times per test."""
CALLS_PER_TEST = 2
MAX_CALLS = 40
MAX_TYPES = 8
_MAX_ELEMENTS = 5
_MAX_DEPTH = 3
_MAX_UNION = 3
_MAX_ITEMS = 4
_FUNCTION = 0x1
"""Flag of functions. Bodies of classes and modules do not have it."""
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_VAR_POSITIONAL, _VAR_KEYWORD = 0x4, 0x8
_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}
_YIELD = dis.opmap["YIELD_VALUE"]
_TEST_MODULES = ("tests", "conftest")
_RECEIVERS = ("self", "cls", "mcs", "mcls", "metacls")
_CALLABLE = "collections.abc.Callable"
_NAMES = {
    "function": _CALLABLE,
    "builtin_function_or_method": _CALLABLE,
    "method": _CALLABLE,
    "method-wrapper": _CALLABLE,
    "wrapper_descriptor": _CALLABLE,
    "method_descriptor": _CALLABLE,
    "module": "types.ModuleType",
    "generator": "collections.abc.Generator",
    "coroutine": "collections.abc.Coroutine",
    "async_generator": "collections.abc.AsyncGenerator",
    "dict_keys": "collections.abc.KeysView",
    "dict_values": "collections.abc.ValuesView",
    "dict_items": "collections.abc.ItemsView",
    "mappingproxy": "types.MappingProxyType",
    "code": "types.CodeType",
    "frame": "types.FrameType",
    "traceback": "types.TracebackType",
    "NoneType": "None",
    "ellipsis": "types.EllipsisType",
    "NotImplementedType": "types.NotImplementedType",
}
"""Names of built-in types that cannot be imported by their own name."""
_PLAIN = {"pathlib.PosixPath": "pathlib.Path", "pathlib.WindowsPath": "pathlib.Path"}
_get_dict = type.__dict__["__dict__"].__get__
_get_name = type.__dict__["__qualname__"].__get__
_get_module = type.__dict__["__module__"].__get__
_get_mro = type.__dict__["__mro__"].__get__


class Quota:
    """Functions whose next call is recorded: the first calls, then a few calls in each test."""

    def __init__(self) -> None:
        self.ready: set[int] = set()
        self._resting: set[int] = set()
        self._total: dict[int, int] = {}
        self._in_test: dict[int, int] = {}

    def use(self, number: int) -> None:
        """Count a recorded call of the function `number`."""
        total = self._total[number] = self._total.get(number, 0) + 1
        here = self._in_test[number] = self._in_test.get(number, 0) + 1
        if total >= MAX_CALLS:
            self.ready.discard(number)
        elif total >= FIRST_CALLS and here >= CALLS_PER_TEST:
            self.ready.discard(number)
            self._resting.add(number)

    def may_return(self, number: int) -> bool:
        """Return True if a later call of the function may be recorded."""
        return number in self.ready or number in self._resting

    def next_test(self) -> None:
        self.ready |= self._resting
        self._resting.clear()
        self._in_test.clear()


class Values:
    """The types of all functions, by the numbers of their code objects."""

    def __init__(self) -> None:
        self.calls, self.results = Quota(), Quota()
        self._codes: dict[int, CodeType] = {}
        self._starts: dict[int, int] = {}
        self._running: dict[int, tuple[int, list[tuple[str, str]]]] = {}
        """The function and the arguments of each call that has not returned, by its frame's id."""
        self._seen: dict[int, _Seen] = defaultdict(_Seen)
        self._changed: set[int] = set()

    def learn(self, number: int, code: CodeType) -> None:
        """Begin to record a function. Tests, lambdas and bodies of classes are left out."""
        if code.co_flags & _FUNCTION and not code.co_name.startswith(("<", "test")):
            self._codes[number] = code
            self.calls.ready.add(number)
            self.results.ready.add(number)

    def next_test(self) -> None:
        """Allow a few more calls of each function."""
        self.calls.next_test()
        self.results.next_test()

    def called(self, number: int, frame: FrameType) -> None:
        """Record the arguments of a call whose frame was just entered.

        They count once it returns, as a test may pass a wrong value to see that it is refused.
        """
        code = frame.f_code
        if code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR):
            if number not in self._starts:
                self._starts[number] = _start(code)
            if frame.f_lasti > self._starts[number]:  # it is resumed
                return
        self.calls.use(number)
        with suppress(Exception):  # an odd value must not fail a test
            self._running[id(frame)] = number, list(_arguments(code, frame.f_locals))
        if code.co_flags & (_GENERATOR | _ASYNC_GENERATOR):
            self._returned(number, frame)

    def forget(self, frame: FrameType) -> None:
        """Forget a call that raised an exception, and whose frame's id is used again."""
        self._running.pop(id(frame), None)

    def left(self, number: int, frame: FrameType, place: int, value: object) -> None:
        """Record a value that a function returned or yielded at the instruction `place`.

        Does nothing if the function was left by an exception, or suspended by `await`.
        """
        code = self._codes[number]
        instruction = code.co_code[place]
        later = code.co_flags & (_GENERATOR | _ASYNC_GENERATOR)
        if instruction in _RETURNS:
            kind = "" if later else "returns"
            self._returned(number, frame)
        else:
            kind = "yields" if instruction == _YIELD and later else ""
        if kind:
            self.results.use(number)
            with suppress(Exception):
                self._add(number, getattr(self._seen[number], kind), type_name(value))

    def news(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield the functions with new types since the last call, and all of theirs."""
        changed, self._changed = self._changed, set()
        for number in sorted(changed):
            seen = self._seen[number]
            types = {name: list(found) for name, found in seen.parameters.items() if found}
            yield number, [types, list(seen.returns), list(seen.yields)]

    def _returned(self, number: int, frame: FrameType) -> None:
        started, arguments = self._running.pop(id(frame), (-1, []))
        for name, kind in arguments if started == number else ():
            self._add(number, self._seen[number].parameters.setdefault(name, {}), kind)

    def _add(self, number: int, known: dict[str, None], kind: str) -> None:
        if kind and kind not in known and len(known) < MAX_TYPES:
            known[kind] = None
            self._changed.add(number)


class _Seen:
    """What was recorded of one function. Dictionaries are used as ordered sets."""

    def __init__(self) -> None:
        self.parameters: dict[str, dict[str, None]] = {}
        self.returns: dict[str, None] = {}
        self.yields: dict[str, None] = {}


def _arguments(code: CodeType, values: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each argument."""
    count = code.co_argcount + code.co_kwonlyargcount
    names = [name for name in code.co_varnames[:count] if name in values]
    if names and names[0] in _RECEIVERS:
        del names[0]
    for name in names:
        yield name, type_name(values[name])
    for flag, get in ((_VAR_POSITIONAL, tuple), (_VAR_KEYWORD, dict.values)):
        if code.co_flags & flag:
            name = code.co_varnames[count]
            count += 1
            for value in list(get(values[name]))[:_MAX_ELEMENTS]:
                yield name, type_name(value)


def _start(code: CodeType) -> int:
    """Return the largest offset at which the body of a generator or coroutine has not begun."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RESUME":
            return instruction.offset
    return -1


def type_name(value: object, depth: int = _MAX_DEPTH) -> str:
    """Return the importable name of a value's type, or "" if it has none or is a mock.

    Containers have the types of their first elements, as in `dict[str, int]`.
    """
    kind = type(value)
    if issubclass(kind, type):
        name = _class_name(value)  # type: ignore[arg-type]
        return f"type[{name}]" if name else "type"
    if depth > 0:
        if kind is list or kind is set or kind is frozenset:
            return _generic(kind.__name__, [_union(value, depth)])
        if kind is tuple:
            return _tuple(value, depth)  # type: ignore[arg-type]
        if kind is dict:
            return _generic("dict", [_union(value, depth), _union(value.values(), depth)])  # type: ignore[attr-defined]
    return _class_name(kind)


def _tuple(value: tuple[object, ...], depth: int) -> str:
    if not value:
        return "tuple[()]"
    if len(value) > _MAX_ITEMS:
        return _generic("tuple", [_union(value, depth), "..."])
    return _generic("tuple", [type_name(one, depth - 1) for one in value])


def _generic(name: str, arguments: list[str]) -> str:
    return f"{name}[{', '.join(arguments)}]" if all(arguments) else name


def _union(values: Any, depth: int) -> str:
    """Return the types of the first elements, or "" if there are none or too many."""
    names: dict[str, None] = {}
    for number, value in enumerate(values):
        if number == _MAX_ELEMENTS:
            break
        names[type_name(value, depth - 1)] = None
    if "" in names or len(names) > _MAX_UNION:
        return ""
    return " | ".join(sorted(names, key=lambda name: (name == "None", name)))


_known: dict[type, str] = {}


def _class_name(kind: type) -> str:
    """Return the importable name of a class, or of its first base that has one."""
    if kind not in _known:
        _known[kind] = _find_class_name(kind)
    return _known[kind]


def _find_class_name(kind: type) -> str:
    for base in _get_mro(kind):
        module, name = str(_get_module(base)), str(_get_name(base))
        if module in ("unittest.mock", "mock"):
            return ""
        if (base is object and kind is not object) or module in ("typing", "abc"):
            return ""
        if _is_test_module(module):
            continue
        if found := _public_name(base, module, name):
            return found
    return ""


def _public_name(kind: type, module: str, name: str) -> str:
    if module == "builtins" and name in _NAMES:
        return _NAMES[name]
    if not _is_importable(kind, module, name):
        return ""
    if module == "builtins":
        return name
    public = module.lstrip("_")  # such as io for _io
    full = f"{public if _is_importable(kind, public, name) else module}.{name}"
    return _PLAIN.get(full, full)


def _is_test_module(module: str) -> bool:
    return any(part in _TEST_MODULES or part.startswith("test_") for part in module.split("."))


def _is_importable(kind: type, module: str, qualname: str) -> bool:
    if module == "__main__":
        return False
    found: Any = sys.modules.get(module)
    if found is None:
        return False
    names = found.__dict__
    for name in qualname.split("."):
        found = names.get(name)
        if not isinstance(found, type):
            return False
        names = _get_dict(found)
    return found is kind
