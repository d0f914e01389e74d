"""Usage of a parameter in a function, which shows what values it takes."""

import ast
import datetime
import re
from collections.abc import Mapping

from remora.code.syntax.definitions import FunctionNode
from remora.operations.test.inputs.named_values import values_by_name
from remora.operations.test.inputs.pattern_examples import matching_text

KINDS = frozenset({"int", "float", "str", "bytes", "bool", "list", "tuple", "set", "dict", "None"})
_METHODS = {
    "str": "split strip lstrip rstrip lower upper title startswith endswith replace encode format isdigit "
    "isalpha splitlines partition rpartition capitalize isupper islower casefold join zfill",
    "bytes": "decode hex",
    "dict": "items keys values get setdefault",
    "list": "append extend sort insert reverse",
}
_KIND_OF_METHOD = {name: kind for kind, names in _METHODS.items() for name in names.split()}
_KINDS_BY_CALL = {
    "list": "sum sorted max min any all enumerate reversed iter list tuple set zip islice chain",
    "str": "ord StringIO",
    "int": "range abs chr hex round",
}
_GIVEN_TO = {name: kinds for kinds, names in _KINDS_BY_CALL.items() for name in names.split()}
"""Kinds of a parameter that is passed to a function, by the function's name."""
_MOMENT = datetime.datetime(2024, 5, 17, 14, 30, 15)  # noqa: DTZ001 - a constant in source code
_PARSED = {
    "loads": "'{\"name\": \"Ann\", \"age\": 30}'", "fromisoformat": "'2024-05-17'",
    "Decimal": "'12.50'", "Fraction": "'3/4'", "b64decode": "'aGVsbG8='", "unhexlify": "'68656c6c6f'",
    "literal_eval": "'[1, 2]'", "urlparse": "'https://example.com/docs?page=2'",
    "urlsplit": "'https://example.com/docs?page=2'", "ip_address": "'192.0.2.1'",
}  # fmt: skip
"""Values of a parameter that is passed to a parser, by the name of the parser."""
_MATCHING = frozenset({"match", "fullmatch"})
_SEARCHING = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
_PLAIN_ATTRIBUTES = frozenset(
    name for kind in (str, bytes, int, float, list, tuple, set, dict) for name in dir(kind)
)
_FORMS = {
    "startswith": "{}text", "lstrip": "{}text", "removeprefix": "{}text", "endswith": "text{}",
    "rstrip": "text{}", "removesuffix": "text{}", "strip": "{}text{}",
}  # fmt: skip
"""Texts with a mark that string methods look for at the start or the end."""
_MARKED = {"@": "ann{}example.com", "=": "key{}value", ",": "red{}green", "/": "docs{}intro"}
"""Texts with a mark that other string methods look for."""
_SPLITTING = frozenset({"split", "rsplit", "partition", "rpartition"})
_CALLABLES = ("lambda: 5", "lambda x: x * 2", "lambda a, b: a + b")
_ITEMS_AT_MOST = 3


