"""Faults that are planted in code by rules over its syntax tree, and what surely detects them.

Each rule gets the text of a file and a function in it, and returns the text with the fault, or None
if the rule does not fit the function. Nothing is random here: the caller chooses the functions.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from textwrap import dedent, indent
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[str, Function], str | None]
_ENTRY = re.compile(r"^(\s+)(?::param (?:[^:]+ )?(\w+):|(\w+)(?: \([^)]*\))?:)(?=\s|$)")
"""A parameter of a docstring in the style of Sphinx or Google."""
_DEFAULT = re.compile(r"\b[Dd]efaults?\s+(?:to|is|value is)\s+`*(-?[\w.]*\w|'[^']*')`*")
_STALE = ("value", "item", "source", "target", "options")
_WORDS = {"zero": "0", "one": "1"}
_OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Place(NamedTuple):
    """A function and the name it has in its file, such as `Shop.open`."""

    qualname: str
    node: Function


def functions(file: str | ast.Module) -> Iterator[Place]:
    """Yield the functions of a file and of its classes."""

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[Place]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, Function):
                yield Place(f"{prefix}{node.name}", node)

    yield from walk((ast.parse(file) if isinstance(file, str) else file).body, "")


def function_at(text: str, qualname: str) -> Function:
    return next(place.node for place in functions(text) if place.qualname == qualname)


def parsed(source: str) -> Function:
    """Return the function of which a text is the source."""
    (node,) = ast.parse(dedent(source)).body
    assert isinstance(node, Function)
    return node


def first_line(node: Function | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def source_of(text: str, node: Function) -> str:
    """Return the lines of a function, with its decorators."""
    return "\n".join(text.splitlines()[first_line(node) - 1 : node.end_lineno])


def parameters(node: Function) -> dict[str, ast.expr | None]:
    """Return the parameters of a function with their defaults, without `self` and `cls`."""
    given = [*node.args.posonlyargs, *node.args.args]
    defaults = [*[None] * (len(given) - len(node.args.defaults)), *node.args.defaults]
    found = {each.arg: value for each, value in zip(given, defaults, strict=True)}
    found |= {
        each.arg: value
        for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    }
    return {name: value for name, value in found.items() if name not in ("self", "cls")}


def replaced(text: str, edits: Mapping[tuple[int, int, int, int], str]) -> str:
    """Return a text with other text at some places: line, column, end line and end column."""
    data = text.encode()
    starts = [0]
    for each in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(each))
    for (line, column, end, last), new in sorted(edits.items(), reverse=True):
        first, stop = starts[line - 1] + column, starts[end - 1] + last
        data = data[:first] + new.encode() + data[stop:]
    return data.decode()


def _span(node: ast.expr) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


# --- findings without a fix ------------------------------------------------------------------------


def bare_except(text: str, node: Function) -> str | None:
    """Plant E722."""
    for each in ast.walk(node):
        if isinstance(each, ast.Try) and len(each.handlers) == 1:
            (handler,) = each.handlers
            if handler.type is not None and handler.name is None:
                line, _, end, last = _span(handler.type)
                return replaced(text, {(line, handler.col_offset + len("except"), end, last): ""})
    return None


def undefined_name(text: str, node: Function) -> str | None:
    """Plant F821: a misspelt name in a `return`."""
    locals_ = {*parameters(node), *_stored(node)}
    for each in ast.walk(node):
        if isinstance(each, ast.Return) and each.value is not None:
            for name in ast.walk(each.value):
                if isinstance(name, ast.Name) and name.id in locals_ and len(name.id) > 3:
                    wrong = f"{name.id[:-2]}{name.id[-1]}{name.id[-2]}"
                    if wrong not in text:
                        return replaced(text, {_span(name): wrong})
    return None


def ambiguous_name(text: str, node: Function) -> str | None:
    """Plant E741: a local variable with the name `l`."""
    inner = [each for each in ast.walk(node) if isinstance(each, ast.Name | Function | ast.Lambda)]
    if any(not isinstance(each, ast.Name) for each in inner if each is not node):
        return None
    names = [each for each in inner if isinstance(each, ast.Name)]
    for chosen in sorted(_stored(node) - {*parameters(node)}):
        edits = {_span(name): "l" for name in names if name.id == chosen}
        if "l" not in {name.id for name in names}:
            return replaced(text, edits)
    return None


def compared_types(text: str, node: Function) -> str | None:
    """Plant E721: `type(x) == T` in place of `isinstance(x, T)`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "isinstance":
            value, type_ = each.args
            if isinstance(type_, ast.Name):
                new = f"(type({ast.unparse(value)}) == {type_.id})"
                return replaced(text, {_span(each): new})
    return None


