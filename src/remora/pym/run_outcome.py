"""The outcome of a script run, including its result, host calls and errors."""

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic_monty import (
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
    MontyTypingError,
)

from remora.errors import ReplayMismatch, ScriptError
from remora.text import clip_words

_LINE_LIMIT = 300
_EXHAUSTED = re.compile(
    r"(TimeoutError|MemoryError): .*(limit exceeded|exceeded its memory limit)"
    r"|RecursionError: maximum recursion depth exceeded"
    r"|RuntimeError: suspension limit"
)
"""Matches messages about exceeded limits, but not exceptions that a script raises itself."""
_UNSUPPORTED = "NotImplementedError: The monty syntax parser"
_MEASURED = re.compile(r"(limit exceeded: )[\d.]+ ?(?:\w?s|bytes) > ")


class HostCall(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded host call. Its arguments and result are JSON values."""

    name: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    result: Any = None
    error: str | None = None
    """The error that the script received, as `Type: message`."""
    duration_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class ScriptRun:
    """Outcome of a script run."""

    value: Any
    """The result as converted by `to_output`, or None if there is an error."""
    printed: str
    host_calls: tuple[HostCall, ...]
    error: ScriptError | None
    duration_ms: int


_TOP_LEVEL_RETURN = "`return` statement outside of a function"


def one_line(text: str) -> str:
    """Join the lines of `text`, and truncate the result to 300 characters with `…`."""
    return clip_words(" ".join(text.split()), _LINE_LIMIT)


def from_monty_error(error: MontyError, label: str, *, shift: int = 0) -> ScriptError:
    """Convert a Monty error to a ScriptError. `shift` is subtracted from its line number."""
    # messages must be the same in every run, so remove measured values
    text = _MEASURED.sub(r"\1more than ", str(error))
    return script_error_at(label, _kind(error), text, _line(error, shift))


def script_error_at(label: str, kind: str, message: str, line: int | None) -> ScriptError:
    """Return a ScriptError whose message starts with `FILE.pym:LINE: `."""
    place = label if line is None else f"{label}:{line}"
    return ScriptError(f"{place}: {one_line(message)}", kind=kind, line=line)


def replay_mismatch(label: str, message: str, line: int | None) -> ReplayMismatch:
    """Return a ReplayMismatch for a script that deviates from its recording."""
    error = script_error_at(label, "contract", message, line)
    return ReplayMismatch(error.message, kind=error.kind, line=line)


def _kind(error: MontyError) -> str:
    text = str(error)
    if isinstance(error, MontyCrashedError):
        return "limit" if error.timed_out else "crashed"
    if isinstance(error, MontySyntaxError) or text.startswith(_UNSUPPORTED):
        return "syntax"
    if isinstance(error, MontyTypingError):
        return "typing"
    if isinstance(error, MontyConversionError):
        return "contract"
    return "limit" if _EXHAUSTED.match(text) else "runtime"


def _line(error: MontyError, shift: int) -> int | None:
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return None
    frames = error.traceback()
    return max(1, frames[-1].line - shift) if frames else None


def from_typing_error(error: MontyTypingError, label: str) -> list[ScriptError]:
    """Return the type checker's errors, sorted by line.

    Warnings are left out, and so is `return` outside of a function, which ends a script early.
    """
    found = [
        item
        for item in json.loads(error.display())
        if item["severity"] == "error" and item["message"] != _TOP_LEVEL_RETURN
    ]
    return [
        script_error_at(
            label,
            "syntax" if item["code"] == "invalid-syntax" else "typing",
            f"{item['message']} ({item['code']})",
            max(1, item["location"]["row"] - 1),
        )
        for item in sorted(found, key=lambda item: int(item["location"]["row"]))
    ]
