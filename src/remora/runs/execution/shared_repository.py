"""Repository from which other machines get a project's files."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from remora.errors import OutsideError
from remora.files.git import git_output
from remora.rmtree import temporary_folder
from remora.runs.execution.shard_task import Repository
from remora.runs.project import ProjectRecords, root_name
from remora.workspaces.commit_files import pin_commit, pin_of

_SHARED = re.compile(r"(https|ssh)://|[\w.-]+@[\w.-]+:")
_MAX_BUNDLE = 256 << 20
"""Bytes of a bundle. It is in memory as a whole, in the driver and in workers."""


def shared_repository(
    project: ProjectRecords, machine: str, run_id: str, commit: str | None
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
        owner = root_name(root)
        pin_commit(
            root, owner, run_id, commit
        )  # the project may have been moved since it was pinned
        bundle = project.trace.objects.put(_make_bundle(root, pin_of(owner, run_id)))
        project.trace.objects.sync()
    return Repository(
        machine=machine, path=str(root), commit=commit, folder=folder, url=url, bundle=bundle
    )


def is_shared_address(url: str) -> bool:
    """Return True for the address of a server, which another machine may be able to read.

    The paths of a machine name other files on another one. No address has control characters.
    """
    return bool(_SHARED.match(url)) and url.isprintable()


def _make_bundle(root: Path, ref: str) -> bytes:
    """Return the history of a ref. Raises OutsideError if it is too large for the database."""
    with temporary_folder("bundle-") as folder:
        path = folder / "history.bundle"
        try:
            git_output(root, "bundle", "create", "--quiet", str(path), ref)
        except OutsideError as error:
            raise OutsideError(
                error.message,
                hint="check the repository with `git fsck`, or push the commit to `origin`, so that "
                "workers fetch it from there",
            ) from error
        size = path.stat().st_size
        if size > _MAX_BUNDLE:
            raise OutsideError(
                f"the history of {root} is too large to be sent to workers through the database: "
                f"{size >> 20:,} MB (maximum {_MAX_BUNDLE >> 20} MB)",
                hint="push the commit to `origin`, so that workers fetch it from there",
            )
        return path.read_bytes()


def _published_at(root: Path, commit: str) -> str:
    """Return the address of `origin` without credentials, if it is known to have the commit."""
    with suppress(OutsideError):
        known = git_output(
            root, "for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes/origin"
        )
        if known:
            url = git_output(root, "config", "--get", "remote.origin.url").decode().strip()
            return _without_credentials(url) if is_shared_address(url) else ""
    return ""


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host))