def _stored(node: Function) -> set[str]:
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


# --- stale docstrings ------------------------------------------------------------------------------


class Entry(NamedTuple):
    """What a docstring says of a parameter: its first line and the line after the last, from 0."""

    name: str
    first: int
    end: int


def entries(lines: list[str]) -> list[Entry]:
    """Return the parameters that the lines of a docstring describe."""
    found: list[Entry] = []
    is_section = False
    for number, line in enumerate(lines):
        if heading := re.match(r"\s*([A-Z]\w+):\s*$", line):
            is_section = heading[1] in ("Args", "Arguments", "Parameters")
            continue
        match = _ENTRY.match(line)
        if match is None or not (match[2] or is_section):
            continue
        if found and number < found[-1].end:  # a line that continues another entry
            continue
        end = number + 1
        while end < len(lines) and re.match(rf"{match[1]}\s+\S", lines[end]):
            end += 1
        found.append(Entry(match[2] or match[3], number, end))
    return found


def documented(node: Function) -> dict[str, str | None]:
    """Return the parameters that a function's docstring names, each with the default it states."""
    lines = (ast.get_docstring(node, clean=False) or "").splitlines()
    found: dict[str, str | None] = {}
    for entry in entries(lines):
        stated = _DEFAULT.search(" ".join(map(str.strip, lines[entry.first : entry.end])))
        found[entry.name] = _WORDS.get(stated[1], stated[1]).rstrip(".") if stated else None
    return found


def _docstring_lines(text: str, node: Function) -> tuple[int, list[str]] | None:
    """Return the first line of a function's docstring, from 0, and its lines."""
    if ast.get_docstring(node) is None:
        return None
    first, end = node.body[0].lineno - 1, node.body[0].end_lineno
    lines = text.splitlines()[first:end]
    known = {entry.name for entry in entries(lines)}
    return (first, lines) if known and known <= {*parameters(node)} else None


def _with_lines(text: str, first: int, count: int, lines: list[str]) -> str:
    whole = text.splitlines()
    whole[first : first + count] = lines
    return "\n".join(whole) + "\n"


def renamed_parameter(text: str, node: Function) -> str | None:
    """Plant a description of a parameter that has another name now."""
    if (found := _docstring_lines(text, node)) is None:
        return None
    first, lines = found
    name, number, _ = entries(lines)[0]
    stale = next(word for word in _STALE if word not in source_of(text, node))
    new = [*lines]
    new[number] = re.sub(rf"\b{name}(?=[ :(])", stale, lines[number], count=1)
    return _with_lines(text, first, len(lines), new)


def removed_parameter(text: str, node: Function) -> str | None:
    """Plant a docstring that leaves out one of several parameters."""
    if (found := _docstring_lines(text, node)) is None or len(entries(found[1])) < 2:
        return None
    first, lines = found
    _, start, end = entries(lines)[-1]
    return _with_lines(text, first, len(lines), [*lines[:start], *lines[end:]])


# --- types -----------------------------------------------------------------------------------------


def annotations(node: Function) -> dict[str, str]:
    """Return the annotations of a function by parameter; that of the result is at `return`."""
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    found = {each.arg: ast.unparse(each.annotation) for each in every if each and each.annotation}
    return found | ({"return": ast.unparse(node.returns)} if node.returns else {})


def plain_type(text: str) -> str:
    """Return an annotation without quotes and without the module of each name."""
    text = re.sub(r"['\"]|\b\w+\.(?=\w)", "", text)
    text = re.sub(r"\bOptional\[([^\[\]]*)\]", r"\1 | None", text)
    return re.sub(r"\b(List|Dict|Set|Tuple|Type)\[", lambda match: match[0].lower(), text)


def no_annotations(text: str, node: Function) -> str | None:
    """Remove all annotations of a function that has all of them."""
    if not {*parameters(node), "return"} <= annotations(node).keys() or not parameters(node):
        return None
    args = node.args
    edits: dict[tuple[int, int, int, int], str] = {}
    for each in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if each is not None and each.annotation is not None:
            _, _, end, last = _span(each.annotation)
            edits[each.lineno, each.col_offset + len(each.arg), end, last] = ""
    assert node.returns is not None
    line, column, end, last = _span(node.returns)
    before = text.splitlines()[line - 1].encode()[:column].decode()
    if not before.rstrip().endswith("->"):
        return None
    begin = len(before.rstrip().removesuffix("->").rstrip().encode())
    return replaced(text, edits | {(line, begin, end, last): ""})


def signature(node: Function) -> str:
    """Return the parameters of a function, with their types and defaults, and its result's type."""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){result}"


