"""Clones that follow a remote repository."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

from remora.errors import OutsideError, UsageError
from remora.files.git import git_command, git_output, run_with_network

_REFS = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
"""Branches and tags, also those that were moved."""


def update_clone(url: str, ref: str, folder: Path, environ: Mapping[str, str]) -> None:
    """Clone `url` into `folder`, or fetch into an earlier clone, and check out `ref`.

    An empty `ref` is the default branch. Branches of the user are kept, and the work tree is
    changed only if it has no uncommitted changes. Raises UsageError if the folder is something else
    or has such changes, and OutsideError if the repository cannot be fetched.
    """
    if folder.exists():
        _check_origin(url, folder)
        command = git_command("fetch", "--quiet", "--prune", "origin", *_REFS)
        run_with_network(command, folder, environ, url)
        if not ref and git_output(folder, "for-each-ref", "--count=1", "refs/remotes/origin"):
            _follow_default_branch(folder, url, environ)
    else:
        _clone(url, folder, environ)
    commit = _commit_of(ref, folder, url)
    if git_output(folder, "rev-parse", "HEAD", succeeds=(0, 128)).strip().decode() != commit:
        _check_unchanged(folder)
        git_output(folder, "checkout", "--quiet", "--detach", commit)


def is_bare(folder: Path) -> bool:
    """Return True if the folder is a repository without a work tree."""
    try:
        return git_output(folder, "rev-parse", "--is-bare-repository").strip() == b"true"
    except OutsideError:
        return False


def _clone(url: str, folder: Path, environ: Mapping[str, str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        command = git_command("clone", "--quiet", "--", url, str(temporary))
        run_with_network(command, folder.parent, environ, url)
        temporary.rename(folder)
    finally:
        rmtree(temporary, ignore_errors=True)


def _check_origin(url: str, folder: Path) -> None:
    try:
        found = git_output(folder, "config", "--get", "remote.origin.url").decode().strip()
        top = git_output(folder, "rev-parse", "--show-toplevel").decode().strip()
    except OutsideError:
        found = top = ""
    if found != url or Path(top) != folder.resolve():
        raise UsageError(
            f"{folder} is not a clone of {url}", hint="move it away, or change `clones` or `name`"
        )


def _follow_default_branch(folder: Path, url: str, environ: Mapping[str, str]) -> None:
    command = git_command("remote", "set-head", "origin", "--auto")
    run_with_network(command, folder, environ, url)


def _commit_of(ref: str, folder: Path, url: str) -> str:
    names = (f"refs/remotes/origin/{ref}", f"refs/tags/{ref}", ref) if ref else ("origin/HEAD",)
    for name in names:
        found = git_output(
            folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}",
            succeeds=(0, 1),
        )  # fmt: skip
        if found:
            return found.strip().decode()
    raise OutsideError(
        f"{url} has no branch, tag or commit {ref}" if ref else f"{url} has no commits",
        hint="check `ref` in the list of repositories" if ref else "remove it from the list",
    )


def _check_unchanged(folder: Path) -> None:
    if git_output(folder, "status", "--porcelain", "--ignore-submodules"):
        raise UsageError(
            f"{folder} has uncommitted changes, so the new commit is not checked out",
            hint="commit or stash them; a branch that you made is kept",
        )
