"""Conversions of one way of writing into another, such as `format` into f-strings.

A file, or for types and idioms the project, does not get a way of writing that it uses less than
the other one. In a file of khard, 9 of 53 texts became f-strings.
"""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from remora.code.syntax.source import parse_text
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
_ALONE = 1
"""Uses of an idiom that a conversion may convert, since it is whole then."""


def of_other_style(findings: Sequence[Finding], body: str) -> dict[Place, str]:
    """Return the conversions into a way of writing that the file uses less, with the reason."""
    left: list[Place] = []
    new = Counter(map(_new_style, nodes_of(body)))
    for kind in (_F_STRINGS, _ORDER):
        places = [place_of(finding) for finding in findings if finding["code"].startswith(kind)]
        number = len({place[2:] for place in places})
        if kind == _F_STRINGS:
            number = max(number, sum(map(_is_formatted, nodes_of(body))))
        left += places if number > new[kind] else ()
    return dict.fromkeys(left, "most of the file keeps the other way of writing")


def usual_idioms(place: FileTree) -> dict[str, str]:
    """Return the rules that convert what a project writes more than what it would become."""
    numbers = Counter[tuple[str, int]]()
    for _, content in place.contents("**/*.py"):
        for code, ways in IDIOMS.items():
            for number, way in enumerate(ways):
                numbers[code, number] += len(re.findall(way, content, re.MULTILINE))
    usual = (code for code in IDIOMS if numbers[code, 0] > max(numbers[code, 1], _ALONE))
    return dict.fromkeys(usual, "most of the project keeps the other way of writing")


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
    lines = list[int]()
    for node in nodes_of(body):
        if isinstance(node, ast.BoolOp):
            texts = [ast.dump(value) for value in node.values]
            lines += [node.lineno] if len({*texts}) < len(texts) else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            known = set[str]()
            for inner in ast.walk(node):
                match inner:
                    case ast.Assert() | ast.Call(func=ast.Attribute(attr="assertEqual")):
                        text = ast.dump(inner)
                        lines += [inner.lineno] if text in known else []
                        known.add(text)
    return lines


def _is_formatted(node: ast.AST) -> bool:
    """Return True for a text that `%` or `format` fills."""
    match node:
        case (
            ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod())
            | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"))
        ):
            return True
    return False


@lru_cache(maxsize=1)  # for all findings of a version of a file
def nodes_of(body: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's tree, or an empty tuple if it does not parse."""
    tree = parse_text(body)
    return () if isinstance(tree, str) else tuple(ast.walk(tree))
