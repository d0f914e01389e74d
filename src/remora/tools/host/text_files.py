"""Host functions that read and change files."""

from typing import Any

from remora.code.edit.comments import silences_more
from remora.code.edit.text_lines import (
    Line,
    decode,
    lines_of,
    newline_of,
    split_lines,
    with_newline,
)
from remora.code.extract import parse_module
from remora.code.syntax.changed_behavior import changed_behavior
from remora.code.syntax.nodes import Module, Node
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.text import clip_words, count, is_utf8
from remora.tools.file_tree import FileTree

LIST_LIMIT = 10_000
_PATTERN_LIMIT = 200
_DEEP_LIMIT = 2  # each `**` multiplies the ways a path can match
_SHOWN = 120
_SHORT_GAP = 2
"""Lines between two places that are shown, too."""
_AROUND = 5
"""Lines shown before and after a change."""


def read_text(place: FileTree, path: str) -> str:
    """Return the content of a text file, without a byte order mark.

    The file must be UTF-8 and at most 1 MiB in size.
    """
    return decode(path, place.read(path)).body


def show_lines(
    place: FileTree, path: str, places: list[list[int]], focus: int | None = None
) -> dict[str, Any]:
    """Return lines of a file as an excerpt of a packet.

    `places` are pairs of a first and a last line. They may overlap and go beyond the file. What is
    left out between them is replaced with a line such as `... 20 lines ...`. `focus` is the line
    that matters most. Raises HostError if the file has none of the lines.
    """
    lines = split_lines(decode(path, place.read(path)).body)
    spans = sorted((max(first, 1), min(last, len(lines))) for first, last in places)
    spans = [(first, last) for first, last in spans if first <= last]
    if not spans:
        asked = ", ".join(f"{first} to {last}" for first, last in places)
        raise HostError(f"{path}: there are no lines {asked}; it has {len(lines)}")
    text, done = list[str](), spans[0][0] - 1
    for first, last in spans:
        if first - done - 1 > _SHORT_GAP:
            text.append(f"... {first - done - 1} lines ...")
            done = first - 1
        text += lines[done:last]
        done = max(done, last)
    found = {"ref": "code", "path": path, "lines": [spans[0][0], done], "text": "\n".join(text)}
    return found if focus is None else {**found, "focus": focus}


def list_files(place: FileTree, pattern: str) -> list[str]:
    """Return the sorted paths of all regular files that match a glob such as `src/**/*.py`.

    Files whose names are not valid UTF-8 are left out, because scripts cannot refer to them.
    """
    if len(pattern) > _PATTERN_LIMIT or pattern.count("**") > _DEEP_LIMIT:
        raise HostError(
            f"pattern too complex (maximum: {_PATTERN_LIMIT} characters, {_DEEP_LIMIT} times `**`)"
        )
    found = [*filter(is_utf8, place.files.glob(pattern, look=place.left))]
    if len(found) > LIST_LIMIT:
        raise HostError(
            f"{pattern}: {len(found)} files match (maximum {LIST_LIMIT}); narrow the pattern"
        )
    return found


def write_new_file(place: FileTree, path: str, text: str) -> dict[str, Any]:
    """Create a UTF-8 file, and its parent folders if they are missing.

    Raises HostError if the file already exists.
    """
    content = text.encode("utf-8", "surrogatepass")
    decode(path, content)
    place.create(path, content)
    return {"path": path, "bytes": len(content)}


