"""Folder of an arm of an evaluation, with its copy of the project and its result."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError
from remora.evals.arm_results import ArmResult
from remora.regular_file import replace_file
from remora.rmtree import try_remove_tree
from remora.runs.project import Project
from remora.runs.retention.clean import EVALUATIONS
from remora.trace.content.private_files import disk_errors
from remora.workspaces.copy.snapshot import BaseSnapshot


def evaluations_folder(project: Project) -> Path:
    """Return the folder of a project's evaluations, which `remora clean` removes."""
    return project.cache / EVALUATIONS


class ArmFolder:
    """The copy on which one arm works, and its result.

    `tree` is the copy of the project, `cache` and `state` are the folders of its runs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._result = folder.with_suffix(".json")
        self.tree, self.cache, self.state = (folder / name for name in ("tree", "cache", "state"))

    def result(self) -> ArmResult | None:
        """Return the result of an earlier command, or None if there is none that can be read."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._result.read_bytes(), type=ArmResult)
        return None

    def keep(self, result: ArmResult) -> None:
        """Store the result, then remove the copy."""
        with disk_errors(self._result):
            replace_file(self._result, msgspec.json.encode(result))
        self.remove_copy()

    def remove_copy(self) -> None:
        try_remove_tree(self._folder)

    def forget(self) -> None:
        """Remove the result and the copy."""
        self._result.unlink(missing_ok=True)
        self.remove_copy()

    def copy(self, base: BaseSnapshot, hidden: Mapping[str, bytes]) -> None:
        """Copy the project with the contents in `hidden`. A copy that is there is kept."""
        if self.tree.exists():
            return
        new = self.tree.with_name("tree.new")
        try_remove_tree(new)
        try:
            make_private(new)
            for path, file in base.files.items():
                pieces = [hidden[path]] if path in hidden else base.pieces(path)
                target = new / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file_copy:
                    file_copy.writelines(pieces)
                target.chmod(file.mode | 0o600)
            new.rename(self.tree)
        except OSError as error:
            raise DiskError(f"cannot copy the project: {error.strerror}") from error
