"""What a function's own code says about its parameters and its result."""

import ast
from collections.abc import Iterator
from functools import cached_property

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import own_nodes
from remora.operations.types.source.project_index import (
    Function,
    Parameter,
    ProjectIndex,
    snake_case,
)
from remora.operations.types.source.terms import UNKNOWN, canonical, union

_BUILTINS = (str, dict, list, set, bytes)
_MEMBERS = {each.__name__: frozenset(dir(each)) for each in _BUILTINS}
_OF_OBJECTS = frozenset(dir(object)) | {"__dict__", "__name__"}
_MIN_NAME = 3
_STUBS = ("NotImplementedError", "NotImplemented")


class FunctionBody:
    """Facts of one function, from its syntax tree."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._node = function.node

    @cached_property
    def _own(self) -> list[ast.AST]:
        return list(own_nodes(self._node.body))

    @cached_property
    def _conditions(self) -> set[int]:
        """The expressions of which only the truth is used."""
        return {id(each) for node in self._own for each in _tested(node)}

    @property
    def falls_through(self) -> bool:
        """True if the end of the function can be reached."""
        return not _ends(self._node.body)

    @cached_property
    def is_generator(self) -> bool:
        return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in self._own)

    @cached_property
    def is_stub(self) -> bool:
        """True if the body does nothing, or only raises NotImplementedError."""
        body = [each for each in self._node.body if not _is_docstring(each)]
        return all(isinstance(each, ast.Pass) or _is_stub(each) for each in body)

    def result_facts(self) -> Iterator[tuple[str, str]]:
        """Yield sources and types for the result."""
        returns = [each for each in self._own if isinstance(each, ast.Return)]
        if self.is_generator:
            return
        if not any(each.value is not None for each in returns):
            if self.is_stub:
                yield "stub", "None"
            elif self.falls_through or returns:
                yield "nothing", "None"
            else:
                yield "never", "NoReturn"

    def parameter_facts(
        self, parameter: Parameter, index: ProjectIndex
    ) -> Iterator[tuple[str, str]]:
        """Yield sources and types for a parameter."""
        name = parameter.name
        uses = [each for each in self._own if _is_name(each, name)]
        if parameter.kind == "parameter":
            yield from self._checked(name)
            yield from self._open_ends(name)
            yield from self._members(name, index)
            yield from _class_named(self._function.path, name, index)
        if not any(_is_name(each, name) for each in ast.walk(self._node)):
            yield "unused", UNKNOWN
        elif _is_bool(parameter.default) and all(id(each) in self._conditions for each in uses):
            yield "condition", "bool"

    def _checked(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the types that the code tests a parameter for, and literals it compares with."""
        for each in self._own:
            match each:
                case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=tested), kind]):
                    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                    term = union(filter(None, (canonical(ast.unparse(one)) for one in kinds)))
                    if tested == name and term:
                        yield "isinstance", term
                case ast.Compare(left=ast.Name(id=left), comparators=[ast.Constant(value=value)]):
                    if left == name and value is not None and not isinstance(value, bool):
                        yield "compared", type(value).__name__
                    elif left == name and value is None:
                        yield "is_none", "None"

    def _open_ends(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield that the code expects None for a parameter that it does not assign."""
        is_assigned = any(
            isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
            for each in self._own
        )
        for node in () if is_assigned else self._own:
            match node:
                case ast.Compare(
                    left=ast.Name(id=left),
                    ops=[ast.Is() | ast.IsNot()],
                    comparators=[ast.Constant(value=None)],
                ) if left == name:
                    yield "may_be_none", "None"

    def _members(self, name: str, index: ProjectIndex) -> Iterator[tuple[str, str]]:
        """Yield the class that has all members used: `only_members` if no other built-in has.

        Members of `object` and a single attribute that is only assigned do not count.
        """
        uses = [
            each
            for each in self._own
            if isinstance(each, ast.Attribute) and _is_name(each.value, name)
        ]
        used = {each.attr for each in uses} - _OF_OBJECTS
        is_read = any(isinstance(each.ctx, ast.Load) and each.attr in used for each in uses)
        if not used or (len(used) == 1 and not is_read):
            return
        fitting_builtins = [each for each, members in _MEMBERS.items() if used <= members]
        if fitting_builtins:
            is_only = set(fitting_builtins) - {"bytes"} <= {fitting_builtins[0]}
            yield "only_members" if is_only else "members", fitting_builtins[0]
            return
        holders = index.members.get(min(used), ())
        fitting = {each.name for each, members in holders if used <= members}
        if len(fitting) == 1:
            yield "members", fitting.pop().rpartition(".")[2]


def _class_named(path: str, name: str, index: ProjectIndex) -> Iterator[tuple[str, str]]:
    """Yield the class of the project, or imported by the file, that has a parameter's name."""
    words = name.strip("_").lower()
    if len(words) < _MIN_NAME:
        return
    imported = (each for each in index.files[path].imports if each[:1].isupper())
    found = next((each for each in imported if snake_case(each) == words), None)
    found = found or index.class_words.get(words)
    if found:
        yield "class_name", found


def _tested(node: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions of which a statement or expression only uses the truth."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield from _operands(test)
        case ast.Assert(test=test):
            yield from _operands(test)
        case ast.comprehension(ifs=tests):
            for each in tests:
                yield from _operands(each)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _operands(operand)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    values = test.values if isinstance(test, ast.BoolOp) else [test]
    for each in values:
        if isinstance(each, ast.BoolOp):
            yield from _operands(each)
        else:
            yield each


def _is_bool(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and isinstance(default.value, bool)


def is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_stub(node: ast.stmt) -> bool:
    return isinstance(node, ast.Raise) and any(word in ast.unparse(node) for word in _STUBS)


def _ends(body: list[ast.stmt]) -> bool:
    """Return True if the statement after the body cannot be reached from it."""
    return any(_is_end(each) for each in body)


def _is_end(node: ast.stmt) -> bool:
    match node:
        case ast.If(body=body, orelse=orelse):
            return _ends(body) and _ends(orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            swallows = any("suppress" in ast.unparse(each.context_expr) for each in node.items)
            return _ends(body) and not swallows
        case ast.While(test=ast.Constant(value=value)):
            return bool(value) and not any(isinstance(e, ast.Break) for e in _in_loop(node.body))
        case ast.Try():
            handled = all(_ends(each.body) for each in node.handlers)
            return _ends(node.finalbody) or (handled and _ends([*node.body, *node.orelse]))
        case ast.Match():
            return _is_total(node) and all(_ends(each.body) for each in node.cases)
    return isinstance(node, ast.Return | ast.Raise) or _exits(node)


def _is_total(node: ast.Match) -> bool:
    last = node.cases[-1]
    is_any = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    return is_any and last.guard is None


def _exits(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return ast.unparse(node.value.func) in ("sys.exit", "os._exit", "assert_never")


def _in_loop(body: list[ast.stmt]) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.For | ast.While | ast.AsyncFor | FunctionNode | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
