"""Copies of repositories that are elsewhere, for workers."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from remora.config.user_folders import make_private
from remora.errors import OutsideError
from remora.files.git import git_command, git_environment, git_output
from remora.files.repository_cache import (
    locked,
    new_tree,
    remove_unused,
    repositories_folder,
    used_clone,
)

_PROTOCOLS = "https:ssh:file"
_FETCH_S = 1800
_REFS = "refs/fetched"
"""Prefix of refs. It is followed by the day on which a commit was used last."""
_KEPT = timedelta(days=7)
_IN_FOREGROUND = ("-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false")
"""Settings with which git repacks a clone before it ends."""
_PASSED = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")


class Source(NamedTuple):
    """Where a repository is fetched from: its URL or path, or bundles that have no address.

    `name` is the address, or identifies the repository that the bundles are made of. `bundle`
    stores a bundle in a folder, and returns its path.
    """

    name: str
    bundle: Callable[[Path], Path] | None = None


@contextmanager
def checked_out(
    source: Source, commit: str, cache: Path, environ: Mapping[str, str]
) -> Iterator[Path]:
    """Yield a working tree of a commit, fetched from `source` unless `cache` has it.

    Several processes may do this at once. Unused clones and trees are removed. Raises OutsideError
    if the commit cannot be fetched.
    """
    folder = repositories_folder(cache)
    make_private(folder)
    remove_unused(folder)
    with used_clone(folder, sha256(source.name.encode()).hexdigest()[:16]) as bare:
        with locked(bare.with_suffix(".lock")) as lock:
            _fetch(source, commit, bare, environ, lock)
        with new_tree(folder) as tree:
            try:
                git_output(
                    bare, "worktree", "add", "--quiet", "--force", "--detach", str(tree), commit
                )
                yield tree
            finally:
                with suppress(OutsideError):  # it was not added
                    git_output(bare, "worktree", "remove", "--force", str(tree))


def _fetch(source: Source, commit: str, bare: Path, environ: Mapping[str, str], lock: int) -> None:
    """Fetch a commit unless it has a ref, and delete the refs that were not used for a week."""
    if not (bare / "HEAD").exists():
        git_output(bare.parent, "init", "--quiet", "--bare", str(bare))
    for left in (*bare.glob("*.lock"), *(bare / "refs").rglob("*.lock")):
        left.unlink()  # of a git that was killed: the clone is locked
    git_output(bare, "worktree", "prune")  # trees of processes that were killed
    refs = git_output(bare, "for-each-ref", "--format=%(refname)", _REFS).decode().split()
    day = datetime.now(UTC).date()
    # git writes refs last: a commit without a ref may be incomplete
    if not any(ref.endswith(f"/{commit}") for ref in refs):
        with _address(source, bare) as address:
            _fetch_from(address, commit, f"{_REFS}/{day}", bare, environ, lock)
    changes = [f"update {_REFS}/{day}/{commit} {commit}"]
    changes += [f"delete {ref}" for ref in refs if ref < f"{_REFS}/{day - _KEPT}"]
    stdin = "".join(f"{change}\n" for change in changes).encode()
    git_output(bare, "update-ref", "--stdin", stdin=stdin, pass_fds=(lock,))


@contextmanager
def _address(source: Source, bare: Path) -> Iterator[str]:
    if source.bundle is None:
        yield source.name
    else:
        with _empty_folder(bare.with_suffix(".bundle")) as folder:
            yield str(source.bundle(folder))


@contextmanager
def _empty_folder(path: Path) -> Iterator[Path]:
    rmtree(path, ignore_errors=True)  # of a process that was killed
    make_private(path)
    try:
        yield path
    finally:
        rmtree(path, ignore_errors=True)


def _fetch_from(
    address: str, commit: str, refs: str, bare: Path, environ: Mapping[str, str], lock: int
) -> None:
    command = git_command(*_IN_FOREGROUND, "fetch", "--quiet", "--no-tags", "--", address)
    try:
        run_with_network([*command, f"+{commit}:{refs}/{commit}"], bare, environ, address, lock)
    except OutsideError:  # a server or a bundle that gives only what has a name
        names = (f"+refs/heads/*:{refs}/heads/*", f"+refs/remora/*:{refs}/remora/*")
        run_with_network([*command, *names], bare, environ, address, lock)
        git_output(bare, "cat-file", "-e", f"{commit}^{{commit}}")


def run_with_network(
    command: list[str],
    folder: Path,
    environ: Mapping[str, str],
    source: str,
    lock: int | None = None,
) -> None:
    """Run git with the protocols and the identities that fetching needs.

    If this process is killed, git continues and holds the descriptor `lock` until it ends.
    Raises OutsideError, which names `source`, if git fails.
    """
    passed = {name: environ[name] for name in _PASSED if name in environ}
    environment = {**git_environment(), **passed, "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    try:
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            timeout=_FETCH_S,
            pass_fds=() if lock is None else (lock,),
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        reason = said.decode(errors="replace").strip().partition("\n")[0] or str(error)
        raise OutsideError(
            f"the repository {source} cannot be fetched: {reason}",
            hint="check that this machine may read it, with `git fetch`",
        ) from error
