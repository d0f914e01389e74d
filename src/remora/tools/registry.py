"""All host functions by the name that scripts declare and agents grant."""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from remora.errors import HostError
from remora.tools.host.docstrings import docstring_plan, write_docstring
from remora.tools.host.find_references import find_references
from remora.tools.host.python_outline import parse_python
from remora.tools.host.ruff.fixes import apply_ruff_fix, apply_safe_fixes
from remora.tools.host.ruff.node_findings import node_findings
from remora.tools.host.ruff.ruff_process import ruff_check
from remora.tools.host.testing import observe_calls, test_plan
from remora.tools.host.tests import coverage_of, run_tests, write_test
from remora.tools.host.text_files import edit_text, list_files, read_text, write_new_file
from remora.tools.tree import Place

HOST_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        apply_ruff_fix,
        apply_safe_fixes,
        coverage_of,
        docstring_plan,
        edit_text,
        find_references,
        list_files,
        node_findings,
        observe_calls,
        parse_python,
        read_text,
        ruff_check,
        run_tests,
        test_plan,
        write_docstring,
        write_new_file,
        write_test,
    )
}
"""Each takes the Place first, then what the script gives; each raises HostError only."""
SECONDS = 10.0
_SECONDS: Mapping[str, float] = {
    "apply_ruff_fix": 60.0,
    "apply_safe_fixes": 60.0,
    "coverage_of": 90.0,
    "find_references": 30.0,
    "node_findings": 60.0,
    "observe_calls": 120.0,
    "ruff_check": 60.0,
    "run_tests": 240.0,
    "test_plan": 200.0,
    "write_docstring": 60.0,
    "write_test": 90.0,
}


def seconds_for(name: str) -> float:
    """How long one call of a host function may take."""
    return _SECONDS.get(name, SECONDS)


def bind(grants: Iterable[str], place: Place) -> dict[str, Callable[..., Any]]:
    """The granted host functions on one tree; a name that none has is left out.

    Arguments are held against the functions' own annotations: HostError says which is wrong.
    Each call has its own time, `seconds_for` its function.
    """
    return {
        name: functools.partial(_call, HOST_FUNCTIONS[name], place)
        for name in grants
        if name in HOST_FUNCTIONS
    }


def _call(function: Callable[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
    signature, hints = _shape(function)
    try:
        bound = signature.bind(place, *args, **kwargs)
    except TypeError as error:
        raise HostError(f"{function.__name__}: {error}") from None
    for name, value in list(bound.arguments.items())[1:]:
        try:
            bound.arguments[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError as error:
            raise HostError(f"{function.__name__}: {name}: {error}") from None
    with place.within(seconds_for(function.__name__)):
        return function(*bound.args, **bound.kwargs)


@functools.cache
def _shape(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(function), typing.get_type_hints(function)
