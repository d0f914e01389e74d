"""Expressions to terms: every call, attribute, lambda and comprehension on the way is recorded."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from remora.code.lower.annotations import annotation_term
from remora.code.lower.builder import Builder, OpenScope
from remora.code.lowered import (
    ATTRIBUTE,
    AWAIT,
    COMPREHENSION_SCOPE,
    CONSTANT,
    CONTAINER,
    EACH,
    EITHER,
    ITEM,
    KEYWORD,
    KWARGS,
    LAMBDA_SCOPE,
    ORDINARY,
    POSITIONAL,
    SCOPE,
    SLICE,
    STAR,
    TEXT,
    VALUE,
    VARARGS,
    Call,
    Container,
    Fill,
    Parameter,
    Read,
    Store,
)

DEEPEST = 120  # levels of expressions: no person writes more, and the stack has an end
MOST_ITEMS = 256  # of a display: longer ones are data
LONGEST_NAME = 60
_FILLING = {"append": 0, "appendleft": 0, "add": 0, "put": 0, "insert": 1, "setdefault": 1}
_FILLING_FROM = frozenset(("extend", "update"))
_FILLERS = _FILLING_FROM.union(_FILLING)
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.MatMult: "__matmul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.BitAnd: "__and__",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_CONTAINMENT = frozenset((ast.In, ast.NotIn))
_NAME, _CONSTANT, _ATTRIBUTE = ast.Name, ast.Constant, ast.Attribute
_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load))
_SAYING_LITTLE = frozenset((CONSTANT, TEXT))
_CONSTANTS: dict[type[object], Any] = {
    kind: (CONSTANT, kind.__name__) for kind in (str, bytes, int, float, complex, bool)
}


class Expressions(Builder):
    """The handlers of expressions: each takes a node and gives its term."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._handlers = self._HANDLERS

    def expression(self, node: Any) -> Any:
        """The term of `node`, and everything in it recorded; null beyond a sane depth."""
        kind = node.__class__
        # three of four nodes are names and constants
        if kind is _NAME:
            name = node.id
            self.names.add(name)
            return name
        if kind is _CONSTANT:
            return _constant(node.value)
        handler = self._handlers.get(kind)
        if handler is None or self.depth > DEEPEST:
            return None
        self.depth += 1
        term = handler(self, node)
        self.depth -= 1
        return term

    def assign(self, target: Any, term: Any) -> None:
        """`target = …`, of which the `term` is already known."""
        if target.__class__ is _NAME:
            self.bind(target.id, VALUE, term)
            return
        match target:
            case ast.Attribute(value=base, attr=name):
                self.store(base, name, term)
            case ast.Subscript():
                self._fill_item(target, term)
            case ast.Starred(value=inner):
                self.assign(inner, None)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, term)

    def store(self, base: ast.expr, name: str, term: Any, annotation: Any = None) -> None:
        """`base.name = term`."""
        owner = self.expression(base)
        self.names.add(name)
        if owner != "self":
            self.names.add(f"set {name}")
        self.stores.append(
            Store(self.scope.index, self.at, base.lineno, owner, name, term, annotation)
        )

    def _unpack(self, targets: Sequence[ast.expr], term: Any) -> None:
        starred = next(
            (i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), len(targets)
        )
        for index, target in enumerate(targets):
            known = term is not None and index < starred
            self.assign(target, (ITEM, term, index) if known else None)

    def _fill_item(self, target: ast.Subscript, term: Any) -> None:
        base = self.expression(target.value)
        key = _key(target.slice)
        if key is None:
            self.expression(target.slice)
        if base is not None:
            self.fills.append(Fill(self.scope.index, self.at, base, key, term))
            self.implicit(base, "__setitem__", target.lineno, (None, term))

    def implicit(self, base: Any, name: str, line: int, args: Sequence[Any] = ()) -> Any:
        """Syntax calls the special method `name` of `base`; the term of the result."""
        if _is_plain(base):
            return None
        self.names.add(name)
        self.calls.append(
            Call(self.scope.index, self.at, line, (ATTRIBUTE, base, name), args, (), True)
        )
        return len(self.calls) - 1

    def decoration(self, decorator: Any, line: int, made: Any) -> Any:
        """A decorator is called with what it stands above; the term of the result."""
        self.calls.append(Call(self.scope.index, self.at, line, decorator, (made,)))
        return len(self.calls) - 1

    def _attribute(self, node: ast.Attribute) -> Any:
        value, name = node.value, node.attr
        if value.__class__ is _NAME:
            base = value.id
            self.names.add(base)
        else:
            base = self.expression(value)
        self.names.add(name)
        term = (ATTRIBUTE, base, name)
        self.reads.append(Read(self.scope.index, self.at, node.end_lineno or node.lineno, term))
        return term

    def _call(self, node: ast.Call) -> Any:
        func, given, named = node.func, node.args, node.keywords
        expression = self.expression
        if func.__class__ is _ATTRIBUTE:
            name = func.attr
            callee: Any = (ATTRIBUTE, expression(func.value), name)
            self.names.add(name)
            line = func.end_lineno or node.lineno
        else:
            callee = expression(func)
            line = node.lineno
        args = tuple(map(expression, given)) if given else ()
        keywords: Sequence[tuple[str | None, Any]] = ()
        if named:
            keywords = tuple([(k.arg, expression(k.value)) for k in named])
        if callee.__class__ is tuple:
            if args and callee[0] == ATTRIBUTE and callee[2] in _FILLERS:
                self._fills(callee, args)
        elif (callee == "getattr" or callee == "setattr") and len(args) > 1:
            self._named_by_text(node, callee, args)
        self.calls.append(Call(self.scope.index, self.at, line, callee, args, keywords))
        return len(self.calls) - 1

    def _named_by_text(self, node: ast.Call, callee: str, args: Sequence[Any]) -> None:
        """`getattr` and `setattr` with a constant name are an attribute."""
        if not _is_text(args[1]):
            return
        name = args[1][1]
        self.names.add(name)
        if callee == "setattr" and len(args) > 2:
            self.names.add(f"set {name}")
            self.stores.append(
                Store(self.scope.index, self.at, node.lineno, args[0], name, args[2])
            )

    def _fills(self, callee: Any, args: Sequence[Any]) -> None:
        _, base, name = callee
        place = _FILLING.get(name)
        if base is None:
            return
        if place is not None and place < len(args):
            key = args[0][1] if name == "setdefault" and _is_text(args[0]) else None
            self.fills.append(Fill(self.scope.index, self.at, base, key, args[place]))
        elif name in _FILLING_FROM and args and args[0] is not None:
            self.fills.append(Fill(self.scope.index, self.at, base, None, (EACH, args[0])))

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.expression(node.value)
        if node.slice.__class__ is ast.Slice:
            self.expression(node.slice)
            return None if base is None else (SLICE, base)
        key = _key(node.slice)
        if key is None:
            self.expression(node.slice)
        if base is None:
            return None
        self.implicit(base, "__getitem__", node.lineno)
        return (ITEM, base, key)

    def _slice(self, node: ast.Slice) -> Any:
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.expression(part)

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        return self._container(list(map(self.expression, node.elts)), None)

    def _dict(self, node: ast.Dict) -> Any:
        keys = [None if key is None else _key(key) for key in node.keys]
        for key, known in zip(node.keys, keys, strict=True):
            if key is not None and known is None:
                self.expression(key)
        items = [self.expression(value) for value in node.values]
        for index, key in enumerate(node.keys):
            if key is None:  # `**other`
                items[index] = (
                    None if items[index] is None else (EACH, (ATTRIBUTE, items[index], "values"))
                )
        return self._container(items, keys)

    def _container(self, items: list[Any], keys: list[Any] | None, *, each: bool = False) -> Any:
        if len(items) > MOST_ITEMS or all(map(_is_plain, items)):
            items, keys = [], None if keys is None else []
        self.containers.append(Container(self.scope.index, self.at, items, keys, each))
        return (CONTAINER, len(self.containers) - 1)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Any:
        outside = self.scope
        inside = self.open_scope(COMPREHENSION_SCOPE, "", outside.qualname, node.lineno)
        for number, generator in enumerate(node.generators):
            self.scope = outside if number == 0 else inside
            source = self.expression(generator.iter)
            self.iteration(source, generator.iter.lineno)
            self.scope = inside
            self.assign(generator.target, None if source is None else (EACH, source))
            self.owner.points += 1 + len(generator.ifs)
            for test in generator.ifs:
                self.expression(test)
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            item = self.expression(node.value)
        else:
            item = self.expression(node.elt)
        keys: list[Any] | None = [None] if isinstance(node, ast.DictComp) else None
        term = self._container([item], keys, each=True)
        self.scope = outside
        return term

    def iteration(self, source: Any, line: int) -> None:
        """A loop asks `source` for an iterator, and that for each item."""
        iterator = self.implicit(source, "__iter__", line)
        if iterator is not None:
            self.implicit(iterator, "__next__", line)

    def _lambda(self, node: ast.Lambda) -> Any:
        outside = self.scope
        inside = self.open_scope(LAMBDA_SCOPE, "", outside.qualname, node.lineno)
        inside.params = self.parameters(node.args)
        self.scope = inside
        inside.results.append((self.at, self.expression(node.body)))
        self.scope = outside
        return (SCOPE, inside.index)

    def parameters(self, args: ast.arguments) -> list[Parameter]:
        """In the order of the signature; defaults and annotations belong to the scope around."""
        alone, defaults = args.posonlyargs, args.defaults
        positional = alone + args.args
        kinds = [POSITIONAL] * len(alone) + [ORDINARY] * len(args.args)
        given_last = [None] * (len(positional) - len(defaults)) + defaults
        params = list(map(self._parameter, positional, kinds, given_last))
        if args.vararg is not None:
            params.append(self._parameter(args.vararg, VARARGS, None))
        for arg, given in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            params.append(self._parameter(arg, KEYWORD, given))
        if args.kwarg is not None:
            params.append(self._parameter(args.kwarg, KWARGS, None))
        return params

    def _parameter(self, arg: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
        name, promised = arg.arg, arg.annotation
        annotation = None if promised is None else self.annotation(promised)
        self.names.add(name)
        return Parameter(
            name, kind, annotation, None if default is None else self.expression(default)
        )

    def annotation(self, node: ast.expr) -> Any:
        """The term of a type; a call within it is recorded."""
        term = annotation_term(node, self.names)
        if node.__class__ is ast.Subscript or node.__class__ is ast.Call:
            self._calls_within(node)
        return term

    def _calls_within(self, node: ast.expr) -> None:
        waiting: list[Any] = [node]
        while waiting:
            found = waiting.pop()
            kind = found.__class__
            if kind in _LEAVES:
                continue
            if kind is ast.Subscript:
                waiting += (found.value, found.slice)
            elif kind is ast.Tuple:
                waiting += found.elts
            elif kind is ast.Call:
                self.expression(found)
            else:
                waiting.extend(ast.iter_child_nodes(found))

    def _either(self, node: ast.BoolOp) -> Any:
        self.owner.points += len(node.values) - 1
        return _either([self.expression(value) for value in node.values])

    def _conditional(self, node: ast.IfExp) -> Any:
        self.owner.points += 1
        self.expression(node.test)
        return _either([self.expression(node.body), self.expression(node.orelse)])

    def _operator(self, node: ast.BinOp) -> Any:
        # a sum of a thousand parts leans to the left
        rest: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            rest.append(left)
            left = left.left
        term = self.expression(left)
        for part in reversed(rest):
            right = self.expression(part.right)
            term = self.implicit(term, _OPERATORS[part.op.__class__], part.lineno, (right,))
        return term

    def _unary(self, node: ast.UnaryOp) -> Any:
        self.expression(node.operand)

    def _compare(self, node: ast.Compare) -> Any:
        left = self.expression(node.left)
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expression(comparator)
            kind = operator.__class__
            name = _COMPARISONS.get(kind)
            if kind in _CONTAINMENT:
                self.implicit(right, "__contains__", node.lineno, (left,))
            elif name is not None and not _is_plain(right):
                self.implicit(left, name, node.lineno, (right,))
            left = right

    def _await(self, node: ast.Await) -> Any:
        term = self.expression(node.value)
        return None if term is None else (AWAIT, term)

    def _yield(self, node: ast.Yield) -> Any:
        term = None if node.value is None else self.expression(node.value)
        self._frame().yields.append((self.at, term))

    def _yield_from(self, node: ast.YieldFrom) -> Any:
        term = self.expression(node.value)
        self._frame().yields.append((self.at, None if term is None else (EACH, term)))

    def _frame(self) -> OpenScope:
        """The function whose generator a `yield` makes."""
        scope = self.scope
        while scope.kind == COMPREHENSION_SCOPE and scope.parent is not None:
            scope = scope.parent
        return scope

    def _starred(self, node: ast.Starred) -> Any:
        term = self.expression(node.value)
        return None if term is None else (STAR, term)

    def _named(self, node: ast.NamedExpr) -> Any:
        term = self.expression(node.value)
        inside = self.scope
        self.scope = self._frame()
        self.bind(node.target.id, VALUE, term)
        self.scope = inside
        return term

    def _text(self, node: ast.JoinedStr) -> Any:
        for value in node.values:
            self.expression(value)
        return _CONSTANTS[str]

    def _formatted(self, node: ast.FormattedValue) -> Any:
        self.expression(node.value)
        if node.format_spec is not None:
            self.expression(node.format_spec)

    _HANDLERS: ClassVar[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Subscript: _subscript,
        ast.List: _display,
        ast.Tuple: _display,
        ast.Set: _display,
        ast.Dict: _dict,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _comprehension,
        ast.Lambda: _lambda,
        ast.BoolOp: _either,
        ast.IfExp: _conditional,
        ast.BinOp: _operator,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
        ast.Starred: _starred,
        ast.NamedExpr: _named,
        ast.JoinedStr: _text,
        ast.FormattedValue: _formatted,
        ast.Slice: _slice,
    }


def _constant(value: Any) -> Any:
    if value.__class__ is str and len(value) < LONGEST_NAME and value.isidentifier():
        return (TEXT, value)
    return _CONSTANTS.get(value.__class__)


def _either(terms: list[Any]) -> Any:
    known = [term for term in terms if term is not None]
    if len(known) < 2:
        return known[0] if known else None
    return (EITHER, *known)


def _key(node: ast.expr) -> Any:
    """A constant key; null for any other."""
    if isinstance(node, ast.Constant):
        value = node.value
        if value.__class__ is str:
            return value
        return value if value.__class__ is int and -(2**31) < value < 2**31 else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return -1 if node.operand.value == 1 else None
    return None


def _is_plain(term: Any) -> bool:
    """Whether nothing of the project is run by an operator on it."""
    return term is None or (term.__class__ is tuple and term[0] in _SAYING_LITTLE)


def _is_text(term: Any) -> bool:
    return term.__class__ is tuple and term[0] == TEXT
