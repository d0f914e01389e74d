"""Measurement of the arms of an evaluation, each on private copies of a project."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version

import msgspec

from remora.agents.definition.agent import Agent
from remora.errors import Conflict, ModelError, RemoraError
from remora.evals.arm_folder import ArmFolder, evaluations_folder
from remora.evals.arm_results import ArmResult, OperationResult, Report
from remora.evals.arms import Arm
from remora.evals.targets import Targets
from remora.files.file_lock import only_process
from remora.files.project_files import project_files
from remora.rmtree import try_remove_tree
from remora.runs.project import Project
from remora.runs.records.decision_sources import total_of
from remora.runs.retention.clean import LOCK
from remora.runs.review.accepted_changes import Verdicts
from remora.statuses import WITH_RESULT
from remora.version import __version__
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base

_SETTINGS = ("remora.yaml", ".remora/**")
"""Files that are copied even if git ignores them or the project does not use git."""
_PROGRAMS = ("ruff", "ty", "mypy")


class CopyRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a private copy that has ended."""

    tree: Path
    """The copy, with the changes of the run."""
    verdicts: Verdicts | None
    """The acceptance of the changes, or None if there was nothing to do."""
    seconds: float
    """The time of the run in this process."""
    resumed: bool
    """True if an earlier command started the run."""


RunOnCopy = Callable[[ArmFolder, str, Arm, Targets], CopyRun]
"""Runs an operation on the targets of a copy, or resumes the run there, and accepts its changes.

Raises KeyboardInterrupt if the user stopped it, and RemoraError if the arm cannot run.
"""


@contextmanager
def locked_base(project: Project) -> Iterator[BaseSnapshot]:
    """Keep other evaluations away, and yield a copy of a project's files.

    Raises Conflict if another process evaluates this project, and DiskError if a copy cannot be
    written.
    """
    place = evaluations_folder(project)
    refusal = Conflict("another `remora eval` works on this project", hint="wait until it ends")
    with only_process(place / LOCK, refusal):
        try_remove_tree(place / "base")
        try:
            include = (*project.config.workspace.include, *_SETTINGS)
            listed = project_files(project.root, include=include)
            yield take_base(project.root, listed, place / "base")
        finally:
            try_remove_tree(place / "base")


@dataclass(frozen=True)
class Measurement:
    """The arms of an evaluation, which are measured on the files of a base.

    An arm that cannot run is reported, and the others continue.
    """

    project: Project
    base: BaseSnapshot
    arms: Sequence[Arm]
    run: RunOnCopy
    notify: Callable[[str], None]
    """Receives a line for each step."""

    def measure(self, agent: Agent, targets: Targets) -> OperationResult:
        arms = (self._measure_arm(agent.definition.name, arm, targets) for arm in self.arms)
        return OperationResult(
            operation=agent.definition.operation,
            basis=targets.basis,
            found=targets.found,
            targets=targets.targets,
            arms=tuple(arms) if targets.targets else (),
        )

    def report(self, operations: Sequence[OperationResult], seed: int, notes: list[str]) -> Report:
        return Report(
            seed=seed,
            versions=_versions(),
            commit=self.base.commit,
            operations=operations,
            notes=notes,
        )

    def _measure_arm(self, agent_name: str, arm: Arm, targets: Targets) -> ArmResult:
        folder = ArmFolder(evaluations_folder(self.project) / self._key(agent_name, arm, targets))
        known = folder.result()
        if known is not None:
            self.notify(f"{agent_name}, arm {arm.name}: using the result of an earlier command")
            return known
        folder.copy(self.base, targets.contents)
        try:
            result = _arm_result(arm.name, targets, self.run(folder, agent_name, arm, targets))
        except RemoraError as error:
            self.notify(f"{agent_name}, arm {arm.name}: failed")
            return ArmResult(name=arm.name, error=error.with_hint, exit_code=error.exit_code)
        if result.exit_code:
            folder.forget()  # the same command asks the model again
        else:
            folder.keep(result)
        return result

    def _key(self, agent_name: str, arm: Arm, targets: Targets) -> str:
        """Return a name for the results, which depend on all files, settings and targets."""
        config = self.project.config.model_dump(mode="json")
        files = [(path, file.sha256) for path, file in self.base.files.items()]
        facts = [_versions(), agent_name, arm.name, arm.settings, config, files, targets.targets]
        digest = hashlib.sha256(msgspec.json.encode(facts, enc_hook=str)).hexdigest()
        return f"{agent_name}-{digest[:16]}"


def _versions() -> dict[str, str]:
    versions = {"remora": __version__, "python": python_version()}
    for name in _PROGRAMS:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _arm_result(name: str, targets: Targets, done: CopyRun) -> ArmResult:
    """Return what became of the targets.

    Raises StreamDamaged or DiskError if the run's records cannot be read.
    """
    seconds, verdicts = round(done.seconds, 1), done.verdicts
    if verdicts is None:
        results = targets.results(done.tree, None)
        return ArmResult(name=name, results=tuple(results), seconds=seconds)
    view = verdicts.view
    model_failed = any(job.outcome.stop_reason == "model_error" for job in view.jobs)
    failed = [
        job
        for job in view.jobs
        if job.status not in WITH_RESULT or job.outcome.stop_reason == "model_error"
    ]
    return ArmResult(
        name=name,
        results=tuple(targets.results(done.tree, view)),
        model=view.start.config.get("model_name"),
        jobs=Counter(job.status or "" for job in view.jobs),
        job_errors=Counter(job.outcome.error for job in failed if job.outcome.error),
        decisions=total_of(job.decisions for job in view.jobs),
        conflicts=len({conflict["node_id"] for conflict in verdicts.conflicts}),
        turns=sum(job.counts.turns for job in view.jobs),
        invalid=sum(job.counts.invalid for job in view.jobs),
        refused=sum(job.counts.refused for job in view.jobs),
        requests=sum(job.counts.requests for job in view.jobs),
        tokens=sum(job.counts.sent_tokens for job in view.jobs),
        seconds=seconds,
        resumed=done.resumed,
        exit_code=ModelError.exit_code if model_failed else 0,
    )
