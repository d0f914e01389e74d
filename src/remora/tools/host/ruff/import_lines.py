"""How a project divides its imports into lines."""

import re
from collections import Counter

from remora.tools.tree import ToolTree

_MOST_FILES = 40
_LEAST = 3
_ONE_NAME = re.compile(r"^from (\S+) import \w+(?: as \w+)?[ \t]*(?:#.*)?$", re.MULTILINE)
_SOME_NAMES = re.compile(r"^from \S+ import (?:\(|\w+(?: as \w+)?,)", re.MULTILINE)


def imports_one_per_line(place: ToolTree) -> bool:
    """Return True if a project imports several names of a module in as many lines.

    The first files count. Those that import several names in a line must be rare.
    """
    repeated = together = 0
    for path in place.files.glob("**/*.py", look=place.left)[:_MOST_FILES]:
        body = place.text_or_empty(path)
        alone = Counter(_ONE_NAME.findall(body))
        repeated += sum(number > 1 for number in alone.values())
        together += len(_SOME_NAMES.findall(body))
    return repeated >= _LEAST and repeated > 4 * together
