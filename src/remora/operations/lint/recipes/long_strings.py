"""Splits a string literal that makes its line too long. The parts have the same value together."""

import ast
import re

from remora.operations.lint.recipes.base import PythonSource, RecipeFix
from remora.tools.host.ruff.text_edits import Edit

_LITERAL = re.compile(
    r"(?P<prefix>[rRfFbB]{0,2})(?P<quote>[\"'])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)"
)
_PART = re.compile(rf"(?P<indent>\s*){_LITERAL.pattern}(?P<tail>[)\]}},]*)")
_LABEL = re.compile(r"\s*(?:return|or|and|[^=({\[]+=|[\"'\w.\[\]-]+:)\s*|.*[^=!<>]= ")
_STEP = "    "
_TWO = 2
_LEAST = 20
_LOST = 10


def split_string(source: PythonSource, number: int) -> RecipeFix | None:
    """Return the edits that split the last string literal of a line, or None.

    An argument or a part of a concatenation is split where it is. The value of an assignment, of a
    keyword or of a dictionary key, an operand after `or`, and what is returned, get parentheses
    around the parts.
    """
    found = _literal_in_line(source, number)
    if found is None:
        return _split_part(source, number)
    literal, around = found
    shape = _LITERAL.fullmatch(source.text(literal))
    if shape is None or "\\N{" in shape["text"]:
        return None
    line = source.line(number)
    start, stop = source.span(literal)
    before = line[: start - source.lines[number - 1].start]
    after = line[stop - source.lines[number - 1].start :]
    indent = line[: len(line) - len(line.lstrip())]
    if not before.strip() and _stands_alone(around, literal, after):
        parts = _parts(shape, source.width, indent, after)
        return None if parts is None else _edit(source, start, stop, parts, indent)
    if _takes_parentheses(around, literal) and _LABEL.fullmatch(before):
        parts = _parts(shape, source.width, indent + _STEP, "")
        if parts is None or len(before) + 1 > source.width or after.strip() not in ("", ","):
            return None
        inner = source.newline.join(indent + _STEP + part for part in parts)
        text = f"({source.newline}{inner}{source.newline}{indent})"
        return RecipeFix((Edit(start, stop, text),))
    return None


def split_literals(lines: list[str], width: int) -> list[str]:
    """Return the lines of a statement, with long strings split.

    They follow a parenthesis, or another part of the same string.
    """
    found: list[str] = []
    for line in lines:
        shape = _PART.fullmatch(line)
        follows = bool(found) and found[-1].endswith(("(", '"', "'"))
        parts = None
        if shape is not None and follows and len(line) > width:
            parts = _parts(shape, width, shape["indent"], shape["tail"])
        if shape is None or parts is None:
            found.append(line)
        else:
            found += [shape["indent"] + part for part in parts]
            found[-1] += shape["tail"]
    return found


def _split_part(source: PythonSource, number: int) -> RecipeFix | None:
    """Split a literal that is one of several in a row. What is too much goes to the next one."""
    whole = next(
        (node for _, node in source.strings if node.lineno <= number <= (node.end_lineno or 0)),
        None,
    )
    text = "" if whole is None else source.text(whole)
    if whole is None or '"""' in text or "'''" in text or "\\\n" in text or "\\N{" in text:
        return None
    shape = _PART.fullmatch(source.line(number))
    if shape is None:
        return None
    indent, tail = shape["indent"], shape["tail"]
    ends = number == whole.end_lineno
    parts = _parts(shape, source.width, indent, tail, ends=ends)
    if parts is None or len(parts) != _TWO:
        return None
    last = number
    following = (
        _PART.fullmatch(source.line(number + 1)) if number < (whole.end_lineno or 0) else None
    )
    if following is not None and not tail and _matches(following, shape, indent):
        rest = parts[1][:-1] + following["text"] + shape["quote"]
        if len(indent) + len(rest) + len(following["tail"]) <= source.width:
            parts, tail, last = [parts[0], rest], following["tail"], number + 1
    if last == number < (whole.end_lineno or 0) and len(parts[1]) < _LEAST:
        return None  # a short line between two long ones
    lines = [indent + part for part in parts]
    lines[-1] += tail
    start, stop = source.lines[number - 1].start, source.lines[last - 1].stop
    return RecipeFix((Edit(start, stop, source.newline.join(lines)),))


