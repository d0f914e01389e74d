"""Questions to the type checker: expressions of a file whose type it reveals.

Each expression is wrapped in `reveal_type(...)` in a copy of the file. The copy has the same lines.
"""

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from remora.code.edit.text_lines import split_lines
from remora.operations.types.source.project_index import File, Function
from remora.operations.types.source.slots import SourceText
from remora.python_text import parse

_NARROWING = frozenset(
    (
        *("isinstance", "issubclass", "callable", "hasattr", "cast", "super", "TypeVar"),
        *("NewType", "namedtuple", "NamedTuple", "reveal_type", "assert_type"),
        *("assert_never", "ParamSpec", "TypedDict", "Enum", "overload", "TypeVarTuple"),
        *("TypeAliasType", "locals", "globals", "type", "getattr", "property"),
    )
)
OPEN, _CLOSE = "reveal_type((", "))"


@dataclass(frozen=True, eq=False)
class Argument:
    """An argument of a call: `position` counts from 0, or -1 if passed by the name `keyword`."""

    node: ast.expr
    position: int
    keyword: str


@dataclass(frozen=True, eq=False)
class CallSite:
    """A call whose callee and arguments are revealed. `inside` is the function that contains it."""

    node: ast.Call
    name: str
    arguments: tuple[Argument, ...]
    inside: Function | None


@dataclass(frozen=True, eq=False)
class Exit:
    """A `return` or `yield` of a function, with its value."""

    node: ast.Return | ast.Yield | ast.YieldFrom
    value: ast.expr | None
    inside: Function


@dataclass(frozen=True, eq=False)
class Inherited:
    """A method whose definition outside the project is revealed, by an expression for it."""

    function: Function
    expression: str


@dataclass(frozen=True, eq=False)
class FileProbes:
    """All that is asked about a file."""

    calls: tuple[CallSite, ...]
    exits: tuple[Exit, ...]
    defaults: tuple[tuple[Function, str, ast.expr], ...]
    inherited: tuple[Inherited, ...]


def find_probes(file: File, callees: Container[str], unknown_bases: Container[str]) -> FileProbes:
    """Return what to ask about a file.

    `callees` contains the names of functions and classes whose calls are asked about. The methods
    of classes with a base in `unknown_bases`, and special methods, are looked up in their bases.
    """
    by_node = {id(each.node): each for each in file.functions}
    calls, exits = [], []
    for node, inside in _walk(file.source, file.source.tree, None, by_node):
        if isinstance(node, ast.Call):
            site = _call(node, inside, callees)
            calls += [site] if site else []
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and inside is not None:
            exits.append(Exit(node, node.value, inside))
    defaults = [
        (function, each.name, each.default)
        for function in file.functions
        for each in function.parameters
        if each.default is not None and not each.term
    ]
    return FileProbes(
        tuple(calls), tuple(exits), tuple(defaults), tuple(_inherited(file, unknown_bases))
    )


