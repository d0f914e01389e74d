"""Which files belong to a project, and how git is asked about it."""

from remora.files.git import git_command, git_environment, git_output
from remora.files.patterns import IgnoreRules, glob_regex
from remora.files.project import (
    ProjectFiles,
    find_root,
    is_private,
    project_files,
)

__all__ = [
    "IgnoreRules",
    "ProjectFiles",
    "find_root",
    "git_command",
    "git_environment",
    "git_output",
    "glob_regex",
    "is_private",
    "project_files",
]
