"""How a project divides its imports into lines."""

import re
from collections import Counter

from remora.tools.tree import ToolTree

_MOST_FILES = 40
_LEAST = 3
_SETTINGS = (
    ".pre-commit-config.yaml", "pyproject.toml", ".isort.cfg", "setup.cfg", "tox.ini", "Makefile"
)  # fmt: skip
_FORCED = re.compile(
    r"--force-single-line\b|^\s*force_single_line\s*=\s*true", re.IGNORECASE | re.MULTILINE
)
_ONE_NAME = re.compile(r"^from (\S+) import \w+(?: as \w+)?[ \t]*(?:#.*)?$", re.MULTILINE)
_SOME_NAMES = re.compile(r"^from \S+ import (?:\(|\w+(?: as \w+)?,)", re.MULTILINE)


def imports_one_per_line(place: ToolTree) -> bool:
    """Return True if a project imports several names of a module in as many lines.

    Isort's settings and arguments say so, or the first files, of which few may import several names
    in a line.
    """
    if any(_FORCED.search(place.text_or_empty(name)) for name in _SETTINGS):
        return True
    repeated = together = 0
    for path in place.files.glob("**/*.py", look=place.left)[:_MOST_FILES]:
        body = place.text_or_empty(path)
        alone = Counter(_ONE_NAME.findall(body))
        repeated += sum(number > 1 for number in alone.values())
        together += len(_SOME_NAMES.findall(body))
    return repeated >= _LEAST and repeated > 4 * together
