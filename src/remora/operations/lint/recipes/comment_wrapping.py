"""Recipe for E501: wraps comments and docstrings if the project sets a line length."""

import ast
import re
import textwrap

from remora.code.edit.comments import is_for_tool
from remora.code.edit.edits import Edit
from remora.code.syntax.source import parse_text
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    same_docstring_words,
)
from remora.tools.host.ruff.finding import Finding

_COMMENT = re.compile(r"(\s*)(#+:?\s*)(.*)")
_ITEM = re.compile(r"(?:[-*+•]|\d+[.)]|:\w[^:]*:|@\w+[^:]*:|\w[\w, *]*(?:\([^)]*\))?\s?:)\s+")
_FIXED = re.compile(r"#\s*(?:TODO\s*\(?http|https?://|!|:)", re.IGNORECASE)
_BULLETS = "-*+•0123456789"
_LITERAL = re.compile(r"\s*(?:>>>|\.\.\.(?:\s|$)|\||\+[-=]|\.\. |[-=~^\"'`#*+]{3,}\s*$|\$ |%)")


def wrap_long_line(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """Return the edits that shorten a comment or docstring, or None if it is better left alone."""
    if not source.conventions.sets_width:
        return None
    number = finding["line"]
    text = source.line(number)
    literal = source.docstring_at(number)
    if literal is not None:
        return _wrap_docstring_line(source, literal, number)
    if text.lstrip().startswith("#"):
        return _wrap_comment(source, number) if not source.starts_in_string(number) else None
    return _move_comment(source, number)


def _wrap_comment(source: PythonSource, number: int) -> RecipeFix | None:
    shape = _COMMENT.fullmatch(source.line(number))
    if shape is None or _stays(shape[0]) or _looks_like_code(shape[3]):
        return None
    indent, mark, words = shape[1], shape[2] if shape[2][-1] == " " else shape[2] + " ", shape[3]
    item = _ITEM.match(words)
    hang = indent + mark + " " * (len(item[0]) if item and words[0] in _BULLETS else 0)
    last = number
    if item is None or hang != indent + mark:
        while (following := _continuation(source, last + 1, hang)) is not None:
            words, last = f"{words} {following}", last + 1
    wrapped = _wrapped(words, source.width, indent + mark, hang)
    return _replace_lines(source, number, last, wrapped)


def _stays(comment: str) -> bool:
    """Return True if a tool reads a comment, or if it is a link or documents an attribute."""
    return is_for_tool(comment) or _FIXED.match(comment.lstrip()) is not None


def _continuation(source: PythonSource, number: int, prefix: str) -> str | None:
    """Return the words of a comment line that continues the sentence of the line above."""
    if number > len(source.lines):
        return None
    text = source.line(number)
    if not text.startswith(prefix) or _stays(text):
        return None
    words = text[len(prefix) :]
    goes_on = bool(words) and (words[0].islower() or words[0] in "(`'\"")
    return words if goes_on and not _ITEM.match(words) and not _looks_like_code(words) else None


def _looks_like_code(words: str) -> bool:
    """Return True if a comment is probably commented-out code, a table or a drawing."""
    if "  " in words.strip() or _LITERAL.match(words):
        return True
    tree = parse_text(words.strip())
    if isinstance(tree, str):
        return bool(re.search(r"[{};]|^\s*[)\]}]|\w+\s*=\s*\S+[,(]\s*$", words))
    return any(
        not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Name) for node in tree.body
    )


def _wrap_docstring_line(
    source: PythonSource, literal: ast.Constant, number: int
) -> RecipeFix | None:
    """Wrap a line of prose in a docstring, and join the rest with the lines that continue it."""
    is_edge = number in (literal.lineno, literal.end_lineno)
    if is_edge or not _is_prose(source, literal, number):
        return None
    text = source.line(number)
    words = text.strip()
    indent = text[: len(text) - len(text.lstrip())]
    hang = _hanging_indent(source, literal, number, indent)
    last = number
    while last + 1 < (literal.end_lineno or 0) and _goes_on(source.line(last + 1), hang):
        last += 1
        words = f"{words} {source.line(last).strip()}"
    if "\\" in words:
        return None
    return _replace_lines(source, number, last, _wrapped(words, source.width, indent, hang))


def _hanging_indent(source: PythonSource, literal: ast.Constant, number: int, indent: str) -> str:
    """Return the indent of the lines that continue a line, which is larger for a list item."""
    words = source.line(number).strip()
    item = _ITEM.match(words)
    if item is None:
        return indent
    if number + 1 < (literal.end_lineno or 0):
        following = source.line(number + 1)
        depth = following[: len(following) - len(following.lstrip())]
        if depth == indent and _goes_on(following, indent):  # a sentence such as "Note: …"
            return indent
        if len(depth) > len(indent) and following.strip():
            return depth
    return indent + " " * (len(item[0]) if words[0] in _BULLETS else 4)


def _goes_on(line: str, hang: str) -> bool:
    """Return True if a line continues the paragraph of a line whose hanging indent is `hang`."""
    words = line.strip()
    depth = line[: len(line) - len(line.lstrip())]
    structured = _ITEM.match(words) or _LITERAL.match(words) or "  " in words
    return bool(words) and depth == hang and not structured


def _is_prose(source: PythonSource, literal: ast.Constant, number: int) -> bool:
    """Return False for code, doctests, tables and other lines whose layout has a meaning."""
    text = source.line(number)
    if _LITERAL.match(text) or "  " in text.strip():
        return False
    indent = len(text) - len(text.lstrip())
    for above in range(number - 1, literal.lineno - 1, -1):
        line = source.line(above)
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if _LITERAL.match(line) and depth <= indent:
            return False
        if depth < indent:
            return not line.rstrip().endswith("::") and not line.lstrip().startswith(".. ")
    return True


def _move_comment(source: PythonSource, number: int) -> RecipeFix | None:
    """Move the comment at the end of a line to the line above."""
    text = source.line(number)
    at = source.comments.get(number) if "#" in text else None  # finding all comments takes time
    if at is None:
        return None
    code, comment = text[:at].rstrip(), text[at:].strip()
    if _stays(comment) or len(code) > source.width or source.starts_in_string(number):
        return None
    indent = text[: len(text) - len(text.lstrip())]
    above = source.line(number - 1).strip() if number > 1 else ""
    if (
        above.startswith("#")
        or above.endswith("\\")
        or code.lstrip().startswith(("elif", "else", "except", "finally", ")", "]", "}"))
    ):
        return None
    words = comment.lstrip("#").strip()
    wrapped = _wrapped(words, source.width, f"{indent}# ", f"{indent}# ", least=1)
    return None if wrapped is None else _replace_lines(source, number, number, [*wrapped, code])


def _wrapped(words: str, width: int, first: str, hang: str, *, least: int = 2) -> list[str] | None:
    """Return the wrapped lines, or None if a word is too long or would start a line badly."""
    lines = textwrap.wrap(
        words,
        width,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    bad = any(len(line) > width for line in lines)
    bad = bad or any(re.match(r"(?:[-*+#>|:]|\d+[.)])", line[len(hang) :]) for line in lines[1:])
    return None if bad or len(lines) < least else lines


def _replace_lines(
    source: PythonSource, first: int, last: int, lines: list[str] | None
) -> RecipeFix | None:
    if lines is None:
        return None
    start, stop = source.lines[first - 1].start, source.lines[last - 1].stop
    return RecipeFix((Edit(start, stop, source.newline.join(lines)),))


WRAPPED_COMMENTS = Recipe(codes=("E501",), fix=wrap_long_line, keeps=same_docstring_words)
