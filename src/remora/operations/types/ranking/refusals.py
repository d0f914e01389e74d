"""Candidate types that are refused, however likely they are.

The ranker prefers `str` for `def show(path)` because most packages mean a text by this name, while
the tests of the project pass tuples. Each rule names such a case, with the reason that users see.
"""

import ast
import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from remora.operations.types.facts.acceptance import accepts, accepts_all, is_foreign
from remora.operations.types.facts.evidence import Evidence
from remora.operations.types.source.project_index import (
    Function,
    Parameter,
    ProjectIndex,
    is_builtin,
)
from remora.operations.types.source.terms import (
    UNKNOWN,
    arguments_of,
    head_of,
    is_known,
    members_of,
    same,
    without_none,
)

_SILENT = re.compile(r"\b(?:Any|NoReturn|object)\b")
WRITTEN = frozenset(("override", "overridden", "same_class", "same_file", "same_project"))
"""Sources that are annotations of other functions."""
_NAMESAKES = frozenset(("same_class", "same_file", "same_project", "prior"))
_RUN = frozenset(("test_call", "observed"))
"""Sources that only say what tests happened to pass."""
_GUESSED = frozenset(("prior", "class_name", "members", "only_members", "name"))
_PASSED = ("call", "test_call", "name", "observed")
_CALLED = frozenset(("call", "name"))
_ITEMS = frozenset(("__getitem__", "__setitem__", "__delitem__", "__contains__"))
"""Methods whose parameters have names that say nothing about their types."""
GENERIC = frozenset(
    (
        *("value", "val", "values", "obj", "item", "items", "data", "arg", "x", "other", "node"),
        *("key", "default", "result", "element", "o", "v", "a", "b", "y", "z"),
    )
)
"""Names of parameters that say nothing about their type."""


@dataclass(frozen=True)
class Missing:
    """A missing annotation of a function's parameter, or of its result, with all evidence for it.

    `is_dense` is True if the project's authors annotate most of their code. Otherwise, the types
    that equal names have are mostly those that were found.
    """

    function: Function
    parameter: Parameter | None
    evidence: Sequence[Evidence]
    index: ProjectIndex
    is_dense: bool = False

    @property
    def is_star(self) -> bool:
        return self.parameter is not None and self.parameter.kind != "parameter"

    @property
    def sources(self) -> set[str]:
        return {each.source for each in self.evidence}

    def agreeing(self, term: str) -> set[str]:
        """Return the sources that suggest a type, with or without `None`."""
        plain = without_none(term)
        return {e.source for e in self.evidence if same(without_none(e.term), plain)}


class Refusal(NamedTuple):
    """A rule with its name and the reason that users see.

    `holds` is asked for a missing, a type, and the sources that suggest the type.
    """

    name: str
    reason: str
    holds: Callable[[Missing, str, AbstractSet[str]], bool]


def refusal_of(missing: Missing, term: str) -> Refusal | None:
    """Return the first rule that refuses a type, or None."""
    agreeing = missing.agreeing(term)
    rules = (*_RULES, *(_OF_RESULTS if missing.parameter is None else _OF_PARAMETERS))
    return next((rule for rule in rules if rule.holds(missing, term, agreeing)), None)


def _is_silent(missing: Missing, term: str, agreeing: AbstractSet[str]) -> bool:
    """Return True for what an empty generator yields, and if only a guess suggests `Any`."""
    if term == "NoReturn" or not _SILENT.search(term):
        return False
    may_inherit = missing.parameter is not None and "Any" not in term
    return not agreeing & (WRITTEN | {"inherited"} if may_inherit else WRITTEN)


def _contradicts_values(missing: Missing, term: str, _agreeing: AbstractSet[str]) -> bool:
    """Return True if the type does not accept all values of which the class is known."""
    sources = ("observed",) if missing.parameter is None else _PASSED
    for each in missing.evidence:
        if each.source in sources:
            known = (member for member in members_of(each.term) if is_known(member))
            if not accepts_all(term, known, missing.index):
                return True
        elif each.source == "default" and each.term == "bool" and "bool" not in term:
            return True
    return False


def _is_part_of_results(missing: Missing, _term: str, agreeing: AbstractSet[str]) -> bool:
    is_part = any(each.source == "returned" and each.share < 1 for each in missing.evidence)
    return is_part and "returned" in agreeing and agreeing <= {"returned"} | _GUESSED


