"""Documented default values that differ from the signature."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from remora.code.syntax.definitions import default_values
from remora.code.syntax.docstring_sections import Item
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.python_text import literal

_NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_VALUE = (
    r"(``[^`\n]+``|`[^`\n]+`|\*\*?\w+\*?\*|'[^'\n]*'|\"[^\"\n]*\""
    rf"|{_NUMBER}|True|False|None|\(\)|\[\]|\{{\}})"
)
_END = r"(?=[,;)\]]|\.?\s*$|\.\s|\s*\(|\s-\s)"
_STATED = re.compile(
    rf"\b[Dd]efaults?(?: value)?(?:\s*[:=]\s*|\s+(?:is|to|of|are|=|is set to)?\s*){_VALUE}{_END}"
)
_MARKED = re.compile(rf"{_VALUE} \((?:the )?default\)")
_NOTHING = object()


def default_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield the parameters whose documented default is another literal than in the signature."""
    defaults = _defaults(code)
    for section in code.parsed.sections:
        if section.kind != "parameters":
            continue
        for item in section.items:
            for name in item.names if len(item.names) == 1 else ():
                if name in defaults:
                    yield from _compare(code, item, name, defaults[name])


def _compare(
    code: DocumentedCode, item: Item, name: str, default: ast.expr
) -> Iterator[DriftFinding]:
    value = _literal(ast.unparse(default))
    if value is _NOTHING or value is ... or isinstance(value, bytes):
        return
    if not value and not isinstance(value, bool):
        return  # the body may replace it, as in `x = x or 5`
    stated = _stated(code, item)
    if stated is None:
        return
    line, text = stated
    if _agree(text, value) or text.strip("`*") == name:
        return
    is_on_line = text in code.parsed.lines[line]
    message = f"the default of `{name}` is documented as {text}, but it is {_source(default)}"
    yield DriftFinding(
        code="wrong-default",
        line=line,
        message=message,
        name=name,
        old=text if is_on_line else "",
        new=_spelled(text, default, value) if is_on_line else "",
    )


def _stated(code: DocumentedCode, item: Item) -> tuple[int, str] | None:
    """Return the line and the text of the only default that an entry states, or None."""
    lines = list(enumerate(code.parsed.lines))[item.first : item.last + 1]
    whole = " ".join(line.strip() for _, line in lines)
    for pattern in (_STATED, _MARKED):
        found = pattern.findall(whole)
        if len(found) == 1:
            places = [number for number, line in lines if pattern.search(line)]
            return (places or [item.first])[0], found[0]
        if found:
            return None
    return None


def _agree(text: str, value: Any) -> bool:
    """Return True if a documented default may stand for a value."""
    bare = text.strip("`*").replace("\\\\", "\\")
    if isinstance(value, str) and len(_letters(value)) > 2 and _letters(bare) == _letters(value):
        return True  # such as UTF-8 and utf-8
    stated = _literal(bare)
    if stated is _NOTHING:  # such as the name of a constant
        return not isinstance(value, str) or bare == value or not re.fullmatch(r"[\w.-]+", bare)
    if isinstance(value, str):
        plain = (stated, bare.strip("'\"")) if isinstance(stated, str) else (bare, repr(stated))
        return value.strip() in {each.strip() for each in plain} or (stated is None and not value)
    if isinstance(stated, bool) != isinstance(value, bool):
        return bool(stated) == bool(value) or isinstance(stated, str)
    if isinstance(value, tuple | list | dict | set) or isinstance(stated, tuple | list | dict):
        return not isinstance(stated, int | float)
    return bool(stated == value) or (isinstance(stated, str) and str(value) == stated)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _spelled(text: str, default: ast.expr, value: Any) -> str:
    """Return the value's source, with the markup of the documented value."""
    source = _source(default)
    for mark in ("``", "`", "**", "*"):
        if text.startswith(mark):
            inner = text.strip("`*")
            plain = isinstance(value, str) and inner[:1] not in "'\""
            return f"{mark}{value if plain else source}{mark}"
    if isinstance(value, str) and text[:1] == '"':
        return f'"{value}"'
    return source


def _source(default: ast.expr) -> str:
    """Return the source of a default, with `1e-8` for `1e-08`."""
    source = ast.unparse(default)
    return re.sub(r"e([-+])0+(?=\d)", r"e\1", source) if _is_float(default) else source


def _is_float(default: ast.expr) -> bool:
    return isinstance(default, ast.Constant) and isinstance(default.value, float)


def _literal(text: str) -> Any:
    try:
        return literal(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return _NOTHING


def _defaults(code: DocumentedCode) -> dict[str, ast.expr]:
    if code.signature is None:
        return {}
    return dict(default_values(code.signature.args))
