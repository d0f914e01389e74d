"""Runner for the built-in scripts. It sets their limits and checks their results."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from remora.errors import ScriptError
from remora.pym import Limits, Script, load_source

Hosts = Mapping[str, Callable[..., Any]]
_Result = TypeVar("_Result")
_LIMITS = Limits(
    duration_s=1.0,
    wall_s=5.0,
    memory_mb=64,
    recursion=200,
    host_calls=4,
    print_bytes=1024,
    result_bytes=4 * 1024 * 1024,
)
MAX_REACHED = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NodeHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Result of `extract_signatures` for a node."""

    qualname: str
    signature: str | None
    docstring: str | None
    decorators: tuple[str, ...]
    bases: tuple[str, ...]


class NodeComplexity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Result of `compute_complexity` for a node."""

    qualname: str
    complexity: int


def extract_signatures(nodes: tuple[str, ...], hosts: Hosts) -> list[NodeHead]:
    """Return the heads of nodes, using the host function `definitions`.

    Raises ScriptError if the script fails.
    """
    return _run("extract_signatures", {"nodes": nodes}, hosts, list[NodeHead])


def compute_complexity(nodes: tuple[str, ...], hosts: Hosts) -> list[NodeComplexity]:
    """Return the complexity of nodes, using the host function `branches`.

    Raises ScriptError if the script fails.
    """
    return _run("compute_complexity", {"nodes": nodes}, hosts, list[NodeComplexity])


def scan_imports(hosts: Hosts) -> tuple[str, ...]:
    """Return the imported names, using the host function `imports`.

    Raises ScriptError if the script fails.
    """
    return _run("scan_imports", {}, hosts, tuple[str, ...])


def find_callers(nodes: tuple[str, ...], hosts: Hosts) -> tuple[str, ...]:
    """Return the keys of at most `MAX_REACHED` callers, using the host function `callers`.

    Raises ScriptError if the script fails.
    """
    return _run("find_callers", {"nodes": nodes, "most": MAX_REACHED}, hosts, tuple[str, ...])


def find_tests(nodes: tuple[str, ...], hosts: Hosts) -> tuple[str, ...]:
    """Return the keys of at most `MAX_REACHED` test nodes, using the host function `tests`.

    Raises ScriptError if the script fails.
    """
    return _run("find_tests", {"nodes": nodes, "most": MAX_REACHED}, hosts, tuple[str, ...])


def load_all() -> None:
    """Load all scripts in advance, so that the first edit is not delayed.

    Raises ScriptError if a script cannot be loaded.
    """
    for name in _NAMES:
        _script(name)


_NAMES = ("extract_signatures", "scan_imports", "compute_complexity", "find_callers", "find_tests")


@cache
def _script(name: str) -> Script:
    source = files("remora.hub.index").joinpath("scripts", f"{name}.pym").read_text("utf-8")
    return load_source(source, name=name)


def _run(name: str, inputs: dict[str, Any], hosts: Hosts, result: type[_Result]) -> _Result:
    inputs_as_lists = {
        word: list(value) if isinstance(value, tuple) else value for word, value in inputs.items()
    }
    run = _script(name).run(inputs_as_lists, hosts, limits=_LIMITS, clock=_EPOCH, seed=0)
    if run.error is not None:
        raise run.error
    try:
        return msgspec.convert(run.value, result)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{name}.pym: {error}", kind="contract") from None
