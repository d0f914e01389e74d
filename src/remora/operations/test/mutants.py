"""Mutants of a function. A mutant is a copy of the function's file with one planted fault."""

import ast
import copy
import functools
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from remora.code.edit.text_lines import split_lines
from remora.code.syntax.definitions import FunctionNode, default_values, find_definitions
from remora.code.syntax.effects import is_none_or_missing
from remora.code.syntax.source import Source, Unreadable, parse_text, read_source
from remora.text import clip

MAX_MUTANTS = 20
_MOST_SHOWN = 60
"""Characters of code in the description of a fault."""
CONDITION, CALL, TEXT = "condition", "call", "text"
"""Kinds of faults: negated conditions, removed calls and `del`, and other texts."""
_OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_TEXT_METHODS = frozenset(
    {
        "capitalize", "casefold", "expandtabs", "lower", "lstrip", "removeprefix", "removesuffix",
        "replace", "rstrip", "strip", "swapcase", "title", "upper",
    }
)  # fmt: skip
"""Methods that return a text like the one they are called on."""
_T = TypeVar("_T")
_Change = Callable[[ast.AST], ast.AST]
"""Returns the replacement of a node."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant. `what` describes the fault, and `kind` is what faults of its sort have in common.

    `text` is the source of the whole file. `function` is the source of the function alone, within
    its classes. Both have no comments in the function.
    """

    what: str
    kind: str
    line: int
    text: str
    function: str

    @property
    def description(self) -> str:
        return f"line {self.line}: {self.what}"


def mutants(source: bytes, qualname: str, most: int = MAX_MUTANTS) -> list[Mutant]:
    """Return at most `most` mutants in source order, chosen from each kind of fault in turn.

    All mutants parse, and no two mutants have the same syntax tree. Return an empty list if the
    function does not exist.
    """
    read = read_source("", source)
    if isinstance(read, Unreadable):
        return []
    found = function_named(read.tree, qualname)
    if found is None:
        return []
    chosen: list[Mutant] = []
    seen = {ast.dump(found)}
    file = _File(read, found, qualname)
    for kind, number, line, what, change in _round_robin(_faults_by_kind(found)):
        if len(chosen) == most:
            break
        faulty = _plant_fault(found, number, change)
        dumped = ast.dump(faulty)
        if dumped in seen:
            continue
        text, function = file.with_function(faulty), file.alone(faulty)
        if text and function:
            seen.add(dumped)
            chosen.append(Mutant(what=what, kind=kind, line=line, text=text, function=function))
    return sorted(chosen, key=lambda mutant: mutant.line)


def _faults_by_kind(function: FunctionNode) -> list[list[tuple[str, int, int, str, _Change]]]:
    """Return the faults of each kind: kind, the node's number, line, description and change."""
    by_kind: dict[str, list[tuple[str, int, int, str, _Change]]] = {}
    for number, node in enumerate(_mutable_nodes(function)):
        line = getattr(node, "lineno", function.lineno)
        faults = _ignored_options(function) if node is function else _faults(node)
        for kind, what, change in faults:
            by_kind.setdefault(kind, []).append((kind, number, line, what, change))
    return list(by_kind.values())


PROBE = "__remora_called__"
"""Name of the builtin function that a probe calls."""


def probe(source: bytes, qualname: str, number: int = 0) -> str:
    """Return the source of a function that reports each call with a number, within its classes.

    Return an empty string if the function does not exist.
    """
    read = read_source("", source)
    found = function_named(read.tree, qualname) if isinstance(read, Source) else None
    if found is None or not isinstance(read, Source):
        return ""
    reporting = copy.deepcopy(found)
    call = ast.Expr(ast.Call(ast.Name(PROBE), [ast.Constant(number)], []))
    reporting.body = [call, *_without_docstring(reporting)]
    return _File(read, found, qualname).alone(reporting)