# --- mutants and tests -----------------------------------------------------------------------------


def mutants(text: str, qualname: str, most: int) -> list[str]:
    """Return the text of a file with faults in a function, each with one."""
    count = len([*_faults(function_at(text, qualname))])
    found: list[str] = []
    for number in range(0, count, max(1, -(-count // most))):
        tree = ast.parse(text)
        node = next(place.node for place in functions(tree) if place.qualname == qualname)
        [*_faults(node)][number]()
        found.append(ast.unparse(tree))
    return found


def _faults(node: Function) -> Iterator[Callable[[], None]]:
    """Yield functions that plant a fault in a function each."""
    for statement in node.body[ast.get_docstring(node) is not None :]:
        for each in ast.walk(statement):
            if (found := _fault(each)) is not None:
                yield partial(setattr, each, *found)


def _fault(node: ast.AST) -> tuple[str, object] | None:  # noqa: PLR0911 (one for each kind of node)
    """Return the field of a node that a fault changes, and its new value."""
    match node:
        case ast.Compare() if type(node.ops[0]) in _OTHERS:
            return "ops", [_OTHERS[type(node.ops[0])](), *node.ops[1:]]
        case ast.BoolOp() | ast.BinOp() if type(node.op) in _OTHERS:
            return "op", _OTHERS[type(node.op)]()
        case ast.Constant():
            return _other_value(node.value)
        case ast.Return() if node.value is not None:
            return "value", ast.Constant(None)
        case ast.If():
            return "test", ast.Constant(value=False)
        case ast.Raise():
            return "exc", ast.Name("ZeroDivisionError")
        case ast.Call() if node.args:
            return "args", [ast.Constant(None), *node.args[1:]]
        case _:
            return None


def _other_value(value: object) -> tuple[str, object] | None:
    if isinstance(value, bool):
        return "value", not value
    if isinstance(value, int):
        return "value", value + 1
    return ("value", f"{value} ") if isinstance(value, str) else None


def mentions(node: ast.AST, name: str) -> bool:
    """Return True if code uses a name, also as an attribute."""
    return any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == name)
        for each in ast.walk(node)
    )


def movable_tests(text: str, name: str) -> list[Place]:
    """Return the tests that use a name and nothing of their object except assertions."""
    return [
        place
        for place in functions(text)
        if place.node.name.startswith("test")
        and mentions(place.node, name)
        and all(
            each.attr.startswith("assert")
            for each in ast.walk(place.node)
            if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self"
        )
    ]


def without_functions(text: str, names: set[str]) -> str:
    """Return a test file without some functions, and without classes that are empty then."""
    tree = ast.parse(text)
    gone: list[range] = []
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.ClassDef | ast.Module) or not isinstance(body, list):
            continue
        here = [each for each in body if isinstance(each, Function) and each.name in names]
        if isinstance(node, ast.ClassDef) and here and len(here) == len(body):
            gone.append(range(first_line(node), (node.end_lineno or 0) + 1))
        gone += [range(first_line(each), (each.end_lineno or 0) + 1) for each in here]
    dropped = {number for lines in gone for number in lines}
    kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in dropped]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(kept) + "\n")


def as_own_tests(text: str, tests: list[Place], class_name: str) -> str:
    """Return tests of a file as code to insert into it again, with the imports that they use."""
    tree = ast.parse(text)
    is_case = any("self.assert" in ast.unparse(test.node) for test in tests)
    wanted = {arg.arg for test in tests for arg in test.node.args.args}
    fixtures = [
        place.node
        for place in functions(text)
        if place.node.name in wanted and "." in place.qualname and not is_case
    ]
    nodes = [*fixtures, *(test.node for test in tests)]
    for node in nodes if not is_case else ():
        node.args.args = [arg for arg in node.args.args if arg.arg != "self"]
    used = {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
    needed = ["import unittest"] if is_case else []
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            bound = [(each.asname or each.name).partition(".")[0] for each in statement.names]
            names = [
                each for each, name in zip(statement.names, bound, strict=True) if name in used
            ]
            if names:
                statement.names = names
                needed.append(ast.unparse(statement))
    own = "\n\n\n".join(map(ast.unparse, nodes))
    if is_case:
        own = f"class {class_name}(unittest.TestCase):\n{indent(own, '    ')}"
    return "\n".join(dict.fromkeys(needed)) + f"\n\n\n{own}\n"


RULES: Mapping[str, tuple[Rule, ...]] = {
    "lint": (bare_except, undefined_name, ambiguous_name, compared_types),
    "docstring": (renamed_parameter, removed_parameter),
    "types": (no_annotations,),
}
"""Rules by operation. Tests are removed by the caller, because it must know all files."""
