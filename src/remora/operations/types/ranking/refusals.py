"""Candidate types that are refused, however likely they are."""

import re
from collections.abc import Sequence

from remora.operations.types.facts.acceptance import accepts, accepts_all, is_foreign
from remora.operations.types.facts.body_facts import FunctionBody
from remora.operations.types.facts.evidence import Evidence
from remora.operations.types.ranking.signature_choice import GENERIC
from remora.operations.types.source.project_index import ProjectIndex, is_builtin
from remora.operations.types.source.slots import RETURN, Kind
from remora.operations.types.source.terms import (
    UNKNOWN,
    arguments_of,
    head_of,
    is_known,
    members_of,
    same,
    without_none,
)

_SILENT = re.compile(r"\b(?:Any|object)\b")
WRITTEN = frozenset(("override", "overridden", "same_class", "same_file", "same_project"))
"""Sources that are annotations of other functions."""
_NAMESAKES = frozenset(("same_class", "same_file", "same_project", "prior"))
_RUN = frozenset(("test_call", "observed"))
"""Sources that only say what tests happened to pass."""
_GUESSED = frozenset(("prior", "class_name", "members", "only_members", "name"))
_PASSED = ("call", "test_call", "name", "observed", "flow")
_USUAL = 0.5
_ITEMS = frozenset(("__getitem__", "__setitem__", "__delitem__", "__contains__"))
"""Methods whose parameters have names that say nothing about their types."""

_ONE_PATH = frozenset(("Path", "PurePath", "str"))


