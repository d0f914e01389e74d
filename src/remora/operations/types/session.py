"""Inference of a project's annotations, shared by all jobs of a process on the same files."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.metadata import version
from typing import NamedTuple

from remora.code.edit.text_lines import decode
from remora.errors import HostError
from remora.judges.types.accepted_annotations import Key, Terms, independent_groups
from remora.judges.types.slots import Slot
from remora.judges.types.terms import without_none
from remora.judges.types.type_checker import TypeChecker, new_diagnostics
from remora.operations.types.annotated_project import AddedBy
from remora.operations.types.calls import Calls
from remora.operations.types.inference import Inference
from remora.operations.types.refusals import DECORATED, may_read_annotations
from remora.operations.types.signature_text import says_something
from remora.sandbox.interpreters import ProjectPython
from remora.text import count
from remora.tools.file_tree import FileTree
from remora.tools.host.declared_type_checker import (
    SETTINGS_FILES,
    Diagnostic,
    ProjectChecker,
    declared_checker,
    find_checker,
)
from remora.tools.host.ruff.config_files import DEFAULT_MINOR, oldest_minor, settings_for
from remora.tools.host.ruff.rule_choice import IGNORE, setting_values
from remora.tools.kept_answers import KeptAnswers
from remora.tools.tree import ToolTree

_KEPT = 2
_WAIT = 1.0
_NO_KWARGS = ("ANN003", "ANN401")
"""Rules that a project ignores if it wants no `**kwargs: Any`: two readings rejected 3 of 3 there."""
_MAX_TOGETHER = 4000
_sessions: "OrderedDict[str, Session]" = OrderedDict()
_lock = threading.Lock()


class Verdict(NamedTuple):
    """Types that a judge refuses, and the first diagnostic because of which it does."""

    judge: str
    refused: Terms
    why: Diagnostic | None


class _Judge(NamedTuple):
    """A judge of annotations. `by_function` is that of `settle`."""

    name: str
    added_by: AddedBy
    by_function: bool = False


class Session:
    """A state of a project's files, with the annotations found for them.

    Threads wait for each other. `left` returns the seconds left, or raises HostError if there are
    none.
    """

    def __init__(self, texts: Mapping[str, str], place: ToolTree) -> None:
        self.texts = texts
        minor = oldest_minor(place) or DEFAULT_MINOR
        self._settings = _settings(place)
        self._declared = declared_checker(place)
        self._python: ProjectPython | None = None
        self.checker = TypeChecker(texts, self._settings, minor=minor)
        omits = _omits_kwargs(place)
        self._inference = Inference(texts, self.checker, minor, omits_kwargs=omits)
        self.index = self._inference.original
        self.signatures = self._inference.signatures
        self.calls = Calls(self.index)
        self.candidates = self._inference.candidates
        self.unread = self._inference.pyrefly.unread
        self._lock = threading.RLock()
        self._done: set[str] = set()
        self._selected: dict[frozenset[str], list[Key]] = {}
        self._alone: dict[str, Terms] = {}
        self._accepted: set[tuple[str, str]] = set()
        """Texts of single files that were found to add no diagnostic."""
        self._judges: list[_Judge] = []
        self.judges = self._ty
        """The type checkers that judged the annotations, in words."""

    def fits(self, place: ToolTree) -> bool:
        """Return True if the session has no other interpreter."""
        return place.python is None or self._python in (None, place.python)

    def use(self, place: ToolTree) -> None:
        """Read the packages of an interpreter, and keep answers. Planning works without both."""
        if place.answers is not None and self.checker.kept is None:
            self.checker.kept = KeptAnswers(place.answers)
        python = place.python
        if python is None or self._python is not None:
            return
        with self._lock:
            if self._python is None:
                self._python, self.checker.python, self._judges = python, python.python, []

    def judges_with(self, python: ProjectPython | None) -> str:
        """Return the type checkers that judge the annotations with an interpreter, in words."""
        checker = self._other_checker(python)
        if checker is not None:
            return f"{self._ty} and {checker.label}"
        if self._declared is not None and self._declared.name == "pyright":
            return f"{self._ty}; the project's pyright is not installed in its environment"
        return self._ty

    @property
    def _ty(self) -> str:
        without = " without the project's settings, which it refuses"
        return f"ty {version('ty')}{without if self.checker.refuses_settings else ''}"

    def _other_checker(self, python: ProjectPython | None) -> ProjectChecker | None:
        return find_checker(self._declared, self._settings, python, self.texts)

    def select(self, paths: Collection[str]) -> list[tuple[str, Slot]]:
        """Return the slots with a likely candidate in those files that are worth annotating."""
        with self._lock:
            if (every := frozenset(paths)) not in self._selected:
                self._selected[every] = list(
                    self._inference.promising(self._inference.slots(paths))
                )
            left_out = self.checker.left_out
            return [key for key in self._selected[every] if key[0] not in left_out]

    def annotations(self, path: str, place: ToolTree, own: Collection[str]) -> Terms:
        """Return the annotations of a file that add no diagnostic without those of other files.

        The first call finds those of all files among `own` that are worth annotating, so that the
        result does not depend on which of them are planned or were written before.
        """
        with self._locked(place.left):
            self.checker.left = place.left
            if path not in self._done:
                together = self._inference.slots({path, *(other for other, _ in self.select(own))})
                if len(together) > _MAX_TOGETHER:
                    together = self._inference.slots([path])
                self._inference.run(together)
                self._ask_other_checker()
                self._done |= {path, *(other for other, _ in together)}
                self._alone.clear()
            if path not in self._alone:
                self._settle_alone(path)
            return {} if path in self.checker.left_out else self._alone[path]

    def _settle_alone(self, path: str) -> None:
        """Find the annotations of a file that add no diagnostic without those of other files.

        Files that do not import each other are judged in the same run.
        """
        by_path: dict[str, Terms] = {path: {}}
        for key, term in self._inference.annotations.items():
            by_path.setdefault(key[0], {})[key] = term
        left = by_path.keys() - self._alone.keys()
        groups = independent_groups(left, self.index)
        group = next(files for files in groups if path in files)
        kept = self._inference.settle({k: t for file in group for k, t in by_path[file].items()})
        for file in group:
            self._alone[file] = {key: term for key, term in kept.items() if key[0] == file}
            self._accepted.add((file, self.text(file, self._alone[file])))

    def _ask_other_checker(self) -> None:
        """Remove annotations that the project's own type checker refuses, if it can be run."""
        if not self._inference.annotations:
            return
        self.judges = self.judges_with(self._python)
        judges, checker = self._all_judges(), self._other_checker(self._python)
        if len(judges) > 1:
            self._inference.settle_with(judges[1].added_by)
        elif checker is not None:
            self.judges = f"{self._ty}; {checker.label} fails on the project"
            if self._declared is not None:
                self._inference.settle_with(_cannot_judge)

    @contextmanager
    def _locked(self, left: Callable[[], float]) -> Iterator[None]:
        """Wait for other threads until no seconds are left."""
        while not self._lock.acquire(timeout=min(left(), _WAIT)):
            pass
        try:
            yield
        finally:
            self._lock.release()

    def why_left(self, path: str, numbers: Collection[int], left: Callable[[], float]) -> list[str]:
        """Return why signatures of a file were not found, the most frequent reasons first."""
        with self._locked(left):
            reasons = Counter(self._inference.why_left(path, number) for number in numbers)
        return [f"{why} ({count(number, 'function')})" for why, number in reasons.most_common()]

    def refusal(self, path: str, slot: Slot, term: str) -> str:
        """Return why a type is refused before a checker is asked, or an empty string.

        A type that says nothing is not, if related methods have it.
        """
        function = self.index.files[path].functions[slot.number]
        if may_read_annotations(function):
            return f"is not written: {DECORATED}"
        if says_something(term) or without_none(term) in self.index.required_types(
            function, slot.name
        ):
            return ""
        return "fits every value and says nothing"

    def overrides(self, path: str, number: int) -> set[int]:
        """Return the functions of a file that override one of its methods, without decorated ones."""
        found = self.index.overrides_of(self.index.files[path].functions[number])
        return {
            method.number
            for method in found
            if method.path == path and not may_read_annotations(method)
        }

    def judge(
        self, path: str, terms: Terms, base: Terms, place: ToolTree
    ) -> tuple[Terms, list[Verdict]]:
        """Return the annotations of a file that add no diagnostic with `base`, and all verdicts.

        The type checkers judge them. Raises HostError if one of them fails only with the
        annotations.
        """
        project = self._inference.project
        with self._locked(place.left):
            self.checker.left = place.left
            if path in self.checker.left_out:
                raise HostError("ty fails on the file")
            kept, verdicts = project.writable(terms), list[Verdict]()
            judges = self._all_judges() if kept else ()
            if len(judges) == 1 and self._declared and self._other_checker(self._python):
                _cannot_judge(kept)
            for judge in judges:
                tried, added_by = kept, _beyond(base, judge.added_by)
                kept = project.accepted(tried, base, added_by, by_function=judge.by_function)
                refused = {key: term for key, term in tried.items() if key not in kept}
                why = added_by(base | tried)[0] if refused else None
                verdicts.append(Verdict(judge.name, refused, why))
                if not kept:
                    break
            return kept, verdicts

    def _all_judges(self) -> list[_Judge]:
        """Return the judges without one that fails on the project as it is.

        Raises HostError if no time is left, which says nothing about such a judge.
        """
        if not self._judges:
            project, checker = self._inference.project, self._other_checker(self._python)
            judges = [_Judge(self._ty, project.added_by)]
            try:
                if checker is not None:
                    added_by = project.adding(checker.check, checker.question)
                    judges.append(_Judge(checker.label, added_by, by_function=True))
            except HostError:
                self.checker.left()
            self._judges = judges
        return self._judges

    def text(self, path: str, terms: Terms, proposed: Collection[tuple[str, Slot]] = ()) -> str:
        """Return the text of a file with those annotations that complete a signature.

        `proposed` ones are written in any case.
        """
        written = self.signatures.complete(terms)
        written |= {key: term for key, term in terms.items() if key in proposed}
        return self._inference.project.texts(written)[path]

    def new_diagnostics(
        self, texts: Mapping[str, str], left: Callable[[], float]
    ) -> list[Diagnostic]:
        """Return the diagnostics that other texts of some files add."""
        with self._locked(left):
            if len(texts) == 1 and self._accepted.issuperset(texts.items()):
                return []
            self.checker.left = left
            return self._inference.project.added_by_texts(texts)


