"""Descriptions of parameters, attributes, outcomes and exceptions, where something can be said
that the signature does not say."""

# ruff: noqa: SIM905 - a text of words is easier to read than a list of quoted ones

import ast
from collections.abc import Iterator

from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.effects import is_none_or_missing, own_nodes
from remora.code.syntax.source import Source
from remora.operations.docstring.derive.corpus import Evidence, agreed
from remora.operations.docstring.derive.dictionary import is_english
from remora.operations.docstring.derive.name_words import (
    listed,
    phrase,
    sentence,
    with_the,
    words_of,
)
from remora.operations.docstring.derive.returned import outcome_text
from remora.operations.docstring.derive.verbs import is_verb
from remora.operations.docstring.parts import Parameter, Skeleton, Texts
from remora.operations.docstring.quotes import code_text

_SURE = 3
_ADJECTIVES = frozenset("strict verbose recursive quiet silent lazy eager greedy".split())


def described(
    node: DefinitionNode | ast.Module, source: Source, made_of: Skeleton, evidence: Evidence
) -> Texts:
    """A text for every part of which something can be said."""
    if isinstance(node, ast.Module):
        return Texts()
    function = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None

    def prose(words: list[str]) -> bool:
        return is_english(words, evidence)

    return Texts(
        parameters={
            each.name: text
            for each in made_of.parameters
            if (text := _parameter(each, function, evidence))
        },
        attributes={
            each.name: text
            for each in made_of.attributes
            if (text := _noted(each, node, source) or _elsewhere(each, evidence))
        },
        outcome=sentence(outcome_text(function, made_of, prose)) if function is not None else "",
        raises={each.name: sentence(each.reason) for each in made_of.raises if each.reason},
    )


def _parameter(parameter: Parameter, node: FunctionNode | None, evidence: Evidence) -> str:
    found = _elsewhere(parameter, evidence)
    if found or node is None or parameter.kind:
        return found
    told = _choices(parameter, node) or _flag(parameter) or _fallback(parameter, node)
    return sentence(told or _called(parameter, node) or _examples(parameter, node, evidence))


def _elsewhere(parameter: Parameter, evidence: Evidence) -> str:
    """What other docstrings say of a parameter of that name: those of its class agree, or most of
    those that stand around it."""
    files = (evidence.own, *evidence.near)
    told = [each for file in files for each in file.parameters if each.name == parameter.name]
    of_class = [each.text for each in told if evidence.owner and each.owner == evidence.owner]
    if len(of_class) > 1 and len(set(of_class)) == 1:
        return of_class[0]
    return agreed([each.text for each in told], least=_SURE)


def _choices(parameter: Parameter, node: FunctionNode) -> str:
    """The constants that the body compares it with."""
    found: dict[str, None] = {}
    compared = [each for each in own_nodes(node.body) if isinstance(each, ast.Compare)]
    for each in sorted(compared, key=lambda each: (each.lineno, each.col_offset)):
        if _is(each.left, parameter) and len(each.ops) == 1:
            found |= dict.fromkeys(_strings(each.ops[0], each.comparators[0]))
    return f"one of {listed(list(found), 'or')}" if 1 < len(found) <= 6 else ""


def _strings(operator: ast.cmpop, value: ast.expr) -> Iterator[str]:
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(
        value, ast.Tuple | ast.List | ast.Set
    ):
        for each in value.elts:
            yield from _strings(ast.Eq(), each)
    elif isinstance(operator, ast.Eq | ast.NotEq) and isinstance(value, ast.Constant):
        yield from [code_text(value)] if isinstance(value.value, str) and value.value else []


def _flag(parameter: Parameter) -> str:
    """`whether to follow links`, of `follow_links: bool`."""
    if parameter.annotation != "bool" and parameter.default not in ("True", "False"):
        return ""
    words = words_of(parameter.name)
    if words and is_verb(words[0], alone=len(words) == 1, gives=False) and len(words) > 1:
        return f"whether to {phrase(words)}"
    if len(words) == 1 and words[0] in _ADJECTIVES:
        return f"whether to be {words[0]}"
    if len(words) > 1 and words[0] == "is":
        return f"whether it is {phrase(words[1:])}"
    return ""


def _fallback(parameter: Parameter, node: FunctionNode) -> str:
    """What is taken where it is None: `if x is None: x = …`, `x = x or …`."""
    if parameter.default != "None":
        return ""
    known = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    for each in node.body:
        value: ast.expr | None = None
        if isinstance(each, ast.If) and _is_unset(each.test, parameter) and len(each.body) == 1:
            value = _assigned(each.body[0], parameter)
        elif isinstance(given := _assigned(each, parameter), ast.BoolOp):
            value = given.values[-1] if isinstance(given.op, ast.Or) else None
        text = code_text(value, known)
        if text:
            return f"{with_the(words_of(parameter.name))}; {text} if None"
    return ""


def _is_unset(test: ast.expr, parameter: Parameter) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is(test.operand, parameter)
    if not isinstance(test, ast.Compare) or not _is(test.left, parameter):
        return False
    return isinstance(test.ops[0], ast.Is) and is_none_or_missing(test.comparators[0])


def _assigned(statement: ast.stmt, parameter: Parameter) -> ast.expr | None:
    if isinstance(statement, ast.Assign) and _is(statement.targets[0], parameter):
        return statement.value
    return None


def _is(node: ast.AST, parameter: Parameter) -> bool:
    return isinstance(node, ast.Name) and node.id == parameter.name


def _called(parameter: Parameter, node: FunctionNode) -> str:
    """With what the body calls it."""
    known = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    for each in own_nodes(node.body):
        if isinstance(each, ast.Call) and _is(each.func, parameter) and not each.keywords:
            given = [code_text(argument, known) for argument in each.args]
            if given and all(given) and len(given) < 4:
                return f"called with {listed(given)}"
    return ""


def _examples(parameter: Parameter, node: FunctionNode, evidence: Evidence) -> str:
    """Constants that calls give it."""
    places = (evidence.own, *evidence.callers)
    key = (node.name, parameter.name)
    found = dict.fromkeys(text for each in places for text in each.constants.get(key, ()))
    found.pop(f"`{parameter.default}`", None)
    return f"for example {listed(list(found)[:3], 'or')}" if found else ""


def _noted(attribute: Parameter, node: DefinitionNode, source: Source) -> str:
    """The comment on an attribute's line."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and getattr(each.target, "id", "") == attribute.name:
            line = source.line(each.end_lineno or each.lineno)[each.end_col_offset or 0 :]
            text = line.decode("utf-8", "replace").strip()
            if text.startswith("#") and text.isprintable() and len(text.split()) > 2:
                return sentence(text.lstrip("#: "))
    return ""
