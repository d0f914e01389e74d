"""A call of the tested function as source code, and the test case that its result makes of it."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from remora.python_text import literal, parse

_LONGEST = 300
_LONGEST_TEXT = 70
_MOST_SETUP_LINES = 12
"""Limits of a readable case: characters of a text, and lines before the calls."""
_DIGITS = 6
"""Decimal places from which the last digits of a float can differ between machines."""
_ENVIRONMENT_ERRORS = frozenset(
    {"NotImplementedError", "RecursionError", "MemoryError", "OverflowError", "TimeoutError"}
)
_BROAD_ERRORS = frozenset({"Exception", "BaseException"})


Source = Literal["docstring", "documentation", "call", "test"]
SOURCES: tuple[Source, ...] = get_args(Source)
"""Sources of arguments. Those that a reader recognizes as examples come first."""


class CallInput(msgspec.Struct, frozen=True, kw_only=True):
    """A call of the tested function, with the statements and imports that it needs."""

    call: str
    """The call, as source code."""
    shown: str = ""
    """The result that an example shows, as source code."""
    setup: tuple[str, ...] = ()
    """The statements before the call."""
    imports: tuple[str, ...] = ()
    """The import statements."""
    source: Source = "call"
    """Where the call is from."""


class Case(CallInput, frozen=True, kw_only=True):
    """A call and its result, which is a literal `value` or the exception that it `raises`."""

    value: str = ""
    """The result, as source code."""
    raises: str = ""
    """The name of the exception."""
    listed: bool = False
    """True if the call returns an iterator, whose items `value` lists."""
    lines: tuple[int, ...] = ()
    """The lines that the call executes."""

    @property
    def is_as_shown(self) -> bool:
        """True if the result is the one that the example shows."""
        shown = canonical_literal(self.shown)
        return shown is not None and shown == self.value


def case_of(
    given: CallInput,
    seen: Sequence[Mapping[str, Any] | None],
    is_raised: Callable[[str, int], bool],
    private: str,
) -> Case | None:
    """Return the test case for a call, or None if its result is not stable or cannot be asserted.

    `seen` contains the results of repeated runs. `is_raised(path, line)` returns True if the
    project has a `raise` statement on that line. `private` is a local path that must not appear in
    the result.
    """
    first = seen[0]
    if first is None or any(_comparable(result) != _comparable(first) for result in seen):
        return None
    lines = tuple(number for number in first.get("lines", ()) if isinstance(number, int))
    case = Case(**{name: getattr(given, name) for name in CallInput.__struct_fields__}, lines=lines)
    claims = [(str(left), str(text)) for left, text in first.get("claims") or ()]
    match first.get("how"), claims:
        case "value", [("{}" | "list({})" as left, text)]:
            value = canonical_literal(text) if len(text) <= _LONGEST else None
            if value is not None and private not in value:
                return msgspec.structs.replace(case, value=value, listed=left != "{}")
        case "raised", _ if is_raised(str(first.get("path")), first.get("line") or 0):
            name = str(first.get("type"))
            if name.isidentifier() and name not in _ENVIRONMENT_ERRORS:
                return msgspec.structs.replace(
                    case, raises=name, listed=first.get("listed") is True
                )
    return None


def case_problem(case: Case) -> str:
    """Return why the result of a call should not be asserted, or an empty string."""
    if any(map(_has_odd_floats, (case.value, case.call))):
        return "its result has floats that cannot be compared exactly"
    if case.raises in _BROAD_ERRORS:
        return "it raises an exception of no specific class"
    return "its call or result is too long to read" if _is_too_long(case) else ""


def _has_odd_floats(text: str) -> bool:
    """Return True for negative zeros, and for floats with many decimal places."""
    parts = [node.value for node in ast.walk(parse(text)) if isinstance(node, ast.Constant)]
    floats = [repr(part) for part in parts if isinstance(part, float) and math.isfinite(part)]
    return "-0.0" in text or any(len(part.partition(".")[2]) > _DIGITS for part in floats)


def _is_too_long(case: Case) -> bool:
    """Return True for a long preparation, and for a text that no formatter splits."""
    parts = [part for code in (case.call, *case.setup) for part in ast.walk(parse(code))]
    texts = [ast.unparse(part) for part in parts if isinstance(part, ast.Constant)]
    lines = sum(len(statement.splitlines()) for statement in case.setup)
    return lines > _MOST_SETUP_LINES or any(len(text) > _LONGEST_TEXT for text in texts)


def _comparable(result: Mapping[str, Any] | None) -> Any:
    """Return the part of a result that must be equal in repeated runs."""
    if result is None or result.get("how") not in ("value", "raised"):
        return object()
    if result["how"] == "value":
        return "value", result.get("claims")
    return "raised", result.get("type"), result.get("module")


def canonical_literal(text: str) -> str | None:
    """Return a literal in canonical form.

    Return None if `text` is not a literal, or if its value, like NaN, is not equal to itself.
    """
    try:
        value = literal(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    written = _literal_source(value)
    try:
        return written if literal(written) == value else None
    except (ValueError, SyntaxError):
        return None


def _literal_source(value: Any) -> str:
    if isinstance(value, set) and value:
        return "{" + ", ".join(sorted(map(_literal_source, value))) + "}"
    if isinstance(value, dict):
        items = (f"{_literal_source(k)}: {_literal_source(v)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal_source, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal_source, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def is_call_of(name: str, call: ast.expr) -> bool:
    """Return True for `f(x)` and `a.f(x)`, and False for a call around them, as in `str(f(x))`."""
    function = call.func if isinstance(call, ast.Call) else None
    return name in (getattr(function, "id", ""), getattr(function, "attr", ""))