def edit_text(
    place: FileTree, path: str, line: int, expect: str, replace: str | None
) -> dict[str, Any]:
    """Replace a line of a file. The line must be equal to `expect`.

    `line` starts at 1. `expect` and `replace` do not include the line ending. `replace` may contain
    several lines, and a trailing line ending in it is ignored. If `replace` is null, the line is
    deleted. The file keeps its line endings, and no line ending is added at the end of the file.
    `lines` in the result is the number of lines that replaced the line.
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


def replace_lines(place: FileTree, path: str, first: int, last: int, text: str) -> dict[str, Any]:
    """Replace lines of a file. An empty text deletes them.

    Lines are counted from 1, and `last` is replaced too. The file keeps its line endings. If a
    Python file would no longer parse, or would get a comment that silences findings, it stays as it
    is, and `error` in the result is the reason; otherwise it is empty. `count` is the number of new
    lines, `lines` the first and the last line of the code around the change, and `text` that code
    as it is now. `changed` names the clauses, defaults and branches of Python code that are
    different now.
    """
    old = decode(path, place.read(path))
    lines = lines_of(old.body)
    if not 1 <= first <= last <= len(lines):
        raise HostError(f"{path}: there are no lines {first} to {last}; it has {len(lines)}")
    start, stop = lines[first - 1].start, lines[last - 1].next
    newline = newline_of(old.body)
    made = with_newline(text, newline).removesuffix(newline) + newline if text else ""
    if made and lines[last - 1].stop == lines[last - 1].next:  # the file ends without a newline
        made = made.removesuffix(newline)
    changed = old._replace(body=old.body[:start] + made + old.body[stop:])
    error = _edit_error(path, old.body, changed.body)
    if not error:
        place.write(path, changed.bytes())
    now = changed.body.split(newline)
    count = made.count(newline) + (bool(made) and not made.endswith(newline))
    shown = max(1, first - _AROUND), min(len(now), first + count - 1 + _AROUND)
    return {
        "error": error,
        "count": count,
        "lines": list(shown),
        "text": "\n".join(now[shown[0] - 1 : shown[1]]),
        "changed": [] if error else _behavior(path, old.body, changed.body),
    }


def _behavior(path: str, before: str, after: str) -> list[str]:
    trees = [parse_text(text) for text in (before, after) if path.endswith((".py", ".pyi"))]
    old, new = trees or ("", "")
    if isinstance(old, str) or isinstance(new, str):
        return []
    return [change for changes in changed_behavior(old, new).values() for change in changes]


def _edit_error(path: str, before: str, after: str) -> str:
    if not path.endswith((".py", ".pyi")):
        return ""
    if silences_more(before, after):
        return "a comment silences findings; leave it with a reason instead"
    found = parse_text(after)
    return found if isinstance(found, str) else ""


def _expected_line(path: str, body: str, lines: list[Line], line: int, expect: str) -> Line:
    if not 1 <= line <= len(lines):
        raise HostError(f"{path}: there is no line {line}; the file has {len(lines)} lines")
    found = lines[line - 1]
    current = body[found.start : found.stop]
    if current != expect:
        raise HostError(f"{path}:{line}: {_difference(current, expect)}")
    return found


def _difference(current: str, expect: str) -> str:
    """Return how a line differs from the expected one. White space, which messages shorten, is
    counted.
    """
    if current.strip() == expect.strip():
        for what, strip in (("begins", str.lstrip), ("ends", str.rstrip)):
            has, expected = (len(text) - len(strip(text)) for text in (current, expect))
            if has != expected:
                spaces = count(has, "white space character")
                text = clip_words(current.strip(), _SHOWN)
                return f"the line is not as expected; it {what} with {spaces}, not {expected}: {text!r}"
    return f"the line is not as expected; found {clip_words(current, _SHOWN)!r}"


def _line_with_ending(lines: list[Line], line: int) -> tuple[int, int]:
    """Return the range to delete for a line, including its line ending.

    If the line is the last line and has no ending, the ending of the previous line is deleted
    instead. The file then still ends without a line ending.
    """
    found = lines[line - 1]
    if found.stop == found.next and line > 1:
        return lines[line - 2].stop, found.stop
    return found.start, found.next


def parse_python(place: FileTree, path: str) -> dict[str, Any]:
    """Parse a Python file and return its nodes.

    Each node has `key, qualname, node_type, signature, docstring, line_start, line_end`. If the
    file does not parse, `ok` is false, and `error` and `line` describe the problem.
    """
    module = parse_module(path, place.read(path))
    if not isinstance(module, Module):
        return {"ok": False, "error": module.detail, "line": module.line, "nodes": []}
    nodes = [_node(node) for node in module.nodes]
    return {"ok": True, "error": None, "line": None, "nodes": nodes}


def _node(node: Node) -> dict[str, Any]:
    return {
        "key": node.key,
        "qualname": node.qualname,
        "node_type": node.node_type,
        "signature": node.signature,
        "docstring": node.docstring,
        "line_start": node.line_start,
        "line_end": node.line_end,
    }
