"""The pending changes of a run, in parts, and the files to which some parts lead."""

from collections.abc import Iterable, Sequence

from remora.judges.gates.measured_gate import Part
from remora.runs.project import ProjectRecords
from remora.runs.records.hunk_groups import groups_of
from remora.runs.review.apply_changes import merged
from remora.runs.review.ready_changes import ReadyChange
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.copy.snapshot import BaseSnapshot
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
