"""Limits on the size of answers: long lists are cut into pages, and long strings are shortened."""

import json
from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any, NamedTuple

from remora.errors import UsageError
from remora.memory.prompt.control_tokens import KNOWN_TOKENS, neutralize_control_tokens
from remora.models.decoding.call_formats import MARKS
from remora.text import escape_surrogates

MAX_BYTES = 20_000
"""Maximum bytes of an answer; about 6,000 tokens."""
PAGE = 50
"""Default number of list items in an answer."""
MAX_PAGE = 500
_STRING_LIMITS = (2_000, 500, 120)
"""Lengths to which strings are shortened, one after the other, until an answer fits."""


class Page(NamedTuple):
    """An answer."""

    data: str
    """Text of the project."""
    words: str = ""
    """Remora's words, which come before `data`."""
    document: Mapping[str, Any] | None = None
    """The same for programs."""


def answer_text(
    document: Mapping[str, Any],
    command: Sequence[str],
    lists: Sequence[str] = (),
    *,
    limit: int = PAGE,
    offset: int = 0,
) -> str:
    """Return a document as compact JSON of at most MAX_BYTES.

    Of each list named in `lists`, at most `limit` items after the first `offset` are kept, and
    fewer if the answer is too long. What was left out is in `cut`, by the name of the list:
    its `total` and the `next_offset`. Raises UsageError, with the command that prints all, if the
    document cannot be made to fit.
    """
    for size in _sizes(limit):
        text = _compact(_page(document, lists, size, offset))
        if _fits(text):
            return text
    for length in _STRING_LIMITS:
        text = _compact(_shortened(_page(document, lists, 1, offset), length))
        if _fits(text):
            return text
    raise UsageError(
        f"the answer is longer than {MAX_BYTES:,} bytes", hint=f"`{join(command)}` prints it"
    )


def neutral(text: str) -> str:
    """Return a text without control tokens, marks of calls and lone surrogates."""
    return neutralize_control_tokens(escape_surrogates(text), (*KNOWN_TOKENS, *MARKS))


def _sizes(limit: int) -> Sequence[int]:
    sizes = [limit]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] // 2)
    return sizes


def _page(
    document: Mapping[str, Any], lists: Sequence[str], size: int, offset: int
) -> dict[str, Any]:
    page, cut = dict(document), {}
    for name in lists:
        items = document.get(name)
        if items is None:
            continue
        kept = list(items[offset : offset + size])
        page[name] = kept
        end = offset + len(kept)
        if end < len(items):
            cut[name] = {"total": len(items), "next_offset": end}
    return {**page, "cut": cut} if cut else page


def _shortened(value: Any, length: int) -> Any:
    if isinstance(value, str) and len(value) > length:
        return f"{value[:length]}… ({len(value) - length:,} more characters)"
    if isinstance(value, Mapping):
        return {key: _shortened(member, length) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, length) for item in value]
    return value


def _compact(document: Mapping[str, Any]) -> str:
    return neutral(json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=list))


def _fits(text: str) -> bool:
    return len(text.encode()) <= MAX_BYTES
