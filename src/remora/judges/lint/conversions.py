"""Conversions of one way of writing into another, such as `format` into f-strings.

A file, or for types and idioms the project, does not get a way of writing that it uses less than
the other one. In a file of khard, 9 of 53 texts became f-strings.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, starmap

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import shared_tree
from remora.judges.rules import of_version
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.finding import Finding, Place, place_of

_F_STRINGS, _ORDER = ("FLY", "UP030", "UP031", "UP032"), ("SIM300",)
"""Beginnings of rules that convert one way of writing into another, in a whole file."""
_OPTIONAL = (rb"\b(?:Optional|Union)\[", rb"\| None\b")
_GENERIC = (
    rb"(?<![\w.])(?:typing\.|t\.)?(?:Dict|FrozenSet|List|Set|Tuple|Type)\[",
    rb"(?<![\w.])(?:dict|frozenset|list|set|tuple|type)\[",
)
IDIOMS = {
    "FA100": (rb"|".join((_OPTIONAL[0], _GENERIC[0])), rb"|".join((_OPTIONAL[1], _GENERIC[1]))),
    "PYI032": (
        rb"def __(?:eq|ne)__\(self, \w+: (?:\w+\.)?Any\b",
        rb"def __(?:eq|ne)__\(self, \w+: object\b",
    ),
    "UP004": (rb"^[ \t]*class \w+\(object\):", rb"^[ \t]*class \w+:"),
    "UP006": _GENERIC,
    "UP007": _OPTIONAL,
    "UP008": (rb"\bsuper\(\s*\w+\s*,", rb"\bsuper\(\)"),
    "UP021": (rb"\buniversal_newlines=", rb"\btext=(?:True|False)"),
    "UP024": (
        rb"(?<![\w.])(?:EnvironmentError|IOError|WindowsError|(?:mmap|os|select|socket)\.error)\b",
        rb"\bOSError\b",
    ),
    "UP045": _OPTIONAL,
}
"""Rules that convert one way of writing into another, in a whole project, with patterns of both."""
_WITHOUT_EFFECT = (
    "abs", "float", "int", "join", "len", "max", "min", "repr", "round", "sorted", "str", "sum", "type",
)  # fmt: skip
"""Functions that only compute a value."""
_INDENTATION = {"D207", "D208", "D214", "D215"}
"""Rules about the indentation of docstrings, whose fixes move single lines.

