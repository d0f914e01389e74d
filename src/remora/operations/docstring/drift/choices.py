"""Documented values of a parameter that the code does not accept.

Example: the docstring says `` `mode`: One of 'fast' or 'safe' ``, and the code has
`if mode not in ("fast", "exact"): raise ValueError`.

1. The entry lists quoted values: `{'fast', 'safe'}`, "one of 'fast' or 'safe'", or one bullet each.
2. The code has the accepted ones: in an annotation `Literal[...]`, or in a test that raises.
3. A listed value that is not accepted is a contradiction. So is an accepted value that is missing
   from a list in braces or after "one of", which claims to be complete.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from remora.code.syntax.docstring_sections import Item
from remora.code.syntax.effects import own_nodes, unqualified_name
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding

_TEXT = r"`{0,2}(?:'[\w.+-]+'|\"[\w.+-]+\")`{0,2}"
_OTHER = rf"(?:{_TEXT}|`{{0,2}}(?:None|True|False)`{{0,2}})"
_LIST = rf"{_TEXT}(?:(?:,? (?:or|and) |, ?|/| ?\| ?){_OTHER})+"
_BRACES = re.compile(rf"\{{ ?({_LIST}),? ?\}}")
_ONE_OF = re.compile(
    rf"\b(?:[Oo]ne of|[Ee]ither|[Cc]hoose (?:between|from)|[Mm]ust be)(?: either| one of)?:? ({_LIST})"
    r"(?! (?:or|and)\b)"
)
_BULLET = re.compile(rf"\s*[-*+] ({_TEXT})(?!\w)")
_QUOTED = re.compile(r"['\"]([\w.+-]+)['\"]")
_PLAIN = frozenset(("Literal", "Optional", "Union", "typing", "typing_extensions", "t"))


def choice_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield the parameters whose documented values are others than the code accepts."""
    for section in code.parsed.sections:
        for item in section.items if section.kind == "parameters" else ():
            name = item.names[0] if len(item.names) == 1 else ""
            listed, is_complete = _documented(code.parsed.lines[item.first : item.last + 1])
            accepted = _accepted(code, name) if listed else frozenset()
            if listed & accepted:
                yield from _compare(item, name, (listed, accepted), is_complete=is_complete)


def _compare(
    item: Item, name: str, choices: tuple[frozenset[str], frozenset[str]], *, is_complete: bool
) -> Iterator[DriftFinding]:
    listed, accepted = choices
    extra, missing = sorted(listed - accepted), sorted(accepted - listed) if is_complete else []
    if extra or missing:
        what = f"`{extra[0]}` is not accepted" if extra else f"`{missing[0]}` is accepted as well"
        message = f"the values of `{name}` are documented, but {what}"
        yield DriftFinding(code="wrong-choice", line=item.first, message=message, name=name)


def _documented(lines: Sequence[str]) -> tuple[frozenset[str], bool]:
    """Return the only list of values in an entry, and True if it claims to be complete."""
    whole = " ".join(line.strip() for line in lines)
    lists = [*_BRACES.findall(whole), *_ONE_OF.findall(whole)]
    bullets = [found[1] for line in lines if (found := _BULLET.match(line)) is not None]
    if bullets:
        return frozenset(_QUOTED.findall(" ".join(bullets))), False
    if len(lists) != 1:
        return frozenset(), False
    return frozenset(_QUOTED.findall(lists[0])), True


def _accepted(code: DocumentedCode, name: str) -> frozenset[str]:
    """Return the texts that a parameter accepts, or nothing if this is not certain."""
    if code.signature is None:
        return frozenset()
    arguments = code.signature.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    annotation = next((each.annotation for each in every if each.arg == name), None)
    if annotation is not None and "Literal" in _names(annotation):
        return _literals(annotation)
    body = code.body if code.function is not None else code.signature.body
    nodes = list(own_nodes(body))
    if any(isinstance(node, ast.Name) and node.id == name and _is_stored(node) for node in nodes):
        return frozenset()  # such as `name = name.lower()`
    tests = (node.test for node in nodes if isinstance(node, ast.If) and _raises(node.body))
    return next(filter(None, (_tested(test, name) for test in tests)), frozenset())


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _raises(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def _literals(annotation: ast.expr) -> frozenset[str]:
    """Return the texts of `Literal[...]`, if an annotation has nothing else but None."""
    if not _names(annotation) <= _PLAIN:
        return frozenset()
    return _texts(node for node in ast.walk(annotation) if isinstance(node, ast.Constant))


def _names(annotation: ast.expr) -> set[str]:
    nodes = ast.walk(annotation)
    return {unqualified_name(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}


def _tested(test: ast.expr, name: str) -> frozenset[str]:
    """Return the texts in a test `name not in (...)`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn):
        return frozenset()
    values = test.comparators[0]
    if not isinstance(test.left, ast.Name) or test.left.id != name:
        return frozenset()
    if not isinstance(values, ast.Tuple | ast.List | ast.Set):
        return frozenset()
    if not all(isinstance(value, ast.Constant) for value in values.elts):
        return frozenset()
    return _texts(values.elts)


def _texts(nodes: "Iterator[ast.Constant] | Sequence[ast.expr]") -> frozenset[str]:
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return frozenset(value for value in values if isinstance(value, str))
