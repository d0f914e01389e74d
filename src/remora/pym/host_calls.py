"""Handlers for host calls. They call granted functions or replay recorded calls."""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from pydantic_monty import ExcType

from remora.errors import RemoraError
from remora.pym.json_values import NotJsonError, TooLargeError, to_json_value
from remora.pym.limits import Limits
from remora.pym.run_outcome import HostCall, one_line

_SANDBOX_EXCEPTIONS = frozenset(get_args(ExcType))


class GrantedFunctions:
    """Answers host calls by calling the granted functions.

    A call to any other function returns an error, and so does a call made after `wall_s` seconds.
    These errors are recorded too, because a replay cannot measure how long the original calls took.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], limits: Limits) -> None:
        self.functions = functions
        self.limits = limits
        self.ends = time.monotonic() + limits.wall_s

    def __call__(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> HostCall:
        if (function := self.functions.get(name)) is None:
            denied = f"denied: `{name}` was called, which was not granted"
            return HostCall(name=name, args=args, kwargs=kwargs, error=denied)
        if time.monotonic() > self.ends:
            late = f"limit: more than {self.limits.wall_s} seconds in all"
            return HostCall(name=name, args=args, kwargs=kwargs, error=late)
        began = time.perf_counter()
        result, error = self._call(function, args, kwargs)
        spent = round((time.perf_counter() - began) * 1000)
        return HostCall(
            name=name, args=args, kwargs=kwargs, result=result, error=error, duration_ms=spent
        )

    def _call(
        self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[Any, str | None]:
        try:
            return to_json_value(
                _checked_result(function(*args, **kwargs)), limit=self.limits.result_bytes
            ), None
        except RemoraError as error:
            return None, f"RuntimeError: {one_line(error.message)}"
        except (NotJsonError, TooLargeError) as error:
            return None, f"RuntimeError: the answer is {error}"
        except Exception as error:  # noqa: BLE001 - the script sees every failure of a host function
            return None, _sandbox_error(error)


def _checked_result(result: Any) -> Any:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the host's function is a coroutine; it must return its answer")
    return result


def _sandbox_error(error: Exception) -> str:
    """Return an exception as `Type: message`.

    The type is RuntimeError if the sandbox cannot raise the original type.
    """
    if (name := type(error).__name__) in _SANDBOX_EXCEPTIONS:
        return f"{name}: {one_line(str(error))}"
    return f"RuntimeError: {name}: {one_line(str(error))}"


class RecordedCalls:
    """Answers host calls from a recording. A call that differs from the recording is an error."""

    def __init__(self, calls: Sequence[HostCall]) -> None:
        self.calls = list(calls)
        self.count = 0

    def __call__(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> HostCall:
        call = self.calls[self.count] if self.count < len(self.calls) else None
        self.count += 1
        if call is not None and (call.name, call.args, call.kwargs) == (name, args, kwargs):
            return call
        expected = "no call" if call is None else _format_call(call.name, call.args, call.kwargs)
        error = f"mismatch: call {self.count} is {_format_call(name, args, kwargs)}, not {expected}"
        return HostCall(name=name, args=args, kwargs=kwargs, error=error)


def _format_call(name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    words = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
    return one_line(f"{name}({', '.join(words)})")
