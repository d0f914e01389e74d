"""Host function that finds uses of a name in Python files."""

from typing import Any
from unicodedata import normalize

import msgspec

from remora.code.syntax.references import find_name_references
from remora.errors import HostError
from remora.tools.host.text_files import list_files
from remora.tools.tree import ToolTree

REFERENCE_LIMIT = 5000
_KINDS = (".py", ".pyi")
_EVERYWHERE = ("**/*.py", "**/*.pyi")


def find_references(place: ToolTree, name: str, pattern: str | None = None) -> list[dict[str, Any]]:
    """Find uses of a name, sorted by path and line.

    Only Python files are searched. If `pattern` is given, only files that match it are searched.
    Each use has `path`, `line`, `text` (the source line) and `kind`. The kind is definition,
    parameter, import, call, read, write, keyword, declaration or string. In a file that does not
    parse, the kind is always text. The search is syntactic, so it also finds unrelated objects with
    the same name.
    """
    wanted = normalize("NFKC", name)  # as Python normalizes identifiers
    if not wanted.isidentifier():
        raise HostError(f"{name!r} is not a name; use e.g. parse instead of json.parse")
    found: list[dict[str, Any]] = []
    for path in _python_files(place, pattern):
        place.left()
        used = find_name_references(wanted, place.files.read_bytes(path))
        found += [{"path": path, **msgspec.structs.asdict(each)} for each in used]
        if len(found) > REFERENCE_LIMIT:
            raise HostError(f"{name}: more than {REFERENCE_LIMIT} uses; narrow the pattern")
    return found


def _python_files(place: ToolTree, pattern: str | None) -> list[str]:
    patterns = _EVERYWHERE if pattern is None else (pattern,)
    paths = {path for each in patterns for path in list_files(place, each)}
    return sorted(path for path in paths if path.endswith(_KINDS))
