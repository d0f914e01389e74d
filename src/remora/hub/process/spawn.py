"""Command lines, environment and garbage collection of child processes of the Hub."""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from remora.config.user_folders import KEY_VARIABLES
from remora.facilities import is_linux

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50
_PACKAGES = Path(__file__).resolve().parents[3]
_PASSED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE")
_PASSED_BEGINNINGS = ("LC_", "XDG_", "REMORA_")
_SECRETS = tuple(name for names in KEY_VARIABLES.values() for name in names)
FOLDER = "/"
"""Working directory of the children, in which relative paths of the environment do not exist."""


def command(function: str, *words: str) -> list[str]:
    """Return a command line that calls a function of this package with `words` in `sys.argv`.

    `function` is given as `MODULE:FUNCTION`. `-P` keeps the current folder off the import path. The
    folder of this package is last on the path, so that it does not hide other modules.
    """
    module, _, name = function.partition(":")
    run = (
        "import sys; sys.path.append(sys.argv.pop(1)); "
        f"from {module} import {name}; sys.exit({name}())"
    )
    return [sys.executable, "-P", "-c", run, str(_PACKAGES), *words]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables in `environ` that child processes need.

    API keys and variables that affect imports are left out.
    """
    return {
        name: value
        for name, value in environ.items()
        if (name in _PASSED or name.startswith(_PASSED_BEGINNINGS)) and name not in _SECRETS
    }


def detached(words: list[str]) -> list[str]:
    """Return a command line that runs `words` in a process that outlives its parent."""
    leave = "import os, sys; os.fork() and os._exit(0); os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", leave, *words]


def tied(words: list[str]) -> list[str]:
    """Return a command line that runs `words` in a process that Linux kills if its parent exits."""
    if not is_linux():
        return words
    run = (
        "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "  # PR_SET_PDEATHSIG
        "os.getppid() == int(sys.argv[1]) or os._exit(1); os.execv(sys.argv[2], sys.argv[2:])"
    )
    return [sys.executable, "-I", "-S", "-c", run, str(os.getpid()), *words]


def tune_gc() -> None:
    """Make garbage collection rare.

    Scanning facts and links is slow, and they contain almost no reference cycles.
    """
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
