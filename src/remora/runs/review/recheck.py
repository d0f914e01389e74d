"""Verification of a change after a merge, using general checks and the agent's checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.agents.job import Job
from remora.errors import HostError, OutsideError, RemoraError, UsageError
from remora.files.project_files import project_files
from remora.rmtree import try_remove_tree
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_of
from remora.runs.records.job_view import JobView
from remora.runs.records.run_record import RunRecord, recorded_selectors
from remora.sandbox.interpreters import ProjectPython, environment_digest
from remora.workspaces.apply.merge_change_set import FileConflict, FileWrite, PreparedChanges
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from remora.workspaces.rooted_files import RootedFiles

if TYPE_CHECKING:  # most changes are written as they are, without what checks them
    from remora.agents.definition.agent import Agent
    from remora.judges.submission import Result
    from remora.tools.host.ruff.ruff import MakeRuff
    from remora.tools.tree import ToolTree

_PARSES = "parses"
_OF_ALL = {_PARSES, "no_new_findings"}
"""Checks that are made here for every agent, whether it lists them or not.

A finding that two changes cause only together, such as an unused import, is reported. It prevents
a merge only if the file then has more findings than before, and the agent checks that (decision
0025).
"""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The files that a change set is merged with."""

    read: Callable[[str], bytes | None]
    """Returns the content of a file, or None if the file is missing."""
    copy: Callable[[Path], BaseSnapshot]
    """Copies the files to a folder."""


def users_tree(project: Project) -> Tree:
    """Return a tree of the user's current files."""
    files = RootedFiles(project.root)

    def read(path: str) -> bytes | None:
        return files.read_bytes(path) if files.exists(path) else None

    def copy(folder: Path) -> BaseSnapshot:
        include = project.config.workspace.include
        return take_base(project.root, project_files(project.root, include=include), folder)

    return Tree(read=read, copy=copy)


def broken_by_merge(prepared: PreparedChanges) -> list[FileConflict]:
    """Return a conflict for each file that can no longer be parsed after the merge."""
    merged = [write for write in prepared.writes if write.merged]
    if not merged:
        return []
    from remora.judges.checks import parse_errors

    return [
        FileConflict(path=write.path, detail=f"the merged file does not parse: {error}")
        for write in merged
        if (error := parse_errors({write.path: write.result}))
        and not parse_errors({write.path: write.ours})
    ]


