"""Places in a file where an annotation is missing."""

import ast
import re
import tokenize
from functools import cached_property
from typing import Literal

import msgspec

from remora.code.edit.parsed_text import ParsedText
from remora.code.syntax.definitions import FunctionNode, find_definitions
from remora.code.syntax.effects import unqualified_name

Kind = Literal["parameter", "args", "kwargs", "return"]
RETURN = "return"
_REPEAT = re.compile(r"#\d+")
_LEFT_ALONE = re.compile(
    r"#\s*type:(?!\s*ignore)|#\s*type:\s*ignore(?!\[)|#\s*type:\s*ignore\[[^]]*untyped"
    r"|#\s*noqa(?!:)|#\s*noqa:[^#]*\bANN"
)
"""Comments with types, and those that say that annotations are left out on purpose."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A missing annotation: of a parameter, or of a function's result."""

    function: str
    """The qualified name of the function."""
    number: int
    """The position of the function among those of the file."""
    name: str
    """The parameter's name, or `return`."""
    kind: Kind
    """What the annotation is of."""


class SourceText(ParsedText):
    """The text of a file with its functions, and the places for annotations."""

    @cached_property
    def functions(self) -> list[tuple[str, FunctionNode, ast.ClassDef | None]]:
        """The result of `functions_of`."""
        return functions_of(self.tree)

    @cached_property
    def qualnames(self) -> list[str]:
        """The qualname of each function. Repeated names get `#2`, `#3` and so on."""
        names = {
            definition.node: definition.qualname for definition in find_definitions(self.tree, "")
        }
        return [names[node] for _, node, _ in self.functions]

    @cached_property
    def slots(self) -> list[Slot]:
        """The missing annotations of the file, in source order.

        Overloads have none, and functions with type comments or comments such as `# noqa: ANN001`.
        """
        found = []
        for number, (name, node, owner) in enumerate(self.functions):
            if is_overload(node) or is_left_alone(self, node):
                continue
            missing = [
                (a.arg, kind) for a, kind, _ in parameters_of(node, owner) if not a.annotation
            ]
            results: list[tuple[str, Kind]] = [(RETURN, "return")] if node.returns is None else []
            found += [
                Slot(function=name, number=number, name=slot, kind=kind)
                for slot, kind in [*missing, *results]
            ]
        return found

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(iter([*self.lines, ""]).__next__))

    def at(self, position: tuple[int, int]) -> int:
        """Return the offset of a token's position."""
        return self.start_of_line(position[0]) + position[1]

    @cached_property
    def ends_of_parameters(self) -> dict[int, int]:
        """Map the line of each `def` to the offset after the parenthesis that ends its parameters."""
        ends: dict[int, int] = {}
        line, depth, in_header = 0, 0, False
        for token in self.tokens:
            if token.type == tokenize.NAME and token.string == "def":
                line, depth, in_header = token.start[0], 0, True
            if not in_header or token.type != tokenize.OP:
                continue
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth == 0 and token.string == ")":
                ends[line] = self.at(token.end)
                in_header = False
        return ends


def functions_of(tree: ast.Module) -> list[tuple[str, FunctionNode, ast.ClassDef | None]]:
    """Return each function with its qualified name and the class whose body contains it."""
    definitions = find_definitions(tree, "")
    nodes = {definition.key: definition.node for definition in definitions}
    found: list[tuple[str, FunctionNode, ast.ClassDef | None]] = []
    for definition in definitions:
        owner = nodes.get(definition.parent)
        if isinstance(definition.node, FunctionNode):
            name = _REPEAT.sub("", definition.qualname)
            found.append(
                (name, definition.node, owner if isinstance(owner, ast.ClassDef) else None)
            )
    return found


def is_static(node: FunctionNode) -> bool:
    return "staticmethod" in map(unqualified_name, node.decorator_list)


def is_overload(node: FunctionNode) -> bool:
    return "overload" in map(unqualified_name, node.decorator_list)


def parameters_of(
    node: FunctionNode, owner: ast.ClassDef | None
) -> list[tuple[ast.arg, Kind, ast.expr | None]]:
    """Return the parameters with their kind and default, without the receiver of a method."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    found: list[tuple[ast.arg, Kind, ast.expr | None]] = [
        (arg, "parameter", default) for arg, default in zip(positional, defaults, strict=True)
    ]
    if owner is not None and not is_static(node):
        found = found[1:]
    found += [(given.vararg, "args", None)] if given.vararg else []
    found += [
        (arg, "parameter", default)
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return found + ([(given.kwarg, "kwargs", None)] if given.kwarg else [])


def annotations_of(node: FunctionNode, owner: ast.ClassDef | None) -> dict[str, ast.expr]:
    """Return the annotations of a function, by parameter and RETURN."""
    found = {arg.arg: arg.annotation for arg, _, _ in parameters_of(node, owner)}
    found[RETURN] = node.returns
    return {name: annotation for name, annotation in found.items() if annotation is not None}


def written_annotations(source: SourceText) -> dict[tuple[int, str], ast.expr]:
    """Return the annotations of functions, by number and name of a parameter, or `return`.

    Overloads are left out.
    """
    return {
        (number, name): annotation
        for number, (_, node, owner) in enumerate(source.functions)
        if not is_overload(node)
        for name, annotation in annotations_of(node, owner).items()
    }


def is_left_alone(source: SourceText, node: FunctionNode) -> bool:
    """Return True if a comment says that a function stays as it is."""
    header = source.lines[node.lineno - 1 : node.body[0].lineno]
    return any("#" in line and _LEFT_ALONE.search(line) for line in header)
