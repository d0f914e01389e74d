"""Text: safe single lines, escaped surrogates, counted nouns, clipped strings."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

REPORT = "please report it"
BYTES_PER_TOKEN = 3
"""Bytes of code for which a token is counted: models' tokenizers need more bytes for each."""
_MISSPELLED, _LEAST = 0.75, 3
"""From which likeness on a name is a known one (decision: `toll` is `tool`), and from how many
letters on a name that begins or ends with it (decision)."""
_MOST_NEAR = 2000
"""Names with the closest last parts, which are compared as a whole (decision: they take 0.2 s)."""
_MAX_MESSAGE = 200
_UNITS = ("bytes", "KB", "MB", "GB")
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
HIDDEN = re.compile(f"[{_HIDDEN}]")
"""Control, bidirectional and invisible characters, except tab and newline.

`web/static/share.js` has the same pattern.
"""
_BETWEEN = re.compile(r"[.:/]")
_ENDING = re.compile(r":__module__$|\.pyi?$")
_LAST_WORD = re.compile(r"[^\s\"'`,;()<>\[\]{}]+\Z")
_HIDDEN_OR_NEWLINE = re.compile(f"[\n{_HIDDEN}]")


def escape_line(text: str) -> str:
    """Return `text` as a single line, with control, bidirectional and invisible characters
    escaped.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_NEWLINE.sub(lambda match: escape_character(match[0]), text)


def escape_hidden(text: str) -> str:
    """Return `text` as `escape_line` does, but with its tabs and newlines."""
    return HIDDEN.sub(lambda match: escape_character(match[0]), text)


def escape_character(character: str) -> str:
    r"""Return a character as an escape, such as `\x1b` or `\u200b`."""
    code = ord(character)
    letter, digits = ("x", 2) if code < 0x100 else ("u", 4) if code < 0x10000 else ("U", 8)
    return f"\\{letter}{code:0{digits}x}"


def escape_surrogates(text: str) -> str:
    r"""Return `text` with each lone surrogate replaced by the six characters `\udXXX`.

    Lone surrogates occur in file names that are not valid UTF-8.
    """
    if text.isascii():
        return str.__str__(text)  # for a subclass, only its text
    return text.encode("utf-8", "backslashreplace").decode()


def is_utf8(text: str) -> bool:
    """Return True if the text can be encoded as UTF-8: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clip(text: str, limit: int) -> str:
    """Return `text`, truncated and ending with `…` if it exceeds `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clip_words(text: str, limit: int) -> str:
    """Return `text` as `clip` does, but without the start of a last word that is cut.

    What is cut before it is redacted must not end with the start of a secret, which no rule knows.
    A word of more than half the limit is cut: so much of a secret is known.
    """
    if len(text) <= limit:
        return text
    whole = _LAST_WORD.sub("", text[: limit - 1])
    return f"{whole}…" if len(whole) >= limit // 2 else clip(text, limit)


def plural(noun: str, number: int) -> str:
    """Return the noun, with an `s` unless `number` is 1."""
    return noun if number == 1 else f"{noun}s"


def too_large(size: int, limit: int) -> str:
    """Return the reason why a file is not read, such as `2.5 MiB, larger than 1 MiB`."""
    if limit < 1024**2:
        return f"{size:,} bytes, larger than {limit:,} bytes"
    return f"{size / 1024**2:,.1f} MiB, larger than {limit / 1024**2:g} MiB"


def count(number: int, noun: str, plural_noun: str = "") -> str:
    """Return a number with its noun, e.g. `1 file`, `2 files` or `1,234 files`."""
    return f"{number:,} {plural_noun if plural_noun and number != 1 else plural(noun, number)}"


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names and the number of the others, such as `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def fill_in_turn(
    lists: Mapping[str, list[Any]], waiting: Mapping[str, Sequence[Any]], fits: Callable[[], bool]
) -> dict[str, int]:
    """Move items to the lists of the same names, one of each in turn, while they fit.

    Return the numbers of items that did not fit, by name.
    """
    queues = {name: deque(items) for name, items in waiting.items()}
    left: dict[str, int] = {}
    while any(queues.values()):
        for name, queue in queues.items():
            if queue:
                lists[name].append(queue.popleft())
                if not fits():
                    lists[name].pop()
                    left[name] = len(queue) + 1
                    queue.clear()
    return left


def did_you_mean(word: str, known: Iterable[str], *, strict: bool = False) -> str:
    """Return ` (did you mean 'x'?)` with the nearest of `known`, or nothing if none is near."""
    near = nearest(word, known, 1, strict=strict)
    return f" (did you mean {near[0]!r}?)" if near else ""


def nearest(word: str, known: Iterable[str], most: int = 3, *, strict: bool = False) -> list[str]:
    """Return some known names that are close to a word, best match first.

    Names are close if their last parts are, such as `total` of `cart.py:Cart.total`, or, unless it
    is `strict`, if the last part begins or ends with that of the word.
    """
    from difflib import SequenceMatcher  # imported when something is wrong, as it is slow

    end = _last_part(word)
    last, ends = SequenceMatcher(b=end), defaultdict[str, list[str]](list)
    for name in set(known):
        ends[_last_part(name)].append(name)
    near: list[tuple[float, str]] = []
    for part, names in ends.items():
        last.set_seq1(part)
        is_cut = len(end) >= _LEAST and (part.startswith(end) or part.endswith(end))
        ratios = last.real_quick_ratio, last.quick_ratio, last.ratio  # slower ones last
        if (is_cut and not strict) or all(ratio() >= _MISSPELLED for ratio in ratios):
            near += [(-2 * last.ratio(), name) for name in names]
    ranked = sorted(
        (rank - SequenceMatcher(None, name.casefold(), word.casefold()).ratio(), name)
        for rank, name in sorted(near)[:_MOST_NEAR]
    )
    return [name for _, name in ranked[:most]]


def _last_part(name: str) -> str:
    return _BETWEEN.split(_ENDING.sub("", name.casefold()))[-1]


def exception_summary(error: BaseException) -> str:
    """Return an exception's type, message and position, such as `OSError: disk full
    (files.py:47)`.
    """
    import traceback
    from pathlib import PurePath

    summary = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE].rstrip(": ")
    where = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{summary} ({PurePath(where[0].filename).name}:{where[0].lineno})" if where else summary


def bug_report_line(error: BaseException) -> str:
    """Return a line that tells the user that the error is a bug in Remora and not caused by their
    input.
    """
    return f"a fault in Remora: {exception_summary(error)}"


def as_texts(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the given strings as a tuple. A single string becomes a tuple with one item."""
    return (given,) if isinstance(given, str) else tuple(given)


def age_text(timestamp: str, now: datetime) -> str:
    """Return the time since a timestamp, such as `40 s`, `3 min`, `5 h` or `2 days`.

    It is empty if the text cannot be read: an untrusted record may contain anything.
    """
    try:
        seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    except (ValueError, TypeError):
        return ""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{max(0, seconds)} s"


def size_text(number: int) -> str:
    """Return a size with a unit, such as `812 bytes`, `1.4 KB` or `23 MB`. 1 KB is 1,024 bytes."""
    size, unit = float(number), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    shown = f"{size:.1f}" if unit and size < 10 else f"{size:,.0f}"
    return f"{shown} {_UNITS[unit]}"