def _walk(
    source: SourceText, node: ast.AST, inside: Function | None, by_node: Mapping[int, Function]
) -> Iterator[tuple[ast.AST, Function | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Lambda):
            continue
        if isinstance(child, ast.FormattedValue) and not _has_its_place(source, child.value):
            continue
        if isinstance(child, ast.ClassDef):  # calls in its body may define fields
            for method in filter(lambda each: id(each) in by_node, child.body):
                yield from _walk(source, method, by_node[id(method)], by_node)
            continue
        holder = by_node.get(id(child), inside)
        yield child, inside
        yield from _walk(source, child, holder, by_node)


def _has_its_place(source: SourceText, value: ast.expr) -> bool:
    """Return True if an expression in an f-string is where its syntax tree says.

    Before Python 3.12, the places in some f-strings are wrong.
    """
    text = source.text[source.start(value) : source.end(value)]
    with suppress(SyntaxError, ValueError):
        there = parse(text, "eval").body
        return "\n" not in text and ast.dump(there) == ast.dump(value)
    return False


def _call(node: ast.Call, inside: Function | None, callees: Container[str]) -> CallSite | None:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            pass
        case _:
            return None
    if name in _NARROWING:
        return None
    arguments = []
    starred = False
    for position, value in enumerate(node.args):
        starred = starred or isinstance(value, ast.Starred)
        if not starred and _is_askable(value):
            arguments.append(Argument(value, position, ""))
    arguments += [
        Argument(each.value, -1, each.arg)
        for each in node.keywords
        if each.arg and _is_askable(each.value)
    ]
    names = {each.name for each in inside.parameters} if inside else set()
    passes = any(isinstance(each.node, ast.Name) and each.node.id in names for each in arguments)
    if name not in callees and not passes:
        return None
    return CallSite(node, name, tuple(arguments), inside)


def _is_askable(node: ast.expr) -> bool:
    return not isinstance(node, ast.GeneratorExp | ast.Starred | ast.Lambda)


def _inherited(file: File, unknown_bases: Container[str]) -> Iterator[Inherited]:
    for owner in file.classes.values():
        if "." in owner.name or owner.node not in file.source.tree.body:
            continue
        for method in owner.methods.values():
            if not all(each.term for each in method.parameters) or not method.returns:
                for base in [*owner.node.bases, None]:
                    name = "object" if base is None else ast.unparse(base).partition("[")[0]
                    if base is None or name.rpartition(".")[2] in unknown_bases:
                        yield Inherited(method, f"{name}.{method.short}")


class Instrumented:
    """A copy of a file in which expressions are wrapped in `reveal_type`.

    `text` is the copy, and `path` the path of the file.
    """

    def __init__(self, file: File, probes: FileProbes) -> None:
        self.path = file.path
        nodes = {id(node): node for node in _wrapped(probes)}
        body, self._places = wrap(file.source, list(nodes.values()))
        if not body.endswith("\n"):
            body += "\n"
        last = len(split_lines(body))
        tail = []
        for number, each in enumerate(probes.inherited, 1):
            tail.append(f"{OPEN}{each.expression}{_CLOSE}\n")
            self._places[id(each)] = (last + number, len(OPEN) + 1)
        self.text = body + "".join(tail)

    def revealed(
        self, node: ast.expr | Inherited, revealed: Mapping[tuple[str, int, int], str]
    ) -> str:
        """Return the type that the checker prints for a node, or an empty string.

        The parentheses around a tuple without its own belong to it in the copy.
        """
        line, column = self._places[id(node)]
        shown = revealed.get((self.path, line, column), "")
        if not shown and isinstance(node, ast.Tuple):
            shown = revealed.get((self.path, line, column - 1), "")
        return shown


def _wrapped(probes: FileProbes) -> Iterator[ast.expr]:
    for call in probes.calls:
        yield call.node.func
        yield from (each.node for each in call.arguments)
    yield from (each.value for each in probes.exits if each.value is not None)
    yield from (default for _, _, default in probes.defaults)


def wrap(source: SourceText, nodes: Sequence[ast.expr]) -> tuple[str, dict[int, tuple[int, int]]]:
    """Return the text with wrapped nodes, and the line and column of each node in it."""
    spans = [(source.start(node), source.end(node), node) for node in nodes]
    openings = [(start, 1, -end, node) for start, end, node in spans]
    closings = [(end, 0, -start, node) for start, end, node in spans]
    parts: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    last, shift, line = 0, 0, 0
    for offset, is_opening, _, node in sorted(openings + closings, key=lambda each: each[:3]):
        parts += [source.text[last:offset], OPEN if is_opening else _CLOSE]
        last = offset
        row, column = source.place(offset)
        line, shift = row, (shift if row == line else 0) + len(parts[-1])
        if is_opening:
            places[id(node)] = (row, column + shift)
    return "".join([*parts, source.text[last:]]), places