class Refusals:
    """Refuses types that say nothing, types that are too narrow, and types known from tests alone.

    `evidence` is all evidence for a slot.
    """

    def __init__(
        self,
        evidence: Sequence[Evidence],
        index: ProjectIndex,
        kind: Kind,
        name: str = "",
        function: str = "",
    ) -> None:
        self._name = name
        self._is_generic = name in GENERIC or function in _ITEMS
        self._evidence = evidence
        self._index = index
        self._kind = kind
        self._is_parameter = kind != RETURN
        self._sources = {each.source for each in evidence}

    def refuses(self, term: str) -> bool:
        """Return True if a candidate must not be proposed."""
        agreeing = {
            each.source
            for each in self._evidence
            if same(without_none(each.term), without_none(term))
        }
        if _SILENT.search(term) and self._is_silent(term, agreeing):
            return True
        if "NoReturn" in term and term != "NoReturn":  # such as the items of an empty generator
            return True
        if not self._accepts_values(term) or self._is_part_of_results(agreeing):
            return True
        if not self._is_parameter:
            is_documented = "documented" in self._sources and term == "None"
            return is_documented or (agreeing <= {"returned"} and _has_mixed_items(term))
        return bool(
            (agreeing and agreeing <= _RUN)
            or (agreeing <= _RUN | {"prior"} and self._is_rare(term))
            or (self._is_generic and agreeing <= _RUN | _GUESSED | _NAMESAKES | {"compared"})
            or self._is_guess(term, agreeing)
            or self._is_one_subclass(term, agreeing)
            or self._is_one_path(term, agreeing)
            or self._contradicts_code(term, agreeing)
        )

    def _is_silent(self, term: str, agreeing: set[str]) -> bool:
        """Return True if nothing but a guess suggests `Any` or `object`."""
        allowed = WRITTEN | {"attribute"}
        if self._is_parameter and "Any" not in term:
            allowed |= {"inherited"}
        return not agreeing & allowed

    def _is_part_of_results(self, agreeing: set[str]) -> bool:
        """Return True if a type is known from some of the results, and from nothing else."""
        is_part = any(each.source == "returned" and each.share < 1 for each in self._evidence)
        return is_part and "returned" in agreeing and agreeing <= {"returned"} | _GUESSED

    def _accepts_values(self, term: str) -> bool:
        """Return True if the type accepts all values of which the class is known."""
        sources = _PASSED if self._is_parameter else ("observed",)
        for each in self._evidence:
            if each.source in sources:
                known = (member for member in members_of(each.term) if is_known(member))
                if not accepts_all(term, known, self._index):
                    return False
            elif each.source == "default" and each.term == "bool" and "bool" not in term:
                return False
        return True

    def _is_guess(self, term: str, agreeing: set[str]) -> bool:
        """Return True for star parameters and classes that only a name or a test suggests."""
        if self._kind != "parameter":
            return agreeing <= _RUN | _GUESSED
        if all(is_builtin(head_of(each)) for each in members_of(term)):
            return False
        is_named_once = agreeing <= _NAMESAKES and not any(
            each.places > 1 for each in self._evidence if each.source == "same_project"
        )
        return agreeing <= {"prior"} or is_named_once

    def _is_one_subclass(self, term: str, agreeing: set[str]) -> bool:
        """Return True if callers pass one of several subclasses, and nothing else suggests it."""
        return agreeing <= _RUN | {"call", "name"} and any(
            len(self._index.subclasses.get(base, ())) > 1 or self._is_abstract(base)
            for member in members_of(term)
            for own in self._index.classes.get(head_of(member), ())[:1]
            for base in own.bases
            if base in self._index.classes
        )

    def _is_abstract(self, name: str) -> bool:
        given = self._index.classes[name][0]
        stubs = (FunctionBody(each).is_stub for each in given.methods.values())
        return not {"ABC", "Protocol"}.isdisjoint(given.bases) or any(stubs)

    def _is_rare(self, term: str) -> bool:
        """Return True if most other packages do not use the type for the name."""
        shares = (
            each.share
            for each in self._evidence
            if each.source == "prior" and same(each.term, term)
        )
        return max(shares, default=0.0) < _USUAL

    def _is_one_path(self, term: str, agreeing: set[str]) -> bool:
        """Return True if a type excludes paths that the code can probably work with."""
        if not set(members_of(without_none(term))) <= _ONE_PATH:
            return False
        opens = "path_use" in self._sources
        is_path = "str" not in members_of(term)
        return (opens or is_path) and agreeing <= _RUN | _GUESSED

    def _contradicts_code(self, term: str, agreeing: set[str]) -> bool:
        """Return True if the code handles values that the type excludes."""
        if self._is_open(term, agreeing):
            return True
        for each in self._evidence:
            if each.source == "compared" and not accepts(term, each.term, self._index):
                return True
            if each.source == "isinstance":
                for member in members_of(each.term):
                    if not self._is_related(term, member):
                        return True
        return False

    def _is_open(self, term: str, agreeing: set[str]) -> bool:
        """Return True if the code takes more values than those of the type.

        A value that is passed to `str()` may be any object, even if the docstring calls it a text,
        or if other parameters with its name are numbers.
        """
        if "to_text" in self._sources and agreeing <= _NAMESAKES:
            return True
        if agreeing & WRITTEN:
            return False
        is_unused = "unused" in self._sources
        return (
            (is_unused and agreeing <= _RUN | _GUESSED | {"call", "forward"})
            or ("to_text" in self._sources and "str" in members_of(term))
            or ("may_be_none" in self._sources and "None" not in members_of(term))
        )

    def _is_related(self, term: str, tested: str) -> bool:
        every = members_of(term)
        if tested != UNKNOWN and is_foreign(head_of(tested), self._index):
            return not all(is_builtin(head_of(each)) for each in every)
        return (
            tested == UNKNOWN
            or accepts(term, tested, self._index)
            or any(accepts(tested, each, self._index) for each in every if each != "None")
        )


def _has_mixed_items(term: str) -> bool:
    """Return True for containers of several types, such as a dictionary that serves as a record."""
    every = [each for member in members_of(term) for each in arguments_of(member)]
    return any(len(members_of(without_none(each))) > 1 or _has_mixed_items(each) for each in every)