class Recheck:
    """Checks the merged change sets of a run.

    `notes` and `new_findings` are messages about the last change set, which are true once it is
    written. `new_findings` are those of `notes` that are about findings caused by a merge.
    """

    def __init__(self, project: Project, record: RunRecord) -> None:
        self.notes: list[str] = []
        self.new_findings: list[str] = []
        self._project = project
        self._record = record
        self._agents: dict[str, Agent] = {}

    def clear(self) -> None:
        """Forget the messages about the last change set."""
        self.notes, self.new_findings = [], []

    def objections(
        self, job: JobView, prepared: PreparedChanges, tree: Tree, *, is_whole: bool
    ) -> list[FileConflict]:
        """Return the reasons to reject the merge.

        The list is empty if nothing was merged or if all checks pass. If `is_whole` is False, the
        agent has not verified these changes, and they must pass all of its checks.
        """
        changed = [write for write in prepared.writes if write.merged or not is_whole]
        if not changed:
            return []
        try:
            names = self._verified_by(job, self._agent(job))
            if not is_whole:
                names = list(dict.fromkeys([_PARSES, *names]))
            elif found := self._worse_files(changed, strict="no_new_findings" in names):
                return found
            else:
                names = [name for name in names if name not in _OF_ALL]
            detail = self._own_checks(job, prepared, tree, names)
        except RemoraError as error:
            detail = f"cannot be verified again: {error.message}"
        if not detail:
            return []
        self._check_environment(job)
        reason = f"after the merge, it {detail}" if is_whole else f"it {detail}"
        return [FileConflict(path=changed[0].path, detail=reason)]

    def _check_environment(self, job: JobView) -> None:
        """Raise OutsideError if the checks used another environment than `analyze` did.

        A failure then says nothing about the change set. Nothing has been written.
        """
        agent, operations = self._agents.get(job.operation), self._project.operations
        use_it = operations.checks_run_code | operations.checks_read_packages
        if agent is None or use_it.isdisjoint(agent.definition.verify):
            return
        if not self._environment:
            return
        try:
            python = self._project.interpreter()
        except UsageError as error:
            problem = f"{error.message}, but `analyze` used an environment"
        else:
            if environment_digest(python) == self._environment:
                return
            problem = (
                f"{python.python} is not the environment that `analyze` used, or its packages have "
                "changed since"
            )
        raise OutsideError(
            f"{problem}, so {self._jobs[job.agent_id].node_name} cannot be verified",
            hint="activate that environment, or run `remora analyze` again in this one",
        )

    @property
    def _environment(self) -> str | None:
        """The digest of the environment that `analyze` used, if it used one."""
        return self._record.attempts.start.config.get("environment")

    @property
    def _place(self) -> "ToolTree":
        from remora.tools.tree import ToolTree

        return ToolTree(self._project.root, ruff=self._ruff)

    @cached_property
    def _ruff(self) -> "MakeRuff":
        """Makes objects that check the rules that the user selected for the run."""
        from remora.tools.host.ruff.ruff import Ruff

        return partial(Ruff, selected=recorded_selectors(self._record.attempts.start))

    def _python(self, agent: "Agent") -> ProjectPython | None:
        """Return the interpreter for an agent's checks.

        Checks that only read packages get None if `analyze` had no interpreter. Raises HostError if
        the interpreter may not be used, or is not found.
        """
        runs_code = self._project.operations.checks_run_code
        if runs_code.isdisjoint(agent.definition.verify) and not self._environment:
            return None
        try:
            return self._project.interpreter()
        except RemoraError as error:
            raise HostError(error.message) from error

    def _worse_files(self, merged: Sequence[FileWrite], *, strict: bool) -> list[FileConflict]:
        return [found for write in merged if (found := self._worse(write, strict=strict))]

    def _worse(self, write: FileWrite, *, strict: bool) -> FileConflict | None:
        """Return a conflict if the merged file does not parse.

        If `strict` is True, it may not have more findings than before, either.
        """
        if write.result is None or not write.path.endswith(".py"):
            return None
        from remora.judges.checks import parse_errors
        from remora.judges.lint.new_findings import new_findings

        error = parse_errors({write.path: write.result})
        if error:
            return FileConflict(path=write.path, detail=f"the merged file does not parse: {error}")
        before = self._place.ruff.check_text(write.path, write.ours or b"")
        after = self._place.ruff.check_text(write.path, write.result)
        if strict and len(after) > len(before):
            detail = f"the merged file has {len(after)} findings, yours {len(before)}"
            return FileConflict(path=write.path, detail=detail)
        caused = [
            f"{write.path}:{extra['line']}: new finding {extra['code']} {extra['message']}"
            for extra in new_findings(before, after)
        ]
        self.notes += caused
        self.new_findings += caused
        return None

    def _own_checks(
        self, job: JobView, prepared: PreparedChanges, tree: Tree, names: Sequence[str]
    ) -> str:
        """Run the checks `names` on the change from the current files to the merged files.

        Returns a description of the failed checks, or an empty string if all checks pass.
        """
        from remora.agents.inputs.target_location import locate_target
        from remora.agents.verification import verify
        from remora.judges.submission import Submission

        agent, known = self._agent(job), self._jobs[job.agent_id]
        files = {write.path: (write.ours, write.result) for write in prepared.writes}
        _, now = files.get(known.path) or (None, tree.read(known.path))

        def findings(side: int) -> Callable[[str], list[dict[str, Any]]]:
            def find(path: str) -> list[dict[str, Any]]:
                content = files[path][side] if path in files else tree.read(path)
                return self._place.ruff.check_text(path, content or b"")

            return find

        submission = Submission(
            path=known.path,
            node_id=known.node_id,
            node_name=known.node_name,
            qualname=known.qualname,
            nodes=known.nodes,
            files=files,
            findings_before=findings(0),
            findings_after=findings(1),
            names=self._place.ruff.check_names,
            target=locate_target(known, now, None),
            in_tree=_MergedCopy(
                self._project,
                self._record.run_id,
                prepared,
                tree,
                lambda: self._python(agent),
                self._ruff,
            ),
        )
        failed = [
            check
            for check in verify(names, submission, self._project.operations.checks, agent.scripts)
            if not check.ok
        ]
        # a file that does not parse has nothing for the other checks
        failed = [check for check in failed if check.name == _PARSES] or failed
        return "; ".join(f"fails {check.name}: {check.detail}" for check in failed)

    def _verified_by(self, job: JobView, agent: "Agent") -> list[str]:
        """Return the agent's checks, without those that a later version has added."""
        start = start_of(self._project.trace, job.agent_id)
        recorded = start.definition.get("verify") if start is not None else None
        return [name for name in agent.definition.verify if recorded is None or name in recorded]

    def _agent(self, job: JobView) -> "Agent":
        """Load the job's agent. Raises UsageError if its definition has changed since the run.

        A changed definition might not contain the checks that verified the change set.
        """
        from remora.agents.definition.agent import load_agents
        from remora.runs.continuation.resume import check_definition

        if job.operation not in self._agents:
            self._agents |= load_agents(
                self._project.root, self._project.operations, [job.operation]
            )
        agent = self._agents[job.operation]
        start = start_of(self._project.trace, job.agent_id)
        # a later version may change a built-in agent
        if start is not None and not (agent.builtin and start.definition.get("builtin", True)):
            check_definition(start, agent, self._project.redact)
        return agent

    @cached_property
    def _jobs(self) -> Mapping[str, Job]:
        return {attempt.job.agent_id: attempt.job for attempt in self._record.attempts.begun}


@dataclass(frozen=True)
class _MergedCopy:
    """Calls a function with a temporary copy of the merged files."""

    project: Project
    run_id: str
    prepared: PreparedChanges
    tree: Tree
    interpreter: Callable[[], ProjectPython | None]
    ruff: "MakeRuff"

    def __call__(self, work: "Callable[[ToolTree], Result]", /) -> "Result":
        from remora.tools.tree import ToolTree
        from remora.workspaces.copy.slot import SlotDriver

        python = self.interpreter()
        folder = self.project.cache / "bases" / f"{self.run_id}~merged"
        try_remove_tree(folder)
        try:
            base, slots = self.tree.copy(folder), self.project.cache / "slots"
            with SlotDriver(base, slots).open() as workspace:
                writes = self.prepared.writes
                workspace.set_files({write.path: (write.result, write.mode) for write in writes})
                return work(ToolTree(workspace.tree, python, ruff=self.ruff))
        finally:
            try_remove_tree(folder)
