"""Statements to binds, blocks and scopes: the walk over a whole file."""

import ast
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from remora.code.lower.builder import OpenScope
from remora.code.lower.expressions import Expressions
from remora.code.lower.patterns import captures
from remora.code.lowered import (
    ANNOTATED,
    ASYNC,
    CLASS_SCOPE,
    DEFINITION,
    EACH,
    ENDS,
    ENTERED,
    FUNCTION_SCOPE,
    GONE,
    IMPORT,
    IMPORT_FROM,
    INSTANCE,
    LOOP,
    MODULE_SCOPE,
    NARROWED,
    SCOPE,
    TRYING,
    VALUE,
    Block,
    Fill,
    Lowered,
)

_CONSTANT = ast.Constant
_LEAVING = frozenset((ast.Return, ast.Raise))
_MAY_NARROW = frozenset((ast.Call, ast.BoolOp))
_MAY_BE_PROPERTY = frozenset((ast.Call, ast.Name, ast.Attribute, ast.Subscript))
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


_ACCESSORS = frozenset(
    [
        "property",
        "cached_property",
        "abstractproperty",
        "lazy_property",
        "getter",
        "setter",
        "deleter",
    ]
)


class Lowering(NamedTuple):
    """`points` are the decisions in each definition's own body, counted as radon counts them."""

    lowered: Lowered
    points: Mapping[ast.AST, int]


def lower(path: str, tree: ast.Module, definitions: Mapping[ast.AST, str]) -> Lowering:
    """One file for the linker. `path` is spelled; `definitions` gives the qualname of each."""
    walk = _Statements(path, definitions)
    walk.run(tree)
    return Lowering(walk.close(), {node: scope.points for node, scope in walk.defined})


