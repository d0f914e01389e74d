"""Specifications of a script's declared inputs and externals, with JSON Schema for the inputs.

`external` and `Input`, with which scripts declare them, are for editors and do nothing at run time.
"""

import ast
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from remora.code.syntax.effects import unqualified_name
from remora.python_text import parse

_INPUT_ARGUMENTS = dict.fromkeys(("name", "default", "description"))

_Schema = dict[str, Any]
_F = TypeVar("_F", bound=Callable[..., Any])

_SCALARS: dict[str, _Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "List": {"type": "array"},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
    "None": {"type": "null"},
}


class InputSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An input declared by a script."""

    name: str
    variable: str
    """The name of the variable that receives the value."""
    schema: dict[str, Any]
    """The JSON Schema of the annotation."""
    required: bool
    default: Any = None
    description: str = ""
    line: int


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of an external."""

    name: str
    annotation: str
    """The source of the annotation, or an empty string if there is none."""
    required: bool


class ExternalSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host function that the script declares."""

    name: str
    params: tuple[Parameter, ...]
    returns: str
    is_async: bool
    line: int


class InvalidDeclarationError(Exception):
    """Raised for an invalid declaration. The message shows the correct form."""


def input_spec(statement: ast.stmt, line: int) -> InputSpec:
    """Return the input declared by `variable: T = Input("name", …)`.

    The type may be missing, and so may the name if it is the variable's. Raises
    InvalidDeclarationError.
    """
    variable, annotation, call = _assignment(statement)
    given = _arguments(call, variable)
    name = given.get("name", variable)
    if not isinstance(name, str) or not name:
        raise InvalidDeclarationError(f'the name of an input must be a string: Input("{variable}")')
    return InputSpec(
        name=name,
        variable=variable,
        schema=_annotation_schema(annotation) if annotation else {},
        required="default" not in given,
        default=given.get("default"),
        description=str(given.get("description", "")),
        line=line,
    )


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr | None, ast.Call]:
    """Return the variable, its annotation and the call to Input."""
    match statement:
        case ast.AnnAssign(
            target=ast.Name(id=name), annotation=annotation, value=ast.Call() as call
        ):
            return name, annotation, call
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            return name, None, call
    raise InvalidDeclarationError('declare an input like this: `name: str = Input("name")`')


def _arguments(call: ast.Call, variable: str) -> dict[str, Any]:
    try:
        positional = [ast.literal_eval(arg) for arg in call.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except ValueError:
        message = f"the arguments of Input for `{variable}` must be literals"
        raise InvalidDeclarationError(message) from None
    given = {**dict(zip(_INPUT_ARGUMENTS, positional, strict=False)), **named}
    if len(given) != len(positional) + len(named) or not given.keys() <= _INPUT_ARGUMENTS.keys():
        raise InvalidDeclarationError("Input accepts only a name, default= and description=")
    return given


def external_spec(statement: ast.stmt, line: int) -> ExternalSpec:
    """Return the function declared by `@external def …`. Raises InvalidDeclarationError."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        raise InvalidDeclarationError("@external must decorate a function")
    if [type(decorator) for decorator in statement.decorator_list] != [ast.Name]:
        raise InvalidDeclarationError("`@external` must be the only decorator of an external")
    if not all(_is_empty(part) for part in statement.body):
        raise InvalidDeclarationError(
            "the body of an external must be `...`, because the host implements it"
        )
    return ExternalSpec(
        name=statement.name,
        params=_parameters(statement.args),
        returns=ast.unparse(statement.returns) if statement.returns else "",
        is_async=isinstance(statement, ast.AsyncFunctionDef),
        line=line,
    )


def _is_empty(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    ordered = [*arguments.posonlyargs, *arguments.args]
    optional = {arg.arg for arg in ordered[len(ordered) - len(arguments.defaults) :]}
    keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    optional |= {arg.arg for arg, default in keyword if default is not None}
    return tuple(
        Parameter(
            name=arg.arg,
            annotation=ast.unparse(arg.annotation) if arg.annotation else "",
            required=arg.arg not in optional,
        )
        for arg in [*ordered, *arguments.kwonlyargs]
    )


def _annotation_schema(annotation: ast.expr) -> _Schema:
    """Return the JSON Schema for an annotation, or `{}` if the annotation cannot be converted."""
    if isinstance(annotation, ast.Constant):
        return _constant(annotation.value)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _any_of([annotation.left, annotation.right])
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        return _generic(unqualified_name(annotation.value), parts)
    return dict(_SCALARS.get(unqualified_name(annotation), {}))


def _constant(value: object) -> _Schema:
    if value is None:
        return {"type": "null"}
    if isinstance(value, str):  # a quoted annotation
        try:
            return _annotation_schema(parse(value, "eval").body)
        except SyntaxError:
            return {}
    return {}


def _generic(name: str, parts: list[ast.expr]) -> _Schema:
    match name:
        case "Literal":
            return {"enum": [ast.literal_eval(part) for part in parts]}
        case "Optional":
            return _any_of([*parts, ast.Constant(value=None)])
        case "Union":
            return _any_of(parts)
        case "list" | "List" | "Sequence":
            return _with({"type": "array"}, "items", parts[0])
        case "dict" | "Dict" | "Mapping":
            return _with({"type": "object"}, "additionalProperties", parts[-1])
        case _:
            return {}


def _with(schema: _Schema, key: str, part: ast.expr) -> _Schema:
    inner = _annotation_schema(part)
    return {**schema, key: inner} if inner else schema


def _any_of(parts: list[ast.expr]) -> _Schema:
    options: list[_Schema] = []
    for part in parts:
        option = _annotation_schema(part)
        options += option.get("anyOf", [option])
    if {} in options:
        return {}
    if all(set(option) == {"type"} for option in options):
        types = [option["type"] for option in options]
        lists = (kinds if isinstance(kinds, list) else [kinds] for kinds in types)
        return {"type": [kind for kinds in lists for kind in kinds]}
    return {"anyOf": options}


def external(function: _F) -> _F:
    """Mark a function as implemented by the host. Its body must be `...` or a docstring."""
    return function


def Input(name: str = "", default: Any = None, description: str = "") -> Any:  # noqa: ARG001, N802
    """Declare an argument of the script: `path: str = Input("path")`.

    `name` is what callers use; without it, the name of the variable. An argument without a
    `default` is required. `description` is shown to models. Outside a run, the default is returned.
    """
    return default
