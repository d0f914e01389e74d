"""Conditions of raised exceptions in English, such as "`count` is less than 1"."""

import ast
import builtins
import re
from collections.abc import Collection, Sequence

_MAX_PARTS = 2
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "is",
    ast.NotEq: "is not",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Lt: "is less than",
    ast.LtE: "is at most",
    ast.Gt: "is greater than",
    ast.GtE: "is at least",
    ast.In: "is in",
    ast.NotIn: "is not in",
}
_EQUALS: dict[type[ast.cmpop], str] = {ast.Eq: "equals", ast.NotEq: "does not equal"}
_ABOUT_ZERO: dict[type[ast.cmpop], str] = {
    ast.Eq: "is 0",
    ast.NotEq: "is not 0",
    ast.Lt: "is negative",
    ast.LtE: "is not positive",
    ast.Gt: "is positive",
    ast.GtE: "is not negative",
}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_UNSAYABLE = (ast.Set, ast.List, ast.Tuple, ast.Dict, ast.Compare, ast.BoolOp, ast.IfExp)
_RECEIVERS = ("self", "cls")
_PREDICATES = {
    "startswith": ("starts with", "does not start with"),
    "endswith": ("ends with", "does not end with"),
}
_LONGEST = 56
_PRIVATE = re.compile(r"(?<![A-Za-z0-9_])_\w*[A-Za-z]|\.__\w+")
_UNFIT = re.compile(r"[\\`]|super\(|\"\"\"|'''")
_BUILTIN = frozenset(vars(builtins)) | {"self", "cls"}


def condition_text(test: ast.expr, names: Collection[str], *, negated: bool) -> str:
    """Return a condition in English, or an empty string if it cannot be said in a few words.

    The text may use only `names`, the names that are meaningful to callers.
    """
    if any(isinstance(each, ast.Name) and each.id in _RECEIVERS for each in ast.walk(test)):
        return ""  # the state of an object has better words than its attributes
    return _condition(test, names, negated=negated)


def _condition(test: ast.expr, names: Collection[str], *, negated: bool) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _condition(test.operand, names, negated=not negated)
    if isinstance(test, ast.BoolOp):
        return _joined(test, names, negated=negated)
    if isinstance(test, ast.Compare):
        return _compared(test, names, negated=negated)
    if isinstance(test, ast.Call):
        return _called(test, names, negated=negated)
    return ""


def both_text(parts: Sequence[str]) -> str:
    """Return the text of conditions that must all hold, or an empty string if one is unknown."""
    parts = list(dict.fromkeys(parts))
    if not all(parts) or len(parts) > _MAX_PARTS:
        return ""
    return _with_one_subject(parts, " and ")


def _with_one_subject(parts: Sequence[str], word: str) -> str:
    """Join conditions, and say "`x` is None or empty" if they are about one value."""
    first, *rest = parts
    subject = first[: first.index("` is ") + 5] if "` is " in first else ""
    same = subject and all(each.startswith(subject) for each in rest)
    return word.join([first, *(each[len(subject) :] if same else each for each in rest)])


def _joined(test: ast.BoolOp, names: Collection[str], *, negated: bool) -> str:
    parts = [_condition(each, names, negated=negated) for each in test.values]
    if not all(parts) or len(parts) > _MAX_PARTS or any(" and " in p or " or " in p for p in parts):
        return ""
    return _with_one_subject(parts, " or " if isinstance(test.op, ast.Or) != negated else " and ")


def _compared(test: ast.Compare, names: Collection[str], *, negated: bool) -> str:
    if len(test.ops) != 1 or isinstance(test.left, ast.Constant):
        return _between(test, names) if negated else ""
    operator = _OPPOSITE[type(test.ops[0])] if negated else type(test.ops[0])
    left, right = test.left, test.comparators[0]
    if isinstance(right, ast.Tuple | ast.List | ast.Set) and operator in (ast.In, ast.NotIn):
        return _one_of(left, right, names, negated=operator is ast.NotIn)
    first, second = _code_text(left, names), _operand(right, names)
    if not first or not second or isinstance(left, _UNSAYABLE) or isinstance(right, _UNSAYABLE):
        return ""
    if second == "0" and operator in _ABOUT_ZERO:
        return _about_zero(left, first, operator, names)
    is_literal = isinstance(right, ast.Constant | ast.UnaryOp)
    verb = (_COMPARED if is_literal else _COMPARED | _EQUALS)[operator]
    return f"{first} {verb} {second}"


