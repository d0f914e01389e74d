"""Host functions that read and change text files of the tree."""

from typing import Any

from remora.errors import HostError
from remora.text import clip
from remora.tools.host.text_lines import (
    Line,
    decode,
    lines_of,
    newline_of,
    with_newline,
)
from remora.tools.tree import ToolTree

LIST_LIMIT = 10_000
_PATTERN_LIMIT = 200
_DEEP_LIMIT = 2  # each `**` multiplies the ways a path can match
_SHOWN = 120


def read_text(place: ToolTree, path: str) -> str:
    """Return the text of a UTF-8 file of at most 1 MiB, without a byte order mark."""
    return decode(path, place.read(path)).body


def list_files(place: ToolTree, pattern: str) -> list[str]:
    """Return the sorted paths of the regular files that match a glob such as `src/**/*.py`.

    Files whose name is not UTF-8 are left out: scripts have no way to refer to them.
    """
    if len(pattern) > _PATTERN_LIMIT or pattern.count("**") > _DEEP_LIMIT:
        raise HostError(
            f"pattern too complex (maximum: {_PATTERN_LIMIT} characters, {_DEEP_LIMIT} times `**`)"
        )
    found = [path for path in place.files.glob(pattern, look=place.left) if _is_text(path)]
    if len(found) > LIST_LIMIT:
        raise HostError(
            f"{pattern}: {len(found)} files match (maximum {LIST_LIMIT}); narrow the pattern"
        )
    return found


def _is_text(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def write_new_file(place: ToolTree, path: str, text: str) -> dict[str, Any]:
    """Write a new UTF-8 file and its parent folders. Raises HostError if the file exists."""
    content = text.encode("utf-8", "surrogatepass")
    decode(path, content)
    place.create(path, content)
    return {"path": path, "bytes": len(content)}


def edit_text(
    place: ToolTree, path: str, line: int, expect: str, replace: str | None
) -> dict[str, Any]:
    """Replace line number `line` (from 1), whose text must be `expect`, with `replace`.

    `expect` and `replace` exclude the line ending. `replace` may have several lines (a final line
    ending does not count); null deletes the line. The file keeps its line endings; if its last line
    has none, none is added. Returns the number of `lines` that replace the line.
    """
    text = decode(path, place.read(path))
    lines = lines_of(text.body)
    start, stop, after = _expected_line(path, text.body, lines, line, expect)
    if replace is None:
        made, count = "", 0
        start, stop = _line_with_ending(lines, line)
    else:
        newline = text.body[stop:after] or newline_of(text.body)
        made = with_newline(replace, newline).removesuffix(newline)
        count = made.count(newline) + 1
    changed = text._replace(body=text.body[:start] + made + text.body[stop:])
    place.write(path, changed.bytes())
    return {"path": path, "line": line, "lines": count}


def _expected_line(path: str, body: str, lines: list[Line], line: int, expect: str) -> Line:
    if not 1 <= line <= len(lines):
        raise HostError(f"{path}: there is no line {line}; the file has {len(lines)} lines")
    found = lines[line - 1]
    current = body[found.start : found.stop]
    if current != expect:
        raise HostError(
            f"{path}:{line}: the line is not as expected; found {clip(current, _SHOWN)!r}"
        )
    return found


def _line_with_ending(lines: list[Line], line: int) -> tuple[int, int]:
    """Return the range to delete for a line, including its line ending.

    If the last line has no ending, the previous line's ending is deleted, so that the file still
    ends without one.
    """
    found = lines[line - 1]
    if found.stop == found.next and line > 1:
        return lines[line - 2].stop, found.stop
    return found.start, found.next
