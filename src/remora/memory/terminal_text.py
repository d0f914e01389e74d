"""Texts of programs as a terminal shows them: without colors, each line in its last state."""

import re

_ESCAPE = "[\x1b\x90\x98\x9b-\x9f]"
_CSI = "(?:\x1b\\[|\x9b(?=[0-9]))"  # 8-bit forms without a number are UTF-8 read as Latin-1
_PIECE = re.compile(
    _CSI + "(?:([0-9]{0,4})([A-G])|0?(K))"  # moves, or clears the rest of a line
    "|\x1b[]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # titles, links
    f"|{_CSI}[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|{_ESCAPE}|([\n\r\b])"
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
    rows: list[list[str]] = [[]]
    at, column, is_over = 0, 0, False
    for number, move, clear, control, plain in _PIECE.findall(text):
        row, steps, written = rows[at], int(number or 1), plain
        if move == "C" or (move == "G" and steps > 1):
            column, is_over, written = len(row), False, " "
        if written.strip() or (written and not is_over):
            row[column : None if is_over else column + len(written)] = written
            column, is_over = column + len(written), False
        elif control == "\b" or move == "D":
            column = max(column - steps, 0)
        elif clear:
            del row[column or len(row) :]
            is_over = bool(row) and not column
        elif control or move:
            at = max(at + _ROWS.get(control or move, 0) * steps, 0)
            rows += [[]] * (control == "\n" and at == len(rows))
            at = min(at, len(rows) - 1)
            column, is_over = 0, bool(rows[at])
    return "\n".join(map("".join, rows))
