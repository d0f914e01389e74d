"""Texts of files without some of their annotations, as if these had never been written."""

import ast
import re
from collections.abc import Collection, Iterable, Mapping

from remora.operations.parsed_text import Edit, apply_edits
from remora.operations.types.source.needless_imports import import_names, without_needless_imports
from remora.operations.types.source.slots import (
    RETURN,
    SourceText,
    functions_of,
    is_overload,
    parameters_of,
)

_FIELDS = re.compile("dataclass|attr|define|frozen|NamedTuple|TypedDict|Protocol|Model|Struct")
"""Classes whose annotations are fields."""

Place = tuple[int, str]
"""Number of a function in its file, and name of a parameter or `return`."""


def written_annotations(source: SourceText) -> dict[Place, ast.expr]:
    """Return the annotations of a file's functions. Overloads are left out."""
    found = {}
    for number, (_, node, owner) in enumerate(source.functions):
        if is_overload(node):
            continue
        every = [(arg.arg, arg.annotation) for arg, _, _ in parameters_of(node, owner)]
        for name, annotation in [*every, (RETURN, node.returns)]:
            if annotation is not None:
                found[number, name] = annotation
    return found


def without_annotations(
    texts: Mapping[str, str], removed: Mapping[str, Collection[Place]]
) -> dict[str, str]:
    """Return the texts of files without some annotations, and without imports that only they need.

    If all annotations of a file are removed, those of attributes are removed, too, except fields of
    dataclasses and the like.
    """
    imported = {name for text in texts.values() for name in import_names(text)}
    return {
        path: _bare(path, text, removed[path], imported) if removed.get(path) else text
        for path, text in texts.items()
    }


def _bare(
    path: str, text: str, removed: Collection[Place], imported: Collection[tuple[str, str]]
) -> str:
    source = SourceText(text)
    edits: list[Edit] = []
    kept = False
    for number, (_, node, owner) in enumerate(source.functions):
        for arg, _, default in parameters_of(node, owner):
            if arg.annotation is not None and (number, arg.arg) in removed:
                edits.append(_without_parameter(source, arg, has_default=default is not None))
            kept = kept or (arg.annotation is not None and (number, arg.arg) not in removed)
        if node.returns is not None and (number, RETURN) in removed:
            edits.append(_without_result(source, node.returns))
        kept = kept or (node.returns is not None and (number, RETURN) not in removed)
    if not kept:
        edits += _attribute_edits(source)
    return without_needless_imports(path, text, apply_edits(text, edits), imported)


def _without_parameter(source: SourceText, arg: ast.arg, *, has_default: bool) -> Edit:
    assert arg.annotation is not None
    start = source.start(arg) + len(arg.arg)
    end = source.end(arg.annotation)
    while source.text[end] in ")\"' \n" and has_default:
        end += 1
    if has_default and source.text[end] == "=":
        rest = source.text[end + 1 :]
        return Edit(start, end + 1 + len(rest) - len(rest.lstrip()), "=")
    return Edit(start, source.end(arg), "")


def _without_result(source: SourceText, returns: ast.expr) -> Edit:
    start = source.text.rindex("->", 0, source.start(returns))
    colon = source.text.index(":", source.end(returns))
    before = source.text[:start].rstrip().removesuffix("\\")
    return Edit(len(before.rstrip()), colon, "")


def _attribute_edits(source: SourceText) -> list[Edit]:
    edits = []
    for _, function, _ in functions_of(source.tree):
        assigned = [node for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
        edits += [_without_attribute(source, node) for node in assigned if not node.simple]
    for owner in ast.walk(source.tree):
        if isinstance(owner, ast.ClassDef) and not _FIELDS.search(_head(owner)):
            edits += _field_edits(source, owner.body)
    return list(dict.fromkeys(edits))


def _field_edits(source: SourceText, body: Iterable[ast.stmt]) -> list[Edit]:
    return [_without_attribute(source, node) for node in body if isinstance(node, ast.AnnAssign)]


def _head(owner: ast.ClassDef) -> str:
    return " ".join(map(ast.unparse, [*owner.decorator_list, *owner.bases, *owner.keywords]))


def _without_attribute(source: SourceText, node: ast.AnnAssign) -> Edit:
    if node.value is None:
        return Edit(source.start(node), source.end(node), "pass")
    equals = source.text.index("=", source.end(node.annotation))
    return Edit(source.end(node.target), equals, " ")