def _is_hook(missing: Missing, _term: str, _agreeing: AbstractSet[str]) -> bool:
    return missing.function.owner is not None and "stub" in missing.sources


def _is_record(_slot: Missing, term: str, agreeing: AbstractSet[str]) -> bool:
    return agreeing <= {"returned"} and _has_mixed_items(term)


def _is_of_tests(_missing: Missing, _term: str, agreeing: AbstractSet[str]) -> bool:
    return bool(agreeing & _RUN) and agreeing <= _RUN | {"prior"}


def _is_of_a_name(missing: Missing, term: str, agreeing: AbstractSet[str]) -> bool:
    """Return True if equal names suggest the type alone.

    The annotations of authors say what they mean by a name, but not who gets a class.
    """
    if missing.is_star or agreeing <= {"prior", "class_name"}:
        return not missing.is_star
    is_class = not all(is_builtin(head_of(each)) for each in members_of(term))
    is_repeated = any(e.places > 1 for e in missing.evidence if e.source == "same_project")
    return agreeing <= _NAMESAKES | {"class_name"} and (
        not missing.is_dense or (is_class and not is_repeated)
    )


def _is_of_a_default(missing: Missing, _term: str, agreeing: AbstractSet[str]) -> bool:
    """Return True if the default alone suggests the type, but has many meanings.

    0 and 1 are the defaults of many floats.
    """
    default = missing.parameter.default if missing.parameter is not None else None
    text = ast.unparse(default).lstrip("-") if default is not None else ""
    return agreeing == {"default"} and text in ("None", "True", "False", "0", "1")


def _is_of_one_call(missing: Missing, _term: str, agreeing: AbstractSet[str]) -> bool:
    calls = sum(each.places for each in missing.evidence if each.source in _CALLED)
    return calls == 1 and agreeing <= _CALLED | _RUN


def _is_general(missing: Missing, _term: str, agreeing: AbstractSet[str]) -> bool:
    name = missing.parameter.name if missing.parameter else ""
    is_general = name in GENERIC or missing.function.short in _ITEMS
    return is_general and agreeing <= _RUN | _GUESSED | _NAMESAKES | {"compared"}


def _contradicts_code(missing: Missing, term: str, _agreeing: AbstractSet[str]) -> bool:
    for each in missing.evidence:
        if each.source == "compared" and not accepts(term, each.term, missing.index):
            return True
        if each.source == "isinstance":
            for member in members_of(each.term):
                if not _is_related(term, member, missing.index):
                    return True
    return False


def _is_related(term: str, tested: str, index: ProjectIndex) -> bool:
    every = members_of(term)
    if tested != UNKNOWN and is_foreign(head_of(tested), index):
        return not all(is_builtin(head_of(each)) for each in every)
    return (
        tested == UNKNOWN
        or accepts(term, tested, index)
        or any(accepts(tested, each, index) for each in every if each != "None")
    )


def _is_open(missing: Missing, term: str, agreeing: AbstractSet[str]) -> bool:
    """Return True if the code takes more values than those of the type."""
    sources = missing.sources
    return not agreeing & WRITTEN and (
        ("unused" in sources and agreeing <= _RUN | _GUESSED | {"call", "forward"})
        or ("may_be_none" in sources and "None" not in members_of(term))
    )


def _has_mixed_items(term: str) -> bool:
    """Return True for containers of several types, such as a dictionary that serves as a record."""
    every = [each for member in members_of(term) for each in arguments_of(member)]
    return any(len(members_of(without_none(each))) > 1 or _has_mixed_items(each) for each in every)


VALUES = Refusal("values", "a value that was seen does not fit", _contradicts_values)
_RULES = (
    VALUES,
    Refusal("nothing", "only a guess suggests a type that says nothing", _is_silent),
    Refusal("some-results", "only some of the results are known", _is_part_of_results),
)
_OF_RESULTS = (
    Refusal("hook", "the method is empty, to be overridden", _is_hook),
    Refusal("record", "only results suggest a container of several types", _is_record),
)
_OF_PARAMETERS = (
    Refusal("code", "the code handles other values, too", _contradicts_code),
    Refusal("open", "the code takes more than the type", _is_open),
    Refusal("tests", "only tests suggest a type", _is_of_tests),
    Refusal("default", "only a default such as None or False suggests a type", _is_of_a_default),
    Refusal("general-name", "a general name says nothing of the type", _is_general),
    Refusal("name", "only a name suggests a type", _is_of_a_name),
    Refusal("one-call", "only one call suggests a type", _is_of_one_call),
)
