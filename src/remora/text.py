"""Text: safe single lines, escaped surrogates, counted nouns, clipped strings."""

from pathlib import PurePath

REPORT = "please report it"
_MAX_MESSAGE = 200
_BIDI_CONTROLS = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
"""Characters that change the displayed order or lines of a text."""
_ESCAPES = {
    **{c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if c != ord("\t")},
    **{c: f"\\u{c:04x}" for c in (*_BIDI_CONTROLS, *range(0xD800, 0xE000))},
}


def escape_line(text: str) -> str:
    """Return `text` as a single line, with control, bidirectional and invisible characters
    escaped.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


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


def exception_summary(error: BaseException) -> str:
    """Return an exception's type, message and position, such as `OSError: disk full
    (files.py:47)`.
    """
    import traceback

    summary = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE].rstrip(": ")
    where = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{summary} ({PurePath(where[0].filename).name}:{where[0].lineno})" if where else summary


def bug_report_line(error: BaseException) -> str:
    """Return a line that tells the user that the error is a bug in Remora and not caused by their
    input.
    """
    return f"a fault in Remora: {exception_summary(error)}"
