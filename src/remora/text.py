"""Untrusted text and unexpected exceptions as single, harmless lines."""

import traceback
from pathlib import PurePath

REPORT = "please report it"
_MOST_SAID = 200
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
"""By these a text is shown in another order, or in other lines, than it is read by Python."""
_SPELLED = {
    **{c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if c != ord("\t")},
    **{c: f"\\u{c:04x}" for c in (*_TURNING, *range(0xD800, 0xE000))},
}


def plain(text: str) -> str:
    """One line in which nothing is obeyed, turned around or hidden: such characters are spelled out."""
    return text if text.isascii() and text.isprintable() else text.translate(_SPELLED)


def in_a_line(error: BaseException) -> str:
    """What it is, and where it was raised: `RecursionError: too deep (exports.py:47)`."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_SAID].rstrip(": ")
    where = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{said} ({PurePath(where[0].filename).name}:{where[0].lineno})" if where else said


def fault(error: BaseException) -> str:
    """The same, as it is told to people: it is no fault of theirs."""
    return f"a fault in Remora: {in_a_line(error)}"
