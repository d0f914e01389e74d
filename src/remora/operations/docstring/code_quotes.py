"""Code quoted in descriptions. It is short, fits on one line and has no private names."""

import ast
import builtins
import re
from collections.abc import Collection

_LONGEST = 56
_PRIVATE = re.compile(r"(?<![A-Za-z0-9_])_\w*[A-Za-z]|\.__\w+")
_UNFIT = re.compile(r"[\\`]|super\(|\"\"\"|'''")
_BUILTIN = frozenset(vars(builtins)) | {"self", "cls"}


def code_text(node: ast.AST | None, names: Collection[str] | None = None) -> str:
    """Return an expression's source in backticks, or an empty string if it is not suitable.

    If `names` is given, the expression may use only these names, builtins and capitalized names.
    """
    if node is None or (names is not None and not _is_known(node, names)):
        return ""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return ""
    text = re.sub(r"\b(?:self|cls)\.", "", text)
    fit = len(text) <= _LONGEST and text.isprintable() and not _UNFIT.search(text)
    return f"`{text}`" if fit and not _PRIVATE.search(text) else ""


def _is_known(node: ast.AST, names: Collection[str]) -> bool:
    inner = list(ast.walk(node))
    bound = {
        each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    called = {id(each.func) for each in inner if isinstance(each, ast.Call)}
    return all(
        each.id in names
        or each.id in _BUILTIN
        or each.id in bound
        or (len(each.id) > 2 and each.id[:1].isupper())
        or id(each) in called
        for each in inner
        if isinstance(each, ast.Name)
    )


def message_text(raised: ast.expr | None, names: Collection[str]) -> str:
    """Return the literal message of a raised exception, with f-string fields in backticks.

    Return an empty string if there is no suitable message.
    """
    first = raised.args[0] if isinstance(raised, ast.Call) and raised.args else None
    text = _literal_text(first, names)
    fit = len(text.split()) > 1 and len(text) <= 120 and text.isprintable()
    return (
        text.strip(" .:")
        if fit and text[:1].isalpha() and not _UNFIT.search(re.sub(r"`[^`]*`", "", text))
        else ""
    )


def _literal_text(value: ast.expr | None, names: Collection[str]) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if not isinstance(value, ast.JoinedStr):
        return ""
    parts = [_part(each, names) for each in value.values]
    return "".join(parts) if all(parts) else ""


def _part(piece: ast.expr, names: Collection[str]) -> str:
    if isinstance(piece, ast.FormattedValue):
        return code_text(piece.value, names)
    return str(piece.value) if isinstance(piece, ast.Constant) else ""
