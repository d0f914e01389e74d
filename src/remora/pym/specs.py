"""Specifications of a script's declared inputs and externals."""

import ast
from typing import Any

import msgspec

from remora.pym.input_schema import annotation_schema


class InputSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An input declared by a script. `schema` is the JSON Schema of its annotation."""

    name: str
    schema: dict[str, Any]
    required: bool
    default: Any = None
    description: str = ""
    line: int


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of an external.

    `annotation` is the source of its annotation, or an empty string if there is none.
    """

    name: str
    annotation: str
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
    """Return the input declared by `name: T = Input("name", …)`. Raises InvalidDeclarationError."""
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
        raise InvalidDeclarationError('an input needs a type: `name: str = Input("name")`')
    name = statement.target.id
    if not isinstance(statement.value, ast.Call):
        raise InvalidDeclarationError("the value of an input must be a call to Input")
    positional, named = _literals(statement.value, name)
    if len(positional) > 1 or not named.keys() <= {"name", "default", "description"}:
        raise InvalidDeclarationError("Input accepts only a name, default= and description=")
    if [*positional, *([named["name"]] if "name" in named else [])] != [name]:
        raise InvalidDeclarationError(
            f'an input must have the same name as its variable: `{name} = Input("{name}")`'
        )
    return InputSpec(
        name=name,
        schema=annotation_schema(statement.annotation),
        required="default" not in named,
        default=named.get("default"),
        description=str(named.get("description", "")),
        line=line,
    )


def _literals(call: ast.Call, name: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        positional = [ast.literal_eval(arg) for arg in call.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except ValueError:
        message = f"the arguments of Input for `{name}` must be literals"
        raise InvalidDeclarationError(message) from None
    return positional, named


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
