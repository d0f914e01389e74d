"""Git commands that never run programs configured by the repository."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from remora.errors import OutsideError

_NEVER = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
_GIT = ("git", *(word for setting in _NEVER for word in ("-c", setting)))
_GIT_SECONDS = 120
_QUICK = frozenset({"rev-parse", "config"})
_QUICK_SECONDS = 10  # these read a few small files; only a pipe or an endless file takes longer
_MEMORY = 1 << 30
"""Bytes. Git reads ignore files and refs as a whole; to list a million files takes a third of it."""
# the shell sets the limit, because `preexec_fn` is not safe with threads
_LIMITED = ("sh", "-c", f'ulimit -d {_MEMORY >> 10} 2>/dev/null; exec "$@"', "sh")
_PACKING = ("-c", "pack.threads=4", "-c", "pack.windowMemory=100m")
"""With git's defaults, a bundle needs more memory for ten files of 100 MB, or on 128 processors."""


class ForeignRepository(OutsideError):
    """Git refuses a repository that belongs to another user."""


def git_environment() -> dict[str, str]:
    """Return the environment for git, without variables that point to another repository.

    Git still reads the user's configuration.
    """
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    return {
        **({"XDG_CONFIG_HOME": configured} if configured else {}),
        "PATH": os.defpath + ":/usr/local/bin",
        "HOME": str(Path.home()),
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        # older versions of git would otherwise fetch missing objects with a command from the
        # repository's configuration
        "GIT_ALLOW_PROTOCOL": "none",
    }


def git_command(*words: str) -> list[str]:
    """Return a git command line that disables hooks, the file monitor and signature checks."""
    return [*_GIT, *words]


def git_output(
    root: Path,
    *words: str,
    stdin: bytes = b"",
    succeeds: tuple[int, ...] = (0,),
    index: Path | None = None,
    git_dir: Path | None = None,
) -> bytes:
    """Run git in `root` and return its output.

    `index` is the index file to use instead of the repository's index. With `git_dir`, git does not
    search for a repository. Raises OutsideError if git is missing, times out, or exits with a status
    that is not in `succeeds`.
    """
    paths = {"GIT_INDEX_FILE": index, "GIT_DIR": git_dir}
    environment = {name: str(path) for name, path in paths.items() if path}
    with start_git(root, *words, environment=environment, stderr=subprocess.PIPE) as process:
        limit = _QUICK_SECONDS if words[0] in _QUICK else _GIT_SECONDS
        try:
            output, problem = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired as error:
            raise OutsideError(
                f"git {words[0]} timed out after {limit:g} s",
                hint=f"a pipe or device may block it: run `find . -type p` in {root}",
            ) from error
        except OSError as error:
            raise OutsideError(f"git {words[0]} could not run: {error}") from error
        finally:
            process.kill()
    if process.returncode and b"out of memory" in problem.lower():
        raise OutsideError(
            f"git {words[0]} needed more than {_MEMORY >> 20:,} MiB of memory",
            hint="look for a huge `.gitignore` or a huge file in `.git`",
        )
    if process.returncode not in succeeds:
        said = problem.decode(errors="replace").strip()
        message = (
            f"git {words[0]} failed: {said.partition(chr(10))[0] or f'exit {process.returncode}'}"
        )
        if "dubious ownership" in said:
            command = said.rpartition("\n")[2].strip()
            message = f"git refuses the repository of {root}, because another user owns it"
            raise ForeignRepository(message, hint=f"if you trust it, run `{command}`")
        raise OutsideError(message)
    return output


def start_git(
    root: Path, *words: str, environment: Mapping[str, str] = {}, stderr: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start git in `root` with limited memory, and with unbuffered pipes for input and output.

    Raises OutsideError if it cannot be started.
    """
    variables = {**git_environment(), **environment}
    if shutil.which("git", path=variables["PATH"]) is None:
        raise OutsideError("git could not run: it is not installed")
    try:
        return subprocess.Popen(
            [*_LIMITED, *git_command(*_PACKING, *words)],
            cwd=root,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
    except OSError as error:
        raise OutsideError(f"git could not run: {error}") from error


_PROTOCOLS = "https:ssh:file"
_FETCH_S = 1800
_PASSED = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")


def run_with_network(
    command: list[str], folder: Path, environ: Mapping[str, str], source: str, lock: int
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
            pass_fds=(lock,),
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        reason = said.decode(errors="replace").strip().partition("\n")[0] or str(error)
        raise OutsideError(
            f"the repository {source} cannot be fetched: {reason}",
            hint="check that this machine may read it, with `git fetch`",
        ) from error
