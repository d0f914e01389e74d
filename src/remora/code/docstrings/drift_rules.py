"""Rules about docstrings that contradict their code."""

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from remora.code.docstrings.docstring_sections import parse_docstring
from remora.code.docstrings.documented_parameters import parameter_findings
from remora.code.docstrings.documented_results import exception_findings, result_findings
from remora.code.docstrings.drift_finding import DocumentedCode, DriftFinding
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.syntax.definitions import DefinitionNode

_MAY_CONTRADICT = re.compile(r"(?i)arg|param|keyword|return|yield|rais|except|type")
"""A quick check before a docstring is parsed line by line: every section has one of these words."""


class DriftRule(NamedTuple):
    """A contradiction between a docstring and its code."""

    name: str
    """Its name in findings."""
    docstring: str
    """What the docstring does."""
    example: str
    """A docstring and the code that it contradicts."""
    corrected: str
    """When it is corrected without a model."""
    find: Callable[[DocumentedCode], Iterator[DriftFinding]]
    """Yields findings of the rule, and of the others with the same function."""


RULES = (
    DriftRule(
        "renamed-parameter",
        "documents a parameter that has another name now",
        "`:param value_match:` of `equal_to(value)`",
        "if one name has all words of the other or abbreviates it, or the text has a word of the "
        "new name, and the text does not contradict the new name",
        parameter_findings,
    ),
    DriftRule(
        "unknown-parameter",
        "documents a parameter that does not exist",
        "`:param color:` of `draw(path)`",
        "the entry is removed, if every parameter has one, nothing else mentions it, and no "
        "subclass may override the method",
        parameter_findings,
    ),
    DriftRule(
        "missing-parameter",
        "lists most parameters, but not this one",
        "`:param path:` alone of `draw(path, scale)`",
        "no",
        parameter_findings,
    ),
    DriftRule(
        "missing-exception",
        "lists exceptions, but not this one, which a `raise` names",
        "`:raises KeyError:` where the code also raises ValueError",
        "no",
        exception_findings,
    ),
    DriftRule(
        "no-result",
        "documents a result of a function that never returns a value",
        "`:returns: the path` of a function without `return`",
        "no",
        result_findings,
    ),
)


def contradictions(code: DocumentedCode) -> tuple[DriftFinding, ...]:
    """Return the contradictions between a docstring and its code, in the docstring's order."""
    finders = dict.fromkeys(rule.find for rule in RULES)
    findings = [finding for find in finders for finding in find(code)]
    return tuple(sorted(findings, key=lambda finding: finding.line))


def is_docstring_outdated(node: DefinitionNode, text: str) -> bool:
    """Return True if a docstring contradicts its code, as far as the definition alone shows.

    A method that another one overrides may have a result there.
    """
    if _MAY_CONTRADICT.search(text) is None:
        return False
    parsed = parse_docstring(text)
    code = DocumentedCode(node, text, parsed, owner=None, related=RelatedTexts())
    try:
        return any(
            finding.code != "no-result" or not _is_method(node) for finding in contradictions(code)
        )
    except RecursionError:  # deep nesting, such as of `elif`
        return False


def _is_method(node: DefinitionNode) -> bool:
    args = [] if isinstance(node, ast.ClassDef) else [*node.args.posonlyargs, *node.args.args]
    return [argument.arg for argument in args[:1]] in (["self"], ["cls"])
