"""A test case: a call and what a test asserts about its result."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from remora.code.syntax.source import parse_text
from remora.operations.test.inputs.call_input import CallInput, bound_names, free_names
from remora.python_text import literal

_LONGEST = 300
_ENVIRONMENT_ERRORS = frozenset(
    {"NotImplementedError", "RecursionError", "MemoryError", "OverflowError", "TimeoutError"}
)
_IMPORT = re.compile(r"(from [\w.]+ )?import [\w.]+( as \w+)?")
_SUBJECT = re.compile(r"(list|str)?\(?\{\}\)?(\.\w+)*|\[list\(each\) for each in \{\}\]")
_PLAIN = (
    ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.UAdd,
    ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Load, ast.BinOp, ast.Add, ast.Sub,
)  # fmt: skip
"""Syntax of expected values."""
_TYPES = frozenset(
    {
        "frozenset", "range", "slice", "bytearray", "int", "str", "float", "bool", "bytes", "list", "tuple",
        "set", "dict", "type", "object", "complex",
    }
)  # fmt: skip


class Case(CallInput, frozen=True, kw_only=True):
    """A call and its result, which is a `value` as source code or the exception that it `raises`.

    `origin` is the module of the exception. If `listed` is true, the call returns an iterator, and
    `value` is the list of its items, or reading the items raises the exception. If the result
    itself cannot be written as source code, `claims` contains pairs of an expression and its value
    instead. `{}` in an expression is the result.
    """

    value: str = ""
    raises: str = ""
    origin: str = ""
    listed: bool = False
    claims: tuple[tuple[str, str], ...] = ()
    lines: tuple[int, ...] = ()

    @property
    def values(self) -> list[str]:
        """Return the asserted values as source code."""
        return [self.value] if self.value else [text for _, text in self.claims]


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
    fields = {name: getattr(given, name) for name in CallInput.__struct_fields__}
    lines = tuple(number for number in first.get("lines", ()) if isinstance(number, int))
    if first.get("how") == "value":
        imports = tuple(map(str, first.get("imports") or ()))
        claims = [(str(left), str(text)) for left, text in first.get("claims") or ()]
        fields["imports"] = tuple(dict.fromkeys((*given.imports, *imports)))
        case = _with_claims(Case(**fields, lines=lines), claims)
        return case if case and is_valid_case(case) and private not in repr(claims) else None
    if first.get("how") == "raised" and is_raised(str(first.get("path")), _number(first)):
        name, origin = str(first.get("type")), str(first.get("module"))
        if name.isidentifier() and name not in _ENVIRONMENT_ERRORS:
            listed = first.get("listed") is True
            return Case(**fields, lines=lines, raises=name, origin=origin, listed=listed)
    return None


def _with_claims(case: Case, claims: Sequence[tuple[str, str]]) -> Case | None:
    if not claims or sum(len(text) for _, text in claims) > _LONGEST:
        return None
    fields = {name: getattr(case, name) for name in Case.__struct_fields__}
    (left, text), *rest = claims
    if not rest and left in ("{}", "list({})"):
        fields |= {"value": canonical_literal(text) or text, "listed": left != "{}"}
    else:
        fields |= {"claims": tuple((one, canonical_literal(each) or each) for one, each in claims)}
    return Case(**fields)


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


def is_valid_case(case: Case) -> bool:
    """Return True if the case is one expression, and its result is a value or an exception name."""
    call = _parsed(case.call)
    if len(call) != 1 or not isinstance(call[0], ast.Expr):
        return False
    if not isinstance(call[0].value, ast.Call) or any(not _parsed(one) for one in case.setup):
        return False
    if not all(_IMPORT.fullmatch(one) for one in case.imports):
        return False
    if case.raises:
        return case.raises.isidentifier() and not case.value and not case.claims
    names = _TYPES | {name for one in case.imports for name in bound_names(_parsed(one)[0])}
    if case.value:
        return not case.claims and is_plain_value(case.value, names)
    return bool(case.claims) and all(
        _SUBJECT.fullmatch(left) and is_plain_value(text, names) for left, text in case.claims
    )


def is_plain_value(text: str, names: Set[str]) -> bool:
    """Return True for a literal in canonical form, or for a simple call such as `Point(1, 2)`.

    `names` contains the names that the value may contain.
    """
    literal = canonical_literal(text)
    if literal is not None:
        return literal == text
    body = _parsed(text)
    return (
        len(body) == 1
        and isinstance(body[0], ast.Expr)
        and all(isinstance(one, _PLAIN) for one in ast.walk(body[0].value))
        and free_names([body[0]], builtin=True) <= names
    )


def _parsed(text: str) -> list[ast.stmt]:
    tree = parse_text(text)
    return tree.body if isinstance(tree, ast.Module) else []
