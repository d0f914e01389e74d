"""Documented conditions of True and False that are the opposite of the code's."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.code.syntax.effects import is_stub, own_nodes
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding

_CLAIM = re.compile(
    r"(?:^|\b(?:Returns?:?|returns?|value is|bool:)\s+)[`*:\"]*([Tt]rue|TRUE|[Ff]alse|FALSE)[`*\"]*\s*"
    r"(?:,\s*)?(?:if(?: and only if)?|iff|when|whenever)\s+([^.;]*)"
)
_WHETHER = re.compile(
    r"^(?:(?:Returns?|Checks?|Determines?|Tests?) (?:whether|if)|Whether)\b(?: or not)? ([^.;]*)",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r",?\s*(?:\band\b|\bor\b)?\s*[`*]*(?:[Ff]alse|[Tt]rue)?[`*]*\s*\b(?:otherwise|if not|else)\b.*$"
    r"|,\s*(?:and |or )?(?:returns? )?[`*]*(?:[Ff]alse|[Tt]rue)\b.*$"
)
_COMPLEX = re.compile(
    r"\b(?:and|or|unless|except|but|either|neither|nor|only|also|both|otherwise|if|when|than one"
    r"|at least|at most|still|yet|already)\b"
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|(?<!is )(?<!not )none|non|absent|differs?|different|differ|cannot|can't|isn't|doesn't|don't|hasn't|haven't|wasn't|aren't"
    r"|without|lacks?|missing|fails?|failed|free of)\b"
)
_WORD = re.compile(r"[a-z]+")
_NOISE = frozenset(
    (
        *("the", "this", "that", "a", "an", "is", "are", "was", "has", "have", "in", "of", "to"),
        *("it", "its", "for", "on", "be", "been", "can", "with", "any", "all", "given", "value"),
        *(
            "self",
            "get",
            "isinstance",
            "startswith",
            "endswith",
            "false",
            "type",
            "str",
            "int",
            "check",
            "object",
            "instance",
            "item",
            "name",
            "returns",
            "true",
        ),
    )
)


class _Condition(NamedTuple):
    """A test of one thing. `words` are the words of its names, and `text` is the sentence."""

    words: frozenset[str]
    is_negative: bool
    text: str = ""


def truth_findings(code: DocumentedCode) -> Iterator[DriftFinding]:
    """Yield a finding if a docstring says "True if X" where the code returns True if not X.

    Both must test a single thing, and share a word that is only used for the tested property.
    """
    function = code.function
    if function is None or is_stub(function, code.body):
        return
    tested = _tested(code.body)
    if tested is None:
        return
    for number, line in enumerate(code.parsed.lines):
        claim = _claim(line.strip(), code.parsed.lines[number + 1 : number + 2])
        if claim is None:
            continue
        shared = claim.words & tested.words
        if shared and claim.is_negative != tested.is_negative and _is_close(claim.text, shared):
            message = "the docstring says the opposite of the returned value"
            yield DriftFinding(code="inverted-result", line=number, message=message)
        return


def _claim(line: str, following: Sequence[str]) -> _Condition | None:
    """Return the condition under which a line of a docstring says that the result is True."""
    found = _CLAIM.search(line)
    whether = None if found else _WHETHER.match(line)
    if found is None and whether is None:
        return None
    text = found[2] if found is not None else whether[1] if whether is not None else ""
    if (
        not line.endswith(".")
        and following
        and following[0].strip()
        and text
        and line.endswith(text)
    ):
        text += " " + following[0].strip().partition(".")[0]
    text = _OTHERWISE.sub("", re.sub(r"\([^)]*\)?", " ", text)).lower()
    if _COMPLEX.search(text):
        return None
    negations = len(_NEGATION.findall(text))
    if negations > 1 or "empty" in text:
        return None
    said_false = found is not None and found[1].lower() == "false"
    words = frozenset(_stem(word) for word in _WORD.findall(text)) - _NOISE
    return _Condition(words, bool(negations) != said_false, text)


def _is_close(text: str, shared: frozenset[str]) -> bool:
    """Return True if there is no negation, or it belongs to one of the shared words."""
    found = _NEGATION.search(text)
    following = _WORD.findall(text[found.end() :])[:3] if found else []
    return found is None or not shared.isdisjoint(map(_stem, following))


def _tested(body: Sequence[ast.stmt]) -> _Condition | None:
    """Return the condition under which a body returns True, if it is a single test."""
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return _condition(body[0].value)
    returns = [each for each in own_nodes(body) if isinstance(each, ast.Return)]
    if len(body) == 2 and isinstance(body[0], ast.If) and len(returns) == 2:
        first, last = body[0].body, body[1]
        if len(first) == 1 and not body[0].orelse and isinstance(last, ast.Return):
            yes, no = _truth(first[0]), _truth(last)
            if yes is not None and no is not None and yes != no:
                found = _condition(body[0].test)
                return found and found._replace(is_negative=found.is_negative == yes)
    return None


def _truth(statement: ast.stmt) -> bool | None:
    value = statement.value if isinstance(statement, ast.Return) else None
    known = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    return bool(value.value) if known and isinstance(value, ast.Constant) else None


def _condition(test: ast.expr) -> _Condition | None:
    """Return the tested property of an expression, or None if it is not a single test."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _condition(test.operand)
        return inner and inner._replace(is_negative=not inner.is_negative)
    if isinstance(test, ast.Call):
        name = test.func.id if isinstance(test.func, ast.Name) else ""
        if name == "bool" and len(test.args) == 1:
            return _condition(test.args[0])
        if name == "isinstance" and len(test.args) == 2:
            return _named(test.args[1])
        return None if name[:1].isupper() else _named(test.func)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        right = test.comparators[0]
        name = right.attr if isinstance(right, ast.Attribute) else getattr(right, "id", "")
        is_value = (
            isinstance(right, ast.Constant)
            or name[:1].isupper()
            or (bool(name) and isinstance(test.ops[0], ast.In | ast.NotIn))
        )
        found = _named(right) if is_value else None
        return found and found._replace(is_negative=isinstance(test.ops[0], _OPPOSITES))
    return _named(test)


_OPPOSITES = (ast.NotEq, ast.IsNot, ast.NotIn)


def _named(node: ast.expr) -> _Condition | None:
    if isinstance(node, ast.Constant):
        name = str(node.value) if isinstance(node.value, str | None) else ""
    else:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    words = _WORD.findall(spaced)
    if _NEGATION.search(" ".join(words).replace("none", "")):
        return None
    return _Condition(frozenset(map(_stem, words)) - _NOISE, is_negative=False)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
