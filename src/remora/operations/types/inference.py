"""Inference of missing annotations for a project, judged by a type checker."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from remora.operations.types.annotated_project import AnnotatedProject, Run
from remora.operations.types.checker.judge import Terms
from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.facts.collection import collect
from remora.operations.types.facts.evidence import Evidence, SlotKey, key_of
from remora.operations.types.ranking.overrides import overrides_agree, special_parameter
from remora.operations.types.ranking.refusals import VALUES, WRITTEN, Missing, Refusal
from remora.operations.types.ranking.siblings import Siblings
from remora.operations.types.ranking.signature_choice import PLAIN, Signatures
from remora.operations.types.ranking.type_candidates import (
    Ranked,
    Weights,
    candidates_for,
    rank,
)
from remora.operations.types.source.project_index import Function, ProjectIndex
from remora.operations.types.source.slots import RETURN, Slot
from remora.operations.types.source.terms import UNKNOWN, members_of, same, without_none
from remora.threads import raise_if_cancelled

SPECIAL = 0.95
"""The probability of the types of special methods that the language defines."""
_ROUNDS = 4
"""How often facts are derived again."""
_PLANNED_ROUNDS = 2
"""How often facts are derived before a file is planned."""
COMPLETING = 0.55
"""The least probability of an annotation that completes a signature."""
MOSTLY_ANNOTATED = 0.5
"""The part of annotations that are written above which a project counts as annotated."""
_INDEPENDENT = frozenset(("call", "forward"))
"""Sources that say more of a parameter when more annotations are known."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`minor` is the minor version of the oldest Python 3 that the project supports.

    `threshold` replaces the threshold of the weights. `observed` contains the run-time types of
    functions, by node key.
    """

    minor: int
    threshold: float | None = None
    observed: Mapping[str, Any] = {}


class _Facts(NamedTuple):
    project: ProjectIndex
    evidence: dict[SlotKey, list[Evidence]]
    siblings: Siblings


class Inference:
    """Finds annotations for missing annotations of a project.

    `texts` contains the text of every Python file of the project.
    """

    def __init__(
        self, texts: Mapping[str, str], checker: TypeChecker, model: Weights, settings: Settings
    ) -> None:
        self._checker = checker
        self._model = model
        self._settings = settings
        self.original = ProjectIndex(texts)
        self.project = AnnotatedProject(self.original, checker, settings.minor)
        self._known: tuple[Terms, _Facts] | None = None
        self._refused: set[tuple[str, Slot, str]] = set()
        self._rules: dict[tuple[str, Slot], list[Refusal]] = {}
        """The rules that refuse types of a slot."""
        self._first: dict[tuple[str, Slot], set[str]] = {}
        """The candidates of each slot before any annotation was found."""
        self._density = Siblings(self.original).density
        self.signatures = Signatures(self.original)
        self.annotations: Terms = {}
        """All annotations found so far."""
        self.best: dict[tuple[str, Slot], Ranked] = {}
        """The likeliest candidate of each slot, as last ranked."""

    def slots(self, paths: Iterable[str]) -> list[tuple[str, Slot]]:
        """Return the missing annotations of some files, without those on which ty fails."""
        return [
            (path, slot)
            for path in sorted(set(paths) - self._checker.left_out)
            if path in self.original.files
            for slot in self.original.files[path].source.slots
        ]

    def run(self, slots: Iterable[tuple[str, Slot]]) -> None:
        """Find annotations for some slots, and add them to `annotations`."""
        wanted = list(slots)
        for _ in range(_ROUNDS):
            likely = self.likely(self._left(wanted))
            found = self._judged(likely, self.annotations)
            if not found:
                break
            self.annotations |= found
        self._complete(wanted)

    def _complete(self, wanted: Iterable[tuple[str, Slot]]) -> None:
        """Add less likely annotations that complete a signature, and leave out scattered ones.

        Then results that follow from the new types are added.
        """
        wanted = list(wanted)
        for more in (self._completing, self._results):
            likely = more(self._left(wanted), self.annotations)
            self.annotations |= self._judged(likely, self.annotations)
        self.leave_out_scattered()

    def _results(self, slots: Iterable[tuple[str, Slot]], known: Terms) -> Terms:
        """Return the likely results of functions of which a parameter is in `known`."""
        typed = {(path, slot.number) for path, slot in known}
        left = [(p, s) for p, s in slots if s.kind == RETURN and (p, s.number) in typed]
        return self.likely(left)

    def leave_out_scattered(self) -> None:
        """Remove annotations of signatures and files most of which would stay without."""
        self.annotations = self.signatures.consistent(self.annotations)

    def _completing(self, slots: Iterable[tuple[str, Slot]], known: Terms) -> Terms:
        """Return the candidates of some slots of sparsely annotated files that complete `known`.

        Results may follow from them, so signatures count as whole without one.
        """
        weak = [key for key in slots if self.signatures.is_sparse(key[0])]
        likely = self.likely(weak, COMPLETING)
        results = {key: UNKNOWN for key in weak if key[1].kind == RETURN}
        together = self.signatures.consistent(results | known | likely)
        return {key: term for key, term in likely.items() if key in together}

    def promising(self, slots: Iterable[tuple[str, Slot]]) -> Terms:
        """Return the slots with a likely candidate, in files that are worth annotating.

        Likely candidates count as facts for others, as accepted ones do in `run`. What is found for
        them may complete further signatures.
        """
        every = list(slots)
        before = self.annotations
        try:
            for _ in range(_PLANNED_ROUNDS):
                self.annotations = self.annotations | self.likely(self._left(every))
            for more in (self._completing, self._results):
                self.annotations = self.annotations | more(self._left(every), self.annotations)
            found = self.annotations
        finally:
            self.annotations = before
        paths = {path for path, _ in self.signatures.consistent(found)}
        return {key: term for key, term in found.items() if key[0] in paths}

    def _left(self, slots: Iterable[tuple[str, Slot]]) -> list[tuple[str, Slot]]:
        return [each for each in slots if each not in self.annotations]

    def likely(self, slots: Iterable[tuple[str, Slot]], limit: float | None = None) -> Terms:
        """Return the slots whose best candidate has the probability `limit`, with this candidate.

        Without a limit, it is that of the settings or of the weights.
        """
        if limit is None:
            limit = self._settings.threshold
        if limit is None:
            limit = self._model.threshold(self._density)
        wanted = [key for key in slots if not self.signatures.omits(*key)]
        best = {key: ranked[0] for key in wanted if (ranked := self.ranked(*key))}
        self.best |= best
        return {key: each.term for key, each in best.items() if each.probability >= limit}

    def forget(self) -> None:
        """Forget what the type checker said, because it knows more now."""
        self._known = None
        self.project.forget()

    def settle(self, terms: Terms) -> Terms:
        """Return those of some annotations that add no diagnostic without any others."""
        kept = self.signatures.complete(self._judged(terms, {}))
        return kept if len(kept) in (0, len(terms)) else self.settle(kept)

    def settle_with(self, run: Run, question: str = "") -> None:
        """Remove annotations that add diagnostics of another checker.

        Its answers are kept if `question` says what it is asked. An error in a function that had no
        annotation removes all of those found for it.
        """
        kept = self.project.accepted(
            self.annotations, {}, self.project.adding(run, question), by_function=True
        )
        self._refused |= {(*key, t) for key, t in self.annotations.items() if key not in kept}
        self.annotations = kept

    def stated(self, path: str, slot: Slot) -> set[str]:
        """Return the types that an overridden method has for a slot, or all others of the class.

        One other method is not enough, and `object` does not count, because special methods have
        it from the language.
        """
        facts = self._facts()
        function = facts.project.files[path].functions[slot.number]
        known = facts.evidence.get(key_of(function, slot.name), ())
        overridden = {fact.term for fact in known if fact.source in ("inherited", "override")}
        return overridden | {
            sibling.term
            for sibling in facts.siblings.evidence(function, slot.name)
            if sibling.source == "same_class" and sibling.places > 1 and sibling.share == 1
            if "object" not in members_of(sibling.term)
        }

    def contradicts_run(self, path: str, slot: Slot, term: str) -> bool:
        """Return True if a value that was seen while the project ran does not fit a type."""
        facts = self._facts()
        function = facts.project.files[path].functions[slot.number]
        known = facts.evidence.get(key_of(function, slot.name), ())
        seen = [each for each in known if each.source == "observed"]
        missing = Missing(function, function.parameter(slot.name), seen, facts.project)
        return VALUES.holds(missing, term, frozenset())

    def ranked(self, path: str, slot: Slot) -> list[Ranked]:
        """Return the candidates of a slot that were not refused, the most likely first.

        A type that follows only from annotations that were found for other functions is not a
        candidate, because one that is wrong would spread. `Any` is not one where an annotation may
        as well be left out.
        """
        raise_if_cancelled()
        facts = self._facts()
        function = facts.project.files[path].functions[slot.number]
        known = facts.evidence.get(key_of(function, slot.name), [])
        special = special_parameter(function, slot.name, facts.project)
        special = special or self._type_of_getter(function, slot.name, facts.project)
        if special:
            is_refused = self.contradicts_run(path, slot, special)
            is_refused |= (path, slot, special) in self._refused
            return [] if is_refused else [Ranked(special, SPECIAL, "rule")]
        is_dense = self._density > MOSTLY_ANNOTATED
        candidates, refused = candidates_for(
            function, slot.name, known, facts.siblings, is_dense=is_dense
        )
        self._rules[path, slot] = list(refused.values())
        if not self.annotations:
            self._first[path, slot] = {each.term for each in candidates}
        new = {
            each.term
            for each in known
            if (each.source not in WRITTEN if slot.kind == RETURN else each.source in _INDEPENDENT)
        }
        return [
            candidate
            for candidate in rank(candidates, self._model)
            if (path, slot, candidate.term) not in self._refused
            and not (self._may_stay_open(path, slot) and "Any" in members_of(candidate.term))
            and (
                slot.kind != RETURN
                or overrides_agree(function, candidate.term, facts.project, facts.evidence)
            )
            and (
                candidate.term in self._first.get((path, slot), (candidate.term,))
                or any(same(without_none(candidate.term), without_none(term)) for term in new)
            )
        ]

    def why_left(self, path: str, number: int) -> str:
        """Return why the signature of a function was not found, in words."""
        slots = [each for each in self.original.files[path].source.slots if each.number == number]
        likely = self.likely((path, slot) for slot in slots)
        open_slots = (each for each in slots if not self.signatures.omits(path, each))
        unknown = [each for each in open_slots if (path, each) not in likely]
        if not unknown:
            return "related ones, or most of the file, stay untyped"
        if any((path, slot) == (p, s) for p, s, _ in self._refused for slot in unknown):
            return "a type checker or a test refuses a type"
        rules = [rule for slot in unknown for rule in self._rules.get((path, slot), ())]
        return rules[0].reason if rules else "no type is likely enough"

    def _may_stay_open(self, path: str, slot: Slot) -> bool:
        """Return True for parameters and results, but not `**kwargs`, of sparsely annotated code."""
        return slot.kind in ("parameter", RETURN) and self.signatures.is_sparse(path)

    def _type_of_getter(self, function: Function, name: str, index: ProjectIndex) -> str:
        """Return the type of a property's plain values for its setter, or an empty string."""
        if (
            function.parameter(name) is None
            or (pair := self.signatures.property_of(function)) is None
        ):
            return ""
        getter, setter = pair
        if setter.number != function.number or not setter.parameters:
            return ""
        shown = index.files[function.path].functions[getter.number].returns
        return shown if set(members_of(shown)) <= PLAIN else ""

    def _facts(self) -> "_Facts":
        """Return the facts that follow from the annotations found so far."""
        if self._known is None or self._known[0] != self.annotations:
            index = ProjectIndex(self.project.texts(self.annotations), self.original)
            evidence = collect(index, self._checker, self._settings.observed)
            self._known = dict(self.annotations), _Facts(index, evidence, Siblings(index))
        return self._known[1]

    def _judged(self, chosen: Terms, base: Terms) -> Terms:
        """Return the annotations that add no diagnostic anywhere in the project with `base`."""
        accepted = self.project.accepted(chosen, base, self.project.added_by)
        self._refused |= {(*key, term) for key, term in chosen.items() if key not in accepted}
        return accepted
