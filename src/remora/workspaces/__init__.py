"""Private copies of a project, the changes made in them, and how those reach the user's tree."""

from remora.workspaces.apply import (
    FileConflict,
    FilePatch,
    Prepared,
    Recovered,
    Write,
    commit,
    prepare,
    recover,
)
from remora.workspaces.base import Base, BaseFile, restore_base, take_base
from remora.workspaces.beneath import Beneath
from remora.workspaces.blobs import pin_commit, unpin_commit
from remora.workspaces.changes import Change, FileState, changes_between, diff
from remora.workspaces.confinement import Confinement
from remora.workspaces.driver import make_driver, require_driver
from remora.workspaces.merge import Clash, Merged, Overlap, merge3
from remora.workspaces.process import Finished, run
from remora.workspaces.removal import remove_tree
from remora.workspaces.scan import is_junk
from remora.workspaces.slot import SlotDriver
from remora.workspaces.workspace import Workspace, WorkspaceDriver

__all__ = [
    "Base",
    "BaseFile",
    "Beneath",
    "Change",
    "Clash",
    "Confinement",
    "FileConflict",
    "FilePatch",
    "FileState",
    "Finished",
    "Merged",
    "Overlap",
    "Prepared",
    "Recovered",
    "SlotDriver",
    "Workspace",
    "WorkspaceDriver",
    "Write",
    "changes_between",
    "commit",
    "diff",
    "is_junk",
    "make_driver",
    "merge3",
    "pin_commit",
    "prepare",
    "recover",
    "remove_tree",
    "require_driver",
    "restore_base",
    "run",
    "take_base",
    "unpin_commit",
]
