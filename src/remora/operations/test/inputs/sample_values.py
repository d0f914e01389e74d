"""Sample arguments as source code, based on a parameter's type, default and usage."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.inputs.named_values import is_usual, shows_type, values_by_name
from remora.operations.test.inputs.parameter_use import ParameterUse, last_name

KINDS: dict[str, tuple[str, ...]] = {
    "int": ("3", "10", "0"),
    "float": ("2.5", "0.5", "10.0"),
    "str": ("'apple'", "'Hello, World'", "'one two three'", "'12'", "'12x'", "''"),
    "bytes": ("b'hello'", "b'a b'", "b''"),
    "bool": ("True", "False"),
    "list": ("[3, 1, 2, 1]", "['b', 'a', 'c']", "[]"),
    "tuple": ("(3, 1, 2)", "('a', 1)", "()"),
    "set": ("{1, 2}", "set()"),
    "dict": ("{'a': 1, 'b': 2}", "{}"),
    "None": ("None",),
}
"""Sample values by kind, those that say most first."""
_ANY = frozenset(
    text for kind, texts in KINDS.items() if kind not in ("bool", "None") for text in texts
)
"""Values that show a type only. As an argument in a test, they would say nothing."""
ALIASES = {
    "Iterable": "list", "Sequence": "list", "Iterator": "list", "Collection": "list", "List": "list",
    "MutableSequence": "list", "Tuple": "tuple", "Set": "set", "FrozenSet": "set", "frozenset": "set",
    "AbstractSet": "set", "Mapping": "dict", "Dict": "dict", "MutableMapping": "dict", "Text": "str",
    "AnyStr": "str", "complex": "float", "bytearray": "bytes", "ByteString": "bytes",
    "SupportsInt": "int",
}  # fmt: skip
_LISTS = {
    "str": ("['pear', 'apple']", "['fig']", "[]"),
    "pair": ("[('a', 1), ('b', 2)]", "[]"),
}
"""Lists by the type of their items."""
_ITEMS = {"str": ["'pear'", "'apple'"], "tuple": ["('a', 1)", "('b', 2)"]}
"""Items of typed lists, by their type."""
_VAGUE = "'Hello, World'"
_LETTERS = [repr(letter) for letter in "axbcdefg"]
MAX_VALUES = 10
_MOST_COMPARED = 7
_DEEPEST = 2


def values_of(
    arg: ast.arg,
    default: ast.expr | None,
    function: FunctionNode,
    classes: Mapping[str, ast.ClassDef],
    constants: Mapping[str, ast.expr] = MappingProxyType({}),
    depth: int = 0,
) -> list[str]:
    """Return at most `MAX_VALUES` sample values for a parameter, best first.

    `depth` is the number of constructor calls around the value.

    A parameter with a default gets only values that its use or its name shows.

    The list is empty if neither its annotation, its use, its default nor its name shows what it
    takes.
    """
    used = ParameterUse(arg.arg, function, constants)
    used.compared = {text: None for text in used.compared if _is_usual(arg.arg, text)}
    named = list(values_by_name(arg.arg))
    if default is not None and kind_of(default) != "bool":
        is_none = isinstance(default, ast.Constant) and default.value is None
        kinds = {*used.kinds} if is_none else {kind_of(default)}
        fitting = [text for text in named if _kind(text) in kinds]
        return list(dict.fromkeys([*used.required, *used.compared, *fitting]))[:MAX_VALUES]
    typed = list(_of_type(arg.annotation, classes, depth)) if arg.annotation is not None else []
    if used.is_opaque and not any(_kind(text) == "call" for text in typed):
        return []
    likely = [kind_of(default)] if default is not None else list(used.kinds)
    kinds = {_kind(text) for text in typed} or {*likely, *map(_kind, used.compared)}
    sure = kinds <= {"list"} and not typed and shows_type(arg.arg)  # a text is iterable, too
    fitting = [text for text in named if sure or _kind(text) in kinds]
    compared = [text for text in used.compared if not typed or _kind(text) in kinds]
    letters = [text for text in used.compared if _is_letter(text)]
    if letters and len(letters) == len(used.compared):  # one character, of which some are special
        found = [*letters[:4], next(text for text in _LETTERS if text not in letters)]
    elif compared and fitting[:1] == [_VAGUE]:  # what the function looks for says more
        found = [*used.required, *compared[:_MOST_COMPARED], *fitting]
    elif fitting or used.required:
        found = [*used.required, *fitting, *compared[:_MOST_COMPARED]]
    elif typed:
        found = [*typed[:2], *compared, *typed[2:]]
    else:
        plain = [text for kind in likely for text in _plain_values(kind, used.elements)]
        found = [*compared[:_MOST_COMPARED], *plain]
    shown = {*fitting, *compared, *used.required}
    found = [text for text in found if text in shown or text not in _ANY]
    return list(dict.fromkeys(found))[:MAX_VALUES]


def _is_usual(name: str, text: str) -> bool:
    with suppress(SyntaxError, ValueError):  # an expression
        return is_usual(name, ast.literal_eval(text))
    return True


def _is_letter(text: str) -> bool:
    """Return True for the source of a string of one character."""
    value = ast.literal_eval(text)
    return isinstance(value, str) and len(value) == 1


def _plain_values(kind: str, elements: str) -> tuple[str, ...]:
    if kind == "list" and elements:
        return _LISTS[elements]
    return KINDS.get(kind, ())


def values_of_type(
    annotation: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int = 0
) -> Iterator[str]:
    """Yield sample values of an annotated type, or nothing if any value of it says nothing."""
    yield from (text for text in _of_type(annotation, classes, depth) if text not in _ANY)


def _of_type(
    annotation: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int
) -> Iterator[str]:
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                yield from _of_type(ast.parse(text, mode="eval").body, classes, depth)
            except SyntaxError:
                return
        case ast.Constant(value=None):
            yield "None"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _of_type(left, classes, depth)
            yield from _of_type(right, classes, depth)
        case ast.Subscript(value=outer, slice=inner):
            yield from _of_generic(last_name(outer), inner, classes, depth)
        case ast.Name() | ast.Attribute():
            name = last_name(annotation)
            yield from KINDS.get(ALIASES.get(name, name), ())
            if name in classes and depth < _DEEPEST:
                yield from constructor_call(classes[name], classes, depth + 1)


def constructor_call(
    owner: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int = 0
) -> Iterator[str]:
    """Yield a constructor call with sample values for the fields or the `__init__` parameters."""
    init = next(
        (one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"),
        None,
    )
    words: list[str] | None = []
    if init is not None:
        words = _for_init(init, classes, depth)
    elif any("dataclass" in ast.unparse(one) for one in owner.decorator_list):
        words = _for_fields(owner, classes, depth)
    elif owner.bases and [last_name(base) for base in owner.bases] != ["object"]:
        return
    if words is not None:
        yield f"{owner.name}({', '.join(words)})"


def _for_init(
    init: ast.FunctionDef, classes: Mapping[str, ast.ClassDef], depth: int
) -> list[str] | None:
    """Return a value for each required parameter, or None if any of them has no known value."""
    required = init.args.args[1 : len(init.args.args) - len(init.args.defaults)]
    if depth >= _DEEPEST or None in init.args.kw_defaults:
        return None
    values = [values_of(arg, None, init, classes, depth=depth)[:1] for arg in required]
    return [each[0] for each in values] if all(values) else None


def _for_fields(
    owner: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int
) -> list[str] | None:
    """Return a value for each required field, or None if any of them has no known value."""
    words: list[str] = []
    for each in owner.body:
        if isinstance(each, ast.AnnAssign) and each.value is None:
            values = list(values_of_type(each.annotation, classes, depth))
            if not values or not isinstance(each.target, ast.Name):
                return None
            words.append(f"{each.target.id}={values[0]}")
    return words


def _of_generic(
    outer: str, inner: ast.expr, classes: Mapping[str, ast.ClassDef], depth: int
) -> Iterator[str]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        yield from (ast.unparse(part) for part in parts)
        return
    if outer in {"Optional", "Union", "Annotated"}:
        for part in parts[:1] if outer == "Annotated" else parts:
            yield from _of_type(part, classes, depth)
        if outer == "Optional":
            yield "None"
        return
    kind = ALIASES.get(outer, outer)
    items = [list(values_of_type(part, classes, depth + 1))[:3] for part in parts]
    if depth >= _DEEPEST or kind not in KINDS or not all(items):
        yield from KINDS.get(kind, ())
        return
    first = items[0]
    if kind == "dict" and len(items) == 2:
        yield f"{{{first[0]}: {items[1][0]}}}"
        yield "{}"
    elif kind == "tuple" and ast.unparse(parts[-1]) != "...":
        yield f"({', '.join(each[0] for each in items)}{',' if len(items) == 1 else ''})"
    else:
        opening, closing = {"tuple": ("(", ")"), "set": ("{", "}")}.get(kind, ("[", "]"))
        words = _ITEMS.get(_kind(first[0]), first)
        yield f"{opening}{', '.join(words)}{closing}"
        yield "set()" if kind == "set" else f"{opening}{closing}"
        yield f"{opening}{first[0]}{',' if kind == 'tuple' else ''}{closing}"


def kind_of(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return type(value.value).__name__ if value.value is not None else "str"
    return type(value).__name__.lower()


def _kind(text: str) -> str:
    return kind_of(ast.parse(text, mode="eval").body)
