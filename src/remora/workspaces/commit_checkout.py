"""Working trees of commits in repositories that are elsewhere, for workers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from remora.config.user_folders import make_private
from remora.errors import NotFound, OutsideError
from remora.files.file_lock import locked
from remora.files.git import git_command, git_output, run_with_network
from remora.workspaces.repository_cache import (
    UNUSED,
    new_folder,
    repositories_folder,
    set_aside,
    used_clone,
)

_REFS = "refs/fetched"
"""Prefix of refs. It is followed by the day on which a commit was used last."""
_IN_FOREGROUND = ("-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false")
"""Settings with which git repacks a clone before it ends."""


class Origin(NamedTuple):
    """Source of a repository: its URL or path, or bundles that have no address."""

    name: str
    """The address, or what identifies the repository that the bundles are made of."""
    bundle: Callable[[Path], Path] | None = None
    """Stores a bundle in a folder, and returns its path."""


@contextmanager
def checked_out(
    origin: Origin, commit: str, cache: Path, environ: Mapping[str, str]
) -> Iterator[Path]:
    """Yield a working tree of a commit, fetched from `origin` unless `cache` has it.

    Several processes may do this at once. A damaged clone is replaced. Unused clones and trees are
    removed. Raises NotFound if `origin` does not have the commit, and OutsideError if the commit
    cannot be fetched or the disk has an error.
    """
    folder = repositories_folder(cache)
    with ExitStack() as stack:
        with _disk_errors(folder):
            make_private(folder)
            name = sha256(origin.name.encode()).hexdigest()[:16]
            clone = stack.enter_context(used_clone(folder, name))
            number = _number(clone)
            tree = stack.enter_context(new_folder(folder))
            try:
                _check_out(origin, commit, clone, tree, environ)
            except OutsideError:
                if number is None:
                    raise
                tree = stack.enter_context(new_folder(folder))
                _check_out(origin, commit, clone, tree, environ, damaged=number)
        yield tree


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutsideError(
            f"{error.filename or folder}: {error.strerror or error}",
            hint="check its permissions and the disk",
        ) from error


def _check_out(  # the clone is unlocked while files are written, which takes long
    origin: Origin,
    commit: str,
    clone: Path,
    tree: Path,
    environ: Mapping[str, str],
    *,
    damaged: int | None = None,
) -> None:
    """Check out a commit in an empty folder.

    A missing clone is made, and the one with the number `damaged` is replaced.
    """
    with locked(clone.with_suffix(".lock")) as lock:
        if _number(clone) == damaged:
            _make_clone(origin, commit, clone, environ, lock)
        else:
            _fetch(origin, commit, clone, environ, lock)
        _git(clone, "worktree", "prune")  # trees that were removed
        _git(clone, "worktree", "add", "--quiet", "--no-checkout", "--detach", str(tree), commit)
    git_output(tree, "reset", "--quiet", "--hard", git_dir=tree / ".git")


def _number(clone: Path) -> int | None:
    """Return a number that changes if another clone takes this one's place, or None."""
    return clone.stat().st_ino if clone.exists() else None


def _make_clone(
    origin: Origin, commit: str, clone: Path, environ: Mapping[str, str], lock: int
) -> None:
    """Make a clone with a commit. An earlier clone is replaced only if that works."""
    with new_folder(clone.parent) as new:
        _git(new, "init", "--quiet", "--bare")
        _fetch(origin, commit, new, environ, lock)
        if clone.exists():
            set_aside(clone, clone.parent)
        new.rename(clone)


def _fetch(origin: Origin, commit: str, bare: Path, environ: Mapping[str, str], lock: int) -> None:
    """Fetch a commit unless it has a ref, and delete the refs that were not used for a month."""
    for left in (*bare.glob("*.lock"), *(bare / "refs").rglob("*.lock")):
        left.unlink()  # of a git that was killed: the clone is locked
    refs = _git(bare, "for-each-ref", "--format=%(refname)", _REFS).decode().split()
    day = datetime.now(UTC).date()
    # git writes refs last: a commit without a ref may be incomplete
    if not any(ref.endswith(f"/{commit}") for ref in refs):
        _fetch_into(bare, f"{_REFS}/{day}", origin, commit, environ, lock)
    changes = [f"update {_REFS}/{day}/{commit} {commit}"]
    changes += [f"delete {ref}" for ref in refs if ref < f"{_REFS}/{day - UNUSED}"]
    stdin = "".join(f"{change}\n" for change in changes).encode()
    _git(bare, "update-ref", "--stdin", stdin=stdin)


def _fetch_into(
    bare: Path, refs: str, origin: Origin, commit: str, environ: Mapping[str, str], lock: int
) -> None:
    def fetch(*names: str) -> None:
        command = git_command("--git-dir", str(bare), *_IN_FOREGROUND, "fetch", "--quiet")
        command += ["--no-tags", "--", address, *names]
        run_with_network(command, bare, environ, origin.name, lock)

    with _address(origin, bare) as address:
        try:
            fetch(f"+{commit}:{refs}/{commit}")
        except OutsideError:  # a server or a bundle that gives only what has a name
            fetch(f"+refs/heads/*:{refs}/heads/*", f"+refs/remora/*:{refs}/remora/*")
            _require_commit(commit, bare, origin)


def _require_commit(commit: str, bare: Path, origin: Origin) -> None:
    try:
        _git(bare, "cat-file", "-e", f"{commit}^{{commit}}")
    except OutsideError as error:
        raise NotFound(
            f"the repository {origin.name} has no commit {commit}", hint="push it again"
        ) from error


@contextmanager
def _address(origin: Origin, bare: Path) -> Iterator[str]:
    if origin.bundle is None:
        yield origin.name
    else:
        with new_folder(bare.parent) as folder:  # it is locked, and an object store locks its own
            objects = folder / "objects"
            objects.mkdir(mode=0o700)
            yield str(origin.bundle(objects))


def _git(bare: Path, *words: str, stdin: bytes = b"") -> bytes:
    return git_output(bare, *words, stdin=stdin, git_dir=bare)
