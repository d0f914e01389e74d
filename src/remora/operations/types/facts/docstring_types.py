"""Types of parameters and results that docstrings name."""

import re

from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import canonical, union

_FIELD_TYPE = re.compile(r"^\s*[:@](?:type|kwtype)\s+\*{0,2}(\w+):\s*(.+)$", re.MULTILINE)
_FIELD = re.compile(
    r"^\s*:(?:param|parameter|arg|argument|key|keyword)\s+([^:]+?)\s+\*{0,2}(\w+)\s*:", re.MULTILINE
)
_RESULT = re.compile(r"^\s*[:@]rtype:\s*(.+)$", re.MULTILINE)
_GOOGLE = re.compile(r"^\s+\*{0,2}(\w+)\s*\(([^()]+(?:\([^()]*\))?[^()]*)\)\s*:", re.MULTILINE)
_NUMPY = re.compile(r"^\s*(\w+) : (.+)$", re.MULTILINE)
_GOOGLE_RESULT = re.compile(r"^\s*Returns?:\s*\n\s+([\w\[\], .|]+?):\s", re.MULTILINE)
_WORDS = {
    "string": "str",
    "integer": "int",
    "boolean": "bool",
    "unicode": "str",
    "callable": "Callable",
    "function": "Callable",
    "none": "None",
    "text": "str",
    "true": "bool",
    "false": "bool",
}
_NOISE = re.compile(
    r"(?:,\s*)?\b(?:optional|required|default\b.*|keyword.?only)\s*$", re.IGNORECASE
)
_ROLE = re.compile(r":(?:py:)?\w+:`~?\.?([\w.]+)`")
_PROSE = re.compile(r"^[\w.\[\], |]+$")


def docstring_types(docstring: str) -> dict[str, str]:
    """Return the canonical types that a docstring names, keyed by parameter, or `return`.

    Texts that are not types are left out. A generic type may have no arguments.
    """
    pairs = [(each[2], each[1]) for each in _FIELD.finditer(docstring)]
    for pattern in (_FIELD_TYPE, _GOOGLE, _NUMPY):
        pairs += [(each[1], each[2]) for each in pattern.finditer(docstring)]
    for pattern in (_RESULT, _GOOGLE_RESULT):
        pairs += [(RETURN, each[1]) for each in pattern.finditer(docstring)]
    found: dict[str, str] = {}
    for name, text in pairs:
        term = type_of(text)
        if term:
            found.setdefault(name, term)
    return found


def type_of(text: str) -> str:
    """Return the canonical form of a type in prose, or an empty string."""
    plain = _ROLE.sub(r"\1", text).strip().strip(".").replace("`", "")
    plain = _NOISE.sub("", plain).strip().rstrip(",")
    parts = [_part(part) for part in re.split(r"\s+or\s+|\s*\|\s*|\s*/\s*", plain)]
    return union(parts) if all(parts) else ""


def _part(text: str) -> str:
    words = re.sub(r"[A-Za-z_]\w*", lambda match: _WORDS.get(match[0].lower(), match[0]), text)
    words = re.sub(r"\biterable\b", "Iterable", re.sub(r"\bsequence\b", "Sequence", words))
    return canonical(words) if _PROSE.match(words) else ""
