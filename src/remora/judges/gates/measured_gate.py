"""A gate that was measured before the changes, and what it says of parts of the proposals."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from remora.errors import HostError
from remora.judges.gates.code_gates import any_passes, failing, test_file, with_error
from remora.judges.gates.gate import Gate, Levels, SlowGateError, UnjudgedError, compared, worse
from remora.memory.events import GateResult
from remora.statuses import TEST_GATE, VALUES_GATE
from remora.text import some_of
from remora.tools.kept_answers import KeptAnswers
from remora.version import __version__
from remora.workspaces.copy.workspace import Workspace

_Group = TypeVar("_Group")
ChangedFiles = Mapping[str, tuple[bytes | None, int]]
"""Maps paths to the content and mode of files."""

_MOST_FILES = 40
"""Test files that are run apart from the others. More of them take as long as all."""
_SLOWER, _START = 3.0, 30.0
"""A gate that takes this many times as long after the changes, and some seconds, has failed."""
_COVERAGE = "`pytest --cov --cov-context=test` records those that reach a change, and gates.time_s allows all"
_SHARE = 3
"""A gate is measured before the changes and after them, and, if it is worse, once more before them."""


class Part(NamedTuple):
    """Hunks of a change set that are taken out together, and a name for them."""

    agent_id: str
    hunks: tuple[int, ...]
    label: str


class Measured(NamedTuple):
    """What a gate said of a state of the project."""

    levels: Levels
    seconds: float
    """How long it took."""


class KeptMeasurements(NamedTuple):
    """What gates said of the states of a project on the same day, with the same environment.

    With the changes of one run, a project is in the state from which the next one starts.
    """

    answers: KeptAnswers
    base: Mapping[str, str]
    """Maps the paths of all files to the SHA-256 of their contents."""
    environment: str

    def question(self, gate: Gate, changed: ChangedFiles, files: tuple[str, ...]) -> bytes:
        """Return what a gate is asked about the base with changed files."""
        state = dict(self.base)
        for path, (content, _) in changed.items():
            state.pop(path, None)
            if content is not None:
                state[path] = sha256(content).hexdigest()
        day = datetime.now(UTC).date().isoformat()
        asked = [gate.name, gate.label, *files, day, self.environment, __version__]
        return msgspec.json.encode([asked, sorted(state.items())])


@dataclass
class Measurements:
    """Measures gates in a workspace until the time is over.

    `files` returns the content and mode of the files that some parts change.
    """

    workspace: Workspace
    files: Callable[[Sequence[Part]], ChangedFiles]
    seconds: InitVar[float]
    judging: Callable[[str], None]
    kept: KeptMeasurements

    def __post_init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._asked, self._has_changes = set[bytes](), False

    @property
    def left(self) -> float:
        """The seconds left."""
        return self._ends - time.monotonic()

    def measure(
        self,
        gate: Gate,
        parts: Sequence[Part],
        seconds: float,
        files: tuple[str, ...] = (),
    ) -> Measured:
        """Return what a gate says, or said in an earlier run, of the project with some parts.

        What is asked again is measured again. The base is only kept if it comes first: the code of
        a change may have left something behind. Raises HostError.
        """
        changed, seconds = self.files(parts), min(seconds, self.left)
        self._has_changes |= bool(parts)
        is_kept = parts or not self._has_changes
        question = self.kept.question(gate, changed, files)
        if question not in self._asked:
            self._asked.add(question)
            if is_kept and (known := self.kept.answers.decoded(question, Measured)):
                return known
        if seconds <= 0:
            raise SlowGateError("no time is left")
        self.judging(f"{gate.label}, {'with' if parts else 'before'} the changes")
        begun = time.monotonic()
        self.workspace.reset()
        self.workspace.set_files(changed)
        levels = gate.measure(self.workspace.tree, seconds, files)
        found = Measured(levels, time.monotonic() - begun)
        if gate.runs_code and not parts and self.workspace.snapshot():
            raise HostError("it writes into the project's files")
        if is_kept:
            self.kept.answers.keep(question, msgspec.json.encode(found))
        return found


@dataclass
class MeasuredGate:
    """A gate, and what it says of the base. If only some test files are run, they are `tests`."""

    gate: Gate
    base: Levels
    limit: float
    note: InitVar[str]
    to: Measurements
    tests: tuple[str, ...] = ()
    said: Sequence[str] = ()
    """Complaints with all parts that are not explained by the parts that were taken out."""
    sure: Sequence[Part] = ()
    """The first parts, with which what was worse was not."""

    def __post_init__(self, note: str) -> None:
        gate = self.gate
        self.result = GateResult(name=gate.name, label=gate.label, note=note)
        self._is_sure = not gate.runs_code or gate.name == VALUES_GATE  # which has an empty base
        self._is_stained = False
        self._known: dict[tuple[tuple[Part, ...], tuple[str, ...]], Sequence[str]] = {}

    def complaints(
        self, parts: Sequence[Part], files: tuple[str, ...] = (), *, again: bool = False
    ) -> Sequence[str]:
        """Return what is worse with some parts, in all files or in some, perhaps measured `again`.

        What cannot be measured again stays worse. Raises OutOfTimeError if the time is over, and
        UnjudgedError if the gate cannot judge.
        """
        key, only = (tuple(parts), files), files or self.tests
        if again or key not in self._known:
            try:
                after = self.to.measure(self.gate, parts, self.limit, only).levels
            except HostError as error:
                if self.to.left <= 0:
                    if again:
                        return self._known.get(key) or self.said
                    raise OutOfTimeError from None
                if isinstance(error, UnjudgedError):
                    raise
                after = {**self._within(files), error.message: -1}
            self._known[key] = self.worse(after, parts, files)
        return self._known[key]

    def worse(
        self, after: Levels, parts: Sequence[Part] = (), files: tuple[str, ...] = ()
    ) -> list[str]:
        """Return what is worse than in the base with some parts, in all files or in some.

        If code is run, the base is then measured once more, and what differs there judges nothing.
        But if all that would excuse is worse once more with the parts, their code may have left
        something behind that makes the base worse.
        """
        said = worse(self._within(files), after)
        if not said or self._is_sure:
            return said
        self._is_sure = self._is_stained = True
        with suppress(HostError):  # also a reason to doubt the base
            second = self.to.measure(self.gate, (), self.limit, self.tests)
            base, differing = compared(self.base, second.levels)
            excused = {*said}.difference(worse(base, after))
            again = self.to.measure(self.gate, parts, self.limit, self.tests) if excused else second
            self._is_stained = bool(excused) and excused.issubset(worse(self.base, again.levels))
            if differing and not self._is_stained:
                note = f"ignores {some_of(differing, 1)}, which differs in two runs"
                notes = filter(None, (self.result.note, note))
                self.base, self.result = base, replace(self.result, note="; ".join(notes))
        return worse(self._within(files), after)

    def culprits(self, parts: Sequence[Part]) -> tuple[Sequence[Part], str]:
        """Return the part that makes the gate worse, and how. `said` is worse with all parts.

        The files of worse tests are run alone, unless they pass only with others. There are several
        parts if the time is over, all if their code may have made the base worse, and none if the
        gate is not worse in every run.
        """
        said = self.said
        for files in dict.fromkeys((self._files(said), ())):
            if not files:
                self._known.pop((tuple(parts), ()), None)
            ask = partial(self.complaints, files=files)
            is_any = self._is_stained and ask([])
            place = range(len(parts)) if is_any else find_culprit(parts, ask)
            # measured again, as a test that passes by luck may blame anything
            if place and (known := ask(parts[: place.stop], again=True)):
                self.sure = parts[: place.start]
                self.said = [text for text in said if text not in known]
                more = f", and {len(known) - 1:,} more" if len(known) > 1 else ""
                return parts[place.start : place.stop], with_error(known[0], more)
        self.said, note = [], f"{some_of(said, 1)}, but not in every run"
        self.result = replace(self.result, note=note)
        return (), ""

    def _files(self, said: Sequence[str]) -> tuple[str, ...]:
        files = {test_file(text) for text in said} if self.gate.name == TEST_GATE else set[str]()
        return () if "" in files or len(files) > _MOST_FILES else tuple(sorted(files))

    def _within(self, files: tuple[str, ...]) -> Levels:
        base = self.base.items()
        return {k: level for k, level in base if test_file(k) in files} if files else self.base


def measure_base(
    gate: Gate, to: Measurements, reaching: tuple[str, ...] = ()
) -> MeasuredGate | GateResult:
    """Return the gate with what it says of the base, or why it cannot judge.

    If all tests take too long, those in the files `reaching` count.
    """
    slow, tests = "", reaching[:0]
    try:
        try:
            first = to.measure(gate, (), to.left / _SHARE)
        except SlowGateError as error:
            if not reaching:
                return GateResult(name=gate.name, missing=f"{error.message}; {_COVERAGE}")
            slow, tests = error.message, reaching
            first = to.measure(gate, (), to.left / _SHARE, tests)
        if gate.name == TEST_GATE and not any_passes(first.levels):
            return GateResult(name=gate.name, missing="no test passes before the changes")
    except HostError as error:
        return GateResult(name=gate.name, missing=error.message)
    failed = failing(first.levels)
    note = f"ignores {some_of(failed, 1)}, which failed before" if failed else ""
    note = "; ".join(filter(None, (slow and f"only {some_of(tests, 1)}, because {slow}", note)))
    return MeasuredGate(gate, first.levels, _SLOWER * first.seconds + _START, note, to, tests)


class OutOfTimeError(Exception):
    """Raised by a question that cannot be answered in time."""


def find_culprit(
    groups: Sequence[_Group], is_worse: Callable[[Sequence[_Group]], object]
) -> range | None:
    """Return the place of the last of the shortest sequence of first groups that makes it worse.

    Of 64 groups of hunks, of which one breaks a test, the first 32 do not break it, the first 48 do,
    the first 40 do not, and so on: after six questions the culprit is known.

    The groups that may be the culprit are several if the time was over. The result is None if it is
    not worse with all groups, or worse without any, so that no group is to blame.
    """
    low, high = 0, len(groups)
    with suppress(OutOfTimeError):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_worse(groups[:middle]) else (middle, high)
        if high == len(groups) and not is_worse(groups):
            return None
        if low == 0 and is_worse([]):
            return None
    return range(low, high)
