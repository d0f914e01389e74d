"""Annotated parameters and results of the functions of a file."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from remora.code.syntax.definitions import Definition, find_definitions, first_line
from remora.ids import NodeKey
from remora.judges.types.slots import RETURN, annotations_of
from remora.python_text import parse


class AnnotatedSlot(NamedTuple):
    """The annotation of a parameter, or that of the result with the name `return`."""

    path: str
    function: str
    name: str
    annotation: str

    def describe(self, kind: str) -> str:
        """Return a description, such as `a.py: f(x: str) is given int`."""
        verb = "returns" if self.name == RETURN else "is given"
        return f"{self.path}: {self.function}({self.name}: {self.annotation}) {verb} {kind}"


class Place(NamedTuple):
    """Where a slot is, and an expression for its annotation."""

    line: int
    """The first line of the function."""
    function_name: str
    classes: tuple[str, ...]
    """The names of the classes around the function, or none if it is inside another function."""
    expression: str
    """The annotation without quotes."""


def slots_of(path: str, content: bytes) -> dict[AnnotatedSlot, Place]:
    """Return the annotated slots of a file, or none if it does not parse.

    Annotations that are nested too deeply are left out.
    """
    try:
        tree = parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    definitions = {definition.key: definition for definition in find_definitions(tree, path)}
    slots = dict[AnnotatedSlot, Place]()
    for definition in definitions.values():
        node = definition.node
        if isinstance(node, ast.ClassDef):
            continue
        parents = [*_parents(definition, definitions)]
        in_classes = all(isinstance(parent.node, ast.ClassDef) for parent in parents)
        classes = tuple(parent.node.name for parent in reversed(parents)) if in_classes else ()
        for name, annotation in annotations_of(node, None).items():
            with suppress(RecursionError, MemoryError):
                slot = AnnotatedSlot(path, definition.qualname, name, ast.unparse(annotation))
                expression = ast.unparse(_Unquoted().visit(annotation))
                slots[slot] = Place(first_line(node), node.name, classes, expression)
    return slots


def _parents(of: Definition, definitions: Mapping[NodeKey, Definition]) -> Iterator[Definition]:
    parent = definitions.get(of.parent)
    while parent is not None:
        yield parent
        parent = definitions.get(parent.parent)


class _Unquoted(ast.NodeTransformer):
    """Replaces the strings of an annotation with the expressions in them, except in `Literal`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name = ast.unparse(node.value).rpartition(".")[2]
        if name == "Literal":
            return node
        if name == "Annotated" and isinstance(node.slice, ast.Tuple):
            return self.visit(node.slice.elts[0])  # type: ignore[no-any-return]
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        try:
            inner = parse(node.value.strip(), "eval").body
        except (SyntaxError, ValueError):
            return node
        return self.visit(inner)  # type: ignore[no-any-return]
