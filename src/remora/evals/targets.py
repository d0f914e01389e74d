"""Targets of an evaluation: parts that are hidden and restored, or jobs with checks."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from remora.agents.definition.agent import Agent
from remora.code.edit.text_lines import Text, decode
from remora.code.syntax.source import parse_text
from remora.errors import HostError
from remora.evals.arm_results import Basis, Target, TargetResult, Verdict
from remora.files.patterns import IgnoreRules
from remora.ids import display_name, escape_path, file_of_key, node_key
from remora.operations.restorer import HiddenSlot, Restored, Restorer, compare
from remora.runs.execution.run import RunRequest
from remora.runs.project import Project
from remora.runs.records.results import RunView
from remora.statuses import NO_CHANGE, VERIFIED
from remora.workspaces.copy.snapshot import BaseSnapshot
from remora.workspaces.rooted_files import RootedFiles

_VERDICTS: Mapping[str | None, Verdict] = {VERIFIED: "verified", NO_CHANGE: "nothing"}


class Targets(Protocol):
    """The targets of an operation, of which `found` were possible.

    `contents` are the files of a copy that differ from the project.
    """

    basis: Basis
    found: int
    targets: Sequence[Target]
    contents: Mapping[str, bytes]
    request: RunRequest

    def results(self, copy: Path, view: RunView | None) -> list[TargetResult]:
        """Return what became of each target after a run, whose changes the copy contains.

        `view` is None if there was nothing to do.
        """


class PythonFiles(NamedTuple):
    """Python files of a project that parse, those that are excluded, and notes on the others."""

    texts: Mapping[str, Text]
    excluded: Set[str]
    notes: list[str]


def read_files(project: Project, base: BaseSnapshot) -> PythonFiles:
    excluded = IgnoreRules()
    excluded.add("", "\n".join(project.config.exclude))
    texts: dict[str, Text] = {}
    notes = []
    for path in (path for path in base.files if path.endswith((".py", ".pyi"))):
        try:
            text = decode(path, base.read(path) or b"")
        except HostError as error:
            notes.append(f"left out {error.message}")
            continue
        problem = parse_text(text.body)
        if isinstance(problem, str):
            notes.append(f"left out {path}: {problem}")
        else:
            texts[path] = text
    return PythonFiles(texts, set(filter(excluded.ignores, texts)), notes)


class HiddenParts:
    """Parts that people wrote, which are hidden from an operation."""

    basis: Basis = "people"

    def __init__(
        self, agent: Agent, restorer: Restorer, files: PythonFiles, number: int, seed: int
    ) -> None:
        """Choose at most `number` parts. Files that do not parse without them are left out."""
        texts = {path: file.body for path, file in files.texts.items()}
        found = [slot for slot in restorer.find(texts) if slot.path not in files.excluded]
        slots = sample(found, number, seed)
        hidden = restorer.hide(texts, slots)
        broken = {path for path, text in hidden.items() if isinstance(parse_text(text), str)}
        files.notes.extend(
            f"left out {path}: nothing can be hidden in it" for path in sorted(broken)
        )
        self._texts = texts
        self._restorer = restorer
        self._slots = [slot for slot in slots if slot.path not in broken]
        self.found = len(found)
        self.targets: Sequence[Target] = [_target(slot) for slot in self._slots]
        self.contents: Mapping[str, bytes] = {
            path: files.texts[path]._replace(body=text).bytes()
            for path, text in hidden.items()
            if text != texts[path] and path not in broken
        }
        # models that write are only asked about the functions and classes that have slots
        keys = frozenset(node_key(escape_path(slot.path), slot.qualname) for slot in self._slots)
        self.request = _request(agent, keys)

    def results(self, copy: Path, view: RunView | None) -> list[TargetResult]:
        restored = [Restored(outcome="left") for _ in self._slots]
        if view is not None:
            restored = compare(self._restorer, self._slots, self._texts_now(RootedFiles(copy)))
        return [
            TargetResult(target=target, outcome=now.outcome, text=now.text)
            for target, now in zip(self.targets, restored, strict=True)
        ]

    def _texts_now(self, files: RootedFiles) -> dict[str, str]:
        now = {path: decode(path, files.read_bytes(path)).body for path in self.contents}
        parsed = {path: text for path, text in now.items() if not isinstance(parse_text(text), str)}
        return {**{path: self._texts[path] for path in self._texts.keys() - now.keys()}, **parsed}


def _target(slot: HiddenSlot) -> Target:
    name = f"{slot.qualname} {slot.part}"
    return Target(path=slot.path, name=name, text=slot.text)


class CheckedJobs:
    """Jobs of an agent, whose checks decide. If it works on files, each file has one job."""

    basis: Basis = "checks"
    contents: Mapping[str, bytes] = {}

    def __init__(self, agent: Agent, nodes: Iterable[str], number: int, seed: int) -> None:
        """Choose at most `number` of the nodes on which an arm would work."""
        self._by_file = agent.definition.unit == "file"
        every = [Target(path=file_of_key(node), name=node) for node in set(nodes)]
        chosen = sample(every, number, seed)
        self.found = len(self._named(every))
        self.targets: Sequence[Target] = self._named(chosen)
        self.request = _request(agent, frozenset(target.name for target in chosen))

    def _named(self, nodes: Iterable[Target]) -> list[Target]:
        return sorted({replace(node, name=self._name(node.name)) for node in nodes})

    def _name(self, node: str) -> str:
        return file_of_key(node) if self._by_file else display_name(node)

    def results(self, _copy: Path, view: RunView | None) -> list[TargetResult]:
        jobs = () if view is None else view.jobs
        statuses = {self._name(job.node_id): job.status for job in jobs}
        return [
            TargetResult(
                target=target,
                outcome=_VERDICTS.get(statuses.get(target.name, NO_CHANGE), "failed"),
            )
            for target in self.targets
        ]


def _request(agent: Agent, keys: frozenset[str]) -> RunRequest:
    paths = sorted(set(map(file_of_key, keys)))
    return RunRequest(paths=tuple(map(Path, paths)), operations=(agent.definition.name,), keys=keys)


_PER_FILE = 4
"""More files give narrower intervals, and take longer."""
T = TypeVar("T", HiddenSlot, Target)


def sample(found: Iterable[T], number: int, seed: int) -> list[T]:
    """Return at most `number` targets in order, spread evenly over files.

    There are about four targets per file, or more if the project has few files.
    """
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_path: dict[str, list[T]] = defaultdict(list)
    for target in sorted(found):
        by_path[target.path].append(target)
    files = list(by_path.values())
    chance.shuffle(files)
    for file in files:
        chance.shuffle(file)
    taken = _enough(files, number)
    rounds = range(max(map(len, taken), default=0))
    in_turn = [file[turn] for turn in rounds for file in taken if turn < len(file)]
    return sorted(in_turn[:number])


def _enough(files: Sequence[Sequence[T]], number: int) -> Sequence[Sequence[T]]:
    """Return the first files that together have enough targets, but not only a few large ones."""
    total = 0
    for index, file in enumerate(files):
        if total >= number and index * _PER_FILE >= number:
            return files[:index]
        total += len(file)
    return files