def _matches(part: re.Match[str], other: re.Match[str], indent: str) -> bool:
    same = all(part[key] == other[key] for key in ("prefix", "quote"))
    return same and part["indent"] == indent


def _literal_in_line(
    source: PythonSource, number: int
) -> tuple[ast.Constant | ast.JoinedStr, ast.AST] | None:
    """Return the last literal of a line that starts and ends in it, and the node around it."""
    found = [(node, parent) for parent, node in source.strings_in(number)]
    return max(found, key=lambda pair: pair[0].col_offset, default=None)


def _stands_alone(around: ast.AST, literal: ast.expr, after: str) -> bool:
    """Return True if the parts of a literal that starts its line need no other parentheses.

    It is an argument, or a value in parentheses of its own.
    """
    if isinstance(around, ast.Call) and literal in around.args:
        return True
    is_message = isinstance(around, ast.Assert) and around.msg is literal
    return not after.strip() and (is_message or _takes_parentheses(around, literal))


def _takes_parentheses(around: ast.AST, literal: ast.expr) -> bool:
    match around:
        case ast.Assign() | ast.AnnAssign() | ast.Return() | ast.keyword():
            return around.value is literal
        case ast.Dict() | ast.BoolOp():
            return literal in around.values
    return False


def _parts(
    shape: re.Match[str], width: int, indent: str, after: str, *, ends: bool = True
) -> list[str] | None:
    """Return the literals that a literal is split into, or None if it cannot be split.

    It is split at spaces, and between two replacements where no space fits. If no other literal follows, which `ends` says, the last part is not a single short word.
    """
    prefix, quote, text = shape["prefix"], shape["quote"], shape["text"]
    formatted = "f" in prefix.lower()
    spaces, between = _cuts(text, formatted=formatted)
    parts: list[str] = []
    begin = 0
    room = width - len(indent) - len(prefix) - 2
    while len(text) - begin > room - len(after):
        fitting = [at for at in spaces if begin < at <= begin + room]
        fitting = fitting or [at for at in between if begin < at <= begin + room]
        if not fitting:
            return None
        cut = fitting[-1]
        if ends and len(text) - cut < _LOST:
            cut = next((at for at in reversed(fitting) if len(text) - at >= _LOST), cut)
        parts.append(text[begin:cut])
        begin = cut
    parts.append(text[begin:])
    return [f"{_prefix(prefix, part)}{quote}{part}{quote}" for part in parts]


def _prefix(prefix: str, part: str) -> str:
    """Return the prefix of a part, without `f` if the part has no replacement."""
    if re.search(r"[{}]", part):
        return prefix
    return re.sub("[fF]", "", prefix)


def _cuts(text: str, *, formatted: bool) -> tuple[list[int], list[int]]:
    """Return the offsets after the spaces of a literal's source, and between its replacements."""
    spaces: list[int] = []
    between: list[int] = []
    depth = at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if formatted and text[at] in "{}":
            if depth == 0 and text[at : at + 2] in ("{{", "}}"):
                at += 2
                continue
            if depth == 0 and text[at - 1 : at] == "}":
                between.append(at)
            depth += 1 if text[at] == "{" else -1
        if text[at] == " " and depth == 0:
            spaces.append(at + 1)
        at += 1
    return spaces, between


def _edit(source: PythonSource, start: int, stop: int, parts: list[str], indent: str) -> RecipeFix:
    return RecipeFix((Edit(start, stop, (source.newline + indent).join(parts)),))
