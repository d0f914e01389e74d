"""Git commands that use the network."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from remora.errors import OutsideError
from remora.files.git import git_environment

_PROTOCOLS = "https:ssh:file"
_FETCH_S = 1800
_PASSED = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")


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
