"""Signature, docstring, decorators and type hints of a definition, and whether a call fits it."""

import ast
import copy
from collections.abc import Iterator, Sequence
from inspect import Parameter, Signature
from typing import Any

from remora.code.syntax.definitions import DefinitionNode, FunctionNode, default_values
from remora.code.syntax.source import Source, printable

_KEYWORDS: dict[type[ast.AST], str] = {
    ast.FunctionDef: "def",
    ast.AsyncFunctionDef: "async def",
    ast.ClassDef: "class",
}
_UNANNOTATED = ("self", "cls")
_PLAIN = {
    *("staticmethod", "classmethod", "abstractmethod", "override", "final", "cache", "lru_cache"),
    *("contextmanager", "asynccontextmanager", "deprecated", "wraps"),
}
"""Decorators that leave the parameters as they are."""


def signature(node: DefinitionNode) -> str:
    """Return a one-line signature such as `def foo(x: int) -> str`, without a colon."""
    header = copy.copy(node)
    header.body = []
    header.decorator_list = []
    try:
        return printable(ast.unparse(header).removesuffix(":"))
    except (RecursionError, ValueError):
        # a default is nested too deeply, or an integer has too many digits
        return f"{_KEYWORDS[type(node)]} {node.name}(…)"


def has_type_hints(node: FunctionNode) -> bool:
    """Return True if the return value and all parameters are annotated.

    A leading `self` or `cls` needs no annotation.
    """
    if node.returns is None:
        return False
    args = node.args
    params = args.posonlyargs + args.args + args.kwonlyargs
    for variadic in (args.vararg, args.kwarg):
        if variadic is not None:
            params.append(variadic)
    for arg in params:
        if arg.annotation is None and not (arg is params[0] and arg.arg in _UNANNOTATED):
            return False
    return True


def docstring_summary(body: Sequence[ast.stmt]) -> str | None:
    """Return the first non-blank line of the docstring, or None if there is no docstring."""
    text = docstring_text(body)
    return None if text is None else first_text_line(text)


def first_text_line(text: str) -> str:
    """Return the first non-blank line of `text`, or "" if all lines are blank."""
    stripped = text.strip()
    end = stripped.find("\n")  # cheaper than splitting a long docstring
    lines = (stripped if end < 0 else stripped[:end]).splitlines()
    return printable(lines[0]) if lines else ""


def docstring_text(body: Sequence[ast.stmt]) -> str | None:
    if body and body[0].__class__ is ast.Expr:
        first: Any = body[0].value
        if first.__class__ is ast.Constant and isinstance(first.value, str):
            return first.value
    return None


def decorator_texts(node: DefinitionNode, source: Source) -> tuple[str, ...]:
    return tuple("@" + source_segment(expression, source) for expression in node.decorator_list)


def source_segment(node: ast.expr, source: Source) -> str:
    start = source.offset(node.lineno, node.col_offset)
    end = source.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return source.utf8[start:end].decode("utf-8", "backslashreplace")


def start_line(node: ast.stmt, source: Source) -> int:
    """Return the first line of `node`, including its decorators. Lines count from 1."""
    found: list[ast.expr] | None = getattr(node, "decorator_list", None)
    if not found:
        return node.lineno
    line = found[0].lineno
    # after `@(` the expression may start on a later line than the `@`
    while not source.line(line).lstrip().startswith(b"@"):
        line -= 1
    return line


def has_own_parameters(function: FunctionNode) -> bool:
    """Return True unless a decorator may change the parameters of a function."""
    return _decorators(function) <= _PLAIN


def misfit(function: FunctionNode, call: ast.Call, *, in_class: bool) -> str:
    """Return why a call does not fit a function, or an empty string if it does.

    Example: `missing a required argument: 'tax'`. With `*` or `**` in the call, nothing is known.
    The first parameter of a method is the object, unless the call names the class.
    """
    names = [keyword.arg for keyword in call.keywords]
    if None in names or any(isinstance(value, ast.Starred) for value in call.args):
        return ""
    keywords = {name: None for name in names if name is not None}
    kinds = _decorators(function)
    is_bound = in_class and "staticmethod" not in kinds
    owner = ast.unparse(call.func).rpartition(".")[0].rpartition(".")[2]
    names_class = owner.isidentifier() and owner.lstrip("_")[:1].isupper()  # `Cart.total(cart)`
    is_bound = is_bound and ("classmethod" in kinds or not names_class)
    parameters = [*_parameters(function.args)][is_bound:]
    try:
        Signature(parameters).bind(*call.args, **keywords)
    except TypeError as error:
        return str(error)
    return ""


def _decorators(function: FunctionNode) -> set[str]:
    texts = (ast.unparse(decorator) for decorator in function.decorator_list)
    return {text.partition("(")[0].rpartition(".")[2] for text in texts}


def _parameters(args: ast.arguments) -> Iterator[Parameter]:
    defaults = dict(default_values(args))
    groups = (
        (Parameter.POSITIONAL_ONLY, args.posonlyargs),
        (Parameter.POSITIONAL_OR_KEYWORD, args.args),
        (Parameter.VAR_POSITIONAL, [args.vararg]),
        (Parameter.KEYWORD_ONLY, args.kwonlyargs),
        (Parameter.VAR_KEYWORD, [args.kwarg]),
    )
    for kind, group in groups:
        for parameter in filter(None, group):
            name = parameter.arg
            yield Parameter(name, kind, default=defaults.get(name, Parameter.empty))