Of 47,371 safe fixes of D2 in 200 packages, 1,879 in 18 would change relative indentation.
"""
_ALONE = 1
"""Uses of an idiom that a conversion may convert, since it is whole then."""


def of_other_style(findings: Sequence[Finding], body: str) -> dict[Place, str]:
    """Return the conversions into a way of writing that the file uses less, with the reason."""
    left: list[Place] = []
    for kind in (_F_STRINGS, _ORDER):
        places = [place_of(finding) for finding in findings if finding["code"].startswith(kind)]
        number, nodes = len({place[2:] for place in places}), nodes_of(body) if places else ()
        if kind == _F_STRINGS:
            number = max(number, sum(map(_is_formatted, nodes)))
        left += places if number > sum(_new_style(node) == kind for node in nodes) else ()
    return dict.fromkeys(left, "most of the file keeps the other way of writing")


def usual_idioms(place: FileTree) -> frozenset[str]:
    """Return the rules that convert what a project writes more than what it would become."""
    numbers = Counter[tuple[str, int]]()
    for _, content in place.contents("**/*.py"):
        for code, ways in IDIOMS.items():
            for number, way in enumerate(ways):
                numbers[code, number] += len(re.findall(way, content, re.MULTILINE))
    return frozenset(code for code in IDIOMS if numbers[code, 0] > max(numbers[code, 1], _ALONE))


def _new_style(node: ast.AST) -> tuple[str, ...]:
    """Return the rules of conversions that lead to what a node is, or an empty tuple."""
    match node:
        case ast.JoinedStr():
            return _F_STRINGS
        case ast.Compare(
            left=left,
            ops=[ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()],
            comparators=[ast.Constant()],
        ) if not isinstance(left, ast.Constant):
            return _ORDER
    return ()


def repetitions(body: str) -> list[int]:
    """Return the lines of assertions that an earlier one of their function equals, and of `a or a`."""
    lines, claims, functions = list[int](), list[tuple[int, str]](), list[FunctionNode]()
    for node in nodes_of(body):
        match node:
            case ast.BoolOp(values=values) if any(starmap(_is_same, combinations(values, 2))):
                lines.append(node.lineno)
            case ast.Assert() | ast.Call(func=ast.Attribute(attr="assertEqual")):
                claims.append((node.lineno, ast.dump(node)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(node)
    for function in functions:
        known = set[str]()
        for line, text in claims:
            if function.lineno <= line <= (function.end_lineno or 0):
                lines += [line] if text in known else []
                known.add(text)
    return lines


def _is_same(first: object, second: object) -> bool:
    """Return True if two parts of a tree have the same `ast.dump`, which takes longer."""
    if type(first) is not type(second):
        return False
    if isinstance(first, ast.AST):
        pairs = ((getattr(part, name, None) for part in (first, second)) for name in first._fields)
        return all(starmap(_is_same, pairs))
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    return first == second


@of_version
def reordered(body: str) -> frozenset[int]:
    """Return the lines of `format` calls that show something else as an f-string.

    `format` computes all values before it shows the first: in `"{} {}".format(a, a.pop())`, it
    lacks an item. An f-string also computes them in the order in which they are shown.
    """
    return frozenset(
        node.lineno for node in nodes_of(body) if isinstance(node, ast.Call) and _is_reordered(node)
    )


def _is_reordered(call: ast.Call) -> bool:
    match call:
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "format"), args, keywords):
            values = {str(number): value for number, value in enumerate(args)}
            values |= {keyword.arg or "": keyword.value for keyword in keywords}
            fields = re.findall(r"\{(\w*)([^{}!:]*)", text.replace("{{", ""))
            known = [name or str(number) for number, (name, _) in enumerate(fields)]
            shown = [values[name] for name in dict.fromkeys(known) if name in values]
            has_access = any(access for _, access in fields)
            acting = [value for value in shown if _acts(value, has_access=has_access)]
            return acting != [value for value in values.values() if value in acting] or any(
                _may_change(value, before, acts=value in acting, has_access=has_access)
                for before, value in combinations(shown, 2)
            )
    return False


def _may_change(value: ast.expr, before: ast.expr, *, acts: bool, has_access: bool) -> bool:
    """Return True if what computes a value may change one that an f-string shows before."""
    gets_item = isinstance(value, ast.Subscript) and ast.dump(value.value) == ast.dump(before)
    is_fixed = isinstance(before, ast.Call | ast.Constant) and not has_access
    return gets_item or (acts and not is_fixed)


def _acts(value: ast.expr, *, has_access: bool) -> bool:
    """Return True if computing a value may have an effect, maybe on what is accessed."""
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call | ast.Await))
    names = (ast.unparse(getattr(call, "func", call)).rpartition(".")[2] for call in calls)
    return any(has_access or name not in _WITHOUT_EFFECT for name in names)


def moved_lines(findings: Sequence[Finding], body: str) -> dict[Place, str]:
    """Return the fixes that would move lines of a docstring against each other, with the reason."""
    shifts = defaultdict[str, dict[int, int]](dict)
    for code, fix in ((finding["code"], finding["fix"]) for finding in findings):
        for edit in fix["edits"] if fix and code in _INDENTATION else ():
            shifts[code][edit["line"]] = len(edit["content"]) + edit["column"] - edit["end_column"]
    lines, left = split_lines(body), set[tuple[str, int]]()
    for node in nodes_of(body) if shifts else ():
        if isinstance(node, ast.Module | DefinitionNode) and docstring_text(node.body) is not None:
            text = range(node.body[0].lineno + 1, (node.body[0].end_lineno or 0) + 1)
            filled = [number for number in text if lines[number - 1].strip("\"' \t")]
            for code, shift in shifts.items():
                if len({shift.get(number, 0) for number in filled}) > 1:
                    left.update((code, number) for number in filled)
    moved = (f for f in findings if (f["code"], f["line"]) in left)
    return dict.fromkeys(map(place_of, moved), "the indentation within the docstring would change")


def _is_formatted(node: ast.AST) -> bool:
    """Return True for a text that `%` or `format` fills."""
    match node:
        case (
            ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod())
            | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"))
        ):
            return True
    return False


lines_in = of_version(split_lines)
"""Returns the lines of a file, for all findings of a version."""


@of_version
def nodes_of(body: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's tree, or an empty tuple if it does not parse."""
    tree = shared_tree(body)
    found = [] if isinstance(tree, str) else list[ast.AST]([tree])
    for node in found:  # it grows; as in `ast.walk`, which takes twice as long
        for name in node._fields:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif isinstance(part, list):
                found += [inner for inner in part if isinstance(inner, ast.AST)]
    return tuple(found)
