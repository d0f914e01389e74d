"""Sample arguments as source code, based on a parameter's type, default and usage."""

import ast
from collections.abc import Iterator

from remora.code.syntax.definitions import FunctionNode

KINDS: dict[str, tuple[str, ...]] = {
    "int": ("3", "0", "-2", "1", "10"),
    "float": ("2.5", "0.0", "-1.5"),
    "str": ("'abc'", "''", "'Hello, World'", "'a b  c'", "'12'"),
    "bytes": ("b'abc'", "b''", "b'a b'"),
    "bool": ("True", "False"),
    "list": ("[3, 1, 2]", "[]", "['b', 'a']", "[1, 1]"),
    "tuple": ("(3, 1, 2)", "()", "('a', 1)"),
    "set": ("{1, 2}", "set()"),
    "dict": ("{'a': 1, 'b': 2}", "{}"),
    "None": ("None",),
}
ALIASES = {
    "Iterable": "list", "Sequence": "list", "Iterator": "list", "Collection": "list", "List": "list",
    "MutableSequence": "list", "Tuple": "tuple", "Set": "set", "FrozenSet": "set", "frozenset": "set",
    "AbstractSet": "set", "Mapping": "dict", "Dict": "dict", "MutableMapping": "dict", "Text": "str",
    "AnyStr": "str", "complex": "float", "bytearray": "bytes", "ByteString": "bytes",
    "SupportsInt": "int",
}  # fmt: skip
_METHODS = {
    "str": "split strip lstrip rstrip lower upper title startswith endswith replace encode format isdigit "
    "isalpha splitlines partition rpartition capitalize isupper islower casefold join zfill",
    "bytes": "decode hex",
    "dict": "items keys values get setdefault",
    "list": "append extend sort insert reverse",
}
_KIND_OF_METHOD = {name: kind for kind, names in _METHODS.items() for name in names.split()}
_KINDS_BY_CALL = {
    "list": "sum sorted max min any all enumerate reversed",
    "str list": "len",
    "str": "int ord match search fullmatch",
    "int": "range abs chr hex round",
}
_GIVEN_TO = {name: kinds for kinds, names in _KINDS_BY_CALL.items() for name in names.split()}
"""Kinds of a parameter that is passed to a function, by the function's name."""
_UNKNOWN = ("'abc'", "3", "[3, 1, 2]", "''", "0", "{'a': 1}", "b'abc'", "None")
MAX_VALUES = 9
_DEEPEST = 2


def values_of(
    arg: ast.arg, default: ast.expr | None, function: FunctionNode, classes: dict[str, ast.ClassDef]
) -> list[str]:
    """Return at most `MAX_VALUES` sample values for a parameter, best first."""
    used = ParameterUse(arg.arg, function)
    found = list(used.compared)
    if arg.annotation is not None:
        typed = list(values_of_type(arg.annotation, classes))
        found = [text for text in found if not typed or _kind(text) in map(_kind, typed)]
        found = [*typed[:2], *found, *typed[2:]] if typed else found
    else:
        kinds = [kind_of(default)] if default is not None else list(used.kinds)
        plain = [text for kind in kinds for text in KINDS.get(kind, ())]
        found = [*found[:4], *plain] if plain else found or list(_UNKNOWN)
    return list(dict.fromkeys(found))[:MAX_VALUES]


def values_of_type(
    annotation: ast.expr, classes: dict[str, ast.ClassDef], depth: int = 0
) -> Iterator[str]:
    """Yield sample values of an annotated type, or nothing if the type is unknown."""
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                yield from values_of_type(ast.parse(text, mode="eval").body, classes, depth)
            except SyntaxError:
                return
        case ast.Constant(value=None):
            yield "None"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from values_of_type(left, classes, depth)
            yield from values_of_type(right, classes, depth)
        case ast.Subscript(value=outer, slice=inner):
            yield from _of_generic(last_name(outer), inner, classes, depth)
        case ast.Name() | ast.Attribute():
            name = last_name(annotation)
            yield from KINDS.get(ALIASES.get(name, name), ())
            if name in classes and depth < _DEEPEST:
                yield from constructor_call(classes[name], classes, depth + 1)


