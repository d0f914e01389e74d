"""The judgement of a project's gates on the changes of a run, or on the part that a user accepts."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, starmap

import msgspec

from remora.code.pytest_model.pytest_file import is_test_file
from remora.hub.coverage_file import read_coverage
from remora.judges.gates.code_gates import test_file
from remora.judges.gates.gate import UnjudgedError
from remora.judges.gates.measured_gate import (
    KeptMeasurements,
    MeasuredGate,
    Measurements,
    OutOfTimeError,
    Part,
    measure_base,
)
from remora.judges.gates.project_gates import find_gates
from remora.judges.gates.values_gate import ValuesGate
from remora.memory.events import GateResult, Gates, TakenOut
from remora.rmtree import try_remove_tree
from remora.runs.execution.run import BaseFiles, Run
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.findings import fixed
from remora.runs.records.hunk_groups import groups_of
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, read_run
from remora.runs.records.run_stream import RunStream
from remora.runs.report.job_findings import findings_fixed
from remora.runs.report.report_model import Finding
from remora.runs.review.accepted_changes import Announce
from remora.runs.review.apply_changes import merged
from remora.runs.review.ready_changes import ReadyChange, ready_change
from remora.runs.review.recheck import Tree
from remora.runs.review.repeats import reject_repeats
from remora.sandbox.interpreters import ProjectPython, environment_digest
from remora.statuses import CHECKED, PARSED, TEST_GATE, TESTED, UNDECIDED
from remora.text import some_of
from remora.tools.file_tree import FileTree
from remora.tools.kept_answers import KeptAnswers
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot
from remora.workspaces.copy.workspace import Workspace
from remora.workspaces.hunks import hunks_of


class Proposals:
    """Changes on a base, which are merged in this order, as `accept` does."""

    def __init__(
        self, project: ProjectRecords, base: BaseSnapshot, changes: Iterable[ReadyChange]
    ) -> None:
        self._project = project
        self._base = base
        self._changes = {change.job.agent_id: change.as_whole_if_edited() for change in changes}
        self.jobs = {agent_id: change.job for agent_id, change in self._changes.items()}
        self.hunks = {
            agent_id: hunks_of(change.whole) for agent_id, change in self._changes.items()
        }
        parts = [
            Part(agent_id, hunks, f"{group.label}, line {self.hunks[agent_id][hunks[0] - 1].line}")
            for agent_id, change in self._changes.items()
            for group in groups_of(change.whole, change.job)
            if (hunks := tuple(number for number in group.hunks if number in change.hunks))
        ]
        colliding = self._merge(parts)[1]
        self.parts = [part for part in parts if part.agent_id not in colliding]
        """All parts, without the change sets that cannot be merged with those before them."""

    def patches_with(self, agent_id: str, parts: Sequence[Part]) -> list[FilePatch]:
        """Return the patches of a change set with only the hunks of some parts."""
        hunks = {number for part in parts if part.agent_id == agent_id for number in part.hunks}
        return self._changes[agent_id].only(hunks).patches

    def texts_with(self, agent_id: str, parts: Sequence[Part]) -> dict[str, str]:
        """Return the files of a change set with only the hunks of some parts."""
        files = {patch.path: patch.base for patch in self._changes[agent_id].whole}
        files |= {patch.path: patch.theirs for patch in self.patches_with(agent_id, parts)}
        return {path: (text or b"").decode("utf-8", "replace") for path, text in files.items()}

    def files(self, parts: Sequence[Part]) -> dict[str, tuple[bytes | None, int]]:
        """Return the files that some parts change."""
        return self._merge(parts)[0]

    def _merge(self, parts: Sequence[Part]) -> tuple[dict[str, tuple[bytes | None, int]], set[str]]:
        files, colliding = dict[str, tuple[bytes | None, int]](), set[str]()

        def read(path: str) -> tuple[bytes | None, int]:
            known = self._base.files.get(path)
            return files.get(path) or (self._base.read(path), 0 if known is None else known.mode)

        for agent_id in dict.fromkeys(part.agent_id for part in parts):
            patches = self.patches_with(agent_id, parts)
            prepared = merged(self._project, patches, read)
            if prepared.conflicts:
                colliding.add(agent_id)
            else:
                files |= {write.path: (write.result, write.mode) for write in prepared.writes}
        return files, colliding


_LONG = 2.0
"""Seconds of a judgement that users are told about."""


def judge_run(run: Run, stream: RunStream, base_files: BaseFiles) -> None:
    """Record what the project's gates say of a run's change sets that were not rejected before.

    What makes a gate worse is taken out. If `gates.time_s` is 0, nothing is run or recorded.
    """
    project, base = run.prepared.project, base_files.base
    seconds = project.config.gates.time_s
    reject_repeats(project, stream)
    view = read_run(project, stream.run_id)
    jobs = [job for job in view.jobs if job.review.state in UNDECIDED and job.proposal.changes]
    if not jobs or not seconds:
        return
    proposals = Proposals(project, base, [ready_change(project, job) for job in jobs])
    with base_files.workspaces.open() as workspace:
        to = _measurements(project, base, proposals, workspace, run.observer.judging)
        stream.append(Judgement(project, base, proposals, to).judge())


def judge_parts(
    project: Project,
    announce: Announce,
    view: RunView,
    changes: Sequence[ReadyChange],
    tree: Tree,
) -> dict[str, str]:
    """Return why changes may not be written to a tree, by agent.

    Nothing is judged unless one of them is only a part of what the gates judged in the run. All of
    them are then judged together.
    """
    seconds = project.config.gates.time_s
    if view.gates is None or not seconds or not any(change.is_part for change in changes):
        return {}
    is_long = view.gates.seconds >= _LONG
    if is_long:
        took = f"they took {view.gates.seconds:.0f} s in the run"
        announce(f"the project's own checks judge the part; {took}")

    told = set[str]()  # a gate may be measured several times

    def tell(gate: str) -> None:
        if is_long and gate not in told:
            told.add(gate)
            announce(f"  {gate}")

    folder = project.cache / "bases" / f"{view.run_id}~part"
    try_remove_tree(folder)
    try:
        base = tree.copy(folder)
        proposals = Proposals(project, base, changes)
        with SlotDriver(base, project.cache / "slots").open() as workspace:
            to = _measurements(project, base, proposals, workspace, tell)
            recorded = Judgement(project, base, proposals, to).judge()
        held = {gate.name for gate in view.gates.results if not gate.missing}
        for gate in recorded.results:
            if gate.missing and gate.name in held:
                announce(f"the part is not judged by {gate.name}: {gate.missing}")
        return {taken.agent_id: "; ".join(taken.reasons) for taken in recorded.taken_out}
    finally:
        try_remove_tree(folder)


def _measurements(
    project: Project,
    base: BaseSnapshot,
    proposals: Proposals,
    workspace: Workspace,
    judging: Callable[[str], None],
) -> Measurements:
    python, _ = project.find_python()
    kept = KeptMeasurements(
        KeptAnswers(project.cache / "answers" / "gates"),
        {path: file.sha256 for path, file in base.files.items()},
        environment_digest(python) if python else "",
    )
    return Measurements(workspace, proposals.files, project.config.gates.time_s, judging, kept)


class Judgement:
    """The gates of a project, and the parts of the proposals with which none of them is worse."""

    def __init__(
        self, project: Project, base: BaseSnapshot, proposals: Proposals, to: Measurements
    ) -> None:
        self._project, self._proposals = project, proposals
        self._begun = time.monotonic()
        self._parts = [*proposals.parts]
        self._reasons: dict[str, dict[tuple[str, str], list[str]]] = {}
        """The labels of lost parts, by agent ID, and by gate and cause."""
        self._held: set[str] = set()
        python, why = project.find_python()
        gates, missing = find_gates(FileTree(base.folder), base.files.keys(), python)
        if project.config.gates.static:
            gates, why = [gate for gate in gates if not gate.runs_code], "gates.static is set"
        reaching = _tests_that_reach(project, proposals)
        tests_first = sorted(gates, key=lambda gate: gate.name != TEST_GATE)  # others leave no time
        bases = {gate.name: measure_base(gate, to, reaching) for gate in tests_first}
        measured = [bases[gate.name] for gate in gates]
        self._gates = [gate for gate in measured if isinstance(gate, MeasuredGate)]
        if python is not None:
            self._gates += _values_gates(base, proposals, to, python, self._gates)
        self._missing = missing + [gate for gate in measured if isinstance(gate, GateResult)]
        self._missing += [GateResult(name=TEST_GATE, missing=why)] if why else []

    def judge(self) -> Gates:
        """Take out all parts that make a gate worse, and return the judgement."""
        while self._take_out():
            pass
        proof = TESTED if TEST_GATE in self._held else CHECKED if self._held else PARSED
        return Gates(
            results=(*(gate.result for gate in self._gates), *self._missing),
            judged=tuple(dict.fromkeys(part.agent_id for part in self._proposals.parts)),
            taken_out=tuple(map(self._describe_loss, self._reasons)),
            proof=proof,
            seconds=round(time.monotonic() - self._begun, 1),
        )

    def _take_out(self) -> bool:
        """Take out a part that makes a gate worse, and return True if there was one."""
        for gate in tuple(self._gates if self._parts else ()):
            name = gate.gate.name
            self._held.discard(name)
            try:
                gate.said = gate.complaints(self._parts)
                culprits, because = gate.culprits(self._parts) if gate.said else ((), "")
            except UnjudgedError as error:
                self._gates.remove(gate)
                self._missing.append(GateResult(name=name, missing=error.message))
                continue
            except OutOfTimeError:
                self._gates.remove(gate)
                search = "the search for what makes it worse left " if gate.said else ""
                missing = f"{search}no time{'' if gate.said else ' left'} (gates.time_s)"
                self._missing.append(GateResult(name=name, missing=missing))
                if not gate.said:
                    continue
                culprits = [part for part in self._parts if part not in gate.sure]
                because = f"no time left to find what else is worse: {some_of(gate.said, 1)}"
            for part in culprits:
                self._parts.remove(part)
                causes = self._reasons.setdefault(part.agent_id, {})
                causes.setdefault((name, because), []).append(part.label)
            if culprits:
                return True
            self._held.add(name)
        return False

    def _describe_loss(self, agent_id: str) -> TakenOut:
        """Return what to record of a change set that has lost parts."""
        job, hunks = self._proposals.jobs[agent_id], self._proposals.hunks[agent_id]
        parts = [part for part in self._parts if part.agent_id == agent_id]
        kept = {n for part in parts for n in part.hunks}
        lost = {line for hunk in hunks if hunk.number not in kept for line in hunk.lines}
        back = [finding for finding in findings_fixed(job) if kept and finding.line in lost]
        back = back if job.findings.first else self._lost_work(job, parts)
        clean = self._project.redact.clean
        return TakenOut(
            agent_id=agent_id,
            kept=tuple(sorted(kept)),
            gates=tuple(dict.fromkeys(name for name, _ in self._reasons[agent_id])),
            reasons=tuple(clean(list(starmap(_reason, self._reasons[agent_id].items())))),
            findings=tuple(clean(msgspec.to_builtins(back))),
        )

    def _lost_work(self, job: JobView, kept: Sequence[Part]) -> list[Finding]:
        """Return what a job wrote that is not in the parts that are kept, such as annotations.

        An operation that cannot say what a file has of it, wrote one thing in each part.
        """
        every = [part for part in self._proposals.parts if part.agent_id == job.agent_id]
        restorer = self._project.operations.restorers.get(job.operation)
        number = len(every) - len(kept)
        if restorer is not None:
            whole, rest = (
                len([*restorer.read(self._proposals.texts_with(job.agent_id, parts))])
                for parts in (every, kept)
            )
            number = whole - rest
        codes = Counter(fixed(job.findings.before or {}, job.findings.after or {})).elements()
        return [Finding(code=code, message="") for code in islice(codes, number) if kept]


def _reason(cause: tuple[str, str], labels: Sequence[str]) -> str:
    """Return why parts were taken out, such as `taken out by pytest (F401, line 3): a test fails`."""
    name, because = cause
    return f"taken out by {name} ({some_of(labels, 1)}){because and f': {because}'}"


def _values_gates(
    base: BaseSnapshot,
    proposals: Proposals,
    to: Measurements,
    python: ProjectPython,
    gates: Sequence[MeasuredGate],
) -> list[MeasuredGate]:
    """Return the gate of written annotations, if there are some and tests that judge.

    It comes last: what the tests report without typeguard must be the same as before.
    """
    tests = next((gate for gate in gates if gate.gate.name == TEST_GATE), None)
    if tests is None:
        return []
    after = {path: content for path, (content, _) in proposals.files(proposals.parts).items()}
    values = ValuesGate(python, {path: base.read(path) for path in after}, tests.worse)
    if not values.written(after):
        return []
    return [MeasuredGate(values.gate, {}, tests.limit, "", to, tests.tests)]


def _tests_that_reach(project: Project, proposals: Proposals) -> tuple[str, ...]:
    """Return the test files that coverage saw run a changed file, and those that are changed.

    They are none if coverage saw no test run one.
    """
    changed = proposals.files(proposals.parts).keys()
    coverage = read_coverage(project.root, changed)
    tests = coverage.tests.values() if coverage else ()
    seen = {test_file(test) for ids in tests for test in ids}
    return tuple(sorted(seen.union(filter(is_test_file, changed)))) if seen else ()
