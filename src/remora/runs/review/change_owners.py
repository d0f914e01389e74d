"""Owners of changes, according to the CODEOWNERS file of the repository."""

from collections.abc import Collection, Iterator

from remora.files.code_owners import read_code_owners
from remora.ids import unescape_path
from remora.runs.project import ProjectRecords
from remora.runs.records.job_view import JobView

_NO_OWNER = "no owner"


class ChangeOwners:
    """The owners of the files that the change sets of a project change."""

    def __init__(self, project: ProjectRecords) -> None:
        self._files = read_code_owners(project.root)

    def names(self, job: JobView) -> str:
        """Return the owners of all changed files, such as `@team/api @team/web`."""
        found = {name for _, owners in self._changed(job) for name in owners}
        return " ".join(sorted(found)) or _NO_OWNER

    def objection(self, job: JobView, wanted: Collection[str]) -> str:
        """Return why a change set does not belong to the wanted owners, or an empty string.

        It does if each changed file has one of them.
        """
        for path, owners in self._changed(job):
            if not set(wanted) & set(owners):
                return f"{path} belongs to {' '.join(owners) or _NO_OWNER}"
        return ""

    def _changed(self, job: JobView) -> Iterator[tuple[str, tuple[str, ...]]]:
        for change in job.change_set:
            path = unescape_path(change.path)
            yield path, self._files.of(path)
