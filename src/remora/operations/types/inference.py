"""Missing annotations of a project: pyrefly writes candidates, rules and type checkers judge them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from remora.errors import HostError
from remora.judges.rules import first_of
from remora.judges.types.accepted_annotations import Key, Terms
from remora.judges.types.project_index import ProjectIndex
from remora.judges.types.slots import RETURN, Slot
from remora.judges.types.terms import members_of, union
from remora.judges.types.type_checker import TypeChecker
from remora.operations.types.annotated_project import AddedBy, AnnotatedProject
from remora.operations.types.callers import Callers
from remora.operations.types.pyrefly import Pyrefly, terms_in
from remora.operations.types.refusals import RULES, Candidate, may_read_annotations
from remora.operations.types.signatures import PLAIN, Signatures
from remora.threads import raise_if_cancelled

_ROUNDS, _PLANNED_ROUNDS = 3, 2
"""Number of times that pyrefly is asked, each time with the annotations that were accepted before."""
_REFUSED = "a type checker does not accept a type"
_UNKNOWN = "the file has no name for a type"
_LANGUAGE: Mapping[str, tuple[str, ...]] = {
    "__eq__": ("object",),
    "__ne__": ("object",),
    "__exit__": ("type[BaseException] | None", "BaseException | None", "TracebackType | None"),
    "__aexit__": ("type[BaseException] | None", "BaseException | None", "TracebackType | None"),
}
"""The types of parameters of special methods, which the language defines."""


class Inference:
    """Finds annotations for missing annotations of a project.

    `texts` contains the text of every Python file of the project, and `minor` is the minor version
    of the oldest Python 3 that it supports.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        checker: TypeChecker,
        minor: int,
        *,
        omits_kwargs: bool = False,
    ) -> None:
        self._checker = checker
        self.pyrefly = Pyrefly(checker)
        self.original = ProjectIndex(texts)
        self.project = AnnotatedProject(self.original, checker, minor)
        self.signatures = Signatures(self.original, omits_kwargs=omits_kwargs)
        self.annotations: Terms = {}
        """All annotations found so far."""
        self.candidates: Terms = {}
        """The last candidate of each slot, refused or not."""
        self._callers = Callers()
        self._answers: dict[object, Terms] = {}
        """Pyrefly's types for files with annotations, and with an interpreter's packages."""
        self._why: dict[tuple[str, Slot], str] = {}
        """Why the candidate of a slot was refused."""

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
        wanted = set(slots)
        for _ in range(_ROUNDS):
            raise_if_cancelled()
            likely = self._likely(wanted, self.annotations)
            found = self.project.accepted(likely, self.annotations, self.project.added_by)
            known, left = self.project.writable(likely), likely.keys() - found.keys()
            self._why |= {key: _REFUSED if key in known else _UNKNOWN for key in left}
            self.annotations |= found
            if not found:
                break
        self.annotations = self.signatures.consistent(self.annotations)

    def promising(self, slots: Iterable[tuple[str, Slot]]) -> Terms:
        """Return the slots with a likely candidate, in files that are worth annotating.

        Nothing is judged, but files on which ty fails are known afterwards.
        """
        self._checker.check({})
        wanted, found = set(slots), Terms()
        for _ in range(_PLANNED_ROUNDS):
            found |= self._likely(wanted, found)
        return self.signatures.consistent(found)

    def settle(self, terms: Terms) -> Terms:
        """Return those of some annotations that add no diagnostic without any others."""
        accepted = self.project.accepted(terms, {}, self.project.added_by)
        kept = self.signatures.complete(accepted)
        return kept if len(kept) in (0, len(terms)) else self.settle(kept)

    def settle_with(self, added_by: AddedBy) -> None:
        """Remove annotations that add diagnostics of another checker, or all if it fails with them.

        An error in a function that had no annotation removes all of those found for it. Raises
        HostError if no time is left.
        """
        try:
            kept = self.project.accepted(self.annotations, {}, added_by, by_function=True)
        except HostError:
            self._checker.left()
            kept = {}
        self._why |= dict.fromkeys(self.annotations.keys() - kept.keys(), _REFUSED)
        self.annotations = self.signatures.consistent(kept)

    def why_left(self, path: str, number: int) -> str:
        """Return why the signature of a function was not found, in words."""
        slots = [slot for slot in self.original.files[path].source.slots if slot.number == number]
        left = [
            slot
            for slot in slots
            if (path, slot) in self._why or (path, slot) not in self.candidates
            if not self.signatures.omits(slot)
        ]
        if not left:
            return "related ones, or most of the file, stay untyped"
        reasons = (self._why.get((path, slot)) for slot in left)
        return next((reason for reason in reasons if reason), "pyrefly finds no type")

    def _likely(self, wanted: Set[Key], known: Terms) -> Terms:
        """Return the candidates for some slots that pass all rules, given some annotations."""
        inferred = self._inferred(sorted({path for path, _ in wanted}), known)
        self.candidates |= inferred
        for key, term in inferred.items():
            refusal = first_of(RULES, self._candidate(*key, term))
            if refusal is not None:
                self._why[key] = refusal.reason
            else:
                self._why.pop(key, None)
        likely = {key: term for key, term in inferred.items() if key not in self._why}
        files = self.original.files
        free = {
            key
            for key in wanted
            if not may_read_annotations(files[key[0]].functions[key[1].number])
        }
        likely |= {key: term for key in free if (term := self._language_type(*key))}
        likely |= self._of_setters(free, known | likely)
        return {key: term for key, term in likely.items() if key in wanted and key not in known}

    def _inferred(self, paths: Sequence[str], known: Terms) -> Terms:
        """Return pyrefly's types for some files, given some annotations. Answers are remembered."""
        asked = tuple(paths), frozenset(known.items()), self._checker.python
        if asked not in self._answers:
            texts = self.project.texts(known)
            texts |= self._callers.with_callers(paths, ProjectIndex(texts, self.original))
            found = terms_in(self.pyrefly.infer(paths, texts), self.original)
            self._answers[asked] = dict(self._plain(found))
        return self._answers[asked]

    def _candidate(self, path: str, slot: Slot, term: str) -> Candidate:
        function = self.original.files[path].functions[slot.number]
        parameter = function.parameter(slot.name)
        return Candidate(function, parameter, term)

    def _plain(self, found: Terms) -> Iterator[tuple[tuple[str, Slot], str]]:
        """Yield types as people write them."""
        for (path, slot), term in found.items():
            function = self.original.files[path].functions[slot.number]
            members = [member for member in members_of(term) if member != "NotImplementedType"]
            owner = function.owner.name.rpartition(".")[2] if function.owner else ""
            if owner and (slot.name != RETURN or not self.original.subclasses.get(owner)):
                members = [owner if member == "Self" else member for member in members]
            yield (path, slot), union(members) or "None"

    def _language_type(self, path: str, slot: Slot) -> str:
        """Return the type that a special method or `**kwargs` has everywhere, or nothing."""
        function, name = self.original.files[path].functions[slot.number], slot.name
        if slot.kind == "kwargs":
            return "" if self.signatures.omits_kwargs else "Any"
        types = _LANGUAGE.get(function.name, ()) if function.owner is not None else ()
        names = [
            parameter.name for parameter in function.parameters if parameter.kind == "parameter"
        ]
        if len(names) != len(types) or len(function.parameters) != len(types):
            return ""
        return dict(zip(names, types, strict=True)).get(name, "")

    def _of_setters(self, wanted: Set[Key], known: Terms) -> Terms:
        """Return the types of setters' values, where the getter returns a plain type."""
        results = {
            (path, slot.number): term for (path, slot), term in known.items() if slot.name == RETURN
        }
        found: Terms = {}
        for path, slot in wanted:
            function = self.original.files[path].functions[slot.number]
            pair = self.signatures.property_of(function)
            if pair is None or slot.name == RETURN or function is not pair[1]:
                continue
            shown = pair[0].returns or results.get((path, pair[0].number), "")
            if shown and PLAIN.issuperset(members_of(shown)):
                found[path, slot] = shown
        return found
