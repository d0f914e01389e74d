"""Facts of a long text: how a traceback ends, the errors of a log, or the size of a file.

A test run prints 120 lines. Its identifiers would fill the packet, and none of them says why it
failed. `ValueError: row 17 has no price` and `shop/cart.py:31 in total` do.
"""

import re

from remora.text import clip

LONG_TEXT = 20
"""Lines up to which a text without a traceback is short."""
MAX_ERRORS = 5
LINE_LIMIT = 200
"""Maximum characters of an error, and of a line of a log."""
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in (.+)$', re.MULTILINE)
_FOREIGN = re.compile(r"site-packages|dist-packages|/lib/python3|^<")
_ERROR = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL|FAILED)\b|\b(?:error|fatal|\w*(?:Error|Exception)): "
)


def text_facts(text: str) -> list[str]:
    """Return the facts of a traceback or of a text of many lines, or none for any other text."""
    if _TRACEBACK in text:
        return _traceback_facts(text.rpartition(_TRACEBACK)[2])
    lines = text.splitlines()
    if len(lines) <= LONG_TEXT:
        return []
    errors = [" ".join(line.split()) for line in lines if _ERROR.search(line)]
    if not errors:
        return [f"{len(lines)} lines", f"{len(text)} characters"]
    shown = [clip(line, LINE_LIMIT) for line in dict.fromkeys(errors)]
    return [*shown[:MAX_ERRORS], f"{len(errors)} of {len(lines)} lines are errors"]


def _traceback_facts(text: str) -> list[str]:
    """Return the error, and the innermost frame that is not in a library."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(" "))
    frames = _FRAME.findall(text)
    own = [frame for frame in frames if not _FOREIGN.search(frame[0])] or frames
    places = [f"{path}:{line} in {function}" for path, line, function in own[-1:]]
    return [clip(line, LINE_LIMIT) for line in [*lines][:1]] + places
