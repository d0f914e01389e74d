"""Declarations of host functions, and calls to them with validated arguments."""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from remora.errors import HostError
from remora.tools.host.text_files import (
    edit_text,
    list_files,
    parse_python,
    read_text,
    replace_lines,
    show_lines,
    write_new_file,
)
from remora.tools.ruff_fixes import ruff_check
from remora.tools.tree import ToolTree


@dataclass(frozen=True, kw_only=True)
class HostFunction:
    """A function that scripts declare and that agents grant by name."""

    function: Callable[..., Any]
    """Receives the ToolTree and the script's arguments. It raises no exception but HostError."""
    seconds: float = 10.0
    """The time limit for a single call."""
    writes: bool = False
    """True if it may change files."""
    runs_project_code: bool = False
    """True if it starts the project's interpreter."""
    reads_packages: bool = False
    """True if it reads the packages of the project's interpreter without starting it."""

    @property
    def name(self) -> str:
        return self.function.__name__


def check_changes(place: ToolTree) -> list[str]:
    """Return what the agent's checks would say against its changes so far, if it submitted now."""
    return list(place.judge())


GENERIC = (
    HostFunction(function=check_changes, seconds=200.0),
    HostFunction(function=edit_text, writes=True),
    HostFunction(function=replace_lines, writes=True),
    HostFunction(function=list_files),
    HostFunction(function=parse_python),
    HostFunction(function=read_text),
    HostFunction(function=show_lines),
    HostFunction(function=ruff_check, seconds=60.0),
    HostFunction(function=write_new_file, writes=True),
)
"""Host functions that do not belong to an operation."""


def bind(granted: Iterable[HostFunction], place: ToolTree) -> dict[str, Callable[..., Any]]:
    """Return the granted functions, keyed by name and bound to a tree.

    Arguments are validated against the function's annotations. An invalid argument raises a
    HostError that contains the argument's name.
    """
    return {function.name: functools.partial(_call, function, place) for function in granted}


def _call(host: HostFunction, place: ToolTree, /, *args: Any, **kwargs: Any) -> Any:
    signature, hints = _shape(host.function)
    try:
        bound = signature.bind(place, *args, **kwargs)
    except TypeError as error:
        raise HostError(f"{host.name}: {error}") from None
    for name, value in list(bound.arguments.items())[1:]:
        try:
            bound.arguments[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError as error:
            raise HostError(f"{host.name}: {name}: {error}") from None
    with place.within(host.seconds):
        return host.function(*bound.args, **bound.kwargs)


@functools.cache
def _shape(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    return inspect.signature(function), typing.get_type_hints(function)
