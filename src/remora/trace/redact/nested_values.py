"""Redaction of nested values of any depth."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from remora.trace.redact.rule import ENDING, NAME

_T = TypeVar("_T")
_Children = list[tuple[Any, str]]
_NUMBERS = (int, float, type(None))
_LEAVES = (str, bytes, bytearray, *_NUMBERS)
_ITEM = object()
"""Stands for the field where an item is a text itself."""
_SECRET_NAME = re.compile(rf"(?is).*{NAME}{ENDING}|-*pass")
_HEADER = re.compile(r"(?i)(?:proxy-)?authorization|(?:set-)?cookie")


class TextRedactor(Protocol):
    """Redacts individual strings and bytes."""

    def text(self, text: str, under: str = "") -> str:
        """Return `text` with secrets redacted. Return the same object if there are none.

        `under` is the name of the field that contains the text.
        """

    def data(self, data: bytes, under: str = "") -> bytes:
        """Return `data` with secrets redacted.

        `under` is the name of the field that contains the data.
        """

    def lines(self, texts: Sequence[str]) -> Sequence[str]:
        """Return `texts` with secrets redacted that continue from one text to the next.

        Return the same object if there are none.
        """

    def may_contain_secret(self, text: str) -> bool:
        """Return False only if no part of `text` can be a secret."""


def redact_nested(value: _T, cleaner: TextRedactor) -> _T:
    """Redact `value` at any depth, without recursion. Return the same object if it contains no
    secrets.
    """
    if not _may_contain_secret(value, cleaner):
        return value
    return cast("_T", _rebuild(value, cleaner))


def _may_contain_secret(value: Any, cleaner: TextRedactor) -> bool:
    """Return False only if there is nothing to redact.

    All plain strings are checked at once, for speed.
    """
    waiting: _Children = [(value, "")]
    plain: list[str] = []
    seen: set[tuple[int, str]] = set()  # records have many values twice
    while waiting:
        item, under = waiting.pop()
        if isinstance(item, str) and not under:
            plain.append(item)
            continue
        if isinstance(item, _NUMBERS) or (once := (id(item), under)) in seen:
            continue
        seen.add(once)
        if (children := _children(item, under)) is not None:
            waiting += children
        elif _leaf(item, under, cleaner) is not item:
            return True
    return cleaner.may_contain_secret("\n".join(["", *plain, ""][::-1]))


class _Frame(NamedTuple):
    """A container whose children are being redacted."""

    value: Any
    left: _Children
    done: list[Any]
    once: tuple[int, str] = (0, "")


def _rebuild(value: Any, cleaner: TextRedactor) -> Any:
    root = _Frame(None, [(value, "")], [])
    frames, known = [root], dict[tuple[int, str], Any]()
    while frames:
        value, remaining, done, once = frames[-1]
        if not remaining:
            frames.pop()
            if frames:
                parts = _redact_lines(done, cleaner) if isinstance(value, list | tuple) else done
                known[once] = _copy_with(value, parts)
                frames[-1].done.append(known[once])
            continue
        item, under = remaining.pop()
        if (once := (id(item), under)) in known:
            done.append(known[once])
        elif (children := _children(item, under)) is None:
            done.append(_leaf(item, under, cleaner))
        else:
            frames.append(_Frame(item, children[::-1], [], once))
    return root.done[0]


def _redact_lines(parts: Sequence[Any], cleaner: TextRedactor) -> Sequence[Any]:
    """Redact a text that was split into the items of a list, or into a field of its dicts."""
    columns: dict[Any, dict[int, str]] = {}
    for number, part in enumerate(parts):
        for field, text in part.items() if isinstance(part, dict) else [(_ITEM, part)]:
            if isinstance(text, str):
                columns.setdefault(field, {})[number] = text
    for field, column in columns.items():
        texts = list(column.values())
        if len(texts) < 2 or (lines := cleaner.lines(texts)) is texts:
            continue
        parts = list(parts)
        for number, line in zip(column, lines, strict=True):
            parts[number] = line if field is _ITEM else {**parts[number], field: line}
    return parts


def _leaf(item: Any, under: str, cleaner: TextRedactor) -> Any:
    if isinstance(item, str):
        return cleaner.text(item, under)
    if isinstance(item, bytes | bytearray):
        clean = cleaner.data(bytes(item), under)
        return item if clean == item else type(item)(clean)
    return item


def _children(value: Any, under: str) -> _Children | None:
    """Return the items of a container with their secret names (see `secret_name`), or None if
    `value` is not a container.
    """
    if isinstance(value, _LEAVES):
        return None
    if isinstance(value, dict):
        return [*((key, "") for key in value), *_items(value, under)]
    if isinstance(value, list | tuple):
        return _elements(value, under)
    if isinstance(value, set | frozenset):
        return [(item, under) for item in value]
    if isinstance(value, msgspec.Struct):
        return [
            (getattr(value, name), secret_name(name) or under) for name in value.__struct_fields__
        ]
    return None


def _items(value: dict[Any, Any], under: str) -> _Children:
    """Return the values of a dict, each with its secret name.

    The secret name is the key, or the value of `name` in `{"name": "DB_PASSWORD", "value": ...}`.
    Otherwise, it is the name of the dict.
    """
    name = value.get("name", value.get("key"))
    named = _own_name(name)
    return [
        (item, _own_name(key) or (named if key == "value" else "") or under)
        for key, item in value.items()
    ]


def _own_name(key: Any) -> str:
    return secret_name(key) if isinstance(key, str) else ""


def _elements(value: Sequence[Any], under: str) -> _Children:
    """Return the elements of a list, each with its secret name.

    The secret name is the previous element if that is a flag such as `--password`, or the first
    element of a pair, and indicates a secret. Otherwise, it is the name of the list.
    """
    children = []
    before = ""
    for item in value:
        children.append((item, before or under))
        word = isinstance(item, str) and (len(value) == 2 or item.startswith("-"))
        before = secret_name(item) if word else ""
    return children


def _copy_with(value: Any, parts: Sequence[Any]) -> Any:
    """Return a copy of a container with the given items, or `value` itself if no item has
    changed.
    """
    if isinstance(value, dict):
        keys, items = parts[: len(value)], parts[len(value) :]
        old = chain(value.keys(), value.values())
        same = all(new is was for new, was in zip(parts, old, strict=True))
        return value if same else dict(zip(keys, items, strict=True))
    if isinstance(value, msgspec.Struct):
        fields = value.__struct_fields__
        new = {n: p for n, p in zip(fields, parts, strict=True) if p is not getattr(value, n)}
        return msgspec.structs.replace(value, **new) if new else value
    if all(new is was for new, was in zip(parts, value, strict=True)):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*parts)
    return next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))(parts)


@lru_cache(maxsize=1024)
def secret_name(name: str) -> str:
    """Return `name` if its value is or may contain a secret. Otherwise return an empty string."""
    return name if _SECRET_NAME.fullmatch(name[-80:]) or _HEADER.fullmatch(name) else ""


def is_header(name: str) -> bool:
    """Return True if `name` is an HTTP header that contains credentials."""
    return _HEADER.fullmatch(name) is not None
