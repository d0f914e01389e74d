"""Docstring literals, with their prefix, quotes and the source between the quotes."""

import io
import re
import tokenize
from collections.abc import Sequence

import msgspec

from remora.python_text import literal

_SHAPE = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)


class DocstringLiteral(msgspec.Struct, frozen=True):
    r"""A docstring literal. `inner` is the source between the quotes, with `\n` as line ending."""

    prefix: str
    quotes: str
    inner: str


def read_literal(source: str, value: str) -> DocstringLiteral | None:
    """Parse a docstring literal.

    Return None if the lines of its source do not match the lines of its value.
    """
    tokens = []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({source})").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    shape = _SHAPE.fullmatch(source)
    if sum(token.type == tokenize.STRING for token in tokens) != 1 or shape is None:
        return None
    found = DocstringLiteral(shape[1], shape[2], shape[3])
    plain = "\\" not in found.inner or "r" in found.prefix.lower()
    if plain:
        return found if found.inner == value else None
    return found if _lines_match(found, value) else None


def _lines_match(found: DocstringLiteral, value: str) -> bool:
    lines = found.inner.split("\n")
    if len(found.quotes) == 1 or len(lines) != value.count("\n") + 1:
        return False
    try:
        read = [literal(f"{found.quotes}{line} {found.quotes}")[:-1] for line in lines]
    except (SyntaxError, ValueError):
        return False
    return read == value.split("\n")


def new_literal(lines: Sequence[str], quotes: str, indent: str, *, below: bool) -> list[str]:
    """Return the source lines of a new docstring. The first line is not indented.

    The literal is raw if a line contains a backslash. If `below` is true, multi-line text starts on
    the line below the opening quotes.
    """
    prefix = "r" if any("\\" in line for line in lines) else ""
    if len(lines) == 1:
        return [f"{prefix}{quotes}{lines[0]}{quotes}"]
    first = [prefix + quotes, indent + lines[0]] if below else [prefix + quotes + lines[0]]
    return [*first, *lines[1:], indent + quotes]


def updated_literal(found: DocstringLiteral, inner: Sequence[str]) -> str:
    quotes = found.quotes if len(found.quotes) == 3 or len(inner) == 1 else found.quotes * 3
    text = "\n".join(inner)
    return f"{found.prefix}{quotes}{text}{quotes}"


def escape_text(text: str, found: DocstringLiteral) -> str:
    """Escape the text for use in an existing literal."""
    return text if "r" in found.prefix.lower() else text.replace("\\", "\\\\")
