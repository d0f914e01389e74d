"""Documented conditions of True and False that are the opposite of the code's."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from remora.code.syntax.effects import is_stub, own_nodes
from remora.operations.docstring.drift.drift_finding import DocumentedCode, DriftFinding
from remora.operations.word_forms import stem

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
_NO_PROPERTIES = ["the", "this", "that", "a", "an", "is", "are", "was", "has", "have", "in", "of", "to", "it", "its", "for", "on", "be", "been", "can", "with", "any", "all", "given", "value", "self", "get", "isinstance", "startswith", "endswith", "false", "true", "type", "str", "int", "check", "object", "instance", "item", "name", "returns"]  # fmt: skip
_LETTER = 2  # shorter words are names of variables
_EQUAL = frozenset(("equal", "equals", "same", "identical", "match", "matches"))
_PREDICATE = re.compile(r"\b(?:is|are|was|were|been)\s+(?:\w+ly\s+)?([a-z]+)")
_UNKNOWN_WORDS = frozenset(("none", "nonempty", "null"))


class _Condition(NamedTuple):
    """A test of one thing. `words` are the stems of its words, and `text` is the sentence.

    `is_subject` is True if the words name the thing rather than its property.
    """

    words: frozenset[str]
    is_negative: bool
    text: str = ""
    is_subject: bool = False


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
    inside = {
        number
        for section in code.parsed.sections
        if section.kind in ("parameters", "attributes", "raises")
        for number in range(section.first, section.last + 1)
    }
    for number, line in enumerate(code.parsed.lines):
        if number in inside:
            continue
        claim = _claim(line.strip(), code.parsed.lines[number + 1 : number + 2])
        if claim is None:
            continue
        shared = claim.words & tested.words
        if tested.is_subject:
            shared &= {stem(word) for word in _PREDICATE.findall(claim.text)}
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
    negations, words = len(_NEGATION.findall(text)), {*_WORD.findall(text)}
    if negations > 1 or words & _UNKNOWN_WORDS:
        return None
    said_false = found is not None and found[1].lower() == "false"
    is_negative = bool(negations) != said_false
    if "empty" in words:  # the opposite of having items
        return _Condition(frozenset(("empty",)), not is_negative, text)
    if words & _EQUAL:
        words.add("equal")
    return _Condition(_property_words(words), is_negative, text)


def _is_close(text: str, shared: frozenset[str]) -> bool:
    """Return True if there is no negation, or it belongs to one of the shared words."""
    found = _NEGATION.search(text)
    following = _WORD.findall(text[found.end() :])[:3] if found else []
    return found is None or not shared.isdisjoint(map(stem, following))


def _tested(body: Sequence[ast.stmt]) -> _Condition | None:
    """Return the condition under which a body returns True, if it is a single test at its end."""
    returns = [each for each in own_nodes(body) if isinstance(each, ast.Return)]
    last = body[-1] if body else None
    if len(returns) == 1 and isinstance(last, ast.Return) and last.value is not None:
        return _condition(_assigned(last.value, body))
    before = body[-2:-1]
    if isinstance(last, ast.If) and len(last.orelse) == 1:
        before, last = [last], last.orelse[0]
    if len(returns) != 2 or last is None or not before or not isinstance(before[0], ast.If):
        return None
    first = before[0]
    yes, no = _truth(first.body[0]), _truth(last)
    if len(first.body) > 1 or yes is None or no is None or yes == no:
        return None
    if first.orelse and first.orelse != [last]:
        return None
    found = _condition(first.test)
    return found and found._replace(is_negative=found.is_negative == yes)


def _assigned(value: ast.expr, body: Sequence[ast.stmt]) -> ast.expr:
    """Return the only value that a body gives to a returned local name, or `value` itself."""
    if not isinstance(value, ast.Name):
        return value
    uses = [each for each in own_nodes(body) if isinstance(each, ast.Name) and each.id == value.id]
    targets = [each for each in uses if isinstance(each.ctx, ast.Store)]
    if not targets:
        return value
    known = [each for each in body if isinstance(each, ast.Assign) and each.targets == targets]
    return known[0].value if known and len(uses) == 2 else ast.Constant(None)


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
        return _compared(test.left, test.ops[0], test.comparators[0])
    return _named(test)


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> _Condition | None:
    """Return the tested property of a comparison."""
    is_negative = isinstance(operator, _OPPOSITES)
    if isinstance(right, ast.Constant) and right.value is None:
        found = _named(left)
        return found and found._replace(is_negative=not is_negative, is_subject=True)
    if _is_number_of_items(left) and isinstance(right, ast.Constant) and right.value == 0:
        if not isinstance(operator, ast.Eq | ast.NotEq | ast.Gt):
            return None
        found = _named(left.args[0]) if isinstance(left, ast.Call) else None
        words = found.words if found is not None else frozenset[str]()
        return _Condition(words | {"empty"}, is_negative=isinstance(operator, ast.Eq))
    name = right.attr if isinstance(right, ast.Attribute) else getattr(right, "id", "")
    if (
        isinstance(right, ast.Constant)
        or name[:1].isupper()
        or (bool(name) and isinstance(operator, ast.In | ast.NotIn))
    ):
        found = _named(right)
        return found and found._replace(is_negative=found.is_negative != is_negative)
    if isinstance(operator, ast.Eq | ast.NotEq):
        return _Condition(frozenset(("equal",)), is_negative=is_negative)
    return None


def _is_number_of_items(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
    )


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
    if "empty" in words:  # the opposite of having items
        return _Condition(frozenset(("empty",)), is_negative=True)
    return _Condition(_property_words(words), is_negative=False)


def _property_words(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of words, without those that name no property."""
    known = {stem(word) for word in words if len(word) > _LETTER}
    return frozenset(known) - frozenset(map(stem, _NO_PROPERTIES))