def _about_zero(
    left: ast.expr, first: str, operator: type[ast.cmpop], names: Collection[str]
) -> str:
    """Describe a comparison with 0, where the length of a value says whether it is empty."""
    if isinstance(left, ast.Call) and ast.unparse(left.func) == "len" and len(left.args) == 1:
        value = _code_text(left.args[0], names)
        empty = operator in (ast.Eq, ast.LtE)
        known = value and operator in (ast.Eq, ast.NotEq, ast.LtE, ast.Gt)
        return f"{value} is {'' if empty else 'not '}empty" if known else ""
    return f"{first} {_ABOUT_ZERO[operator]}"


def _between(test: ast.Compare, names: Collection[str]) -> str:
    if [type(op) for op in test.ops] != [ast.LtE, ast.LtE]:
        return ""
    low, high = _operand(test.left, names), _operand(test.comparators[1], names)
    value = _code_text(test.comparators[0], names)
    if not low or not high or not value:
        return ""
    return f"{value} is not between {low} and {high}"


def _one_of(
    left: ast.expr, right: ast.Tuple | ast.List | ast.Set, names: Collection[str], *, negated: bool
) -> str:
    value = _code_text(left, names)
    texts = [_operand(each, names) for each in right.elts]
    if not value or not all(texts) or not 1 < len(texts) <= 4:
        return ""
    listed = f"{', '.join(texts[:-1])} or {texts[-1]}"
    return f"{value} is {'not ' if negated else ''}{listed}"


def _operand(node: ast.expr, names: Collection[str]) -> str:
    if isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes):
        return str(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.unparse(node)
    return _code_text(node, names)


def _called(test: ast.Call, names: Collection[str], *, negated: bool) -> str:
    if test.keywords or any(isinstance(each, ast.Starred) for each in test.args):
        return ""
    not_ = "not " if negated else ""
    name = test.func.id if isinstance(test.func, ast.Name) else ""
    if name == "isinstance" and len(test.args) == 2:
        value, kinds = _code_text(test.args[0], names), _kinds(test.args[1], names)
        return f"{value} is {not_}{kinds}" if value and kinds else ""
    if name == "callable" and len(test.args) == 1:
        value = _code_text(test.args[0], names)
        return f"{value} is {not_}callable" if value else ""
    if isinstance(test.func, ast.Attribute) and len(test.args) == 1:
        said = _PREDICATES.get(test.func.attr)
        value, other = _code_text(test.func.value, names), _code_text(test.args[0], names)
        return f"{value} {said[negated]} {other}" if said and value and other else ""
    return ""


def _kinds(node: ast.expr, names: Collection[str]) -> str:
    """Return "a `str`" or "a `str` or `bytes`" for the second argument of `isinstance`."""
    texts = [_code_text(e, names) for e in (node.elts if isinstance(node, ast.Tuple) else [node])]
    if not all(texts) or len(texts) > 3:
        return ""
    listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
    if texts[0].endswith("s`"):  # such as bytes
        return listed
    return f"{'an' if texts[0][1:2].lower() in 'aeiou' else 'a'} {listed}"


def _code_text(node: ast.AST, names: Collection[str]) -> str:
    """Return an expression's source in backticks, or an empty string if it is not suitable.

    The expression may use only `names`, builtins and capitalized names.
    """
    if not _is_known(node, names):
        return ""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError):
        return ""
    text = re.sub(r"\b(?:self|cls)\.", "", text)
    fit = len(text) <= _LONGEST and text.isprintable() and not _UNFIT.search(text)
    return f"`{text}`" if fit and not _PRIVATE.search(text) else ""


def _is_known(node: ast.AST, names: Collection[str]) -> bool:
    inner = list(ast.walk(node))
    bound = {
        each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    called = {id(each.func) for each in inner if isinstance(each, ast.Call)}
    return all(
        each.id in names
        or each.id in _BUILTIN
        or each.id in bound
        or (len(each.id) > 2 and each.id[:1].isupper())
        or id(each) in called
        for each in inner
        if isinstance(each, ast.Name)
    )
