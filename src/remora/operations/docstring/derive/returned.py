"""What comes out of a function, as its own `return` and `yield` statements say it."""

import ast
import re
from collections.abc import Callable, Collection, Sequence

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import is_none_or_missing, own_nodes
from remora.operations.docstring.derive.function_summary import object_of
from remora.operations.docstring.derive.name_words import listed, with_the, words_of
from remora.operations.docstring.derive.verbs import ASKING, VAGUE
from remora.operations.docstring.parts import Skeleton
from remora.operations.docstring.quotes import code_text, negated

_FOLDS = {
    "sum": "the sum of",
    "max": "the largest of",
    "min": "the smallest of",
    "sorted": "the sorted list of",
    "len": "the number of",
}


def outcome_text(node: FunctionNode, made_of: Skeleton, prose: Callable[[list[str]], bool]) -> str:
    """A description without its full stop; empty where there is nothing to say but the name.

    `prose`: whether words are such as people write.
    """
    if made_of.outcome == "nothing":
        return ""
    known = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    if made_of.outcome == "yields":
        return _if_prose(_each(node, known), prose)
    given = [each for each in own_nodes(node.body) if isinstance(each, ast.Return)]
    values = [
        each.value
        for each in given
        if each.value is not None and not is_none_or_missing(each.value)
    ]
    subject = _if_prose(object_of(node, made_of), prose)
    named = _if_prose(_named(values, known), prose)
    absent = _none_if(node.body, known) if len(given) > len(values) else ""
    if absent:
        found = named or subject
        return f"{found}, or None {absent}" if found else f"None {absent}"
    if len(values) == 1 and len(given) == 1:
        return _expressed(values[0], node, known) or (named if named != subject else "")
    return named if named != subject else ""


def _if_prose(text: str, prose: Callable[[list[str]], bool]) -> str:
    """The text, if all words in it that are no code are such as people write."""
    return text if prose(re.sub(r"`[^`]*`|,", " ", text).split()) else ""


def _expressed(value: ast.expr, node: FunctionNode, known: Collection[str]) -> str:
    """In words what one expression gives."""
    if isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
        asks = words_of(node.name)[:1]
        condition = code_text(value, known)
        asked = asks and asks[0] in ASKING
        return f"True if {condition}" if condition and (asked or _is_bool(node)) else ""
    if isinstance(value, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return _comprehended(value, known)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        fold = _FOLDS.get(value.func.id) if not value.keywords else None
        return (
            f"{fold} {_operand(value.args[0], known)}"
            if fold and _operand(value.args[0], known)
            else ""
        )
    alone = len([each for each in node.body if not isinstance(each, ast.Expr)]) == 1
    telling = isinstance(value, ast.Call | ast.Subscript | ast.BinOp | ast.IfExp)
    typed = node.returns is not None  # without a type NumPy's style would show it as one
    return code_text(value, known) if alone and telling and typed else ""


def _operand(value: ast.expr, known: Collection[str]) -> str:
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return _comprehended(value, known)
    return code_text(value, known)


def _comprehended(
    value: ast.ListComp | ast.GeneratorExp | ast.SetComp, known: Collection[str]
) -> str:
    """`` `line.price` for each `line` of `lines` ``."""
    if len(value.generators) != 1 or not isinstance(value.generators[0].target, ast.Name):
        return ""
    loop = value.generators[0]
    inner = {*known, value.generators[0].target.id}
    over, name = code_text(loop.iter, known), code_text(loop.target, inner)
    element = code_text(value.elt, inner)
    tests = [code_text(test, inner) for test in loop.ifs]
    if not over or not element or not all(tests):
        return ""
    told = f"{element} for each {name} of {over}" if element != name else f"each {name} of {over}"
    return f"{told} where {listed(tests)}" if tests else told


def _is_bool(node: FunctionNode) -> bool:
    return isinstance(node.returns, ast.Name) and node.returns.id == "bool"


def _named(values: Sequence[ast.expr], known: Collection[str]) -> str:
    """`the nodes and the edges` of `return nodes, edges`, where all returns are called so."""
    told = {_name(value, known) for value in values}
    return told.pop() if len(told) == 1 else ""


def _name(value: ast.expr, known: Collection[str], *, inner: bool = False) -> str:
    if isinstance(value, ast.Tuple):
        parts = [_name(each, known, inner=True) for each in value.elts]
        return listed(parts) if len(parts) > 1 and all(parts) and len(set(parts)) > 1 else ""
    if not isinstance(value, ast.Name) or len(value.id) < 3 or value.id.startswith("_"):
        return ""
    if value.id in known:
        return f"`{value.id}`"
    words = words_of(value.id)
    if not words or words[-1].endswith(("ed", "ing")) or not VAGUE.isdisjoint(words):
        return ""
    return with_the(words) if inner or len(words) > 1 else ""


def _none_if(body: Sequence[ast.stmt], known: Collection[str]) -> str:
    """The condition of the one `return None`, where it stands at the function's own margin."""
    reasons: list[str] = []
    for number, each in enumerate(body):
        if isinstance(each, ast.If) and len(each.body) == 1 and _returns_none(each.body[0]):
            reasons.append(code_text(each.test, known))
        elif _returns_none(each):
            before = body[number - 1] if number else None
            test = negated(before.test) if isinstance(before, ast.If) else None
            reasons.append(code_text(test, known))
    every = [
        each for each in own_nodes(body) if isinstance(each, ast.Return) and _returns_none(each)
    ]
    return f"if {reasons[0]}" if len(reasons) == len(every) == 1 and reasons[0] else ""


def _returns_none(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and is_none_or_missing(statement.value)


def _each(node: FunctionNode, known: Collection[str]) -> str:
    found = [each.value for each in own_nodes(node.body) if isinstance(each, ast.Yield)]
    if len(found) != 1 or found[0] is None:
        return ""
    told = _name(found[0], known, inner=True)
    if isinstance(found[0], ast.Tuple):
        return f"tuples of {told}" if told else ""
    words = told.removeprefix("the ")
    return f"each {words}" if told.startswith("the ") and " " in words else ""
