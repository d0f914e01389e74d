"""Line lengths that a project passes to its tools in commands."""

import re
from functools import lru_cache

from remora.tools.tree import ToolTree

_FILES = ("tox.ini", "Makefile", "makefile", "noxfile.py", "setup.cfg", "pyproject.toml")
_WORKFLOWS = ".github/workflows/*.y*ml"
_OPTION = re.compile(r"(?<![\w-])(?:--line-length|--max-line-length|-l)[= \"',]*(\d+)")
_JOINED = re.compile(r"\\\r?\n")
_REPORTS_ONLY = "--exit-zero"


def option_width(arguments: str) -> int | None:
    """Return the line length in the arguments of Black or flake8, or None."""
    found = _OPTION.search(arguments)
    return None if found is None else int(found[1])


def command_width(place: ToolTree, tool: str) -> int | None:
    """Return the line length that a command of the project passes to Black or flake8, or None.

    Commands that never fail do not count: a generated workflow of GitHub contains one.
    """
    used = _tool(tool)
    for path in (*_FILES, *place.files.glob(_WORKFLOWS, look=place.left)):
        for line in _JOINED.sub(" ", place.text_or_empty(path)).splitlines():
            command = used.search(line)
            if command is None or _REPORTS_ONLY in line or line.lstrip().startswith("#"):
                continue
            width = option_width(line[command.end() :])
            if width is not None:
                return width
    return None


@lru_cache(maxsize=8)
def _tool(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./-]){name}(?![\w.-])")
