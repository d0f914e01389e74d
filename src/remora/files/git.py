"""How git is asked: the user's own git, with nothing of the repository's run."""

import os
import subprocess
from pathlib import Path

from remora.errors import OutsideError

_NEVER = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
_GIT = ("git", *(word for setting in _NEVER for word in ("-c", setting)))
_GIT_SECONDS = 120
_QUICK = frozenset({"rev-parse", "config"})
_QUICK_SECONDS = 10
"""For what reads a few small files: longer than that takes only what has no end."""


def git_environment() -> dict[str, str]:
    """What git gets: the user's own settings, but no variable that redirects it."""
    return {
        "PATH": os.defpath + ":/usr/local/bin",
        "HOME": str(Path.home()),
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        # an older git does not know the line above: a repository's configuration says by which
        # command what it lacks is fetched
        "GIT_ALLOW_PROTOCOL": "none",
    }


def git_command(*words: str) -> list[str]:
    """A git command that runs no hook, file monitor or reader of signatures of the repository."""
    return [*_GIT, *words]


def git_output(
    root: Path,
    *words: str,
    stdin: bytes = b"",
    succeeds: tuple[int, ...] = (0,),
    index: Path | None = None,
) -> bytes:
    """What git prints, run in `root`, with another `index` than the user's. Raises OutsideError
    where it is missing or fails: ends with another status than those of `succeeds`."""
    try:
        done = subprocess.run(
            git_command(*words),
            cwd=root,
            env=git_environment() | ({"GIT_INDEX_FILE": str(index)} if index else {}),
            input=stdin,
            capture_output=True,
            timeout=_QUICK_SECONDS if words[0] in _QUICK else _GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutsideError(f"git {words[0]} could not run: {error}") from error
    if done.returncode not in succeeds:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise OutsideError(f"git {words[0]} failed: {said or f'exit {done.returncode}'}")
    return done.stdout
