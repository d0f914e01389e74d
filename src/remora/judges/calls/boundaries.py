"""Values of a parameter at the boundaries that a function's code names."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from remora.code.syntax.definitions import assigned_values, default_values
from remora.code.syntax.effects import own_nodes
from remora.judges.calls.target_function import TargetFunction
from remora.python_text import literal

_LONGEST = 12
"""Length of a text or collection up to which a test shows one of exactly that length."""
_SIZED = (str, bytes, list, tuple)
_LITERALS = (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List, ast.Set)


def boundary_values(
    subject: TargetFunction, parameter: str, given: Mapping[str, str]
) -> list[object]:
    """Return the values at which the conditions of the code decide otherwise.

    A call that passes the default says less than one without it, so the default is left out.
    The others are the integers on both sides of a comparison, other values and lengths that the code
    compares with, texts with the beginning or end that it asks for, and the empty value where a
    branch tests the argument. They have the type of the argument in `given`, the literal arguments
    of an existing case, or are None if the code compares with None. What the code compares with is
    a literal, a constant of the module, or another argument. The source of the method is boundary
    value analysis (Myers, The Art of Software Testing).
    """
    shown = literal(given[parameter])
    constants = _constants(subject)
    default = constants.pop(parameter, given[parameter])
    nodes = [*own_nodes(subject.function.body)]
    limits = _Limits(_forms(nodes, parameter), shown, {**constants, **given})
    found: list[object] = []
    for node in nodes:
        for value in limits.at(node):
            is_known = any(
                value == other and type(value) is type(other) for other in (shown, *found)
            )
            if not is_known and repr(value) != default:
                found.append(value)
    return found


def _forms(nodes: Sequence[ast.AST], parameter: str) -> set[str]:
    """Return the names of a parameter and of what is made from it, as in `text = text.strip()`."""
    found = {parameter}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made = _unchanged(value)
                if isinstance(made, ast.Name) and made.id in found:
                    found.add(name)
    return found


def _unchanged(node: ast.expr) -> ast.expr:
    """Return the value from which an expression makes one that equals it at the boundaries."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "str" | "abs"), args=[inner]):
            return _unchanged(inner)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="strip" | "lower" | "casefold"), args=[]
        ):
            return _unchanged(inner)
    return node


def _constants(subject: TargetFunction) -> dict[str, str]:
    """Return the values of the module's constants and of the defaults, as source code."""
    found = dict(default_values(subject.parameters))
    for name, value in assigned_values(subject.source.tree.body):
        if isinstance(value, _LITERALS):
            found.setdefault(name, value)
    return {name: ast.unparse(value) for name, value in found.items()}


class _Limits:
    """The values of a parameter at the limits in a condition.

    `names` are those of the parameter, and `known` has the values of other names.
    """

    def __init__(self, names: Collection[str], shown: object, known: Mapping[str, str]) -> None:
        self._names = names
        self._shown = shown
        self._known = known

    def at(self, node: ast.AST) -> Iterator[object]:
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                sides = [left, *others]
                for first, operator, second in zip(sides, operators, others, strict=False):
                    yield from self._compared(first, operator, second)
                    yield from self._compared(second, operator, first)
            case (
                ast.If(test=test)
                | ast.While(test=test)
                | ast.IfExp(test=test)
                | ast.UnaryOp(op=ast.Not(), operand=test)
            ):
                yield from self._empty(test)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self._empty(value)
            case ast.Call(func=ast.Attribute(value=text, attr=name), args=[part]):
                yield from self._with_affix(name, part) if self._is(text) else ()

    def _with_affix(self, name: str, part: ast.expr) -> Iterator[str]:
        shown, affix = self._shown, self._value(part)
        if isinstance(shown, str) and isinstance(affix, str):
            made = {"startswith": affix + shown, "endswith": shown + affix}
            yield from [made[name]] if name in made else ()

    def _empty(self, test: ast.expr) -> Iterator[object]:
        if self._is(test) and self._shown is not None:
            yield not self._shown if isinstance(self._shown, bool) else type(self._shown)()

    def _compared(self, side: ast.expr, operator: ast.cmpop, other: ast.expr) -> Iterator[object]:
        shown, limit = self._shown, self._value(other)
        if self._is(side):
            values = [limit]
            if isinstance(operator, ast.In | ast.NotIn):
                values = [*limit] if isinstance(limit, tuple | list | set | frozenset) else []
            elif type(limit) is int:
                values = [limit - 1, limit, limit + 1, float(limit)]
            says_none = isinstance(other, ast.Constant) and other.value is None
            yield from (
                value
                for value in values
                if type(value) is type(shown) or (value is None and says_none)
            )
        elif isinstance(shown, _SIZED) and type(limit) is int and self._is_length(side):
            for length in (limit - 1, limit, limit + 1):
                if 0 <= length <= _LONGEST and (shown or not length):
                    yield (shown * (length // max(1, len(shown)) + 1))[:length]

    def _value(self, node: ast.expr) -> object:
        """Return the value of a literal or a known name, or None."""
        if self._is(node):
            return None
        text = self._known.get(node.id, "None") if isinstance(node, ast.Name) else ast.unparse(node)
        try:
            value: object = literal(text)
        except (ValueError, TypeError, SyntaxError):
            return None
        return value

    def _is(self, side: ast.expr) -> bool:
        made = _unchanged(side)
        return isinstance(made, ast.Name) and made.id in self._names

    def _is_length(self, side: ast.expr) -> bool:
        match side:
            case ast.Call(func=ast.Name(id="len"), args=[argument]):
                return self._is(argument)
        return False
