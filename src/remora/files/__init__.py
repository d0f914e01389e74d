"""Which files belong to a project, and how git is asked about it."""

from remora.files.git import git_command, git_environment, git_output
from remora.files.git_ignores import GitIgnores
from remora.files.git_view import GitIndex, GitPlaces, git_index, git_places
from remora.files.patterns import IgnoreRules, glob_regex
from remora.files.project import (
    ProjectFiles,
    find_root,
    is_private,
    project_files,
)
from remora.files.walk import OUTPUT, OWN_RECORDS, is_made_by_tools, is_output

__all__ = [
    "OUTPUT",
    "OWN_RECORDS",
    "GitIgnores",
    "GitIndex",
    "GitPlaces",
    "IgnoreRules",
    "ProjectFiles",
    "find_root",
    "git_command",
    "git_environment",
    "git_index",
    "git_output",
    "git_places",
    "glob_regex",
    "is_made_by_tools",
    "is_output",
    "is_private",
    "project_files",
]
