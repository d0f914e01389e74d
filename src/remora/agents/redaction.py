"""Refusal of tool arguments and changed files that contain placeholders for secrets."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from remora.trace.redact.redactor import new_placeholders


def placeholder_in_args(args: Mapping[str, Any], base: bytes | None) -> str | None:
    """Return the reason to refuse a call, or None if the call is allowed.

    A call is refused if its arguments contain a placeholder for a secret that is not in `base`.
    """
    return _refusal(new_placeholders(base, "\n".join(_texts(args))), "the arguments hold")


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, bytes):
            yield item.decode("utf-8", "replace")
        elif isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item


def placeholder_in_files(files: Iterable[tuple[bytes | None, bytes | None]]) -> str | None:
    """Return the reason to refuse a change set, or None if the change set is allowed.

    A change set is refused if it adds a placeholder for a secret to a file. `files` contains the
    content of each file before and after the changes, with None for a file that does not exist.
    """
    found = {
        placeholder
        for before, after in files
        for placeholder in new_placeholders(before, after or b"")
    }
    return _refusal(found, "a changed file holds")


def _refusal(found: set[str], what: str) -> str | None:
    if not found:
        return None
    return f"{what} {min(found)}, a placeholder for a secret that agents may not write"