class _File:
    """A file in which a function is replaced with a mutant."""

    def __init__(self, read: Source, function: FunctionNode, qualname: str) -> None:
        self._tree = read.tree
        self._function = function
        self._classes = qualname.split(".")[:-1]
        self._lines = split_lines(read.utf8.decode(), keepends=True)

    def with_function(self, faulty: FunctionNode) -> str:
        """Return the source of the file with the mutant, or an empty string if it is invalid."""
        old, indent = self._function, self._function.col_offset
        head = self._lines[old.lineno - 1][:indent]
        if head != " " * indent or indent % 4:
            return self._unparsed(faulty)
        bare = copy.copy(faulty)
        bare.decorator_list = []
        nested: ast.stmt = bare
        for _ in range(indent // 4):
            nested = ast.If(test=ast.Constant(True), body=[nested], orelse=[])
        try:
            made = split_lines(ast.unparse(ast.fix_missing_locations(nested)))[indent // 4 :]
        except (ValueError, RecursionError):
            return ""
        before, after = self._lines[: old.lineno - 1], self._lines[old.end_lineno :]
        text = "".join([*before, "\n".join(made), "\n", *after])
        return text if isinstance(parse_text(text), ast.Module) else ""

    def _unparsed(self, faulty: FunctionNode) -> str:
        return _unparse(copy.deepcopy(self._tree, {id(self._function): faulty}))

    def alone(self, faulty: FunctionNode) -> str:
        """Return the source of the mutant within its classes, or an empty string."""
        nested: ast.stmt = faulty
        for name in reversed(self._classes):
            nested = ast.ClassDef(
                name=name, bases=[], keywords=[], body=[nested], decorator_list=[]
            )
        future = [one for one in self._tree.body if _is_future(one)]
        return _unparse(ast.Module(body=[*future, nested], type_ignores=[]))


def _is_future(one: ast.stmt) -> bool:
    return isinstance(one, ast.ImportFrom) and one.module == "__future__"


def _unparse(tree: ast.AST) -> str:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, RecursionError):
        return ""
    return text if isinstance(parse_text(text), ast.Module) else ""


def function_named(tree: ast.Module, qualname: str) -> FunctionNode | None:
    for each in find_definitions(tree, ""):
        if each.qualname == qualname and isinstance(each.node, FunctionNode):
            return each.node
    return None


class _Replace(ast.NodeTransformer):
    """Replaces one node with the result of `change`."""

    def __init__(self, node: ast.AST, change: _Change) -> None:
        self._node = node
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST:
        return self._change(node) if node is self._node else self.generic_visit(node)


def _plant_fault(function: FunctionNode, number: int, change: _Change) -> FunctionNode:
    """Return a copy of the function in which one of its nodes is changed."""
    place = copy.deepcopy(function)
    faulty = _Replace(_mutable_nodes(place)[number], change).visit(place)
    assert isinstance(faulty, FunctionNode)
    return faulty


def _round_robin(lists: list[list[_T]]) -> Iterator[_T]:
    """Yield the first item of each list, then the second, and so on."""
    for index in range(max(map(len, lists), default=0)):
        yield from (items[index] for items in lists if index < len(items))


def _mutable_nodes(function: FunctionNode) -> list[ast.AST]:
    """Return the function and the nodes in its body, in source order.

    The docstring is skipped, and so are types, and everything inside f-strings, `raise` statements and nested
    definitions, except for functions that the function returns.
    """
    found: list[ast.AST] = [function]
    waiting: list[ast.AST] = list(reversed(_without_docstring(function)))
    returned = {
        one.value.id
        for one in ast.walk(function)
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Name)
    }
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, FunctionNode) and node.name in returned:
            waiting.extend(reversed(_without_docstring(node)))
        elif not isinstance(
            node, FunctionNode | ast.ClassDef | ast.Lambda | ast.JoinedStr | ast.Raise
        ):
            waiting.extend(reversed(_parts(node)))
    return found


