"""Hides what people wrote in private copies of a project, and lets each arm restore it."""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Protocol

import msgspec

from remora.code.edit.text_lines import Text, decode
from remora.code.syntax.source import parse_text
from remora.errors import HostError, RemoraError
from remora.evals.arms import Arm
from remora.evals.finished_run import CopyRun, Hidden, arm_result
from remora.evals.slot_results import ArmResult, OperationResult, RestoreReport
from remora.evals.work_folder import ArmFolder, locked, work_folder
from remora.files.patterns import IgnoreRules
from remora.files.project_files import project_files
from remora.operations.restorer import Restorer, Slot
from remora.rmtree import try_remove_tree
from remora.runs.project import Project
from remora.text import count
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base

_PER_FILE = 4
"""More files give narrower intervals, and take longer."""
_PROGRAMS = ("ruff", "ty", "mypy")


class RestoreRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure.

    At most `slots` parts of each operation are hidden. They are chosen by `seed`. With `fresh`,
    results of earlier commands are not used.
    """

    operations: tuple[str, ...]
    arms: tuple[Arm, ...]
    slots: int
    seed: int
    fresh: bool


class RunOnCopy(Protocol):
    """Runs an operation on a copy, or resumes the run that is recorded there."""

    def __call__(
        self, folder: ArmFolder, operation: str, arm: Arm, slots: Sequence[Slot]
    ) -> CopyRun:
        """Return the run on the files with some slots when it has ended.

        Raises KeyboardInterrupt if the user stopped it, and RemoraError if the arm cannot run.
        """


def measure(
    project: Project,
    request: RestoreRequest,
    run: RunOnCopy,
    notify: Callable[[str], None],
) -> RestoreReport:
    """Measure the operations of a request with each of its arms.

    The project's files are only read. An arm that cannot run is reported, and the others go on.
    `notify` receives a line for each step. Raises Conflict if another process measures this
    project, and DiskError if a copy cannot be written.
    """
    place = work_folder(project)
    with locked(place):
        base_folder = place / "base"
        try_remove_tree(base_folder)
        try:
            listed = project_files(project.root, include=project.config.workspace.include)
            base = take_base(project.root, listed, base_folder)
            return _Measurement(project, request, run, notify, base).report(place)
        finally:
            try_remove_tree(base_folder)


class _Measurement:
    def __init__(
        self,
        project: Project,
        request: RestoreRequest,
        run: RunOnCopy,
        notify: Callable[[str], None],
        base: BaseSnapshot,
    ) -> None:
        self._project = project
        self._request = request
        self._run = run
        self._notify = notify
        self._base = base
        self._excluded = IgnoreRules()
        self._excluded.add("", "\n".join(project.config.exclude))
        self._notes: list[str] = []
        self._files = self._read_files()

    def report(self, place: Path) -> RestoreReport:
        operations = tuple(self._operation(name, place) for name in self._request.operations)
        return RestoreReport(
            seed=self._request.seed,
            versions=_versions(),
            commit=self._base.commit,
            operations=operations,
            notes=self._notes,
        )

    def _read_files(self) -> dict[str, Text]:
        """Return the Python files that parse. The others are named in the notes."""
        found = {}
        for path in self._base.files:
            if not path.endswith((".py", ".pyi")):
                continue
            try:
                text = decode(path, self._base.read(path) or b"")
            except HostError as error:
                self._notes.append(f"left out {error.message}")
                continue
            problem = parse_text(text.body)
            if isinstance(problem, str):
                self._notes.append(f"left out {path}: {problem}")
            else:
                found[path] = text
        return found

    def _operation(self, name: str, place: Path) -> OperationResult:
        restorer = self._project.operations.restorers[name]
        texts = {path: file.body for path, file in self._files.items()}
        excluded = set(filter(self._excluded.ignores, texts))
        found = [slot for slot in restorer.find(texts) if slot.path not in excluded]
        wanted, seed = self._request.slots, self._request.seed
        slots = sample_slots(found, wanted, seed, alone=restorer.alone)
        hidden = self._hidden(restorer, texts, slots)
        kinds = Counter(restorer.kind(slot.part) for slot in hidden.slots)
        result = OperationResult(
            operation=name, found=len(found), slots=hidden.slots, hidden=dict(kinds)
        )
        if not hidden.slots:
            return result
        files = len({slot.path for slot in hidden.slots})
        self._notify(
            f"{name}: {count(len(hidden.slots), 'part')} of {len(found):,} hidden in "
            f"{count(files, 'file')}"
        )
        arms = tuple(self._arm(name, arm, hidden, place) for arm in self._request.arms)
        return msgspec.structs.replace(result, arms=arms)

    def _hidden(
        self, restorer: Restorer, texts: Mapping[str, str], slots: Sequence[Slot]
    ) -> Hidden:
        """Return the hidden texts. Files that do not parse without their slots are left out."""
        after = {**texts, **restorer.hide(texts, slots)}
        broken = {
            path
            for path in {slot.path for slot in slots}
            if isinstance(parse_text(after[path]), str)
        }
        self._notes += [f"left out {path}: nothing can be hidden in it" for path in sorted(broken)]
        return Hidden(
            restorer=restorer,
            slots=[slot for slot in slots if slot.path not in broken],
            texts={**after, **{path: texts[path] for path in broken}},
        )

    def _contents(self, hidden: Hidden) -> dict[str, bytes]:
        """Return the contents of the files in which something is hidden."""
        return {
            path: self._files[path]._replace(body=text).bytes()
            for path, text in hidden.texts.items()
            if path in self._files and text != self._files[path].body
        }

    def _arm(self, operation: str, arm: Arm, hidden: Hidden, place: Path) -> ArmResult:
        folder = ArmFolder(place / self._key(operation, arm, hidden))
        if self._request.fresh:
            folder.forget()
        known = folder.result()
        if known is not None:
            self._notify(f"{operation}, arm {arm.name}: using the result of an earlier command")
            return known
        folder.copy(self._base, self._contents(hidden))
        try:
            result = arm_result(arm.name, hidden, self._run(folder, operation, arm, hidden.slots))
        except RemoraError as error:
            self._notify(f"{operation}, arm {arm.name}: {error.message}")
            return ArmResult(name=arm.name, error=error.with_hint, exit_code=error.exit_code)
        if result.exit_code:
            folder.forget()  # the same command asks the model again
        else:
            folder.keep(result)
        return result

    def _key(self, operation: str, arm: Arm, hidden: Hidden) -> str:
        """Return a name for the results, which depend on all files, the settings and the slots."""
        config = self._project.config.model_dump(mode="json")
        files = [(path, file.sha256) for path, file in self._base.files.items()]
        slots = [(slot.path, slot.number, slot.part) for slot in hidden.slots]
        facts = [_versions(), operation, arm.name, arm.settings, config, files, slots]
        digest = hashlib.sha256(msgspec.json.encode(facts, enc_hook=str)).hexdigest()
        return f"{operation}-{digest[:16]}"


def _versions() -> dict[str, str]:
    found = {"remora": version("remora"), "python": python_version()}
    for name in _PROGRAMS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def sample_slots(
    slots: Iterable[Slot], number: int, seed: int, *, alone: bool = False
) -> list[Slot]:
    """Return at most `number` slots in file order, spread evenly over files.

    There are about four slots per file, or more if the project has few files. With `alone`, no two
    slots belong to the same definition.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_path: dict[str, list[Slot]] = defaultdict(list)
    for slot in sorted(slots):
        by_path[slot.path].append(slot)
    files = list(by_path.values())
    chance.shuffle(files)
    for each in files:
        chance.shuffle(each)
        if alone:
            each[:] = {slot.number: slot for slot in each}.values()
    taken = _enough(files, number)
    rounds = range(max(map(len, taken), default=0))
    in_turn = [each[turn] for turn in rounds for each in taken if turn < len(each)]
    return sorted(in_turn[:number])


def _enough(files: Sequence[Sequence[Slot]], number: int) -> Sequence[Sequence[Slot]]:
    """Return the first files that together have enough slots, but not only a few large ones."""
    total = 0
    for index, file in enumerate(files):
        if total >= number and index * _PER_FILE >= number:
            return files[:index]
        total += len(file)
    return files
