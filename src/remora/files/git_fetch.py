"""Copies of repositories that are elsewhere, for workers."""

import fcntl
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from remora.errors import OutsideError
from remora.files.git import git_command, git_environment, git_output

_PROTOCOLS = "https:ssh:file"
_FETCH_S = 1800
_PASSED = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")


@contextmanager
def checked_out(
    source: str, commit: str, cache: Path, environ: Mapping[str, str]
) -> Iterator[Path]:
    """Yield a working tree of a commit, fetched from `source` unless `cache` has it.

    `source` is a URL, or the path of a repository or a bundle. Several processes may do this at
    once. Raises OutsideError if the commit cannot be fetched.
    """
    bare = cache / "repositories" / sha256(source.encode()).hexdigest()[:16]
    with _locked(bare):
        _fetch(source, commit, bare, environ)
    tree = Path(mkdtemp(prefix="tree-", dir=bare.parent))
    try:
        git_output(bare, "worktree", "add", "--quiet", "--force", "--detach", str(tree), commit)
        yield tree
    finally:
        with suppress(OutsideError):  # it was not added
            git_output(bare, "worktree", "remove", "--force", str(tree))
        rmtree(tree, ignore_errors=True)


def _fetch(source: str, commit: str, bare: Path, environ: Mapping[str, str]) -> None:
    if not (bare / "HEAD").exists():
        git_output(bare.parent, "init", "--quiet", "--bare", str(bare))
    try:
        git_output(bare, "cat-file", "-e", f"{commit}^{{commit}}")
    except OutsideError:
        command = git_command("fetch", "--quiet", "--no-tags", "--", source)
        try:
            run_with_network([*command, f"+{commit}:refs/fetched/{commit}"], bare, environ, source)
        except OutsideError:  # a server or a bundle that gives only what has a name
            names = ("+refs/heads/*:refs/fetched/heads/*", "+refs/remora/*:refs/fetched/remora/*")
            run_with_network([*command, *names], bare, environ, source)
        git_output(bare, "cat-file", "-e", f"{commit}^{{commit}}")


def run_with_network(
    command: list[str], folder: Path, environ: Mapping[str, str], source: str
) -> None:
    """Run git with the protocols and the identities that fetching needs.

    Raises OutsideError, which names `source`, if git fails.
    """
    passed = {name: environ[name] for name in _PASSED if name in environ}
    environment = {**git_environment(), **passed, "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    try:
        subprocess.run(
            command, cwd=folder, env=environment, check=True, capture_output=True, timeout=_FETCH_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        reason = said.decode(errors="replace").strip().partition("\n")[0] or str(error)
        raise OutsideError(
            f"the repository {source} cannot be fetched: {reason}",
            hint="check that this machine may read it, with `git fetch`",
        ) from error


@contextmanager
def _locked(bare: Path) -> Iterator[None]:
    bare.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(bare.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
