"""Lays out long statements and long items of brackets with the project's formatter.

All of them are formatted together, as one text, because each start of the formatter takes time.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from remora.code.syntax.source import parse_text
from remora.operations.lint.recipes.base import PythonSource, RecipeFix
from remora.operations.lint.recipes.long_strings import split_literals
from remora.tools.host.ruff.text_edits import Edit

_STEP = 4
_MAX_LINES = 5
"""A statement with more lines is not laid out again as a whole."""
_MAX_NEW_LINES = 9
_MAX_CONSTANTS = 6
"""A display with more constants would get too many lines."""
_SHORT = 12
_MARK = "# part "
_PARTS = re.compile(rf"^{_MARK}(\d+)\n", re.MULTILINE)
_SPLIT_INDEX = re.compile(r"[\w\])]\[$|^\s*(?:assert|del|print) \($")


@dataclass(frozen=True)
class _Unit:
    """A part of the source that is formatted alone.

    `text` is a statement with the same layout, `above` are lines that it needs before it, and `lead`
    is what the formatted statement starts with in place of `stand_in`. `tail` follows the
    part on its last line.
    """

    start: int
    stop: int
    column: int
    text: str
    above: str = ""
    body: str = ""
    stand_in: str = ""
    lead: str = ""
    tail: str = ""


def lay_out(source: PythonSource, number: int) -> RecipeFix | None:
    """Return the edit that splits the statement or the item in a long line, or None."""
    return source.once(_layouts).get(number)


def _layouts(source: PythonSource) -> dict[int, RecipeFix]:
    """Return the edits for all long lines of code that can be laid out."""
    run = source.conventions.format
    if run is None:
        return {}
    units = {number: unit for number, unit in _units(source) if _parses(unit)}
    chosen = list(dict.fromkeys(units.values()))
    formatted = run("".join(_framed(at, unit) for at, unit in enumerate(chosen))) if chosen else ""
    pieces = _PARTS.split(formatted or "")[1:]
    laid_out: dict[_Unit, RecipeFix] = {}
    for at, text in zip(pieces[::2], pieces[1::2], strict=True):
        fix = _fix(source, chosen[int(at)], text)
        if fix is not None:
            laid_out[chosen[int(at)]] = fix
    return {number: laid_out[unit] for number, unit in units.items() if unit in laid_out}


def _units(source: PythonSource) -> Iterator[tuple[int, _Unit]]:
    """Yield the number of each long line of code, with the part that is to be formatted."""
    long = {
        number
        for number, line in enumerate(source.lines, 1)
        if line.stop - line.start > source.width and not source.docstring_at(number)
    }
    for node in source.nodes if long else ():
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            last = _last_line(node)
            within = long.intersection(range(node.lineno, last + 1))
            unit = _statement(source, node, last) if within else None
            if unit is not None:
                yield from ((number, unit) for number in within)
                long -= within
    for node in source.nodes if long else ():
        for number, unit in _items(source, node, long):
            yield number, unit


def _last_line(node: ast.stmt | ast.ExceptHandler) -> int:
    """Return the last line of a statement, or of the header of a compound statement."""
    match node:
        case ast.If(test=end) | ast.While(test=end) | ast.For(iter=end) | ast.AsyncFor(iter=end):
            last = end.end_lineno
        case ast.With(items=[*_, item]) | ast.AsyncWith(items=[*_, item]):
            last = (item.optional_vars or item.context_expr).end_lineno
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            last = max(node.lineno, node.body[0].lineno - 1)
        case ast.ExceptHandler(type=ast.expr() as caught):
            last = caught.end_lineno
        case ast.ExceptHandler() | ast.Try() | ast.Match() | ast.TryStar():
            last = node.lineno
        case _:
            last = node.end_lineno
    return last or node.lineno


def _statement(source: PythonSource, node: ast.stmt | ast.ExceptHandler, last: int) -> _Unit | None:
    first = node.lineno
    if isinstance(node, ast.Try | ast.Match | ast.TryStar) or last - first >= _MAX_LINES:
        return None
    start = source.lines[first - 1].start
    text, opening = _code(source, first, last), source.line(first)
    column = len(opening) - len(opening.lstrip())
    is_compound = hasattr(node, "body")
    if (
        text is None
        or text.rstrip().endswith(":") != is_compound
        or source.span(node)[0] != (start + column)
    ):
        return None
    if any(isinstance(each, ast.expr) and _is_long_display(each) for each in ast.walk(node)):
        return None
    above = ""
    if text.lstrip().startswith("elif"):
        above = "if _:\n    pass\n"
    elif text.lstrip().startswith("except"):
        above = "try:\n    pass\n"
    return _Unit(
        start=start,
        stop=source.lines[last - 1].stop,
        column=column,
        text=text.strip(),
        above=above,
        body="pass" if is_compound else "",
    )


def _is_long_display(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.List | ast.Tuple | ast.Set)
        and len(node.elts) > _MAX_CONSTANTS
        and all(isinstance(each, ast.Constant) for each in node.elts)
    )


def _code(source: PythonSource, first: int, last: int) -> str | None:
    """Return the text of some lines, or None if they have comments or strings of several lines."""
    text = source.body[source.lines[first - 1].start : source.lines[last - 1].stop]
    if "#" in text and any(number in source.comments for number in range(first, last + 1)):
        return None
    if any(source.starts_in_string(number) for number in range(first, last + 2)):
        return None
    return None if "\\\n" in text or "\t" in text or "\r" in text or ";" in text else text


def _items(source: PythonSource, node: ast.AST, long: set[int]) -> Iterator[tuple[int, _Unit]]:
    """Yield the items of a bracket that have a long line of their own."""
    for head, value in _pairs(node):
        yield from _item(source, head, value, long)


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr | ast.keyword, ast.expr]]:
    """Yield the items of a bracket. An item with a name or a key starts before its value."""
    match node:
        case ast.Call():
            yield from ((each, each) for each in node.args)
            yield from ((word, word.value) for word in node.keywords if word.arg is not None)
        case ast.List() | ast.Tuple() | ast.Set():
            yield from ((each, each) for each in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            yield from ((key, value) for key, value in pairs if key is not None)


def _item(
    source: PythonSource, head: ast.expr | ast.keyword, value: ast.expr, long: set[int]
) -> Iterator[tuple[int, _Unit]]:
    number = head.lineno
    if number not in long or value.end_lineno != number or isinstance(value, ast.Constant):
        return
    text = _code(source, number, number)
    line = source.line(number)
    column = len(line) - len(line.lstrip())
    stop = source.span(value)[1]
    tail = source.body[stop : source.lines[number - 1].stop]
    begin = source.lines[number - 1].start + column
    if text is None or source.at(head) != begin or tail.strip() not in ("", ","):
        return
    lead = source.body[begin : source.span(value)[0]]
    stand_in = "_" * max(len(lead.rstrip(" :=")) - 2, 1) + " = " if lead else ""
    unit = _Unit(
        start=source.lines[number - 1].start,
        stop=stop,
        column=column,
        text=stand_in + source.text(value),
        stand_in=stand_in,
        lead=lead,
        tail=tail.strip(),
    )
    if not _is_long_display(value):
        yield number, unit


def _parses(unit: _Unit) -> bool:
    if unit.column % _STEP:
        return False
    return not isinstance(parse_text(_framed(0, unit)), str)


def _framed(at: int, unit: _Unit) -> str:
    """Return a part with a mark above it, in blocks that give it its indentation."""
    indent = " " * unit.column
    lines = [f"{_MARK}{at}\n"]
    lines += [f"{' ' * depth}if _:\n" for depth in range(0, unit.column, _STEP)]
    lines += [f"{indent}{line}\n" for line in unit.above.splitlines()]
    lines.append(f"{indent}{unit.text}\n")
    if unit.body:
        lines.append(f"{indent}    {unit.body}\n")
    return "".join(lines)


def _fix(source: PythonSource, unit: _Unit, formatted: str) -> RecipeFix | None:
    """Return the edit that replaces a part with its formatted text, unless that is ugly."""
    lines = [line for line in formatted.splitlines() if line.strip()]
    lines = lines[unit.column // _STEP + len(unit.above.splitlines()) :]
    if unit.body:
        lines = lines[:-1]
    indent = " " * unit.column
    if unit.lead and lines:
        if not lines[0].startswith(indent + unit.stand_in):
            return None
        lines[0] = indent + unit.lead + lines[0][len(indent + unit.stand_in) :]
    before = source.body[unit.start : unit.stop].count("\n") + 1
    shortened = split_literals(lines, source.width)
    too_long = any(
        len(line) + (len(unit.tail) if line is shortened[-1] else 0) > source.width
        for line in shortened
    )
    is_def = unit.text.startswith(("def ", "async def "))
    if (
        too_long
        or len(lines) <= 1
        or len(lines) - before > (2 * _MAX_NEW_LINES if is_def else _MAX_NEW_LINES)
        or any(_SPLIT_INDEX.search(line) for line in lines)
        or any(map(_is_short_item, lines, lines[1:], lines[2:]))
    ):
        return None
    return RecipeFix((Edit(unit.start, unit.stop, source.newline.join(shortened)),))


def _is_short_item(above: str, line: str, below: str) -> bool:
    """Return True if a line is all that is between two brackets, and would fit beside them."""
    return (
        len(line.strip()) <= _SHORT
        and above.endswith(("(", "[", "{"))
        and below.lstrip().startswith((")", "]", "}"))
    )
