"""Documented parameter types that contradict the annotations."""

import ast
import re
from collections.abc import Iterator

from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.operations.docstring.parts import Item

_TYPES = frozenset(("int", "str", "bool", "bytes", "dict", "list", "tuple", "set", "float"))
_SPELLED = {"string": "str", "integer": "int", "boolean": "bool", "dictionary": "dict"}
_COMPATIBLE = (
    frozenset(("int", "float")),
    frozenset(("int", "bool")),
    frozenset(("list", "tuple")),
)
_GOOGLE = re.compile(r"\s*\*{0,2}\w+ ?\((\w+)(?:, optional)?\)\s*:")
_NUMPY = re.compile(r"\s*\w+ ?: ?(\w+)(?:, (?:optional|default\b.*|keyword-only))?\s*")
_REST = re.compile(r"\s*:param (\w+) \w+:.*|\s*:type \w+: *(\w+)(?:, optional| or None)?\.?\s*")


def type_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield parameters whose documented type is another simple type than the annotated one."""
    if code.function is None:
        return
    arguments = code.function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    annotated = {each.arg: _simple_type(each.annotation) for each in every}
    for section in code.parsed.sections:
        for item in section.items if section.kind == "parameters" else ():
            actual = annotated.get(item.names[0], "") if len(item.names) == 1 else ""
            stated = _stated(code, item)
            known = _SPELLED.get(stated, stated)
            if not actual or known not in _TYPES or known == actual:
                continue
            if not any({known, actual} <= pair for pair in _COMPATIBLE):
                yield DriftFinding(
                    code="wrong-type",
                    line=item.first,
                    message=f"the type of `{item.names[0]}` is documented as {stated}, "
                    f"but the annotation is {actual}",
                    name=item.names[0],
                    old=stated,
                    new=actual,
                )


def _stated(code: DocumentedCode, item: Item) -> str:
    pattern = {"google": _GOOGLE, "numpy": _NUMPY, "rest": _REST}[code.parsed.style or "google"]
    line = code.parsed.lines[item.first]
    found = pattern.match(line) if pattern is _GOOGLE else pattern.fullmatch(line)
    return next(filter(None, found.groups()), "") if found else ""


def _simple_type(annotation: ast.expr | None) -> str:
    """Return the built-in type of an annotation without `None`, or an empty string."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.right, ast.Constant):
        annotation = annotation.left if annotation.right.value is None else None
    if isinstance(annotation, ast.Subscript):
        name = ast.unparse(annotation.value).rpartition(".")[2]
        annotation = annotation.slice if name == "Optional" else annotation.value
    name = annotation.id if isinstance(annotation, ast.Name) else ""
    name = name.lower() if name in ("Dict", "List", "Tuple", "Set") else name
    return name if name in _TYPES else ""
