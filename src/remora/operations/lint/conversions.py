"""Conversions of one way of writing into another, such as `format` into f-strings.

A function that is written in two ways afterwards reads worse than before, so its conversion is
whole or left out. In a file of khard, 9 of 53 texts became f-strings.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache

from remora.code.syntax.source import parse_text
from remora.operations.lint.fixable_findings import Place, place_of
from remora.tools.host.ruff.finding import Finding

_F_STRINGS = "f-strings"
_CONVERSIONS = {
    "B006": "defaults", "FLY": _F_STRINGS, "PTH": "paths", "UP006": "types", "UP007": "types",
    "UP030": _F_STRINGS, "UP031": _F_STRINGS, "UP032": _F_STRINGS, "UP045": "types",
}  # fmt: skip
"""Beginnings of rules that convert one way of writing into another, in a whole function."""


def conversion_of(finding: Finding, body: str) -> tuple[str, int] | None:
    """Return the kind and the function of a conversion, or None for another fix."""
    kinds = (kind for code, kind in _CONVERSIONS.items() if finding["code"].startswith(code))
    kind = next(kinds, "")
    function = _function_at(finding["line"], body) if kind else 0
    return (kind, function) if function else None


def partly_converted(findings: Sequence[Finding], body: str, stay: Set[Place]) -> dict[Place, str]:
    """Return the findings whose conversion would not be whole in their function, with the reason.

    The findings in `stay` are not fixed. Texts that ruff cannot convert count, too.
    """
    groups: defaultdict[tuple[str, int] | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[conversion_of(finding, body)].append(finding)
    old = Counter((_F_STRINGS, _function_at(line, body)) for line in _formatted(body))
    return {
        place_of(finding): "the function would be converted in part"
        for conversion, group in groups.items()
        if conversion is not None
        and (not stay.isdisjoint(map(place_of, group)) or old[conversion] > _texts(group))
        for finding in group
        if place_of(finding) not in stay
    }


def _texts(findings: Sequence[Finding]) -> int:
    """Return the number of formatted texts. Several rules may find the same text."""
    return len({place_of(finding)[2:] for finding in findings if finding["code"] > "UP"})


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
