"""Where other machines get a project's files from."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.runs.execution.shard_task import Repository
from remora.runs.project import Project

_REACHABLE = re.compile(r"(https|ssh|file)://|[\w.-]+@[\w.-]+:")
"""Addresses that another machine may be able to read. Other runs send a bundle."""


def shared_repository(
    project: Project, machine: str, run_id: str, commit: str | None
) -> Repository:
    """Return where workers get the files of a run's commit from.

    If no remote repository is known to have the commit, it is stored as a bundle, with its history.
    Raises OutsideError if git fails.
    """
    root = project.root
    if commit is None:
        return Repository(machine=machine, path=str(root), commit=None)
    folder = git_output(root, "rev-parse", "--show-prefix").strip().decode()
    url, bundle = _published_at(root, commit), ""
    if not url:
        ref = f"refs/remora/{run_id}"
        bundle = project.trace.objects.put(
            git_output(root, "bundle", "create", "--quiet", "-", ref)
        )
        project.trace.objects.sync()
    return Repository(
        machine=machine, path=str(root), commit=commit, folder=folder, url=url, bundle=bundle
    )


def _published_at(root: Path, commit: str) -> str:
    """Return the address of `origin` without credentials, if it is known to have the commit."""
    with suppress(OutsideError):
        known = git_output(
            root, "for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes/origin"
        )
        if known:
            url = git_output(root, "config", "--get", "remote.origin.url").decode().strip()
            return _without_credentials(url) if _REACHABLE.match(url) else ""
    return ""


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host))
