"""Host functions that count, write, judge and reveal the types of a file."""

import ast
from functools import partial
from itertools import islice
from typing import Any

from remora.code.edit.text_lines import decode
from remora.errors import HostError
from remora.judges.types.slots import SourceText
from remora.operations.types.calls import callers_first
from remora.operations.types.file_annotations import FileAnnotations, missing_slots, parsed
from remora.operations.types.session import project_texts, session_for
from remora.operations.types.signature_text import as_signature
from remora.operations.types.types_need import inferred_with
from remora.operations.types.writing.clean_file import without_findings
from remora.python_text import parse
from remora.tools.tree import ToolTree

CODE = "missing annotation"
_MOST = 3
"""Functions that are described at a time."""
_OPEN = "reveal_type(("
_BLOCKS = (ast.stmt, ast.excepthandler)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements after which no line is reached."""


def missing_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Return how many annotations of parameters and results some functions of a file lack.

    `nodes` contains qualnames. If it is empty, all functions of the file count. The result has the
    keys `counts`, which is empty if nothing is missing, and `summary`.
    """
    number = len(missing_slots(parsed(path, decode(path, place.read(path)).body), nodes))
    words = {0: "no annotation is missing", 1: "1 annotation is missing"}
    summary = words.get(number, f"{number} annotations are missing")
    return {"counts": {CODE: number} if number else {}, "summary": summary}


def write_annotations(place: ToolTree, path: str, nodes: list[str]) -> dict[str, Any]:
    """Write the annotations of a file that pyrefly finds and that all rules and checkers accept.

    Those that would be scattered, add a diagnostic of the type checker anywhere in the project, or
    a finding of ruff in the file, are left out. Those that `annotate` wrote stay.

    Returns the number of annotations in `written`, the type checkers that accepted them in
    `judges`, and the result of `missing_annotations` for the new content in `left`. `why_left` says why functions were left, the
    most frequent reasons first.
    """
    work = FileAnnotations(place, path, nodes)
    session, known = work.session, work.written(work.source)
    found = session.annotations(path, place, inferred_with([path], session.texts))
    chosen = {key: term for key, term in found.items() if key[1] in work.slots} | known
    write = partial(session.text, path, proposed=known)
    after, _ = without_findings(place, path, work.before, write, chosen)
    work.save(SourceText(after))
    written = work.written(work.source).keys()
    left = {slot.number for slot in work.slots if (path, slot) not in written}
    return {
        "written": len(written - known.keys()),
        "judges": session.judges,
        "left": missing_annotations(place, path, nodes),
        "why_left": session.why_left(path, left, place.left),
    }


def annotate(
    place: ToolTree, path: str, nodes: list[str], function: str, signature: str
) -> dict[str, Any]:
    """Write those types of a function's signature that all checkers accept.

    The types replace earlier ones of the job, and never those that people wrote. Overriding methods
    get the types of the parameters, too. A type is refused if it adds a diagnostic of a type
    checker anywhere in the project, or a finding of ruff in the file.

    Returns the types that were written as a signature in `written`, what is refused and accepted,
    by what and why, as sentences in `said`, the function's first line as it is now in `header`, and
    the result of `missing_annotations` for the new content in `left`.
    """
    work = FileAnnotations(place, path, nodes)
    try:
        asked, refused = work.asked(function, signature)
        kept, said = work.write_accepted(asked)
    except HostError as error:
        kept, refused, said = {}, [], [error.message]
    own = work.definitions(function)
    written = {slot.name: term for (_, slot), term in kept.items() if slot.number in own}
    return {
        "written": as_signature(written) if written else "",
        "said": [*refused, *said],
        "header": work.header(min(own)) if own else "",
        "left": missing_annotations(place, path, nodes),
    }


def reveal(place: ToolTree, path: str, expression: str, line: int) -> dict[str, Any]:
    """Return what ty says the type of an expression is at a line of a file, in `type`.

    If it is empty, `why` is the reason.
    """
    try:
        made, row, column = _with_question(decode(path, place.read(path)).body, expression, line)
    except HostError as error:
        return {"type": "", "why": error.message}
    found = session_for(place, place.once(project_texts)).reveal(path, made, place.left)
    # the parentheses around a tuple without its own belong to it
    shown = found.get((path, row, column)) or found.get((path, row, column - 1), "")
    return {
        "type": shown,
        "why": "" if shown else f"ty says nothing of {expression} at line {line}",
    }


def open_functions(
    place: ToolTree, path: str, nodes: list[str], skipped: list[str]
) -> dict[str, Any]:
    """Return the number of functions that lack annotations, and the first ones, without `skipped`.

    Functions come before those that they call. What the project leaves out is not missing.
    Each of `functions` has its qualname in `function`, its missing `names`, where `return` is the
    result, and in `likely` the type that pyrefly has for some. Of the first one, `shown` has its code in
    `excerpt`, which is cut in the middle if it is long, some calls of its name in `calls`, and the first lines of the class around it and of `__init__` in `owner`.
    `known` contains the imports and classes of the file.
    """
    work = FileAnnotations(place, path, nodes)
    left = work.left(skipped)
    chosen = [*islice(callers_first([work.file.functions[number] for number in left]), _MOST)]
    return {
        "count": len(left),
        "functions": [work.described(function, left[function.number]) for function in chosen],
        "shown": work.shown(chosen[0]) if chosen else None,
        "known": sorted({*work.file.imports, *work.file.classes}),
    }


def _with_question(text: str, expression: str, line: int) -> tuple[str, int, int]:
    """Return a text that reveals the type of an expression, and the line and column of it there.

    If the line contains the expression, it is asked about in its place. Otherwise, it is asked
    about after the line's statement, or at the begin of its block. Raises HostError if neither is
    possible.
    """
    source = SourceText(text)
    try:
        wanted = ast.dump(parse(expression.strip(), "eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"not an expression: {expression[:200]}") from None
    found = (node for node in ast.walk(source.tree) if isinstance(node, ast.expr))
    same = [node for node in found if node.lineno == line and ast.dump(node) == wanted]
    made, place = _wrapped(source, same[0]) if same else _inserted(source, expression.strip(), line)
    try:
        parse(made)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise HostError(f"line {line} has no place to ask in; take one beside it") from None
    return made, *place


def _wrapped(source: SourceText, node: ast.expr) -> tuple[str, tuple[int, int]]:
    start, end, text = source.start(node), source.end(node), source.text
    row, column = source.place(start)
    made = f"{text[:start]}{_OPEN}{text[start:end]})){text[end:]}"
    return made, (row, column + len(_OPEN))


def _inserted(source: SourceText, expression: str, line: int) -> tuple[str, tuple[int, int]]:
    every = (node for node in ast.walk(source.tree) if isinstance(node, _BLOCKS))
    around = [node for node in every if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        raise HostError(f"line {line} has no statement")
    beside = around[-1]
    body: list[ast.stmt] = getattr(beside, "body", [])
    is_before = bool(body) or isinstance(beside, _LEAVING)
    beside = body[0] if body else beside
    decorators = getattr(beside, "decorator_list", [])
    first = min([beside.lineno, *(decorator.lineno for decorator in decorators)])
    number = first if is_before else (beside.end_lineno or beside.lineno) + 1
    lines = [text.rstrip("\r\n") for text in source.lines]
    indent = lines[beside.lineno - 1][: beside.col_offset]
    lines.insert(number - 1, f"{indent}{_OPEN}{expression}))")
    return "\n".join(lines) + "\n", (number, len(indent + _OPEN) + 1)
