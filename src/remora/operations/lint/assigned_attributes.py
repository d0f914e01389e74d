"""Search of a project for code that assigns an attribute."""

import re

from remora.errors import HostError
from remora.tools.tree import ToolTree

_MOST_FILES = 300
_WRITES = (
    rb"\.%s\s*(?::[^=\n]+)?(?:[-+*/%%|&^@]|//|\*\*|<<|>>)?=(?!=)",
    rb"^[ \t(]*(?:[*\w.\[\]]+\s*,\s*)*[\w.]*\.%s\s*,[^=\n()]*\)?\s*=(?!=)",
    rb"\.%s\s*\)\s*=(?!=)",
    rb"\bfor\s(?:(?!\bin\b)[^:\n])*\.%s\b",
    rb"\bas\s[\w.(, ]*\.%s\b",
    rb"\b(?:setattr|delattr)\([^)\n]*[\"']%s[\"']",
)
"""Ways to assign an attribute."""


def is_written(place: ToolTree, name: str) -> bool:
    """Return True if a file of the project assigns an attribute of this name."""
    paths = list(place.files.glob("**/*.py", look=place.left))
    if len(paths) > _MOST_FILES:
        return True
    try:
        return any(_writes(place.read(path), name.encode()) for path in paths)
    except HostError:  # a file that cannot be read
        return True


def _writes(content: bytes, name: bytes) -> bool:
    """Return True if some code may assign an attribute of a name."""
    if name not in content:
        return False
    return any(re.search(form % re.escape(name), content, re.MULTILINE) for form in _WRITES)
