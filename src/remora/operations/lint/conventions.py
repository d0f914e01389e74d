"""What recipes may rely on in a project: its line length, Python version and assigned attributes."""

import re
from collections.abc import Iterable
from functools import partial
from itertools import islice

from remora.operations.lint.formatting import FileFormat
from remora.operations.lint.recipes.base import Conventions
from remora.tools.host.ruff.config_files import DEFAULT_MINOR, oldest_minor
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


def conventions_of(
    place: ToolTree, style: FileFormat, names_before: Iterable[str] = ()
) -> Conventions:
    return Conventions(
        width=style.width,
        oldest=place.once(oldest_minor) or DEFAULT_MINOR,
        sets_width=style.sets_width,
        names_before=frozenset(names_before),
        is_written=partial(_is_written, place),
    )


def _is_written(place: ToolTree, name: str) -> bool:
    """Return True if a file of the project assigns an attribute of this name, or it is too large."""
    files = [*islice(place.contents("**/*.py"), _MOST_FILES + 1)]
    return len(files) > _MOST_FILES or any(_writes(each, name.encode()) for _, each in files)


def _writes(content: bytes, name: bytes) -> bool:
    if name not in content:
        return False
    return any(re.search(form % re.escape(name), content, re.MULTILINE) for form in _WRITES)
