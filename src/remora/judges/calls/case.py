"""A test case: a call and what a test asserts about its result."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from remora.judges.calls.call_input import CallInput
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


class Case(CallInput, frozen=True, kw_only=True):
    """A call and its result, which is a literal `value` or the exception that it `raises`.

    If `listed` is true, the call returns an iterator, and `value` is the list of its items.
    """

    value: str = ""
    raises: str = ""
    listed: bool = False
    lines: tuple[int, ...] = ()

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
    if first is None or any(_comparable(each) != _comparable(first) for each in seen):
        return None
    lines = tuple(number for number in first.get("lines", ()) if isinstance(number, int))
    case = Case(**{name: getattr(given, name) for name in CallInput.__struct_fields__}, lines=lines)
    claims = [(str(left), str(text)) for left, text in first.get("claims") or ()]
    match first.get("how"), claims:
        case "value", [("{}" | "list({})" as left, text)]:
            value = canonical_literal(text) if len(text) <= _LONGEST else None
            if value is not None and private not in value:
                return msgspec.structs.replace(case, value=value, listed=left != "{}")
        case "raised", _ if is_raised(str(first.get("path")), _number(first)):
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
    parts = [part for each in (case.call, *case.setup) for part in ast.walk(parse(each))]
    return sum(len(each.splitlines()) for each in case.setup) > _MOST_SETUP_LINES or any(
        len(ast.unparse(one)) > _LONGEST_TEXT for one in parts if isinstance(one, ast.Constant)
    )


def _number(result: Mapping[str, Any]) -> int:
    line = result.get("line")
    return line if isinstance(line, int) else 0


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
