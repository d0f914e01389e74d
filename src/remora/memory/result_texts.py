"""The texts in a tool result, each with its path."""

import json
import re
from collections.abc import Iterator
from typing import Any

from remora.memory.canonical import canonical, to_packet_value

SCANNED = 20_000
"""Maximum characters of a text that are searched for identifiers."""
_DATA_KEY = re.compile(r"[^A-Za-z_]")
"""Characters of a key that is an identifier, a date or a name, and not the name of a field."""
_WORD = re.compile(r"(?:\$\{\w+\}|[^\s\"'`()\[\]{}<>,;|])+")
_MARKS = frozenset("0123456789@_")


def result_texts(result: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each leaf of a packet value, in order, without list indices.

    JSON in a text is read, too. `_summary` and keys that begin with `$` are not data.
    """
    stack: list[tuple[str, Any]] = [("", result)]
    while stack:
        path, item = stack.pop()
        item = read_json(item)
        if isinstance(item, dict):
            stack.extend(reversed([*_members(path, item)]))
        elif isinstance(item, list):
            stack.extend((path, v) for v in reversed(item))
        elif item is not None:
            yield path, item if isinstance(item, str) else leaf_text(item)


def read_json(value: Any) -> Any:
    """Return the list or mapping that a text contains as JSON, or any other value unchanged."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return to_packet_value(json.loads(value))
    except (ValueError, RecursionError):
        return value


def leaf_text(leaf: Any) -> str:
    """Return a text with its white space folded, or any other leaf as JSON."""
    return " ".join(leaf.split()) if isinstance(leaf, str) else canonical(leaf).decode()


def identifiers(text: str) -> list[str]:
    """Return the numbers, mail addresses, URLs and other words with a digit, `@` or `_`.

    What begins a path, a variable or the number of an issue stays: `../a_1.py`, `$HOME_1`, `#12`.
    """
    words = (word.lstrip(":!?*").rstrip(".:!?*#$") for word in _WORD.findall(text[:SCANNED]))
    return [word for word in words if not _MARKS.isdisjoint(word) or "://" in word]


def json_size(text: str) -> int:
    """Return the number of characters of a printable text in canonical JSON, without quotes."""
    return len(text) + text.count('"') + text.count("\\")


def _members(path: str, record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each member of a mapping.

    Of records that a mapping holds under identifiers, the identifiers are values, so that the
    records share their paths.
    """
    record = {k: v for k, v in record.items() if k != "_summary" and not k.startswith("$")}
    alike = len(record) > 1 and _are_alike([*record.values()])
    for key, value in record.items():
        if isinstance(value, dict) and value and (alike or _DATA_KEY.search(key)):
            if key not in value.values():
                yield path, key
            yield path, value
        else:
            yield f"{path}.{key}" if path else key, value


def _are_alike(records: list[Any]) -> bool:
    first = records[0]
    return isinstance(first, dict) and all(
        isinstance(record, dict) and record.keys() == first.keys() for record in records
    )
