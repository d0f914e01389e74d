"""Stubs of `external` and `Input` for editors. They do nothing at run time."""

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def external(function: _F) -> _F:
    """Mark a function as implemented by the host. Its body must be `...` or a docstring."""
    return function


def Input(name: str = "", default: Any = None, description: str = "") -> Any:  # noqa: ARG001, N802
    """Declare an argument of the script: `path: str = Input("path")`.

    `name` is what callers use; without it, the name of the variable. An argument without a
    `default` is required. `description` is shown to models. Outside a run, the default is returned.
    """
    return default