def _parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that are evaluated: no annotation, and no type of a `cast`."""
    parts = list(ast.iter_child_nodes(node))
    match node:
        case ast.AnnAssign(annotation=annotation):
            return [part for part in parts if part is not annotation]
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast"), args=[kind, _]):
            return [part for part in parts if part is not kind]
    return parts


def _without_docstring(function: FunctionNode) -> list[ast.stmt]:
    body = function.body
    match body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            return body[1:]
    return body


def _ignored_options(function: FunctionNode) -> Iterator[tuple[str, str, _Change]]:
    for name, default in default_values(function.args):
        if _is_literal(default):
            yield "option", f"the argument {name} was ignored", _assign_first(name, default)


def _faults(node: ast.AST) -> Iterator[tuple[str, str, _Change]]:
    if isinstance(node, ast.expr):
        yield from _faults_in_expression(node)
        for choice in _choices(node):
            yield (
                "choice",
                f"{_shown(node)} became {_shown(choice)}",
                functools.partial(_become, choice),
            )
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield CONDITION, f"the condition {_shown(test)} was negated", _negate
        case ast.Return(value=ast.expr() as value) if not is_none_or_missing(value):
            yield "return", "it returns None", _set_fields(value=ast.Constant(None))
        case (
            ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.Delete() | ast.Raise()
        ):
            kind = CALL if isinstance(node, ast.Expr | ast.Delete) else "statement"
            yield (
                kind,
                f"{_shown(node)} was removed",
                lambda node: ast.copy_location(ast.Pass(), node),
            )


def _faults_in_expression(node: ast.expr) -> Iterator[tuple[str, str, _Change]]:
    match node:
        case ast.Compare(ops=[op]):
            for other in _OTHER_COMPARISONS[type(op)]:
                kind = f"comparison {other is _OTHER_COMPARISONS[type(op)][0]}"
                yield _changed(kind, node, ops=[other()])
        case ast.BinOp(op=op) if type(op) in _OTHER_OPERATORS and not _is_text(node):
            opposite = _OTHER_OPERATORS[type(op)]
            yield _changed("arithmetic", node, op=opposite())
        case ast.BoolOp(op=op):
            swapped = ast.Or if isinstance(op, ast.And) else ast.And
            yield _changed("and or", node, op=swapped())
        case ast.UnaryOp(op=ast.Not()):
            yield "not", f"the not of {_shown(node)} was removed", _double_negate
        case ast.Constant(value=value):
            yield from _constant(node, value)
        case ast.Call(args=[first, second, *_]) if ast.dump(first) != ast.dump(second):
            yield "arguments", f"two arguments of {_shown(node)} were swapped", _swap


def _choices(node: ast.expr) -> list[ast.expr]:
    """Return the parts that an expression may be equal to: no branch shows when it is another."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=[first, second]):
            return [first, second]
        case ast.Call(func=ast.Name(id="min" | "max"), args=[first, second], keywords=[]):
            return [first, second]
        case ast.Call(func=ast.Attribute(value=text, attr=name)) if name in _TEXT_METHODS:
            return [text]
        case ast.Call(func=ast.Name(id="abs" | "round" | "sorted"), args=[value, *_]):
            return [value]
    return []


def _become(other: ast.AST, _: ast.AST) -> ast.AST:
    return other


def _constant(node: ast.expr, value: object) -> Iterator[tuple[str, str, _Change]]:
    if isinstance(value, bool):
        yield _changed("constant", node, value=not value)
    elif isinstance(value, int):
        yield _changed("boundary", node, value=value + 1)
        yield _changed("boundary below", node, value=value - 1)
    elif isinstance(value, str):
        yield _changed(TEXT, node, value=f"{value}x")
    elif isinstance(value, bytes):
        yield _changed(TEXT, node, value=value + b"x")


def _changed(kind: str, node: ast.expr, **fields: object) -> tuple[str, str, _Change]:
    """Return a fault that sets fields of an expression, described by the code before and after."""
    change = _set_fields(**fields)
    return kind, f"{_shown(node)} became {_shown(change(copy.copy(node)))}", change


def _shown(node: ast.AST) -> str:
    """Return the first line of the code, in a form that fits into a sentence."""
    return f"`{clip(ast.unparse(node).partition(chr(10))[0], _MOST_SHOWN)}`"


def _set_fields(**fields: object) -> _Change:
    def change(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, value)
        return node

    return change


def _assign_first(name: str, value: ast.expr) -> _Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, FunctionNode)
        start = len(node.body) - len(_without_docstring(node))
        node.body.insert(start, ast.Assign([ast.Name(name)], copy.deepcopy(value)))
        return node

    return change


def _negate(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.If | ast.While | ast.IfExp)
    node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    return node


def _double_negate(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.expr)
    return ast.UnaryOp(op=ast.Not(), operand=node)


def _swap(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Call)
    node.args[:2] = reversed(node.args[:2])
    return node


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _is_text(node: ast.BinOp) -> bool:
    """Return True if an operand is a string or bytes literal.

    Replacing the operator of such an operation would cause a type error.
    """
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )
