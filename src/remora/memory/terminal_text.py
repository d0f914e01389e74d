"""Texts of programs as a terminal shows them: without colors, each line in its last state."""

import re

_ESCAPE = "[\x1b\x90\x98\x9b-\x9f]"
_PIECE = re.compile(
    "(?:\x1b\\[|\x9b)([0-9]{0,4})([ABEFG])"  # moves to another line, or to the first column
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # titles, links
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|" + _ESCAPE + "|([\n\r\b])"
    "|([^\n\r\b\x1b\x90\x98\x9b-\x9f]+)"
)
_WRITES_OVER = re.compile(f"[\b\r]|{_ESCAPE}")
HAS_ESCAPE = re.compile(_ESCAPE)
_ROWS = {"\n": 1, "A": -1, "F": -1, "B": 1, "E": 1}


def shown_text(text: str) -> str:
    """Return what a terminal shows of `text`, without escape sequences.

    A line that is written over has its last state, unless that is blank: `1%`, a carriage return
    and `99%` is `99%`.
    """
    if _WRITES_OVER.search(text) is None:
        return text
    rows, at, is_over = [""], 0, False
    for number, move, control, plain in _PIECE.findall(text):
        if plain:
            if plain.strip() or not is_over:
                rows[at] = plain if is_over else rows[at] + plain
                is_over = False
        elif control == "\b":
            rows[at] = rows[at][:-1]
        elif control or move:
            at = max(at + _ROWS.get(control or move, 0) * int(number or 1), 0)
            rows += [""] * (control == "\n" and at == len(rows))
            at = min(at, len(rows) - 1)
            is_over = bool(rows[at])
    return "\n".join(rows)
