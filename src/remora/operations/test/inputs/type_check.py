"""Checks of call arguments against annotations."""

import ast
import re
from functools import lru_cache

from remora.code.syntax.definitions import assigned_values, default_values
from remora.code.syntax.source import parse_text
from remora.operations.test.inputs.call_input import last_name
from remora.operations.test.target_function import TargetFunction
from remora.python_text import literal

_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "complex": (int, float, complex), "str": (str,),
    "bytes": (bytes,), "bool": (bool,), "list": (list,), "tuple": (tuple,), "set": (set,),
    "dict": (dict,), "None": (type(None),),
}  # fmt: skip
_ALIASES = {
    "Iterable": "list", "Sequence": "list", "Iterator": "list", "Collection": "list", "List": "list",
    "MutableSequence": "list", "Tuple": "tuple", "Set": "set", "FrozenSet": "set", "frozenset": "set",
    "AbstractSet": "set", "Mapping": "dict", "Dict": "dict", "MutableMapping": "dict", "Text": "str",
    "AnyStr": "str", "complex": "float", "bytearray": "bytes", "ByteString": "bytes",
    "SupportsInt": "int",
}  # fmt: skip
_PROTOCOL_NAMES = frozenset(
    {"Iterable", "Sequence", "Collection", "Iterator", "SupportsInt", "AbstractSet"}
)
"""Names that allow more types than their entry in `_ALIASES`."""
_DEEPEST = 4
_PREDICATE = re.compile(r"(is|has|can|should)_")


def contradicts(subject: TargetFunction, call: str) -> bool:
    """Return True if a literal argument contradicts the annotation of its parameter.

    For a parameter without an annotation, None is a contradiction if the function never mentions
    None.
    """
    tree = parse_text(call)
    name = subject.function.name
    calls = [] if isinstance(tree, str) else [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return any(_passes_other_type(subject, one) for one in calls if last_name(one.func) == name)


def _passes_other_type(subject: TargetFunction, call: ast.Call) -> bool:
    args = subject.parameters
    named = [*args.posonlyargs, *args.args][subject.implied :]
    by_name = {arg.arg: arg for arg in (*named, *args.kwonlyargs)}
    pairs = [
        *zip(named, call.args, strict=False),
        *((by_name[w.arg], w.value) for w in call.keywords if w.arg in by_name),
    ]
    return any(_contradicts_annotation(subject, arg, value) for arg, value in pairs)


def contradicts_return(subject: TargetFunction, value: str) -> bool:
    """Return True if a result contradicts the return annotation or the function's name.

    The result of `is_valid`, for example, must be a bool.
    """
    try:
        result = literal(value)
    except (ValueError, TypeError, SyntaxError):
        return False
    returns = subject.function.returns
    if returns is None:
        name = subject.function.name
        return _PREDICATE.match(name) is not None and not isinstance(result, bool)
    if result is None or _is_generator(returns):
        return False
    return not _allows(returns, result, _type_aliases(subject.source.tree), 0)


def _is_generator(returns: ast.expr) -> bool:
    return any(name in ast.unparse(returns) for name in ("Iter", "Generator"))


def _contradicts_annotation(subject: TargetFunction, arg: ast.arg, given: ast.expr) -> bool:
    try:
        value = ast.literal_eval(given)
    except (ValueError, TypeError, SyntaxError):
        return False
    if arg.annotation is None:
        return value is None and not _mentions_none(subject)
    by_default = value is None and arg.arg in _none_by_default(subject.parameters)
    return not by_default and not _allows(
        arg.annotation, value, _type_aliases(subject.source.tree), 0
    )


def _none_by_default(args: ast.arguments) -> set[str]:
    return {
        name
        for name, value in default_values(args)
        if isinstance(value, ast.Constant) and value.value is None
    }


def _mentions_none(subject: TargetFunction) -> bool:
    """Return True if the code, the defaults or the docstring mention None."""
    return any(
        isinstance(one, ast.Constant)
        and (one.value is None or (isinstance(one.value, str) and "None" in one.value))
        for one in ast.walk(subject.function)
    )


@lru_cache(maxsize=1)  # for all functions of a file
def _type_aliases(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for name, value in assigned_values(ast.walk(tree)):
        found.setdefault(name, value)
    return found


def _allows(annotation: ast.expr, value: object, meanings: dict[str, ast.expr], depth: int) -> bool:
    """Return True if the annotation allows the value or is unknown."""
    match annotation:
        case ast.Constant(value=str(text)):
            tree = parse_text(text)
            first = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
            inner = first.value if isinstance(first, ast.Expr) else ast.Name("object")
            return _allows(inner, value, meanings, depth)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return any(_allows(side, value, meanings, depth) for side in (left, right))
        case ast.Subscript(value=outer, slice=inner):
            return _allows_generic(last_name(outer), inner, value, meanings, depth)
    name = last_name(annotation)  # `None` is a type too
    if name in meanings and depth < _DEEPEST:
        return _allows(meanings[name], value, meanings, depth + 1)
    types = _TYPES.get(_ALIASES.get(name, name))
    return types is None or name in _PROTOCOL_NAMES or isinstance(value, types)


def _allows_generic(
    outer: str, inner: ast.expr, value: object, meanings: dict[str, ast.expr], depth: int
) -> bool:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer in ("Optional", "Union"):
        known = any(_allows(part, value, meanings, depth) for part in parts)
        return known or (outer == "Optional" and value is None)
    if outer == "Literal":
        return any(ast.unparse(part) == repr(value) for part in parts)
    if outer == "Annotated":
        return _allows(parts[0], value, meanings, depth)
    return _allows(ast.Name(outer), value, meanings, depth)