class _Statements(Expressions):
    """The handlers of statements; bodies of functions wait until what is around them is done."""

    def __init__(self, path: str, definitions: Mapping[ast.AST, str]) -> None:
        super().__init__(path)
        self._qualnames = definitions
        self.defined: list[tuple[ast.AST, OpenScope]] = []
        self._waiting: deque[tuple[OpenScope, Sequence[ast.stmt], int]] = deque()
        self._groups = 0
        self._steps = self._STEPS

    def run(self, tree: ast.Module) -> None:
        """The whole file."""
        self._waiting.append((self.scope, tree.body, 0))
        while self._waiting:
            scope, body, block = self._waiting.popleft()
            self.scope = self.owner = scope
            self._body(body, block)

    def _body(self, body: Sequence[ast.stmt], block: int) -> None:
        outside, self.block = self.block, block
        statements, steps = self.statements, self._steps
        for statement in body:
            self.at = len(statements)
            statements.append(block)
            handler = steps.get(statement.__class__)
            if handler is not None:
                handler(self, statement)
        self.block = outside

    def _step(self) -> None:
        self.at = len(self.statements)
        self.statements.append(self.block)

    def _open_block(self, body: Sequence[ast.stmt], group: int, arms: int, flags: int = 0) -> int:
        if body and body[-1].__class__ in _LEAVING:
            flags |= ENDS
        self.blocks.append(Block(self.block, group, arms, flags))
        return len(self.blocks) - 1

    def _new_group(self) -> int:
        self._groups += 1
        return self._groups

    def _expression_statement(self, node: ast.Expr) -> None:
        value = node.value
        if value.__class__ is not _CONSTANT:
            self.expression(value)

    def _assign(self, node: ast.Assign) -> None:
        value, targets = node.value, node.targets
        term = self.expression(value)
        may_be_property = value.__class__ in _MAY_BE_PROPERTY
        for target in targets:
            self.assign(target, term)
            if may_be_property and isinstance(target, ast.Name):
                self._note_property(target.id, value)
        if self.scope.kind == MODULE_SCOPE and _is_all(targets[0]):
            self.exports = _texts(value)

    def _note_property(self, name: str, value: ast.expr) -> None:
        if _last_name(value) == "property":
            self.names.add(f"property {name}")

    def _augmented(self, node: ast.AugAssign) -> None:
        term = self.expression(node.value)
        if _is_all(node.target) and self.exports is not None:
            self.exports += _texts(node.value) or []
        if isinstance(node.op, ast.Add) and term is not None:
            base = self.expression(node.target)
            if base is not None:
                self.fills.append(Fill(self.scope.index, self.at, base, None, (EACH, term)))
        elif not isinstance(node.target, ast.Name):
            self.expression(node.target)

    def _annotated(self, node: ast.AnnAssign) -> None:
        annotation = self.annotation(node.annotation)
        value = None if node.value is None else self.expression(node.value)
        match node.target:
            case ast.Name(id=name):
                self.bind(name, ANNOTATED, annotation, value)
            case ast.Attribute(value=base, attr=name):
                self.store(base, name, value, annotation)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            term = self.expression(node.value)
            if term is not None:
                self.scope.results.append((self.at, term))

    def _if(self, node: ast.If) -> None:
        group = self._new_group()
        arms: list[tuple[ast.expr | None, Sequence[ast.stmt]]] = []
        while True:  # a chain of elif nests as deeply as it is long
            arms.append((node.test, node.body))
            self.owner.points += 1
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
        if node.orelse:
            arms.append((None, node.orelse))
        count = len(arms) if node.orelse else 0
        for test, body in arms:
            if test is not None:
                self.expression(test)
            block = self._open_block(body, group, count)
            self._narrow(test, block)
            self._body(body, block)

    def _narrow(self, test: ast.expr | None, block: int) -> None:
        """`isinstance(x, C)` says what `x` is in the block, or from here on."""
        if test.__class__ not in _MAY_NARROW:
            return
        match test:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
                outside, self.block = self.block, block
                self._step()
                self.bind(name, NARROWED, (INSTANCE, self.expression(kind)))
                self.block = outside
            case ast.BoolOp(op=ast.And(), values=[first, *_]):
                self._narrow(first, block)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.owner.points += 1 + bool(node.orelse)
        source = self.expression(node.iter)
        if isinstance(node, ast.For):
            self.iteration(source, node.iter.lineno)
        block = self._open_block(node.body, self._new_group(), 0, LOOP)
        outside, self.block = self.block, block
        self._step()
        self.assign(node.target, None if source is None else (EACH, source))
        self.block = outside
        self._body(node.body, block)
        self._otherwise(node.orelse)

    def _while(self, node: ast.While) -> None:
        self.owner.points += 1 + bool(node.orelse)
        block = self._open_block(node.body, self._new_group(), 0, LOOP)
        outside, self.block = self.block, block
        self._step()
        self.expression(node.test)
        self.block = outside
        self._body(node.body, block)
        self._otherwise(node.orelse)

    def _otherwise(self, body: Sequence[ast.stmt]) -> None:
        if body:
            self._body(body, self._open_block(body, self._new_group(), 0))

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        waits = isinstance(node, ast.AsyncWith)
        for item in node.items:
            term = self.expression(item.context_expr)
            line = item.context_expr.lineno
            self.implicit(term, "__aenter__" if waits else "__enter__", line)
            self.implicit(term, "__aexit__" if waits else "__exit__", line)
            if item.optional_vars is not None:
                entered = None if term is None else (ENTERED, term, waits)
                self.assign(item.optional_vars, entered)
        self._body(node.body, self.block)

    def _try(self, node: ast.Try) -> None:
        if isinstance(node, ast.Try):
            self.owner.points += len(node.handlers) + bool(node.orelse)
        group = self._new_group()
        arms = 1 + len(node.handlers)
        flags = TRYING
        body = self._open_block(node.orelse or node.body, group, arms, flags)
        self._body(node.body, body)
        self._body(node.orelse, body)
        for handler in node.handlers:
            block = self._open_block(handler.body, group, arms, flags)
            kind = None if handler.type is None else self.expression(handler.type)
            if handler.name is not None:
                outside, self.block = self.block, block
                self._step()
                self.bind(handler.name, VALUE, None if kind is None else (INSTANCE, kind))
                self.block = outside
            self._body(handler.body, block)
        self._body(node.finalbody, self.block)

    def _match(self, node: ast.Match) -> None:
        wild = any(getattr(case.pattern, "pattern", False) is None for case in node.cases)
        self.owner.points += max(0, len(node.cases) - wild)
        subject = self.expression(node.subject)
        group = self._new_group()
        for case in node.cases:
            block = self._open_block(case.body, group, len(node.cases) if wild else 0)
            outside, self.block = self.block, block
            self._step()
            self._capture(case.pattern, node.subject, subject)
            if case.guard is not None:
                self.expression(case.guard)
            self.block = outside
            self._body(case.body, block)

    def _capture(self, pattern: ast.pattern, subject: ast.expr, term: Any) -> None:
        for name, kind in captures(pattern):
            if name is not None:
                whole = term if getattr(pattern, "name", None) == name and kind is None else None
                known = whole if kind is None else (INSTANCE, self.expression(kind))
                self.bind(name, VALUE, known)
            elif kind is not None:
                instance = (INSTANCE, self.expression(kind))
                if isinstance(subject, ast.Name):
                    self.bind(subject.id, NARROWED, instance)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        points = self.owner.points
        scope = self._definition(node, FUNCTION_SCOPE)
        scope.flags = ASYNC if isinstance(node, ast.AsyncFunctionDef) else 0
        scope.params = self.parameters(node.args)
        if node.returns is not None:
            scope.annotation = self.annotation(node.returns)
        self._decorated(node, scope)
        self.owner.points = points

    def _class(self, node: ast.ClassDef) -> None:
        points = self.owner.points
        scope = self._definition(node, CLASS_SCOPE)
        for base in node.bases:
            scope.bases.append(self.expression(base))
            self.names.add(f"class ({_last_name(base)}")
        for keyword in node.keywords:
            self.expression(keyword.value)
        self._decorated(node, scope)
        self.owner.points = points

    def _definition(self, node: _Definition, kind: int) -> OpenScope:
        scope = self.open_scope(kind, node.name, self._qualnames[node], node.lineno)
        self.names.add(f"def {node.name}")
        self.defined.append((node, scope))
        self._waiting.append((scope, node.body, self.block))
        return scope

    def _decorated(self, node: _Definition, scope: OpenScope) -> None:
        if not node.decorator_list:
            self.bind(node.name, DEFINITION, scope.index)
            return
        decorators = [(d.lineno, self.expression(d)) for d in node.decorator_list]
        made: Any = (SCOPE, scope.index)
        if any(_last_name(decorator) in _ACCESSORS for decorator in node.decorator_list):
            self.names.add(f"property {node.name}")
        for line, decorator in reversed(decorators):
            made = self.decoration(decorator, line, made)
        scope.decorators = list(range(len(self.calls) - len(decorators), len(self.calls)))
        self.bind(node.name, DEFINITION, scope.index, made)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.names.update(alias.name.split("."))
            if alias.asname is not None:
                self.bind(alias.asname, IMPORT, alias.name)
            else:
                top = alias.name.partition(".")[0]
                self.bind(top, IMPORT, top, alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self.names.update(module.split("."))
        for alias in node.names:
            if alias.name == "*":
                self.stars.append((node.level, module))
                continue
            self.names.add(alias.name)
            self.bind(alias.asname or alias.name, IMPORT_FROM, (node.level, module), alias.name)

    def _global(self, node: ast.Global) -> None:
        for name in node.names:
            self.scope.outer[name] = self.scopes[0]

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            self.scope.outer[name] = self.scope.owner_of(name)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bind(target.id, GONE, None)
            elif isinstance(target, ast.Subscript):
                self.implicit(self.expression(target.value), "__delitem__", target.lineno)
                self.expression(target.slice)
            else:
                self.expression(target)

    def _raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.expression(part)

    def _assert(self, node: ast.Assert) -> None:
        points = self.owner.points + 1
        self.expression(node.test)
        if node.msg is not None:
            self.expression(node.msg)
        self.owner.points = points  # radon looks no further into it
        self._narrow(node.test, self.block)

    _STEPS: ClassVar[dict[type[ast.AST], Callable[[Any, Any], None]]] = {
        ast.Expr: _expression_statement,
        ast.Assign: _assign,
        ast.AugAssign: _augmented,
        ast.AnnAssign: _annotated,
        ast.Return: _return,
        ast.If: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.Match: _match,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Global: _global,
        ast.Nonlocal: _nonlocal,
        ast.Delete: _delete,
        ast.Raise: _raise,
        ast.Assert: _assert,
    }


def _is_all(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"


def _texts(node: ast.expr) -> list[str] | None:
    """The strings of a display; null if it is none."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def _last_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
