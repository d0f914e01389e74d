"""Names as people paste them: a pytest id, a call, a line of a file."""

import re
from typing import NamedTuple

_CALL = re.compile(r"\(.*\)$", re.DOTALL)
_LINE = re.compile(r"(?P<path>.+\.pyi?):(?P<line>[1-9]\d{0,8})(?::\d+)?:?")


class AtLine(NamedTuple):
    """A line of a file, as an error message or an editor names it."""

    path: str
    line: int


def unpasted(name: str) -> str:
    """The name as a key would have it: `a.py::TestX::test_y[1-2]` is `a.py:TestX.test_y`, and a
    trailing call is left out."""
    path, separator, inside = name.partition(".py::")
    if separator:
        return f"{path}.py:{inside.partition('[')[0].replace('::', '.')}"
    return _CALL.sub("", name) or name


def at_line(name: str) -> AtLine | None:
    """The line that `path.py:116` means (a column may follow); None for another name."""
    found = _LINE.fullmatch(name.removeprefix("node:"))
    return None if found is None else AtLine(found["path"], int(found["line"]))