class ParameterUse:
    """Likely types of a parameter, and values that the function treats in a special way.

    `constants` maps module-level names to the source of their values. `kinds` contains only types
    for which the use is evidence: a length, for example, says nothing. `compared` contains values
    that the parameter is compared with. `required` contains values of the only form that the
    function accepts. `elements` is the type of the items if the function shows it. `is_opaque` is
    true if the function uses attributes or items that no plain value has.
    """

    def __init__(
        self, name: str, function: FunctionNode, constants: Mapping[str, ast.expr]
    ) -> None:
        self._name = name
        self._constants = constants
        self.kinds: dict[str, None] = {}
        self.compared: dict[str, None] = {}
        self.required: dict[str, None] = {}
        self.elements: str = ""
        self.is_opaque = False
        self._keys: dict[str, str] = {}
        self._items = {name for node in ast.walk(function) for name in self._item_names(node)}
        for node in ast.walk(function):
            self._look(node)
        for node in ast.walk(function):
            self._look_at_item(node)
        if self._keys:
            self.is_opaque |= not all(self._keys.values())
            items = (f"{key!r}: {value}" for key, value in self._keys.items())
            self.compared[f"{{{', '.join(items)}}}"] = None

    def _is(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name

    def _item_names(self, node: ast.AST) -> list[str]:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=item)], value=ast.Subscript(value=value, slice=index)
            ) if self._is(value) and not isinstance(index, ast.Slice):
                return [item]
        return []

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.Attribute(value=value, attr=attr) if self._is(value):
                self._kind(_KIND_OF_METHOD.get(attr))
                self.is_opaque |= attr not in _PLAIN_ATTRIBUTES
            case ast.Compare():
                self._look_at_comparison(node)
            case ast.BinOp(left=left, right=right):
                self._look_at_computation(left, right)
            case ast.For(iter=over, target=item) | ast.comprehension(iter=over, target=item):
                self._look_at_loop(over, item)
            case ast.Call():
                self._look_at_any_call(node)
            case ast.Subscript(value=value, slice=index):
                self._look_at_index(value, index)

    def _look_at_any_call(self, node: ast.Call) -> None:
        if self._is(node.func):
            self.required.update(dict.fromkeys(_CALLABLES[len(node.args) : len(node.args) + 1]))
        elif node.args:
            self._look_at_call(node, node.args[0])
            self._look_at_pattern(node)

    def _look_at_loop(self, over: ast.expr, item: ast.expr) -> None:
        match over, item:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(
                elts=[_, item]
            ):
                over = inner
            case ast.Call(
                func=ast.Name(id="sorted" | "reversed" | "set" | "list"), args=[inner]
            ), _:
                over = inner
        if not self._is(over):
            return
        self._kind("list")
        if isinstance(item, ast.Name):
            self._items.add(item.id)
        elif isinstance(item, ast.Tuple) and len(item.elts) == 2:
            self.elements = "pair"

    def _look_at_item(self, node: ast.AST) -> None:
        """Note the type of the items, or that they are neither texts nor numbers."""
        match node:
            case ast.Attribute(value=value, attr=attr) if self._is_item(value):
                if _KIND_OF_METHOD.get(attr) == "str":
                    self.elements = self.elements or "str"
                self.is_opaque |= attr not in _PLAIN_ATTRIBUTES
            case ast.Subscript(value=value, slice=ast.Constant(value=str())):
                self.is_opaque |= self._is_item(value)
            case ast.Call(args=[first, *_], func=function) if self._is_item(first):
                if last_name(function) in ("len", "ord"):
                    self.elements = self.elements or "str"

    def _is_item(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return self._is(node.value) and isinstance(node.slice, ast.Constant | ast.UnaryOp)
        return isinstance(node, ast.Name) and node.id in self._items

    def _look_at_pattern(self, node: ast.Call) -> None:
        """Note a text that matches a regular expression to which the parameter is compared."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method not in _MATCHING | _SEARCHING or not isinstance(node.func, ast.Attribute):
            return
        owner, args = node.func.value, node.args
        if isinstance(owner, ast.Name) and owner.id in self._constants:
            match self._constants[owner.id]:
                case ast.Call(args=[_, *_] as given) as made if last_name(made.func) == "compile":
                    args = [given[0], *args]
                    owner = made
        elif not (isinstance(owner, ast.Name) and owner.id in ("re", "regex")):
            return
        match args:
            case [ast.Constant(value=str(pattern)), *rest] if any(map(self._is, rest)):
                flags = re.VERBOSE if "VERBOSE" in ast.dump(owner) else 0
                text = matching_text(pattern, flags)
                self._kind("str")
                if text and method in _MATCHING:
                    self.required[repr(text)] = None

    def _look_at_index(self, value: ast.expr, index: ast.expr) -> None:
        if isinstance(value, ast.Name) and self._is(index):
            self._members(self._constants.get(value.id))
        elif self._is(value) and isinstance(index, ast.Constant) and isinstance(index.value, str):
            self._keys[index.value] = next(iter(values_by_name(index.value)), "")

    def _look_at_computation(self, left: ast.expr, right: ast.expr) -> None:
        for one, other in ((left, right), (right, left)):
            if self._is(one) and isinstance(other, ast.Constant):
                self._kind(type(other.value).__name__)

    def _look_at_call(self, node: ast.Call, first: ast.expr) -> None:
        function = node.func
        if self._is(first):
            self._look_at_parser(node)
        if isinstance(function, ast.Attribute):
            self._look_at_method(function, first)
        if not self._is(first):
            return
        name = last_name(function)
        if name == "isinstance" and len(node.args) == 2:
            for part in ast.walk(node.args[1]):
                self._kind(part.id if isinstance(part, ast.Name) else None)
        for kind in _GIVEN_TO.get(name, "").split():
            self._kind(kind)

    def _look_at_method(self, function: ast.Attribute, first: ast.expr) -> None:
        if isinstance(first, ast.Constant) and self._is(_chain_start(function.value)):
            self._note_text_with(first.value, function.attr)
            is_of_text = self._is(function.value) and hasattr(str, function.attr)
            if is_of_text and any(map(str.isalnum, str(first.value))):
                self._compare(first)

    def _note_text_with(self, mark: object, method: str) -> None:
        """Note a text in which a string method finds a mark, such as `red,green`."""
        if isinstance(mark, str) and mark.strip() and not any(map(str.isalnum, mark)):
            split = "red{}green" if method in _SPLITTING else ""
            form = _FORMS.get(method) or _MARKED.get(mark) or split
            if form:
                self.compared[repr(form.replace("{}", mark))] = None

    def _look_at_parser(self, node: ast.Call) -> None:
        """Note a text of the form that a parser accepts, which gets the parameter."""
        parsed = _PARSED.get(last_name(node.func))
        if parsed:
            self.required[parsed] = None
        match node:
            case ast.Call(func=ast.Attribute(attr="strptime"), args=[_, ast.Constant(value=form)]):
                self.required[repr(_MOMENT.strftime(str(form)))] = None

    def _look_at_comparison(self, node: ast.Compare) -> None:
        self._look_at_derived(node)
        sides = [node.left, *node.comparators]
        if not any(self._is(side) for side in sides):
            return
        match node:
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.Constant(value=str()) as members]
            ):
                self._members(members)
                return
        for side in sides:
            known = self._constants.get(side.id) if isinstance(side, ast.Name) else None
            if isinstance(known, ast.Constant) and not isinstance(known.value, str):
                self._compare(known)
            else:
                self._members(known)
            for part in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
                if isinstance(part, ast.Constant):
                    self._compare(part)

    def _look_at_derived(self, node: ast.Compare) -> None:
        """Note values for which a comparison of a remainder, a text or its ends is true."""
        match node.left, node.comparators:
            case ast.BinOp(left=inner, op=ast.Mod(), right=ast.Constant(value=int(size))), [
                ast.Constant(value=int(rest))
            ] if self._is(inner) and size:
                self.compared |= dict.fromkeys((repr(size + rest), repr(size + rest + 1)))
            case ast.Call(), [ast.Constant(value=str(text))] if self._is(_chain_start(node.left)):
                self.compared[repr(text)] = None
            case ast.Subscript(value=inner, slice=index), [ast.Constant(value=str(mark))] if (
                self._is(inner) and mark
            ):
                place = ast.unparse(index)
                form = f"{mark}text" if place in ("0", ":1") else f"text{mark}"
                self.compared |= {repr(form): None} if place in ("0", ":1", "-1", "-1:") else {}

    def _compare(self, found: ast.Constant) -> None:
        if not isinstance(found.value, str | bytes | int | float):
            return
        self._kind(type(found.value).__name__)
        if isinstance(found.value, int) and not isinstance(found.value, bool):
            for near in (found.value, found.value + 1, found.value - 1):
                self.compared[repr(near)] = None
        else:
            self.compared[repr(found.value)] = None
            if isinstance(found.value, float) and found.value:
                self.compared[repr(found.value / 2)] = None

    def _members(self, container: ast.expr | None) -> None:
        """Note the first members of a constant container."""
        match container:
            case ast.Dict(keys=members):
                pass
            case ast.List(elts=members) | ast.Tuple(elts=members) | ast.Set(elts=members):
                pass
            case ast.Call(func=ast.Name(id="frozenset"), args=[inner]):
                return self._members(inner)
            case ast.Constant(value=str(text)):
                seen = dict.fromkeys(one for one in text if one.isprintable() and one != " ")
                return self._members(ast.List([ast.Constant(value=one) for one in seen]))
            case _:
                return None
        for one in members[:_ITEMS_AT_MOST]:
            if isinstance(one, ast.Constant) and isinstance(one.value, str | int):
                self._kind(type(one.value).__name__)
                self.compared[repr(one.value)] = None
        return None

    def _kind(self, kind: str | None) -> None:
        if kind in KINDS:
            self.kinds[str(kind)] = None


def _chain_start(node: ast.expr) -> ast.expr:
    """Return `text` for calls of methods such as `text.strip().lower()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node


def last_name(node: ast.expr) -> str:
    """Return the name after the last dot of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]
