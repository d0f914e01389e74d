"""Parts of a node that a docstring describes: their types, and those that a node has."""

import ast
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from remora.code.docstrings.docstring_sections import Style
from remora.code.docstrings.documented_exceptions import raised_exceptions
from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.effects import (
    is_none_or_missing,
    is_stub,
    own_nodes,
    returns_or_yields,
    unqualified_name,
)

Mood = Literal["imperative", "indicative"]
STYLES: tuple[Style, ...] = ("google", "numpy", "rest")

_RECEIVERS = ("self", "cls", "mcs", "mcls", "metacls")
_PROPERTIES = ("property", "cached_property")


class Parameter(msgspec.Struct, frozen=True):
    """A parameter as it is written in the code. `kind` is its prefix: `""`, `"*"` or `"**"`."""

    name: str
    kind: Literal["", "*", "**"] = ""
    annotation: str | None = None
    default: str | None = None


class Describable(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a function's docstring may describe, in source order.

    `parameters` does not include `self`, `cls` or private parameters. `raises` contains the names of
    exceptions, spelled as in the code. `annotation` is the return type.
    """

    parameters: tuple[Parameter, ...] = ()
    raises: tuple[str, ...] = ()
    outcome: Literal["nothing", "returns", "yields"] = "nothing"
    annotation: str | None = None


class DocstringFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Docstring conventions of a file: style, line width, quotes and mood.

    If `below` is true, multi-line text starts on the line below the opening quotes. `step`
    is the indentation of an entry's description. `mood` is that of a function's first verb.
    """

    style: Style = "google"
    width: int = 88
    below: bool = False
    quotes: str = '"""'
    step: str = "    "
    mood: Mood = "imperative"


def describable_parts(node: DefinitionNode) -> Describable:
    """Return the parts of a node. The docstring of a property describes its value by itself."""
    if isinstance(node, ast.ClassDef):
        return Describable()
    stub = is_stub(node, node.body)
    return Describable(
        parameters=tuple(_parameters(node.args)),
        raises=() if stub else raised_exceptions(node.body),
        outcome=_outcome(node, node.body),
        annotation=None if is_none_or_missing(node.returns) else source_of(node.returns),
    )


def source_of(node: ast.expr | None) -> str | None:
    """Return an expression's source on one line. Quotes around string annotations are removed."""
    if node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value.isprintable() else repr(node.value)
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return "…"


def _outcome(
    node: FunctionNode, body: Sequence[ast.stmt]
) -> Literal["nothing", "returns", "yields"]:
    if any(unqualified_name(decorator) in _PROPERTIES for decorator in node.decorator_list):
        return "nothing"
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own_nodes(body)):
        return "yields"
    if returns_or_yields(body) or (is_stub(node, body) and not is_none_or_missing(node.returns)):
        return "returns"
    return "nothing"


def _parameters(args: ast.arguments) -> Iterator[Parameter]:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    for index, (arg, default) in enumerate(zip(plain, defaults, strict=True)):
        if (index or arg.arg not in _RECEIVERS) and not arg.arg.startswith("_"):
            yield Parameter(arg.arg, "", source_of(arg.annotation), source_of(default))
    if args.vararg is not None:
        yield Parameter(args.vararg.arg, "*", source_of(args.vararg.annotation))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if not arg.arg.startswith("_"):
            yield Parameter(arg.arg, "", source_of(arg.annotation), source_of(default))
    if args.kwarg is not None:
        yield Parameter(args.kwarg.arg, "**", source_of(args.kwarg.annotation))