def constructor_call(
    owner: ast.ClassDef, classes: dict[str, ast.ClassDef], depth: int = 0
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
    init: ast.FunctionDef, classes: dict[str, ast.ClassDef], depth: int
) -> list[str] | None:
    """Return a value for each required parameter, or None if any of them has no known value."""
    required = init.args.args[1 : len(init.args.args) - len(init.args.defaults)]
    if depth >= _DEEPEST or None in init.args.kw_defaults:
        return None
    values = [values_of(arg, None, init, classes)[:1] for arg in required]
    return [each[0] for each in values] if all(values) else None


def _for_fields(
    owner: ast.ClassDef, classes: dict[str, ast.ClassDef], depth: int
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
    outer: str, inner: ast.expr, classes: dict[str, ast.ClassDef], depth: int
) -> Iterator[str]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        yield from (ast.unparse(part) for part in parts)
        return
    if outer in {"Optional", "Union", "Annotated"}:
        for part in parts[:1] if outer == "Annotated" else parts:
            yield from values_of_type(part, classes, depth)
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
        yield f"{opening}{', '.join(first)}{closing}"
        yield "set()" if kind == "set" else f"{opening}{closing}"
        yield f"{opening}{first[0]}{',' if kind == 'tuple' else ''}{closing}"


class ParameterUse:
    """Usage of a parameter in a function: likely types, and constants that it is compared with."""

    def __init__(self, name: str, function: FunctionNode) -> None:
        self._name = name
        self.kinds: dict[str, None] = {}
        self.compared: dict[str, None] = {}
        for node in ast.walk(function):
            self._look(node)

    def _is(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.Attribute(value=value, attr=attr) if self._is(value):
                self._kind(_KIND_OF_METHOD.get(attr))
            case ast.Compare(left=left, comparators=others):
                self._look_at_comparison(left, others)
            case ast.BinOp(left=left, right=right):
                self._look_at_computation(left, right)
            case ast.For(iter=over) | ast.comprehension(iter=over) if self._is(over):
                self._kind("list")
            case ast.Call(args=[first, *_]):
                self._look_at_call(node, first)
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if self._is(value):
                self.compared[f"{{{key!r}: 1}}"] = None

    def _look_at_computation(self, left: ast.expr, right: ast.expr) -> None:
        for one, other in ((left, right), (right, left)):
            if self._is(one) and isinstance(other, ast.Constant):
                self._kind(type(other.value).__name__)

    def _look_at_call(self, node: ast.Call, first: ast.expr) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and self._is(function.value):
            if isinstance(first, ast.Constant):
                self._compare(first)
            return
        if not self._is(first):
            return
        name = last_name(function)
        if name == "isinstance" and len(node.args) == 2:
            for part in ast.walk(node.args[1]):
                self._kind(part.id if isinstance(part, ast.Name) else None)
        for kind in _GIVEN_TO.get(name, "").split():
            self._kind(kind)

    def _look_at_comparison(self, left: ast.expr, others: list[ast.expr]) -> None:
        sides = [left, *others]
        if not any(self._is(side) for side in sides):
            return
        for side in sides:
            for part in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
                if isinstance(part, ast.Constant):
                    self._compare(part)

    def _compare(self, found: ast.Constant) -> None:
        if not isinstance(found.value, str | bytes | int | float):
            return
        self._kind(type(found.value).__name__)
        if isinstance(found.value, int) and not isinstance(found.value, bool):
            for near in (found.value, found.value + 1, found.value - 1):
                self.compared[repr(near)] = None
        else:
            self.compared[repr(found.value)] = None

    def _kind(self, kind: str | None) -> None:
        if kind in KINDS:
            self.kinds[str(kind)] = None


def kind_of(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return type(value.value).__name__ if value.value is not None else "str"
    return type(value).__name__.lower()


def _kind(text: str) -> str:
    return kind_of(ast.parse(text, mode="eval").body)


def last_name(node: ast.expr) -> str:
    """Return the name after the last dot of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]
