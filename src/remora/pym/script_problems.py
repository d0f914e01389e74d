"""Checks that find type errors, and syntax that Monty rejects, before a script runs."""

from datetime import UTC, datetime

from pydantic_monty import FunctionSnapshot, MontyError, MontyTypingError

from remora.errors import ScriptError
from remora.pym.declarations import ANY_STUB, ANY_TYPE_STUB
from remora.pym.limits import Limits, open_sandbox
from remora.pym.run_outcome import from_monty_error, from_typing_error, script_error_at

# Type checking happens before the source runs. The first line suspends the run for good.
_GATE = "remora_gate"
_STUBS = f"""from typing import Any as Any
def {_GATE}() -> None: ...
{ANY_STUB}: Any
{ANY_TYPE_STUB} = Any
def map(function: Any, iterable: Any, *iterables: Any) -> Any: ...
def filter(function: Any, iterable: Any) -> Any: ...
class ImportError(Exception): ...
class ModuleNotFoundError(ImportError): ...
class FileExistsError(OSError): ...
class FileNotFoundError(OSError): ...
class IsADirectoryError(OSError): ...
class NotADirectoryError(OSError): ...
class PermissionError(OSError): ...
class UnboundLocalError(NameError): ...
class UnicodeDecodeError(ValueError): ...
class UnicodeEncodeError(ValueError): ...
"""
"""Names of this module and of declarations, and builtins that Monty runs but its type checker does
not know."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def find_problems(label: str, runs: str, checks: str) -> list[ScriptError]:
    """Return a script's type errors, or its syntax errors if there are no type errors.

    `runs` and `checks` are sources created by `parse_declarations`.
    """
    found = _type_errors(label, checks) or _syntax_errors(label, runs)
    return [error if error.line else _at_first_line(error, label) for error in found]


def _at_first_line(error: ScriptError, label: str) -> ScriptError:
    """Return a copy of an error without a line number, with its line set to 1."""
    message = error.message.removeprefix(f"{label}: ")
    return ScriptError(f"{label}:1: {message}", kind=error.kind, line=1, hint=error.hint)


def _type_errors(label: str, source: str) -> list[ScriptError]:
    try:
        _feed(label, source, _STUBS)
    except MontyTypingError as error:
        return from_typing_error(error, label)
    except MontyError as error:
        gave_up = from_monty_error(error, label)
        # any other error is in a declaration; Monty may reject these, because they never run
        if gave_up.kind not in ("limit", "crashed"):
            return []
        detail = gave_up.message.removeprefix(f"{label}: ")
        return [
            script_error_at(label, gave_up.kind, f"the type checker failed: {detail}", gave_up.line)
        ]
    return []


def _syntax_errors(label: str, source: str) -> list[ScriptError]:
    try:
        _feed(label, source, None)
    except MontyError as error:
        found = from_monty_error(error, label, shift=1)
        if found.kind == "runtime":  # nothing ran: Monty does not support the syntax
            found = ScriptError(found.message, kind="syntax", line=found.line)
        return [found]
    return []


def _feed(label: str, source: str, stubs: str | None) -> None:
    with open_sandbox(label, Limits(), clock=_EPOCH, seed=0, checks=stubs) as sandbox:
        step = sandbox.feed_start(f"{_GATE}()\n{source}")
        while isinstance(step, FunctionSnapshot) and step.is_os_function:
            step = step.resume_not_handled()  # an import that the checker resolves
