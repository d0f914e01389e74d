"""Conversions of one way of writing into another, such as `format` into f-strings.

A function that is written in two ways afterwards reads worse than before, so its conversion is
whole or left out. In a file of khard, 9 of 53 texts became f-strings. Nor does a file, or for types
and idioms the project, get a way of writing that it uses less than the other one.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from remora.code.syntax.source import parse_text
from remora.operations.lint.fixable_findings import Place, place_of
from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.finding import Finding

_F_STRINGS, _TYPES, _ORDER = "f-strings", "types", "order of comparisons"
_CONVERSIONS = {
    "B006": "defaults", "FLY": _F_STRINGS, "PTH": "paths", "SIM300": _ORDER, "UP006": _TYPES,
    "UP007": _TYPES, "UP025": "prefixes of texts", "UP030": _F_STRINGS, "UP031": _F_STRINGS, "UP032": _F_STRINGS, "UP045": _TYPES,
}  # fmt: skip
"""Beginnings of rules that convert one way of writing into another, in a whole function."""
_OPTIONAL = (rb"\b(?:Optional|Union)\[", rb"\| None\b")
IDIOMS = {
    "PYI032": (
        rb"def __(?:eq|ne)__\(self, \w+: (?:\w+\.)?Any\b",
        rb"def __(?:eq|ne)__\(self, \w+: object\b",
    ),
    "UP004": (rb"^[ \t]*class \w+\(object\):", rb"^[ \t]*class \w+:"),
    "UP006": (
        rb"(?<![\w.])(?:typing\.|t\.)?(?:Dict|FrozenSet|List|Set|Tuple|Type)\[",
        rb"(?<![\w.])(?:dict|frozenset|list|set|tuple|type)\[",
    ),
    "UP007": _OPTIONAL,
    "UP008": (rb"\bsuper\(\s*\w+\s*,", rb"\bsuper\(\)"),
    "UP011": (rb"@(?:functools\.)?lru_cache\(\)", rb"@(?:functools\.)?lru_cache\s"),
    "UP020": (rb"\bio\.open\(", rb"(?<![\w.])open\("),
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


def conversion_of(finding: Finding, body: str) -> tuple[str, int] | None:
    """Return the kind and the function of a conversion, or None for another fix."""
    kind = _kind(finding)
    function = _function_at(finding["line"], body) if kind else 0
    return (kind, function) if function else None


def _kind(finding: Finding) -> str:
    kinds = (kind for code, kind in _CONVERSIONS.items() if finding["code"].startswith(code))
    return next(kinds, "")


def of_other_style(findings: Sequence[Finding], body: str) -> dict[Place, str]:
    """Return the conversions into a way of writing that the file uses less, with the reason."""
    old: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        old[_kind(finding)].append(finding)
    new = Counter(map(_new_style, nodes_of(body)))
    numbers = {kind: len({place_of(each)[2:] for each in group}) for kind, group in old.items()}
    numbers[_F_STRINGS] = max(numbers.get(_F_STRINGS, 0), len([*_formatted(body)]))
    return {
        place_of(finding): "most of the file is written otherwise"
        for kind in (_F_STRINGS, _ORDER)
        if numbers.get(kind, 0) > new[kind]
        for finding in old[kind]
    }


def usual_idioms(place: FileTree) -> dict[str, str]:
    """Return the rules that convert what a project writes more than what it would become."""
    numbers = Counter[tuple[str, int]]()
    for _, content in place.contents("**/*.py"):
        for code, ways in IDIOMS.items():
            for number, way in enumerate(ways):
                numbers[code, number] += len(re.findall(way, content, re.MULTILINE))
    usual = (code for code in IDIOMS if numbers[code, 0] > max(numbers[code, 1], _ALONE))
    return dict.fromkeys(usual, "most of the project is written otherwise")


def _new_style(node: ast.AST) -> str:
    """Return the kind of conversions that lead to what a node is, or an empty string."""
    match node:
        case ast.JoinedStr():
            return _F_STRINGS
        case ast.Compare(left=left, comparators=[ast.Constant()]) if not isinstance(
            left, ast.Constant
        ):
            return _ORDER
    return ""


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


def _formatted(body: str) -> Iterator[int]:
    """Yield the lines of texts that `%` or `format` fill."""
    for node in nodes_of(body):
        match node:
            case (
                ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod())
                | ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"))
            ):
                yield node.lineno


def _function_at(line: int, body: str) -> int:
    """Return the first line of the innermost function around a line, or 0."""
    return max((first for first, last in _functions(body) if first <= line <= last), default=0)


@lru_cache(maxsize=1)
def _functions(body: str) -> list[tuple[int, int]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.lineno, node.end_lineno or 0) for node in nodes_of(body) if isinstance(node, kinds)
    ]


@lru_cache(maxsize=1)  # for all findings of a version of a file
def nodes_of(body: str) -> tuple[ast.AST, ...]:
    """Return the nodes of a file's tree, or an empty tuple if it does not parse."""
    tree = parse_text(body)
    return () if isinstance(tree, str) else tuple(ast.walk(tree))