def _beyond(base: Terms, added_by: AddedBy) -> AddedBy:
    """Return a function that leaves out the diagnostics that `base` adds alone."""
    known = added_by(base)
    return lambda terms: new_diagnostics(known, added_by(terms))


def _omits_kwargs(place: ToolTree) -> bool:
    """Return True if the project's ruff ignores missing annotations of `**kwargs`."""
    settings = settings_for(place, "pyproject.toml")
    return not {*_NO_KWARGS}.isdisjoint(setting_values(settings, *IGNORE))


def _cannot_judge(_terms: Terms) -> list[Diagnostic]:
    """Judge types in place of a type checker that the project names and that fails on it."""
    raise HostError("the project's type checker fails on the project, so no type can be judged")


def session_for(place: ToolTree, texts: Mapping[str, str]) -> Session:
    """Return the session for the current files of a tree. The last ones are kept."""
    digest = sha256(repr(_settings(place)).encode())
    for path, text in sorted(texts.items()):
        digest.update(f"{path}\0{len(text)}\0{text}".encode("utf-8", "surrogatepass"))
    key = digest.hexdigest()
    with _lock:
        if key not in _sessions or not _sessions[key].fits(place):
            _sessions[key] = Session(texts, place)
        _sessions.move_to_end(key)
        if len(_sessions) > _KEPT:
            _sessions.popitem(last=False)
        found = _sessions[key]
    found.use(place)
    return found


def project_texts(place: FileTree) -> dict[str, str]:
    """Return the text of each Python file of a tree that is valid UTF-8."""
    found = {}
    for path, content in place.contents("**/*.py", "**/*.pyi"):
        with suppress(HostError):
            found[path] = decode(path, content).body
    return found


def _settings(place: ToolTree) -> dict[str, bytes]:
    names = (*SETTINGS_FILES, "ty.toml")
    return {name: place.read(name) for name in names if place.files.exists(name)}
